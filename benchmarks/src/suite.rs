//! Suites as data.
//!
//! On disk a suite is a folder: `suite.json` (the [`Manifest`]) and, where problems start from files,
//! `files.json` and `files.pack` (see [`crate::files`]). The bytes depend on nothing but the content.

use crate::digest::Digest;
use crate::files::{Files, FilesError};
use crate::split::{HELD_OUT_PERCENT, Split};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of the manifest's format that this program writes. A reader refuses another `breaking` and
/// accepts any `additive`.
pub const FORMAT: Format = Format { breaking: 1, additive: 0 };

/// A version of a file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Rises when an older reader would misread.
    pub breaking: u32,
    /// Rises when something was added that an older reader may ignore.
    pub additive: u32,
}

/// Names a problem; unique in its suite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProblemId(pub String);

impl fmt::Display for ProblemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the problems of a suite come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Source {
    /// Written for Hone and part of the program.
    Builtin,
    /// A git repository, by the name of its folder, at a commit.
    Git {
        /// The name of the folder.
        repository: String,
        /// The commit's full id.
        revision: String,
    },
    /// Published releases of a Python package.
    Pypi {
        /// The package's name.
        package: String,
        /// The releases, oldest first.
        releases: Vec<Release>,
    },
    /// Rows of a published dataset.
    Rows {
        /// The name of the file.
        file: String,
        /// The digest of the file's bytes.
        digest: Digest,
    },
    /// A folder of tasks, by its name.
    Folder {
        /// The name of the folder.
        name: String,
    },
}

/// A published release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The version, as the file's name gives it.
    pub version: String,
    /// The wheel's file name.
    pub file: String,
    /// The digest of the wheel's bytes.
    pub digest: Digest,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Its id.
    pub id: ProblemId,
    /// What it belongs to, such as a repository: subsets and clustered statistics go by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The files that the work directory starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// What the kind needs beside, the solution included; an agent never sees it.
    pub data: Value,
}

impl Problem {
    /// Reads the problem's data as the type that its kind uses.
    pub fn data<T: serde::de::DeserializeOwned>(&self) -> Result<T, SuiteError> {
        T::deserialize(&self.data)
            .map_err(|source| SuiteError::Problem { id: self.id.clone(), what: source.to_string() })
    }

    /// Returns the digest of all that the problem's score depends on, the options of the suite aside.
    pub fn digest(&self) -> Digest {
        let tree = self.tree.map(|tree| tree.to_string()).unwrap_or_default();
        let data = self.data.to_string();
        let parts = [self.id.0.as_bytes(), tree.as_bytes(), data.as_bytes()];
        Digest::of_parts("hone problem 1", parts)
    }
}

/// What a suite says of itself; the content of `suite.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this format.
    pub format: Format,
    /// The suite's name.
    pub name: String,
    /// The name of its kind, see [`crate::kind::find`].
    pub kind: String,
    /// A sentence for people.
    pub about: String,
    /// Where the problems come from.
    pub source: Source,
    /// The seed that the problems were drawn with.
    pub seed: u64,
    /// How many of a hundred problems are held out.
    pub held_out_percent: u8,
    /// Options of the kind that change a score, such as `scoring`.
    pub options: IndexMap<String, String>,
    /// The digest over kind, options and problems: a part of the identity of each result.
    pub digest: Digest,
    /// Subsets with names, as lists of ids.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub subsets: IndexMap<String, Vec<ProblemId>>,
    /// The problems, in a fixed order.
    pub problems: Vec<Problem>,
}

/// Why a suite cannot be read, written or made.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file cannot be read or written.
    #[error("access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no suite in the folder.
    #[error("find a suite in {0}: it has no suite.json")]
    NoSuite(PathBuf),
    /// The manifest is not what it should be.
    #[error("read {path}: {what}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The manifest was written by a later program.
    #[error("read {path}: its format is {found}, this program reads {}", FORMAT.breaking)]
    Format {
        /// The file.
        path: PathBuf,
        /// The format found.
        found: u32,
    },
    /// The content differs from what the digest says.
    #[error(
        "verify suite {name}: its digest should be {stated} and is {found}; it was changed after it was built"
    )]
    Changed {
        /// The suite.
        name: String,
        /// The digest in the manifest.
        stated: Digest,
        /// The digest of the content.
        found: Digest,
    },
    /// Two problems have one id.
    #[error("read suite {suite}: the problem id {id} stands there twice")]
    Duplicate {
        /// The suite.
        suite: String,
        /// The id.
        id: ProblemId,
    },
    /// A problem is not what its kind needs.
    #[error("read problem {id}: {what}")]
    Problem {
        /// The problem.
        id: ProblemId,
        /// What is wrong with it.
        what: String,
    },
    /// No suite, kind, subset or problem has this name.
    #[error("find {what} {name:?}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The store of files is damaged or incomplete.
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// A suite: its manifest and the files of its problems.
#[derive(Clone, Debug)]
pub struct Suite {
    manifest: Manifest,
    files: Arc<Files>,
}

/// What a suite is made of before it has a digest.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The suite's name.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// A sentence for people.
    pub about: String,
    /// Where the problems come from.
    pub source: Source,
    /// The seed that the problems were drawn with.
    pub seed: u64,
    /// Options of the kind that change a score.
    pub options: IndexMap<String, String>,
    /// Subsets with names.
    pub subsets: IndexMap<String, Vec<ProblemId>>,
    /// The problems.
    pub problems: Vec<Problem>,
    /// Their files.
    pub files: Files,
}

