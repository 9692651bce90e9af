//! Where suites are found by name: those in the program, then those in a folder of the user's.

use crate::selection::Selection;
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

    /// Opens a suite: one of the user's, else a built-in one. A name with a `/` in it is the path of a suite's
    /// folder where there is one, else `suite/subset`.
    pub fn open(&self, name: &str) -> Result<Suite, SuiteError> {
        if let Some((suite, subset)) = name.split_once('/') {
            let is_path = suite.is_empty() || suite.starts_with('.') || subset.contains('/');
            if is_path || Path::new(name).join("suite.json").is_file() {
                return Suite::open(Path::new(name));
            }
            let subset = Some(subset.to_owned());
            return Selection { subset, ..Selection::default() }.take(&self.open(suite)?);
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

#[cfg(test)]
mod tests {
    use super::Library;
    use crate::SuiteError;
    use crate::swe::import::{ImportRequest, import};

    fn row(id: &str) -> serde_json::Value {
        serde_json::json!({
            "instance_id": id, "repo": "pallets/flask", "base_commit": "a".repeat(40), "image": "i", "patch": "p",
            "eval_script": ">>>>> Start Test Output >>>>> End Test Output", "test_patch": "t",
            "problem_statement": "s", "FAIL_TO_PASS": "[\"t\"]", "PASS_TO_PASS": "[]",
        })
    }

    #[test]
    fn a_suite_is_found_by_name_by_path_and_with_a_subset() {
        let dir = tempfile::tempdir().unwrap();
        let (rows, subsets) = (dir.path().join("rows.jsonl"), dir.path().join("subsets.json"));
        std::fs::write(&rows, format!("{}\n{}\n", row("a"), row("b"))).unwrap();
        std::fs::write(&subsets, r#"{"first_one": ["a"]}"#).unwrap();
        let request = ImportRequest {
            name: "mine".to_owned(),
            rows,
            subsets: Some(subsets),
            ..ImportRequest::default()
        };
        let suite = import(&request).unwrap().suite;
        let library = Library::new(dir.path().join("suites"));
        suite.save(&library.place("mine")).unwrap();
        assert_eq!(library.open("mine").unwrap().digest(), suite.digest());
        let path = library.place("mine").to_string_lossy().into_owned();
        assert_eq!(library.open(&path).unwrap().digest(), suite.digest());
        let part = library.open("mine/first-one").unwrap();
        assert_eq!((part.name(), part.problems().len()), ("mine/first-one", 1));
        let unknown = library.open("mine/second-one").unwrap_err();
        assert!(matches!(unknown, SuiteError::Unknown { what: "the subset", .. }), "{unknown}");
        assert!(matches!(library.open("./mine"), Err(SuiteError::NoSuite(_))));
    }
}
