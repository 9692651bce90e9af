//! Keys of providers: held here, handed to the transport, and shown nowhere.

use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;

/// The keys of a run by the names of their variables.
///
/// Printing it shows the names alone.
#[derive(Clone, Default)]
pub struct Keys(BTreeMap<String, SecretString>);

/// What stands where a key stood.
const BLOT: &str = "[key]";

/// A shorter value is more likely a placeholder than a key; blotting it would garble texts.
const SHORTEST_KEY: usize = 8;

impl Keys {
    /// Collects keys: for each variable the value that `lookup` gives, else that of the `.env`
    /// text. Empty values are none.
    pub fn collect<'a>(
        variables: impl IntoIterator<Item = &'a str>,
        lookup: impl Fn(&str) -> Option<String>,
        dotenv: &str,
    ) -> Self {
        let from_file = read_dotenv(dotenv);
        let mut keys = BTreeMap::new();
        for variable in variables {
            let value = lookup(variable)
                .filter(|value| !value.trim().is_empty())
                .or_else(|| from_file.get(variable).cloned());
            if let Some(value) = value.map(|value| value.trim().to_owned())
                && !value.is_empty()
            {
                keys.insert(variable.to_owned(), SecretString::from(value));
            }
        }
        Keys(keys)
    }

    /// Adds a key.
    pub fn insert(&mut self, variable: &str, key: SecretString) {
        self.0.insert(variable.to_owned(), key);
    }

    /// Returns the key of a variable.
    pub fn get(&self, variable: &str) -> Option<&SecretString> {
        self.0.get(variable)
    }

    /// Replaces every key that occurs in a text.
    pub fn blot(&self, text: &str) -> String {
        self.0.values().fold(text.to_owned(), |text, key| blot_text(&text, key))
    }

    /// Replaces every key that occurs in bytes; returns `None` when there is none.
    pub(crate) fn blot_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut blotted: Option<Vec<u8>> = None;
        for key in self.0.values() {
            let secret = key.expose_secret().as_bytes();
            if secret.len() < SHORTEST_KEY {
                continue;
            }
            let current = blotted.as_deref().unwrap_or(bytes);
            if let Some(clean) = replace(current, secret, BLOT.as_bytes()) {
                blotted = Some(clean);
            }
        }
        blotted
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Replaces a key in bytes that arrive in pieces: a provider may echo what it was sent.
///
/// It looks at the bytes of the reply. A key that a model spells out over several events of a
/// stream is not found.
pub(crate) struct KeyFilter {
    key: Option<SecretString>,
    held: Vec<u8>,
}

impl KeyFilter {
    pub fn new(key: Option<SecretString>) -> Self {
        let key = key.filter(|key| key.expose_secret().len() >= SHORTEST_KEY);
        KeyFilter { key, held: Vec::new() }
    }

    /// Takes the next bytes and returns what may be passed on; an end that could be the beginning
    /// of the key is held back.
    pub fn take(&mut self, bytes: Bytes) -> Bytes {
        let Some(key) = &self.key else { return bytes };
        let secret = key.expose_secret().as_bytes();
        let whole = if self.held.is_empty() {
            bytes
        } else {
            self.held.extend_from_slice(&bytes);
            Bytes::from(std::mem::take(&mut self.held))
        };
        let mut clean = match replace(&whole, secret, BLOT.as_bytes()) {
            Some(clean) => Bytes::from(clean),
            None => whole,
        };
        let longest = clean.len().min(secret.len() - 1);
        let kept = (1..=longest).rev().find(|kept| clean.ends_with(&secret[..*kept])).unwrap_or(0);
        self.held = clean.split_off(clean.len() - kept).to_vec();
        clean
    }

    /// Returns what was held back, at the end.
    pub fn rest(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.held))
    }

    /// Replaces the key in a text.
    pub fn text(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| blot_text(text, key))
    }
}

/// Replaces a key in a text.
pub(crate) fn blot_text(text: &str, key: &SecretString) -> String {
    let secret = key.expose_secret();
    if secret.len() < SHORTEST_KEY { text.to_owned() } else { text.replace(secret, BLOT) }
}

fn replace(bytes: &[u8], what: &[u8], with: &[u8]) -> Option<Vec<u8>> {
    let mut found = bytes.windows(what.len()).position(|window| window == what)?;
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        clean.extend_from_slice(&rest[..found]);
        clean.extend_from_slice(with);
        rest = &rest[found + what.len()..];
        match rest.windows(what.len()).position(|window| window == what) {
            Some(next) => found = next,
            None => break,
        }
    }
    clean.extend_from_slice(rest);
    Some(clean)
}

/// Reads `NAME=value` lines; quotes around a value and a leading `export` are dropped.
fn read_dotenv(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        if line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = line.split_once('=') {
            let value = value.trim();
            let bare = ['"', '\'']
                .into_iter()
                .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote))
                .unwrap_or(value);
            values.insert(name.trim().to_owned(), bare.to_owned());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_the_environment_before_the_file_and_is_never_printed() {
        let dotenv = "# mine\nexport A_KEY=\"file-a-secret\"\nB_KEY = 'file-b-secret'\nC_KEY=\n";
        let lookup = |name: &str| (name == "A_KEY").then(|| "env-a-secret\n".to_owned());
        let keys = Keys::collect(["A_KEY", "B_KEY", "C_KEY"], lookup, dotenv);
        assert_eq!(keys.get("A_KEY").unwrap().expose_secret(), "env-a-secret");
        assert_eq!(keys.get("B_KEY").unwrap().expose_secret(), "file-b-secret");
        assert!(keys.get("C_KEY").is_none());
        assert_eq!(format!("{keys:?}"), r#"{"A_KEY", "B_KEY"}"#);
    }

    #[test]
    fn keys_are_blotted_out_of_texts_and_bytes() {
        let mut keys = Keys::default();
        keys.insert("K", SecretString::from("sk-12345678"));
        assert_eq!(keys.blot("bad key sk-12345678!"), "bad key [key]!");
        let bytes = b"a sk-12345678 b sk-12345678";
        assert_eq!(keys.blot_bytes(bytes).unwrap(), b"a [key] b [key]");
        assert_eq!(keys.blot_bytes(b"nothing"), None);
    }

    #[test]
    fn a_key_is_blotted_out_however_the_bytes_are_cut() {
        let text = b"a sk-sk-12345678, sk-1234567 b";
        for size in 1..text.len() {
            let mut filter = KeyFilter::new(Some(SecretString::from("sk-12345678")));
            let mut clean = Vec::new();
            for piece in text.chunks(size) {
                clean.extend_from_slice(&filter.take(Bytes::copy_from_slice(piece)));
            }
            clean.extend_from_slice(&filter.rest());
            assert_eq!(clean, b"a sk-[key], sk-1234567 b", "in pieces of {size}");
        }
    }
}
