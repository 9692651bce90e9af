//! Records about versions: what an iteration made, and how it was judged.

use crate::identity::{AgentNumber, CommitId, Digest, NanoUsd, TreeId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a child ended before it was benchmarked, or that it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildVerdict {
    /// It passed the gate: it can be measured, and be a base.
    Accepted,
    /// The editor changed nothing.
    EmptyChange,
    /// Only prose was changed; the program is its base's.
    DocumentationOnly,
    /// A protected path was touched, or the change was too large.
    ForbiddenChange,
    /// It did not compile, also after repairs.
    NotBuilt,
    /// It builds, and fails its tests, the protocol, or the self-check.
    FailedGate,
}

impl ChildVerdict {
    /// Every verdict.
    pub const ALL: [ChildVerdict; 6] = [
        ChildVerdict::Accepted,
        ChildVerdict::EmptyChange,
        ChildVerdict::DocumentationOnly,
        ChildVerdict::ForbiddenChange,
        ChildVerdict::NotBuilt,
        ChildVerdict::FailedGate,
    ];

    /// Returns the verdict's name.
    pub fn name(self) -> &'static str {
        match self {
            ChildVerdict::Accepted => "accepted",
            ChildVerdict::EmptyChange => "empty_change",
            ChildVerdict::DocumentationOnly => "documentation_only",
            ChildVerdict::ForbiddenChange => "forbidden_change",
            ChildVerdict::NotBuilt => "not_built",
            ChildVerdict::FailedGate => "failed_gate",
        }
    }
}

impl fmt::Display for ChildVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Text that is no verdict of a child.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no verdict of a child")]
pub struct NoVerdict(pub String);

impl FromStr for ChildVerdict {
    type Err = NoVerdict;

    fn from_str(text: &str) -> Result<Self, NoVerdict> {
        let found = Self::ALL.into_iter().find(|verdict| verdict.name() == text);
        found.ok_or_else(|| NoVerdict(text.to_owned()))
    }
}

/// What a version says about its origin: the trailers of its commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What changed, in a line; the subject of the commit.
    pub description: String,
    /// Who edited; none for a seed or an import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor: Option<AgentNumber>,
    /// The run that it was made in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The iteration that it was made in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// How the gate judged it; a seed or an import that nobody judged is `accepted`.
    pub verdict: ChildVerdict,
}

/// A version of the archive, as it was added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// Its number.
    pub agent: AgentNumber,
    /// Its commit.
    pub commit: CommitId,
    /// Its source.
    pub tree: TreeId,
    /// Its bases; none for a seed.
    pub parents: Vec<AgentNumber>,
    /// The commit's time.
    pub time: Timestamp,
    /// Its origin.
    #[serde(flatten)]
    pub change: Change,
}

/// A log that is too long for the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The digest of the whole log, which lies among the traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The end of it, or all of it where it is short.
    pub tail: String,
}

/// An iteration's child was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Child {
    /// The run.
    pub run: String,
    /// The iteration.
    pub iteration: u32,
    /// When.
    pub time: Timestamp,
    /// The version that the child became; none when there was nothing to keep.
    pub agent: Option<AgentNumber>,
    /// How it was judged.
    pub verdict: ChildVerdict,
    /// The reason in words, for people and for the next editor.
    pub reason: String,
    /// What the editor says that it changed.
    pub description: String,
    /// The build's, the tests' or the self-check's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
    /// How many repairs the build took.
    pub repairs: u32,
    /// How the editor's own job ended, for example `complete`, `timed_out`, `cost_capped`.
    pub editor_ended: String,
    /// What editing and repairs cost.
    pub cost: NanoUsd,
    /// Seconds that editing and repairs took, by the clock that the utility uses.
    pub seconds: f64,
    /// Wall seconds from the choice to this verdict.
    pub wall_seconds: f64,
    /// The digest of the editor's trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Digest>,
}
