//! An iteration's work on disk, from the end of editing until its child is recorded: what a resumed run goes on
//! with.
//!
//! ```text
//! <run>/drafts/N/draft.json    what is known so far; its last change is the step that was reached
//! <run>/drafts/N/tree-K/       the source after K repairs
//! ```

use hone_archive::record::{ChildVerdict, Log};
use hone_archive::{Digest, NanoUsd};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is known of a child that is not recorded yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// How the editor's job ended.
    pub editor_ended: String,
    /// Why, in words.
    pub editor_reason: String,
    /// What the editor says that it changed.
    pub description: String,
    /// The digest of the editor's trace.
    pub trace: Option<Digest>,
    /// What editing and repairs cost.
    pub cost: NanoUsd,
    /// Seconds that they took.
    pub seconds: f64,
    /// Wall seconds from the choice on.
    pub wall_seconds: f64,
    /// How many repairs were made.
    pub repairs: u32,
    /// The judgement, once there is one.
    pub judgement: Option<Judgement>,
}

/// How a child was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: ChildVerdict,
    /// Why.
    pub reason: String,
    /// The log that shows it.
    pub log: Option<Log>,
}

/// The folder of an iteration's draft.
#[derive(Clone, Debug)]
pub struct DraftFolder {
    root: PathBuf,
}

impl DraftFolder {
    /// Returns the folder of an iteration, whether it is there or not.
    pub fn of(run: &Path, iteration: u32) -> Self {
        DraftFolder { root: run.join("drafts").join(iteration.to_string()) }
    }

    /// Returns the source after a number of repairs.
    pub fn tree(&self, repairs: u32) -> PathBuf {
        self.root.join(format!("tree-{repairs}"))
    }

    /// Reads the draft, if editing came to its end.
    pub fn read(&self) -> io::Result<Option<Draft>> {
        match std::fs::read(self.root.join("draft.json")) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the folder, empty.
    pub fn begin(&self) -> io::Result<()> {
        crate::harness::remove_tree(&self.root)?;
        std::fs::create_dir_all(&self.root)
    }

    /// Writes the draft; it is durable when this returns.
    pub fn write(&self, draft: &Draft) -> io::Result<()> {
        write_durably(&self.root, "draft.json", &serde_json::to_vec_pretty(draft)?)
    }

    /// Removes the folder.
    pub fn end(&self) -> io::Result<()> {
        crate::harness::remove_tree(&self.root)
    }
}

/// Writes a file so that it is there as a whole or not at all, also after a crash.
pub fn write_durably(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(directory.join(name))?;
    std::fs::File::open(directory)?.sync_all()
}
