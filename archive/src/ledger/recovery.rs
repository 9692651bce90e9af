//! What a crash may leave behind, and how the ledger goes on from there.

use super::journal::{self, Journal};
use super::segment::{self, REFERENCE, Tip};
use super::{Ledger, LedgerError};
use git2::Oid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io::Write;

/// Something on disk that was not as it should have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "damage", rename_all = "snake_case")]
pub enum Damage {
    /// The end of a journal was no whole record. It was never acknowledged, unless the file was cut later.
    TornJournal {
        /// The journal's unit.
        unit: u64,
        /// How many bytes were dropped.
        bytes: u64,
    },
    /// Lines within a journal fail their checksum, and were dropped.
    BrokenLines {
        /// The journal's unit.
        unit: u64,
        /// How many lines.
        lines: u64,
    },
    /// The ledger's newest commit or its ref could not be read; an older one took its place.
    LostTip {
        /// What was wrong.
        reason: String,
        /// The unit that the ledger was set back to; later ones come from the journals that remain.
        unit: u64,
    },
    /// A segment cannot be read; its records are missing.
    LostSegment {
        /// Its unit.
        unit: u64,
        /// Why.
        reason: String,
    },
    /// A line is no record that this version knows.
    StrangeRecord {
        /// Its unit.
        unit: u64,
        /// Its line in the unit, counted from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A version's ref was missing or wrong, and was set again.
    LostReference {
        /// The version.
        agent: u32,
    },
    /// A version's commit or tree cannot be read.
    LostVersion {
        /// The version.
        agent: u32,
        /// Why.
        reason: String,
    },
}

impl Damage {
    /// Tells whether records may be missing that had been acknowledged. The torn end of a journal is what a
    /// crash leaves of a record that was not.
    pub fn lost_records(&self) -> bool {
        match self {
            Damage::TornJournal { .. } | Damage::LostReference { .. } => false,
            Damage::BrokenLines { .. }
            | Damage::LostTip { .. }
            | Damage::LostSegment { .. }
            | Damage::StrangeRecord { .. }
            | Damage::LostVersion { .. } => true,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::TornJournal { unit, bytes } => {
                write!(f, "journal {unit}: the last {bytes} bytes are no whole record; dropped")
            }
            Damage::BrokenLines { unit, lines } => {
                write!(f, "journal {unit}: {lines} lines fail their checksum; dropped")
            }
            Damage::LostTip { reason, unit } => {
                write!(f, "the ledger's newest commit: {reason}; set back to segment {unit}")
            }
            Damage::LostSegment { unit, reason } => {
                write!(f, "segment {unit}: {reason}; its records are missing")
            }
            Damage::StrangeRecord { unit, line, reason } => {
                write!(f, "unit {unit}, line {line}: {reason}; left out")
            }
            Damage::LostReference { agent } => {
                write!(f, "agent {agent}: its ref was missing or wrong; set again")
            }
            Damage::LostVersion { agent, reason } => write!(f, "agent {agent}: {reason}"),
        }
    }
}

impl Ledger {
    /// Finds the newest commit of the ledger that can be read.
    pub(crate) fn tip(&self) -> Result<(Option<Tip>, Option<Damage>), LedgerError> {
        let found = match self.repository.find_reference(REFERENCE) {
            Ok(reference) => match reference.target() {
                Some(target) => segment::check(&self.repository, target),
                None => Err(git2::Error::from_str("the ref names no commit")),
            },
            Err(error) => Err(error),
        };
        let error = match found {
            Ok(tip) => return Ok((Some(tip), None)),
            Err(error) => error,
        };
        let older = self.noted_tips();
        if older.is_empty() && error.code() == git2::ErrorCode::NotFound {
            return Ok((None, None)); // nothing has been committed yet
        }
        let tip = older
            .into_iter()
            .rev()
            .find_map(|commit| segment::check(&self.repository, commit).ok());
        let unit = tip.map_or(0, |tip| tip.unit);
        Ok((tip, Some(Damage::LostTip { reason: error.message().to_owned(), unit })))
    }

