//! What an agent left, read safely, and what it is worth.

use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// A score from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(f64);

impl Score {
    /// Nothing of what was asked.
    pub const ZERO: Score = Score(0.0);
    /// All of what was asked.
    pub const ONE: Score = Score(1.0);

    /// Accepts a number from 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Score(value))
    }

    /// Returns 1 for true and 0 for false.
    pub fn of(right: bool) -> Self {
        if right { Score::ONE } else { Score::ZERO }
    }

    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Score {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        Score::new(value).ok_or_else(|| format!("{value} is no score from 0 to 1"))
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> f64 {
        score.0
    }
}

/// What scoring found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// The score.
    pub score: Score,
    /// Why, in a line for people.
    pub why: String,
    /// Numbers and reports that the kind keeps with the result, such as an official report.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

impl Scored {
    /// Returns a score with its reason.
    pub fn new(score: Score, why: impl Into<String>) -> Self {
        Scored { score, why: why.into(), details: serde_json::Value::Null }
    }
}

/// Why a trial could not be scored. It is missing data, never a zero.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// The problem itself is broken.
    #[error(transparent)]
    Problem(#[from] crate::kind::ProblemError),
    /// The verifier failed, not the submission.
    #[error("verify: {0}")]
    Verifier(String),
    /// The sandbox or the machine failed.
    #[error("run the verifier: {0}")]
    Infrastructure(String),
}

/// What an agent handed in.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The last answer that was posted; empty when there was none.
    pub answer: &'a str,
    /// A directory of the harness with the files that were collected (see [`crate::Collect`]), at their paths
    /// relative to the work directory. What lies in it is the agent's work: read it through
    /// [`Submission::read`] only.
    pub dir: &'a Path,
}

/// What was found in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A plain file with its bytes.
    File(Vec<u8>),
    /// Nothing.
    Missing,
    /// Something that is not taken: a link, a directory, a device, a file above the bound. Says which.
    Refused(&'static str),
}

impl Submission<'_> {
    /// Reads a file that the agent left, of at most `bound` bytes. Links are refused at every part of the path, so
    /// that nothing outside of the directory is read.
    pub fn read(&self, path: &str, bound: u64) -> Result<Found, ScoreError> {
        use std::io::Read;
        use std::os::unix::fs::OpenOptionsExt;
        let mut at = PathBuf::from(self.dir);
        let parts: Vec<Component<'_>> = Path::new(path).components().collect();
        for (number, part) in parts.iter().enumerate() {
            let Component::Normal(name) = part else {
                return Err(ScoreError::Verifier(format!(
                    "{path:?} is no path in a work directory"
                )));
            };
            at.push(name);
            let io =
                |e: std::io::Error| ScoreError::Infrastructure(format!("{}: {e}", at.display()));
            let metadata = match std::fs::symlink_metadata(&at) {
                Ok(metadata) => metadata,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Missing),
                Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
                    return Ok(Found::Missing);
                }
                Err(e) => return Err(io(e)),
            };
            let last = number + 1 == parts.len();
            match (metadata.file_type(), last) {
                (kind, _) if kind.is_symlink() => return Ok(Found::Refused("a symbolic link")),
                (kind, true) if kind.is_file() => {}
                (kind, false) if kind.is_dir() => {}
                (kind, true) if kind.is_dir() => return Ok(Found::Refused("a directory")),
                _ => return Ok(Found::Refused("no plain file")),
            }
        }
        let io = |e: std::io::Error| ScoreError::Infrastructure(format!("{}: {e}", at.display()));
        const NO_FOLLOW: i32 = 0o400_000; // O_NOFOLLOW of Linux on x86-64 and aarch64
        let file = std::fs::OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(&at);
        let mut bytes = Vec::new();
        file.map_err(io)?.take(bound + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > bound {
            return Ok(Found::Refused("larger than a submission may be"));
        }
        Ok(Found::File(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Score, Submission};
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_large_files_are_refused_and_plain_ones_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        std::fs::create_dir(at.join("a")).unwrap();
        std::fs::write(at.join("a/plain"), "hello").unwrap();
        symlink("/etc/hostname", at.join("outside")).unwrap();
        symlink("a", at.join("inside")).unwrap();
        let submission = Submission { answer: "", dir: at };
        let read = |path, bound| submission.read(path, bound).unwrap();
        assert_eq!(read("a/plain", 5), Found::File(b"hello".to_vec()));
        assert_eq!(read("a/plain", 4), Found::Refused("larger than a submission may be"));
        assert_eq!(read("outside", 99), Found::Refused("a symbolic link"));
        assert_eq!(read("inside/plain", 99), Found::Refused("a symbolic link"));
        assert_eq!(read("a", 99), Found::Refused("a directory"));
        assert_eq!(read("b", 99), Found::Missing);
        assert_eq!(read("a/plain/c", 99), Found::Refused("no plain file"));
        assert!(submission.read("../x", 9).is_err());
    }

    #[test]
    fn a_score_lies_between_0_and_1() {
        assert_eq!(Score::new(0.5).map(Score::get), Some(0.5));
        for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Score::new(wrong), None);
        }
    }
}
