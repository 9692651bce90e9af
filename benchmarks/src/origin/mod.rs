//! Where generators get source code: a git repository, or the published wheels of a package. Code is read, never run.

pub mod git;
pub mod pypi;
pub mod wheel;

use crate::suite::Source;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path and a content.
pub type SourceFile = (String, Arc<[u8]>);

/// One change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Names the change in its source.
    pub id: String,
    /// The repository or package.
    pub group: String,
    /// Where it comes from, for people.
    pub origin: String,
    /// The file's path.
    pub path: String,
    /// The file before.
    pub before: Vec<u8>,
    /// The file after.
    pub after: Vec<u8>,
    /// The commit or release before the change, in the source's own words.
    pub parent: String,
}

/// The changes that a source offers, newest first.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The source, for the manifest.
    pub source: Source,
    /// The source in words.
    pub about: String,
    /// The changes.
    pub list: Vec<Change>,
}

/// Where changes come from.
pub trait ChangeSource {
    /// Lists changes of single Python files, newest first, about `most` at most.
    fn changes(&self, most: usize) -> Result<Changes, OriginError>;

    /// Reads the Python files beside a changed file, as they were before the change.
    fn around(&self, change: &Change) -> Result<Vec<SourceFile>, OriginError>;
}

/// The Python files of a source at one revision, sorted by path.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The source, for the manifest.
    pub source: Source,
    /// The source in words.
    pub about: String,
    /// The repository or package.
    pub group: String,
    /// Paths and contents.
    pub files: Vec<SourceFile>,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// A file cannot be read.
    #[error("access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder holds no repository, or the repository is damaged.
    #[error("read the git repository {path}")]
    Git {
        /// The repository.
        path: PathBuf,
        /// What git said.
        source: git2::Error,
    },
    /// The repository belongs to another user, whose configuration git does not trust.
    #[error(
        "read the git repository {0}: it belongs to another user; if you trust it, run `git config --global --add \
         safe.directory {0}`"
    )]
    NotOwned(PathBuf),
    /// A wheel is not what it should be.
    #[error("read the wheel {path}: {what}")]
    Wheel {
        /// The wheel.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// pip failed.
    #[error("fetch {package} with pip: {what}")]
    Pip {
        /// The package.
        package: String,
        /// What pip said, or why it could not be started.
        what: String,
    },
    /// There is too little to make problems of.
    #[error("make problems from {0}")]
    TooLittle(String),
    /// The text names no source.
    #[error("read {0:?} as a source: a folder with a git repository, or pypi:NAME, was expected")]
    NoSource(String),
}

/// Names a source, as `--from` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A local git repository.
    Git(PathBuf),
    /// A package: its newest releases, or those listed.
    Pypi {
        /// The package's name.
        package: String,
        /// The versions; empty for the newest ones.
        versions: Vec<String>,
    },
}

impl Origin {
    /// Reads `pypi:NAME`, `pypi:NAME==1.0,1.1`, or the path of a folder.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let Some(rest) = text.strip_prefix("pypi:") else {
            let path = Path::new(text);
            let exists = !text.is_empty() && path.is_dir();
            return exists
                .then(|| Origin::Git(path.to_owned()))
                .ok_or_else(|| OriginError::NoSource(text.to_owned()));
        };
        let (package, versions) = rest.split_once("==").unwrap_or((rest, ""));
        let versions: Vec<String> = versions
            .split(',')
            .map(str::trim)
            .filter(|v| !v.is_empty())
            .map(str::to_owned)
            .collect();
        let is_name = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+!".contains(c))
        };
        if !is_name(package) || !versions.iter().all(|version| is_name(version)) {
            return Err(OriginError::NoSource(text.to_owned()));
        }
        Ok(Origin::Pypi { package: package.to_owned(), versions })
    }
}

/// Turns words into a part of an id: lower-case letters, digits, dots and dashes.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '.' || c == '_' => {
                slug.push(c.to_ascii_lowercase())
            }
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.trim_matches('-').to_owned()
}

/// Returns the folder of a path, `""` at the top.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::{Origin, slug};

    #[test]
    fn sources_are_read_and_options_of_pip_are_no_names() {
        let pypi = |versions: &[&str]| Origin::Pypi {
            package: "requests".to_owned(),
            versions: versions.iter().map(|v| (*v).to_owned()).collect(),
        };
        assert_eq!(Origin::parse("pypi:requests").unwrap(), pypi(&[]));
        assert_eq!(
            Origin::parse("pypi:requests==2.31.0, 2.32.0").unwrap(),
            pypi(&["2.31.0", "2.32.0"])
        );
        for wrong in ["", "pypi:", "pypi:--index-url", "pypi:a b", "pypi:a==-r", "/no/such/folder"]
        {
            assert!(Origin::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn slugs_hold_no_separators() {
        assert_eq!(slug("src/My pkg/a_b.py"), "src-my-pkg-a_b.py");
    }
}
