//! Names of things in the archive: agents, trees, digests, records.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The number of a version: `agents/N` in the archive. Agent 0 is the seed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct AgentNumber(pub u32);

impl fmt::Display for AgentNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Text that names nothing: it is not the expected number of hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: {digits} hexadecimal digits were expected")]
pub struct NoIdentity {
    /// What the text was read as.
    pub what: &'static str,
    /// How many digits it should have had.
    pub digits: usize,
    /// The text.
    pub text: String,
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

macro_rules! hexadecimal {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = NoIdentity;

            fn from_str(text: &str) -> Result<Self, NoIdentity> {
                from_hex(text).map($name).ok_or_else(|| NoIdentity {
                    what: $what,
                    digits: $bytes * 2,
                    text: text.to_owned(),
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} hexadecimal digits", $bytes * 2)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

hexadecimal!(
    /// A BLAKE3 digest: of a suite, of a trace, of a log.
    Digest, 32, "digest"
);
hexadecimal!(
    /// A git tree: the source of an agent. Two agents with one tree are the same program.
    TreeId, 20, "git tree"
);
hexadecimal!(
    /// A git commit: a version with its ancestry.
    CommitId, 20, "git commit"
);
hexadecimal!(
    /// A record in the ledger. It is drawn at random once and survives a merge, so that nothing doubles.
    RecordId, 12, "record"
);
hexadecimal!(
    /// The conditions of a trial, by the digest of their content.
    ConditionsId, 8, "conditions"
);

impl Digest {
    /// Returns the digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }
}

impl From<git2::Oid> for TreeId {
    fn from(oid: git2::Oid) -> Self {
        TreeId(twenty(oid))
    }
}

impl From<git2::Oid> for CommitId {
    fn from(oid: git2::Oid) -> Self {
        CommitId(twenty(oid))
    }
}

impl CommitId {
    pub(crate) fn oid(self) -> Result<git2::Oid, git2::Error> {
        git2::Oid::from_bytes(&self.0)
    }
}

impl TreeId {
    pub(crate) fn oid(self) -> Result<git2::Oid, git2::Error> {
        git2::Oid::from_bytes(&self.0)
    }
}

fn twenty(oid: git2::Oid) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes.copy_from_slice(&oid.as_bytes()[..20]);
    bytes
}

/// An amount of money in billionths of a US dollar.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NanoUsd(pub u64);

impl NanoUsd {
    /// Returns the amount in US dollars, for formulas and for show.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl std::iter::Sum for NanoUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        NanoUsd(amounts.fold(0, |total, amount| total.saturating_add(amount.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_from_its_text_and_nothing_else_does() {
        let digest = Digest::of(b"hone");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert!("abc".parse::<Digest>().is_err());
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    }
}
