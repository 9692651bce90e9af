//! What is kept of a watch: a record in the ledger, and a file beside the traces.
//!
//! The [`Audit`] record holds the whole audit log, each record in an entry's `detail`, and names the file
//! by its digest. The file `<digest>.watch.zst` is one zstd stream of JSON lines: a head, then the tape
//! (everything that reached the overseer), then the decisions. The log follows from the tape, see
//! [`hone_overseer::replay`].

use super::Watched;
use hone_archive::record::{Audit, AuditEntry};
use hone_archive::{AgentNumber, Digest, NanoUsd};
use hone_overseer::audit::Entry;
use hone_overseer::story::{Filter, story};
use hone_overseer::{Decision, Record, TapeLine};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// The breaking part of the file's version; a reader must know it.
const BREAKING: u32 = 1;
/// The additive part; a reader may ignore what a higher number added.
const ADDITIVE: u32 = 0;
/// Good enough for JSON that repeats itself, and fast.
const LEVEL: i32 = 3;
/// What such a file's name ends with.
const EXTENSION: &str = "watch.zst";

/// Why a watch cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum FilingError {
    /// The file cannot be written or read.
    #[error("{doing} {}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not what the ledger names.
    #[error("read {}: its content has another digest", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is of a version that this program does not know.
    #[error("read {}: it has format {breaking}, and this program reads {BREAKING}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        breaking: u32,
    },
    /// A line cannot be made sense of, or written.
    #[error("line {line} of the overseer's file is not as expected")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// An entry of an audit record cannot be made sense of.
    #[error("entry {entry} of an audit record is not as expected")]
    Entry {
        /// The entry, from 1.
        entry: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Head { version: (u32, u32), trial: String },
    Tape(TapeLine),
    Decision(Box<Decision>),
}

/// What a watch was about, as the ledger names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The run.
    pub run: String,
    /// The iteration, for an improvement job.
    pub iteration: Option<u32>,
    /// The agent that was watched.
    pub agent: AgentNumber,
    /// The suite; empty for an improvement job.
    pub suite: String,
    /// The problem; empty for an improvement job.
    pub problem: String,
    /// The repeat.
    pub epoch: u32,
    /// When the job ended.
    pub time: Timestamp,
}

/// What the file of a watch holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// Everything that reached the overseer.
    pub tape: Vec<TapeLine>,
    /// Its decisions.
    pub decisions: Vec<Decision>,
}

impl Watched {
    /// Writes tape and decisions to a folder, durably, and returns the file's digest; none where there
    /// was no watch.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn keep_tape(&self, folder: &Path) -> Result<Option<Digest>, FilingError> {
        let Some(logs) = self.logs() else { return Ok(None) };
        let head = Line::Head { version: (BREAKING, ADDITIVE), trial: trial_of(&logs.records) };
        let tape = logs.tape.iter().cloned().map(Line::Tape);
        let decisions = logs.decisions.iter().cloned().map(Box::new).map(Line::Decision);
        let mut text = Vec::new();
        for (number, line) in std::iter::once(head).chain(tape).chain(decisions).enumerate() {
            serde_json::to_writer(&mut text, &line)
                .map_err(|source| FilingError::Line { line: number + 1, source })?;
            text.push(b'\n');
        }
        let failed =
            |doing| move |source| FilingError::File { doing, path: folder.to_owned(), source };
        let bytes = zstd::encode_all(&text[..], LEVEL).map_err(failed("compress a tape for"))?;
        let digest = Digest::of(&bytes);
        write_durably(folder, &file_name(digest), &bytes).map_err(failed("write a tape to"))?;
        Ok(Some(digest))
    }

    /// Returns the record for the ledger; none where there was no watch.
    pub fn audit(&self, subject: Subject, tape: Option<Digest>) -> Option<Audit> {
        let logs = self.logs()?;
        Some(Audit {
            run: subject.run,
            iteration: subject.iteration,
            agent: subject.agent,
            suite: subject.suite,
            problem: subject.problem,
            epoch: subject.epoch,
            cost: NanoUsd(self.cost().0),
            entries: entries(&logs.records),
            tape,
            time: subject.time,
        })
    }
}

fn trial_of(records: &[Record]) -> String {
    match records.first().map(|record| &record.entry) {
        Some(Entry::Opened { trial, .. }) => trial.clone(),
        _ => String::new(),
    }
}

/// Returns the name of the file with a digest.
fn file_name(digest: Digest) -> String {
    format!("{digest}.{EXTENSION}")
}

/// Writes a file so that it is there whole, or not at all, whenever the machine stops.
fn write_durably(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs_err::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".watch-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    fs_err::File::open(folder)?.sync_all()
}

/// Writes an audit log as entries of a record of the ledger.
pub fn entries(records: &[Record]) -> Vec<AuditEntry> {
    let mut lines = story(records, Filter::default()).into_iter().peekable();
    records
        .iter()
        .map(|record| {
            let line = lines.next_if(|line| line.record == record.record);
            let (node, text) = line.map_or((None, String::new()), |line| (line.node, line.text));
            AuditEntry {
                at: record.at_ms as f64 / 1e3,
                kind: record.entry.kind().to_owned(),
                node: node.unwrap_or_default(),
                text,
                // A record is made of what JSON can hold.
                detail: serde_json::to_value(record).unwrap_or_default(),
            }
        })
        .collect()
}

/// Reads the audit log of a record of the ledger.
///
/// # Errors
/// Where an entry was not written by this program, or by a later one that broke with the format.
pub fn records(audit: &Audit) -> Result<Vec<Record>, FilingError> {
    let read = |(number, entry): (usize, &AuditEntry)| {
        Record::deserialize(&entry.detail)
            .map_err(|source| FilingError::Entry { entry: number + 1, source })
    };
    audit.entries.iter().enumerate().map(read).collect()
}

/// Reads the file of a watch, and checks that it is the one that the ledger names.
///
/// # Errors
/// Where it is missing, changed or of an unknown version.
pub fn read_tape(folder: &Path, digest: Digest) -> Result<Kept, FilingError> {
    let path = folder.join(file_name(digest));
    let failed = |source| FilingError::File { doing: "read", path: path.clone(), source };
    let bytes = fs_err::read(&path).map_err(failed)?;
    if Digest::of(&bytes) != digest {
        return Err(FilingError::Changed { path });
    }
    let text = BufReader::new(zstd::Decoder::new(&bytes[..]).map_err(failed)?);
    let mut kept = Kept::default();
    for (number, line) in text.lines().enumerate() {
        let line = serde_json::from_str(&line.map_err(failed)?)
            .map_err(|source| FilingError::Line { line: number + 1, source })?;
        match line {
            Line::Head { version: (BREAKING, _), .. } => {}
            Line::Head { version: (breaking, _), .. } => {
                return Err(FilingError::Version { path, breaking });
            }
            Line::Tape(line) => kept.tape.push(line),
            Line::Decision(decision) => kept.decisions.push(*decision),
        }
    }
    Ok(kept)
}
