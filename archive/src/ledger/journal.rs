//! The journal: what was acknowledged and is not yet in a commit.
//!
//! `hone/journal-UNIT` holds a header line and then one line per record: eight hexadecimal digits of a
//! checksum, a space, the record's JSON. A record is acknowledged once its line has been forced to disk. A
//! journal becomes the ledger's segment UNIT when it is full; it stays until the next one has, so that the
//! newest commit can be made again if its objects were torn.

use super::LedgerError;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Starts every journal; a torn header means an empty journal.
const HEADER: &[u8] = b"hone-journal 1.0\n";

/// Returns the path of a unit's journal.
pub(super) fn path(directory: &Path, unit: u64) -> PathBuf {
    directory.join(format!("journal-{unit:08}"))
}

/// Lists the units that have a journal, in order.
pub(super) fn units(directory: &Path) -> Result<Vec<u64>, LedgerError> {
    let error = |source| LedgerError::file(directory, source);
    let mut units = Vec::new();
    for entry in fs::read_dir(directory).map_err(error)? {
        let name = entry.map_err(error)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("journal-"));
        units.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    units.sort_unstable();
    Ok(units)
}

/// The readable lines of a journal, or of its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// The records' JSON, in order.
    pub records: Vec<String>,
    /// Lines between good ones that fail their checksum.
    pub broken: u64,
    /// Where the last good line ends, counted from the start of what was read.
    pub good: u64,
    /// How many bytes after that are no whole line.
    pub torn: u64,
}

fn checksum(json: &[u8]) -> [u8; 8] {
    let hash = blake3::hash(json);
    let mut digits = [0; 8];
    for (index, digit) in digits.iter_mut().enumerate() {
        let half = hash.as_bytes()[index / 2] >> (if index % 2 == 0 { 4 } else { 0 }) & 15;
        *digit = b"0123456789abcdef"[usize::from(half)];
    }
    digits
}

/// Writes a record's line to a buffer.
pub(super) fn write_line(json: &str, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&checksum(json.as_bytes()));
    buffer.push(b' ');
    buffer.extend_from_slice(json.as_bytes());
    buffer.push(b'\n');
}

/// Reads lines out of a part of a journal that begins at a line's start.
fn read_lines(bytes: &[u8]) -> Lines {
    let mut lines = Lines::default();
    let (mut start, mut broken) = (0, 0);
    while let Some(length) = bytes[start..].iter().position(|byte| *byte == b'\n') {
        let line = &bytes[start..start + length];
        start += length + 1;
        let json = line
            .split_at_checked(9)
            .filter(|(sum, json)| sum[8] == b' ' && sum[..8] == checksum(json) && !json.is_empty());
        match json.and_then(|(_, json)| std::str::from_utf8(json).ok()) {
            Some(json) => {
                lines.records.push(json.to_owned());
                lines.broken += std::mem::take(&mut broken);
                lines.good = start as u64;
            }
            None => broken += 1,
        }
    }
    lines.torn = bytes.len() as u64 - lines.good;
    lines
}

/// Reads a whole journal. One that is missing or has a torn header is empty.
pub(super) fn read(path: &Path) -> Result<Lines, LedgerError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lines::default()),
        Err(error) => return Err(LedgerError::file(path, error)),
    };
    let header = HEADER.len() as u64;
    Ok(match bytes.strip_prefix(HEADER) {
        Some(rest) => {
            let lines = read_lines(rest);
            Lines { good: lines.good + header, ..lines }
        }
        None => {
            // The header may be what was hit while the lines are whole.
            let rest =
                bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
            let lines = read_lines(&bytes[rest..]);
            let torn = if lines.records.is_empty() { bytes.len() as u64 } else { lines.torn };
            Lines {
                good: if lines.records.is_empty() { 0 } else { lines.good + rest as u64 },
                torn,
                ..lines
            }
        }
    })
}