    fn noted_tips(&self) -> Vec<Oid> {
        self.noted_units().into_iter().map(|(_, commit)| commit).collect()
    }

    /// Reads the units and commits that were noted when they were made.
    pub(super) fn noted_units(&self) -> Vec<(u64, Oid)> {
        let text = fs::read_to_string(self.directory.join("tips")).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, commit)| commit.len() == 40)
            .filter_map(|(unit, commit)| Some((unit.parse().ok()?, Oid::from_str(commit).ok()?)))
            .collect()
    }

    /// Brings ref, commits and journals into agreement; the caller holds the lock.
    pub(super) fn recover(&mut self) -> Result<Journal, LedgerError> {
        let (tip, damage) = self.tip()?;
        if let Some(damage) = damage {
            self.note(damage);
            self.set_damaged_objects_aside()?;
            // Git refuses to replace a ref whose file holds nonsense.
            self.remove_reference()?;
            if let Some(tip) = tip {
                self.set_tip(tip)?;
            }
        }
        let committed = tip.map_or(0, |tip| tip.unit);
        let newest = journal::units(&self.directory)?.last().copied().unwrap_or(0);
        let unit = newest.max(committed + 1);
        let (journal, lines) = Journal::open(&self.directory, unit)?;
        if lines.torn > 0 {
            self.note(Damage::TornJournal { unit, bytes: lines.torn });
        }
        self.commit_journals()?;
        Ok(journal)
    }

    /// Notes the state of the journals without changing them.
    pub(super) fn inspect_journals(&mut self) -> Result<(), LedgerError> {
        for unit in journal::units(&self.directory)? {
            let lines = journal::read(&journal::path(&self.directory, unit))?;
            if lines.torn > 0 {
                self.damage.push(Damage::TornJournal { unit, bytes: lines.torn });
            }
            if lines.broken > 0 {
                self.damage.push(Damage::BrokenLines { unit, lines: lines.broken });
            }
        }
        Ok(())
    }

    /// Keeps a note of damage, in memory and in the file that `hone doctor` shows.
    pub(crate) fn note(&mut self, damage: Damage) {
        if let Ok(mut json) = serde_json::to_string(&damage) {
            json.push('\n');
            let path = self.directory.join("dropped.jsonl");
            let file = fs::OpenOptions::new().append(true).create(true).open(path);
            // The note is also in memory; failing to keep it must not stop the recovery.
            let _ = file.and_then(|mut file| file.write_all(json.as_bytes()));
        }
        self.damage.push(damage);
    }

    /// Reads the notes of damage that earlier starts mended.
    pub(crate) fn noted_damage(&self) -> Vec<Damage> {
        let text = fs::read_to_string(self.directory.join("dropped.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn remove_reference(&self) -> Result<(), LedgerError> {
        let path = self.repository.path().join(REFERENCE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LedgerError::file(&path, error))
            }
            _ => Ok(()),
        }
    }

    /// Moves loose objects that cannot be read out of the way: git would never write them again while a
    /// file of their name exists.
    fn set_damaged_objects_aside(&self) -> Result<(), LedgerError> {
        let objects = self.repository.path().join("objects");
        let error = |source| LedgerError::file(&objects, source);
        let git_error = || LedgerError::git("read the object database");
        let odb = self.repository.odb().map_err(git_error())?;
        for directory in fs::read_dir(&objects).map_err(error)?.flatten() {
            let prefix = directory.file_name().to_string_lossy().into_owned();
            if prefix.len() != 2 {
                continue;
            }
            for file in fs::read_dir(directory.path()).map_err(error)?.flatten() {
                let name = format!("{prefix}{}", file.file_name().to_string_lossy());
                let Ok(oid) = Oid::from_str(&name) else { continue };
                if name.len() == 40
                    && (crate::objects::is_whole(&file.path()).is_err() || odb.read(oid).is_err())
                {
                    let aside = self.directory.join("damaged");
                    fs::create_dir_all(&aside).map_err(error)?;
                    fs::rename(file.path(), aside.join(&name)).map_err(error)?;
                }
            }
        }
        odb.refresh().map_err(git_error())
    }
}
