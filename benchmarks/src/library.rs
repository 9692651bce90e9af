//! Where suites are found by name: those in the program, then those in a folder of the user's.

use crate::suite::{Suite, SuiteError};
use std::path::{Path, PathBuf};

/// The suites that a user has: the built-in ones, and the folders in `<home>/suites`.
#[derive(Clone, Debug)]
pub struct Library {
    folder: PathBuf,
}

impl Library {
    /// Returns the library over a folder of suites, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Library { folder: folder.into() }
    }

    /// Returns the folder in which a suite with this name is or would be kept.
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Opens a suite: a folder where `name` has a `/` in it, else one of the user's, else a built-in one.
    pub fn open(&self, name: &str) -> Result<Suite, SuiteError> {
        if name.contains('/') {
            return Suite::open(Path::new(name));
        }
        let place = self.place(name);
        if !name.is_empty() && name != "." && name != ".." && place.join("suite.json").is_file() {
            return Suite::open(&place);
        }
        let unknown = || SuiteError::Unknown { what: "the suite", name: name.to_owned() };
        crate::builtin::open(name).ok_or_else(unknown)?
    }

    /// Returns the names of all suites, sorted, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            crate::builtin::NAMES.iter().map(ToString::to_string).collect();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.path().join("suite.json").is_file() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort();
        names.dedup();
        names
    }
}
