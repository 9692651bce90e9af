//! The ledger on disk: a journal for speed, commits for keeps.
//!
//! Appending forces one line to disk; [`FULL`] records make a commit. Several processes may append at once:
//! each write happens under a file lock, and forcing to disk outside of it. After a crash at any byte, opening
//! finds every acknowledged record: in a commit, or in a journal.

mod chain;
mod journal;
mod recovery;
mod segment;

pub use recovery::Damage;
pub(crate) use segment::{REFERENCE, Tip, blob_of, directory};

use crate::objects::intact;
use crate::versions::clear_stale_lock;
use git2::Repository;
use jiff::Timestamp;
use journal::Journal;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Records that make a commit. At about 400 bytes each, a segment is some 200 kB.
const FULL: usize = 512;
/// Bytes that make a commit, for long records.
const FULL_BYTES: u64 = 2 << 20;

/// A failure of the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file could not be read or written.
    #[error("access {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Git refused.
    #[error("{what}")]
    Git {
        /// What was to be done.
        what: String,
        /// What git said.
        source: git2::Error,
    },
    /// The archive was opened for reading.
    #[error("write to an archive that is open for reading only")]
    ReadOnly,
}

impl LedgerError {
    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        LedgerError::File { path: path.to_owned(), source }
    }

    pub(crate) fn git(what: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let what = what.into();
        |source| LedgerError::Git { what, source }
    }
}

/// Whether an archive may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

/// The ledger of one repository.
pub(crate) struct Ledger {
    pub repository: Repository,
    directory: PathBuf,
    writer: Option<Writer>,
    pub damage: Vec<Damage>,
}

/// The lock of an archive, while it is held.
pub(crate) struct Exclusive(File);

impl Drop for Exclusive {
    fn drop(&mut self) {
        // Unlocking can only fail for a descriptor that is not open.
        let _ = self.0.unlock();
    }
}

struct Writer {
    lock: File,
    journal: Journal,
}

/// A part of the ledger: a segment or a journal.
#[derive(Debug)]
pub(crate) struct Unit {
    pub number: u64,
    /// Whether it is a segment; else it is a journal, and may still grow.
    pub committed: bool,
    /// The records' JSON, or why they cannot be read.
    pub lines: Result<Vec<String>, LedgerError>,
}

impl Ledger {
    /// Makes the files of a ledger in a new repository.
    pub fn create(repository: Repository) -> Result<Self, LedgerError> {
        let directory = repository.path().join("hone");
        fs::create_dir_all(&directory).map_err(|error| LedgerError::file(&directory, error))?;
        Self::open(repository, Access::Write)
    }

