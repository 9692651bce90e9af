//! The small suites that are part of the program, made from code that was written for them.

mod depot;
mod edits;
mod uses;

use crate::origin::Snapshot;
use crate::suite::{Source, Suite, SuiteError};

/// Their names.
pub const NAMES: [&str; 2] = ["edit", "nav"];

/// Returns the built-in suite with a name.
pub fn open(name: &str) -> Option<Result<Suite, SuiteError>> {
    match name {
        "edit" => Some(edits::suite()),
        "nav" => Some(uses::suite()),
        _ => None,
    }
}

fn snapshot() -> Snapshot {
    let files =
        depot::FILES.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().into()));
    Snapshot {
        source: Source::Builtin,
        about: "a program that was written for it".to_owned(),
        group: "depot".to_owned(),
        files: files.collect(),
    }
}