/// Lists the whole lines of a journal that fail their checksum, counted from 1, the header included.
pub(super) fn broken_lines(path: &Path) -> Result<Vec<usize>, LedgerError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LedgerError::file(path, error)),
    };
    let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|it| it.ends_with(b"\n"));
    let is_good = |(index, line): &(usize, &[u8])| match index {
        0 => *line == HEADER,
        _ => read_lines(line).records.len() == 1,
    };
    Ok(whole.enumerate().filter(|it| !is_good(it)).map(|(index, _)| index + 1).collect())
}

/// The journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    pub unit: u64,
    pub records: usize,
    pub bytes: u64,
    pub file: std::sync::Arc<File>,
    path: PathBuf,
}

impl Journal {
    /// Opens a unit's journal, or starts it, and cuts off a torn end. Call it under the lock.
    pub fn open(directory: &Path, unit: u64) -> Result<(Self, Lines), LedgerError> {
        let path = path(directory, unit);
        let error = |source| LedgerError::file(&path, source);
        let mut lines = read(&path)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(error)?;
        if lines.good == 0 {
            file.set_len(0).map_err(error)?;
            file.write_all_at(HEADER, 0).map_err(error)?;
            lines.good = HEADER.len() as u64;
            file.sync_all().map_err(error)?;
            sync_directory(directory)?;
        } else if lines.torn > 0 {
            file.set_len(lines.good).map_err(error)?;
            file.sync_all().map_err(error)?;
        }
        let journal = Journal {
            unit,
            records: lines.records.len(),
            bytes: lines.good,
            file: std::sync::Arc::new(file),
            path: path.clone(),
        };
        Ok((journal, lines))
    }

    /// Tells whether the file still has a name, or was deleted after its segment was committed.
    pub fn exists(&self) -> Result<bool, LedgerError> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|source| LedgerError::file(&self.path, source))?.nlink() > 0)
    }

    /// Takes in what others wrote since, and cuts off what a dead writer left half done. Call it under the
    /// lock. Returns how many bytes were cut off.
    pub fn catch_up(&mut self) -> Result<u64, LedgerError> {
        let error = |source| LedgerError::file(&self.path, source);
        let length = self.file.metadata().map_err(error)?.len();
        if length == self.bytes {
            return Ok(0);
        }
        let mut rest = vec![0; length.saturating_sub(self.bytes) as usize];
        self.file.read_exact_at(&mut rest, self.bytes).map_err(error)?;
        let lines = read_lines(&rest);
        self.records += lines.records.len();
        self.bytes += lines.good;
        if lines.torn > 0 || length < self.bytes {
            self.file.set_len(self.bytes).map_err(error)?;
        }
        Ok(lines.torn)
    }

    /// Writes lines after the last good one. Call it under the lock; they are durable after
    /// [`File::sync_data`].
    pub fn write(&mut self, lines: &[u8], records: usize) -> Result<(), LedgerError> {
        self.file
            .write_all_at(lines, self.bytes)
            .map_err(|source| LedgerError::file(&self.path, source))?;
        self.bytes += lines.len() as u64;
        self.records += records;
        Ok(())
    }
}

/// Forces a directory's entries to disk.
pub(super) fn sync_directory(directory: &Path) -> Result<(), LedgerError> {
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| LedgerError::file(directory, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_broken_line_between_good_ones_costs_only_itself() {
        let mut bytes = Vec::new();
        ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]
            .iter()
            .for_each(|json| write_line(json, &mut bytes));
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        bytes[second + 12] ^= 1;
        let lines = read_lines(&bytes);
        assert_eq!(lines.records, ["{\"a\":1}", "{\"c\":3}"]);
        assert_eq!((lines.broken, lines.torn), (1, 0));
    }

    proptest! {
        #[test]
        fn a_cut_journal_keeps_every_whole_line(records in prop::collection::vec("[a-z\\\\\" ]{1,40}", 0..8), cut in 0.0..1.0) {
            let mut bytes = Vec::new();
            let mut ends = Vec::new();
            for record in &records {
                write_line(record, &mut bytes);
                ends.push(bytes.len());
            }
            let cut = (bytes.len() as f64 * cut) as usize;
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let lines = read_lines(&bytes[..cut]);
            prop_assert_eq!(&lines.records[..], &records[..whole]);
            prop_assert_eq!(lines.good + lines.torn, cut as u64);
        }
    }
}
