//! Where things lie: runs under the home, suites beside them, and the cache.
//!
//! ```text
//! <home>/<run>/{run.json, archive.git/, traces/, lock}     a run
//! <home>/suites/<name>/                                    a suite that was built or imported
//! <cache>/                                                 the pantry and compiled dependencies; can be deleted
//! ```

use crate::failure::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// The folder of suites in a home; no run may have this name.
const SUITES: &str = "suites";

/// The home of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    cache: PathBuf,
}

impl Home {
    /// Describes a home and a cache; neither has to be there.
    pub fn new(root: impl Into<PathBuf>, cache: impl Into<PathBuf>) -> Self {
        Home { root: root.into(), cache: cache.into() }
    }

    /// Returns the folder of the home.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of caches.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Returns the folder of private files of sandboxes.
    pub fn sandboxes(&self) -> PathBuf {
        self.cache.join("sandboxes")
    }

    /// Returns the folder of built and imported suites.
    pub fn suites(&self) -> PathBuf {
        self.root.join(SUITES)
    }

    /// Returns the folder of a run, whether it is there or not.
    pub fn run(&self, name: &str) -> Outcome<RunFolder> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name == SUITES || name.starts_with('.') || !name.chars().all(fits) {
            return Err(Failure::usage(format!("name a run {name:?}")).hint(
                "A run's name has letters, digits, `-`, `_` and `.`, does not begin with `.`, and is not `suites`.",
            ));
        }
        Ok(RunFolder { root: self.root.join(name), name: name.to_owned() })
    }

    /// Lists the runs, the newest first.
    pub fn runs(&self) -> Vec<RunFolder> {
        let mut runs: Vec<(std::time::SystemTime, RunFolder)> = Vec::new();
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let folder = RunFolder { root: entry.path(), name };
            if let Ok(data) = std::fs::metadata(folder.configuration()) {
                runs.push((data.modified().unwrap_or(std::time::UNIX_EPOCH), folder));
            }
        }
        runs.sort_by(|a, b| b.cmp(a));
        runs.into_iter().map(|(_, run)| run).collect()
    }

    /// Returns the run of a name, or the newest where none is named. It is an error where there is none.
    pub fn existing_run(&self, name: Option<&str>) -> Outcome<RunFolder> {
        let Some(name) = name else {
            return self.runs().into_iter().next().ok_or_else(|| {
                Failure::usage(format!("find a run: there is none in {}", self.root.display()))
                    .hint("Start one with `hone run`, or name another place with --home.")
            });
        };
        let folder = self.run(name)?;
        if folder.configuration().is_file() {
            return Ok(folder);
        }
        let known: Vec<String> = self.runs().into_iter().map(|run| run.name).collect();
        let hint = match known.len() {
            0 => format!("There are no runs in {}.", self.root.display()),
            _ => format!("The runs in {} are {}.", self.root.display(), known.join(", ")),
        };
        Err(Failure::usage(format!("find the run {name}")).hint(hint))
    }
}

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunFolder {
    root: PathBuf,
    name: String,
}

impl RunFolder {
    /// Returns the run's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the resolved configuration, `run.json`.
    pub fn configuration(&self) -> PathBuf {
        self.root.join("run.json")
    }

    /// Returns the archive.
    pub fn archive(&self) -> PathBuf {
        self.root.join("archive.git")
    }

    /// Returns the folder of traces.
    pub fn traces(&self) -> PathBuf {
        self.root.join("traces")
    }

    /// Returns the lock that whoever drives the run holds.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }
}
