//! The map from test to status that a log parser reads.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::json::write_string;

/// Is what a log says of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status<'a> {
    /// The test passed.
    Passed,
    /// The test failed.
    Failed,
    /// The test was skipped.
    Skipped,
    /// The test could not run.
    Error,
    /// The test failed as it was expected to.
    ExpectedFailure,
    /// A word that the parser took for a status, such as `ERROR:`; it counts neither as passed nor as failed.
    Other(Cow<'a, str>),
}

impl<'a> Status<'a> {
    /// Reads the word as it stands in the log.
    pub fn from_word(word: &'a str) -> Self {
        match word {
            "PASSED" => Status::Passed,
            "FAILED" => Status::Failed,
            "SKIPPED" => Status::Skipped,
            "ERROR" => Status::Error,
            "XFAIL" => Status::ExpectedFailure,
            _ => Status::Other(Cow::Borrowed(word)),
        }
    }

    /// Gives the word back.
    pub fn word(&self) -> &str {
        match self {
            Status::Passed => "PASSED",
            Status::Failed => "FAILED",
            Status::Skipped => "SKIPPED",
            Status::Error => "ERROR",
            Status::ExpectedFailure => "XFAIL",
            Status::Other(word) => word,
        }
    }

    /// Says whether the status counts as passing.
    pub fn passes(&self) -> bool {
        matches!(self, Status::Passed | Status::ExpectedFailure)
    }

    pub(super) fn into_owned(self) -> Status<'static> {
        match self {
            Status::Passed => Status::Passed,
            Status::Failed => Status::Failed,
            Status::Skipped => Status::Skipped,
            Status::Error => Status::Error,
            Status::ExpectedFailure => Status::ExpectedFailure,
            Status::Other(word) => Status::Other(Cow::Owned(word.into_owned())),
        }
    }
}

/// Maps tests to statuses in the order of first appearance; a later status overwrites in place, as in a Python dict.
pub type StatusMap<'a> = IndexMap<Cow<'a, str>, Status<'a>>;

/// Writes a status map as one JSON object.
pub fn status_map_json(map: &StatusMap<'_>) -> String {
    let mut out = String::from("{");
    for (n, (test, status)) in map.iter().enumerate() {
        out.push_str(if n > 0 { ", " } else { "" });
        write_string(&mut out, test.as_bytes());
        out.push_str(": ");
        write_string(&mut out, status.word().as_bytes());
    }
    out.push('}');
    out
}