    /// Opens a ledger; with [`Access::Write`] also mends what a crash left.
    pub fn open(repository: Repository, access: Access) -> Result<Self, LedgerError> {
        let directory = repository.path().join("hone");
        let mut ledger = Ledger { repository, directory, writer: None, damage: Vec::new() };
        match access {
            Access::Read => {
                let (_, damage) = ledger.tip()?;
                ledger.damage.extend(damage);
                ledger.inspect_journals()?;
            }
            Access::Write => {
                let path = ledger.directory.join("lock");
                let error = |source| LedgerError::file(&path, source);
                let lock = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&path)
                    .map_err(error)?;
                lock.lock().map_err(error)?;
                let journal = ledger.recover()?;
                lock.unlock().map_err(error)?;
                ledger.writer = Some(Writer { lock, journal });
            }
        }
        Ok(ledger)
    }

    /// Writes records and returns the file that must still be forced to disk (outside of any lock).
    pub fn write(&mut self, records: &[String]) -> Result<std::sync::Arc<File>, LedgerError> {
        self.locked(|ledger| ledger.write_locked(records))
    }

    /// Does something while no other process writes.
    pub fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let _lock = self.exclusive()?;
        work(self)
    }

    /// Keeps other processes from writing until the returned value is dropped.
    pub fn exclusive(&mut self) -> Result<Exclusive, LedgerError> {
        let path = self.directory.join("lock");
        let error = |source| LedgerError::file(&path, source);
        let writer = self.writer.as_ref().ok_or(LedgerError::ReadOnly)?;
        // Another descriptor of the same open file: closing it alone would not release the lock.
        let lock = writer.lock.try_clone().map_err(error)?;
        lock.lock().map_err(error)?;
        let lock = Exclusive(lock);
        self.catch_up()?;
        Ok(lock)
    }

    /// Writes records; the caller holds the lock.
    pub fn write_locked(
        &mut self,
        records: &[String],
    ) -> Result<std::sync::Arc<File>, LedgerError> {
        let writer = self.writer.as_mut().ok_or(LedgerError::ReadOnly)?;
        let mut lines = Vec::new();
        records.iter().for_each(|record| journal::write_line(record, &mut lines));
        writer.journal.write(&lines, records.len())?;
        let file = writer.journal.file.clone();
        if writer.journal.records >= FULL || writer.journal.bytes >= FULL_BYTES {
            self.rotate()?;
        }
        Ok(file)
    }

    /// Moves to the newest journal and takes in what other processes wrote.
    fn catch_up(&mut self) -> Result<(), LedgerError> {
        let writer = self.writer.as_mut().ok_or(LedgerError::ReadOnly)?;
        let mut unit = writer.journal.unit;
        // Another process may have gone on by one journal, or by so many that ours is deleted already.
        if journal::path(&self.directory, unit + 1).exists() || !writer.journal.exists()? {
            unit = journal::units(&self.directory)?.last().copied().unwrap_or(unit + 1);
        }
        let torn = if unit == writer.journal.unit {
            writer.journal.catch_up()?
        } else {
            let (journal, lines) = Journal::open(&self.directory, unit)?;
            writer.journal = journal;
            lines.torn
        };
        if torn > 0 {
            self.note(Damage::TornJournal { unit, bytes: torn });
        }
        Ok(())
    }

    /// Commits the journal, if it holds anything; the caller holds the lock.
    pub fn rotate(&mut self) -> Result<(), LedgerError> {
        let writer = self.writer.as_mut().ok_or(LedgerError::ReadOnly)?;
        if writer.journal.records == 0 {
            return Ok(());
        }
        let unit = writer.journal.unit;
        let path = journal::path(&self.directory, unit);
        writer.journal.file.sync_data().map_err(|error| LedgerError::file(&path, error))?;
        let (journal, _) = Journal::open(&self.directory, unit + 1)?;
        writer.journal = journal;
        self.commit_journals()
    }

    /// Commits every journal but the newest, and deletes those that are committed twice over.
    fn commit_journals(&mut self) -> Result<(), LedgerError> {
        let units = journal::units(&self.directory)?;
        let newest = units.last().copied().unwrap_or(0);
        let (mut tip, _) = self.tip()?;
        for unit in units.iter().copied().filter(|unit| *unit < newest) {
            if tip.is_some_and(|tip| tip.unit >= unit) {
                continue;
            }
            let lines = journal::read(&journal::path(&self.directory, unit))?;
            if lines.broken > 0 {
                self.note(Damage::BrokenLines { unit, lines: lines.broken });
            }
            let made = segment::commit(&self.repository, tip, &lines.records, Timestamp::now())
                .map_err(LedgerError::git(format!("commit segment {unit} of the ledger")))?;
            self.set_tip(made)?;
            tip = Some(made);
        }
        // The journal of the newest commit stays as its second copy.
        let committed = tip.map_or(0, |tip| tip.unit);
        for unit in units.into_iter().filter(|unit| *unit < committed) {
            let path = journal::path(&self.directory, unit);
            fs::remove_file(&path).map_err(|error| LedgerError::file(&path, error))?;
        }
        Ok(())
    }

    /// Moves the ref, and notes the tip in a second place.
    fn set_tip(&self, tip: Tip) -> Result<(), LedgerError> {
        let path = self.directory.join("tips");
        let error = |source| LedgerError::file(&path, source);
        clear_stale_lock(&self.repository, REFERENCE);
        self.repository
            .reference(REFERENCE, tip.commit, true, "hone")
            .map_err(LedgerError::git(format!("move {REFERENCE}")))?;
        let mut tips = OpenOptions::new().append(true).create(true).open(&path).map_err(error)?;
        // A newline first closes a line that a crash left open.
        tips.write_all(format!("\n{} {}\n", tip.unit, tip.commit).as_bytes()).map_err(error)?;
        tips.sync_data().map_err(error)
    }

    /// Reads the units from `first` on: segments up to the tip, then journals.
    pub fn units_from(&self, first: u64, mut visit: impl FnMut(Unit)) -> Result<(), LedgerError> {
        // Journals first: one that disappears meanwhile is in the tip that is read after.
        let mut journals = Vec::new();
        for number in journal::units(&self.directory)? {
            journals.push((number, journal::read(&journal::path(&self.directory, number))?));
        }
        let (tip, _) = self.tip()?;
        let committed = tip.map_or(0, |tip| tip.unit);
        if let Some(tip) = tip.filter(|tip| tip.unit >= first) {
            let segments = self.segments(tip)?;
            for number in first.max(1)..=committed {
                visit(Unit { number, committed: true, lines: segments.read(number) });
            }
        }
        for (number, lines) in journals {
            if number > committed && number >= first {
                visit(Unit { number, committed: false, lines: Ok(lines.records) });
            }
        }
        Ok(())
    }

    /// Reads one unit; none behind the last.
    pub fn unit(&self, number: u64) -> Result<Option<Vec<String>>, LedgerError> {
        let path = journal::path(&self.directory, number);
        let journal = if path.exists() { Some(journal::read(&path)?) } else { None };
        match self.tip()? {
            (Some(tip), _) if tip.unit >= number => self.segments(tip)?.read(number).map(Some),
            _ => Ok(journal.map(|lines| lines.records)),
        }
    }

    /// Returns a reader of committed segments.
    pub fn segments(&self, tip: Tip) -> Result<Segments<'_>, LedgerError> {
        Segments::of(&self.repository, tip)
    }

    /// Returns the directory of journals and caches.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Reads the segments of one tip.
pub(crate) struct Segments<'a> {
    repository: &'a Repository,
    records: git2::Tree<'a>,
}

impl<'a> Segments<'a> {
    /// Opens the segments that a tip reaches.
    pub fn of(repository: &'a Repository, tip: Tip) -> Result<Self, LedgerError> {
        let records = repository
            .find_commit(tip.commit)
            .and_then(|commit| commit.tree())
            .and_then(|root| directory(repository, &root))
            .map_err(LedgerError::git("read the ledger's newest commit"))?;
        Ok(Segments { repository, records })
    }

    /// Reads a segment's text, with its header.
    pub fn text(&self, unit: u64) -> Result<Vec<u8>, LedgerError> {
        blob_of(self.repository, &self.records, unit)
            .and_then(|blob| {
                intact(self.repository, blob)?;
                self.repository.find_blob(blob)
            })
            .map(|blob| blob.content().to_vec())
            .map_err(LedgerError::git(format!("read segment {unit} of the ledger")))
    }

    /// Reads a segment's records.
    pub fn read(&self, unit: u64) -> Result<Vec<String>, LedgerError> {
        let text = self.text(unit)?;
        Ok(String::from_utf8_lossy(&text).lines().skip(1).map(str::to_owned).collect())
    }
}