impl Suite {
    /// Makes a suite of its parts; fails when two problems have one id, or a problem's files are missing.
    pub fn new(draft: Draft) -> Result<Self, SuiteError> {
        let mut manifest = Manifest {
            format: FORMAT,
            name: draft.name,
            kind: draft.kind,
            about: draft.about,
            source: draft.source,
            seed: draft.seed,
            held_out_percent: HELD_OUT_PERCENT,
            options: draft.options,
            digest: Digest::of(b""),
            subsets: draft.subsets,
            problems: draft.problems,
        };
        manifest.digest = digest(&manifest);
        let suite = Suite { manifest, files: Arc::new(draft.files) };
        suite.check_ids()?;
        Ok(suite)
    }

    /// Opens the suite in a folder. The manifest is verified against its digest; files are verified
    /// as they are read.
    pub fn open(dir: &Path) -> Result<Self, SuiteError> {
        let path = dir.join("suite.json");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(SuiteError::NoSuite(dir.to_owned()));
            }
            Err(source) => return Err(SuiteError::Io { path, source }),
        };
        #[derive(Deserialize)]
        struct Head {
            format: Format,
        }
        let malformed = |source: serde_json::Error| SuiteError::Malformed {
            path: path.clone(),
            what: source.to_string(),
        };
        let head: Head = serde_json::from_slice(&text).map_err(malformed)?;
        if head.format.breaking != FORMAT.breaking {
            return Err(SuiteError::Format { path, found: head.format.breaking });
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(malformed)?;
        let found = digest(&manifest);
        if found != manifest.digest {
            return Err(SuiteError::Changed {
                name: manifest.name,
                stated: manifest.digest,
                found,
            });
        }
        let suite = Suite { manifest, files: Arc::new(Files::open(dir)?) };
        suite.check_ids()?;
        Ok(suite)
    }

    /// Writes the suite into a folder, which is made where it is missing. The manifest comes last, so that
    /// a folder with a manifest is whole.
    pub fn save(&self, dir: &Path) -> Result<(), SuiteError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| SuiteError::Io { path, source }
        };
        std::fs::create_dir_all(dir).map_err(io(dir))?;
        let path = dir.join("suite.json");
        let _ = std::fs::remove_file(&path);
        self.files.save(dir)?;
        let mut text = serde_json::to_string_pretty(&self.manifest)
            .map_err(|e| SuiteError::Malformed { path: path.clone(), what: e.to_string() })?;
        text.push('\n');
        let partial = dir.join(".suite.json.partial");
        std::fs::write(&partial, text).map_err(io(&partial))?;
        std::fs::rename(&partial, &path).map_err(io(&path))
    }

    /// Reads every file and compares it with its digest, and checks every problem.
    pub fn verify(&self) -> Result<(), SuiteError> {
        self.files.verify_all()?;
        crate::kind::check_all(self)
    }

    fn check_ids(&self) -> Result<(), SuiteError> {
        let mut seen = HashSet::new();
        for problem in self.problems() {
            if !seen.insert(&problem.id) {
                let suite = self.manifest.name.clone();
                return Err(SuiteError::Duplicate { suite, id: problem.id.clone() });
            }
            if let Some(tree) = &problem.tree {
                self.files.tree(tree)?;
            }
        }
        Ok(())
    }

    /// Returns the suite with other problems out of it, in the order of the manifest. The digest changes: a mean
    /// over other problems is another result.
    pub(crate) fn with_problems(&self, name: String, problems: Vec<Problem>) -> Self {
        let mut manifest = Manifest { name, problems, ..self.manifest.clone() };
        manifest.digest = digest(&manifest);
        Suite { manifest, files: Arc::clone(&self.files) }
    }

    /// Returns the suite with an option of its kind set. The digest changes with it.
    pub fn with_option(&self, name: &str, value: &str) -> Self {
        let mut manifest = self.manifest.clone();
        manifest.options.insert(name.to_owned(), value.to_owned());
        manifest.digest = digest(&manifest);
        Suite { manifest, files: Arc::clone(&self.files) }
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the suite's name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the digest of all that scoring depends on.
    pub fn digest(&self) -> Digest {
        self.manifest.digest
    }

    /// Returns the problems in their fixed order.
    pub fn problems(&self) -> &[Problem] {
        &self.manifest.problems
    }

    /// Returns the problem with an id.
    pub fn problem(&self, id: &str) -> Option<&Problem> {
        self.problems().iter().find(|problem| problem.id.0 == id)
    }

    /// Returns the side that a problem is on.
    pub fn split(&self, problem: &Problem) -> Split {
        Split::of(&problem.id.0, self.manifest.held_out_percent)
    }

    /// Returns an option of the suite's kind.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.manifest.options.get(name).map(String::as_str)
    }

    /// Returns the files of the problems.
    pub fn files(&self) -> &Files {
        &self.files
    }
}

fn digest(manifest: &Manifest) -> Digest {
    let mut options: Vec<_> = manifest.options.iter().collect();
    options.sort();
    let mut problems: Vec<Digest> = manifest.problems.iter().map(Problem::digest).collect();
    problems.sort();
    let options = format!("{options:?}");
    let problems: Vec<String> = problems.iter().map(Digest::to_string).collect();
    let parts = [manifest.kind.as_str(), options.as_str()];
    let parts = parts.into_iter().chain(problems.iter().map(String::as_str));
    Digest::of_parts("hone suite 1", parts.map(str::as_bytes))
}
