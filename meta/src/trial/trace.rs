//! The trace of a job: its events and what became of it, a compressed file named by its digest.
//!
//! A trace is JSON lines under zstd, in the file `<digest>.jsonl.zst`; the digest is that of the file's bytes. The first
//! line is the [`TraceHead`], the last one the [`TraceEnd`], and between them stand the agent's events.

use hone_archive::Digest;
use hone_protocol::Event;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version of the format: a reader of its first part reads every second part.
pub const TRACE_VERSION: (u32, u32) = (1, 0);

/// The ending of a trace file's name.
const SUFFIX: &str = ".jsonl.zst";

/// The first line of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceHead {
    /// The version of the format.
    pub version: (u32, u32),
    /// The job's id.
    pub job: String,
    /// Its role.
    pub role: hone_protocol::Role,
    /// The agent that worked on it.
    pub agent: u32,
    /// What it was told.
    pub statement: String,
}

/// The last line of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceEnd {
    /// How it ended, in a word.
    pub ended: String,
    /// Why, in words; may be empty.
    pub reason: String,
    /// What was handed in.
    pub answer: Option<String>,
    /// What the agent's program printed.
    pub log: String,
}

/// Returns where the trace of a digest lies.
pub fn path(traces: &Path, digest: Digest) -> PathBuf {
    traces.join(format!("{digest}{SUFFIX}"))
}

/// Writes a trace and returns its digest. The file is durable when this returns.
pub fn write(
    traces: &Path,
    head: &TraceHead,
    events: &[Event],
    end: &TraceEnd,
) -> io::Result<Digest> {
    let mut lines = zstd::stream::write::Encoder::new(Vec::new(), 3)?;
    let mut line = |value: serde_json::Result<Vec<u8>>| -> io::Result<()> {
        lines.write_all(&value?)?;
        lines.write_all(b"\n")
    };
    line(serde_json::to_vec(head))?;
    for event in events {
        line(serde_json::to_vec(event))?;
    }
    line(serde_json::to_vec(end))?;
    keep(traces, &lines.finish()?, SUFFIX)
}

/// Keeps bytes under the name of their digest. The file is durable when this returns.
pub fn keep(traces: &Path, bytes: &[u8], suffix: &str) -> io::Result<Digest> {
    let digest = Digest::of(bytes);
    let mut file = tempfile::NamedTempFile::new_in(traces)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(traces.join(format!("{digest}{suffix}")))?;
    Ok(digest)
}

/// Reads a trace as text, a line of JSON for each of its parts.
pub fn read(traces: &Path, digest: Digest) -> io::Result<String> {
    let bytes = std::fs::read(path(traces, digest))?;
    if Digest::of(&bytes) != digest {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the trace {digest} is not what was written"),
        ));
    }
    let text = zstd::stream::decode_all(bytes.as_slice())?;
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hone_protocol::{EventKind, NodeId, Role};

    #[test]
    fn a_trace_reads_back_and_a_flipped_byte_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let head = TraceHead {
            version: TRACE_VERSION,
            job: "j".to_owned(),
            role: Role::Solve,
            agent: 3,
            statement: "do it".to_owned(),
        };
        let event = Event {
            seq: 1,
            time: 2,
            node: NodeId::root(),
            kind: EventKind::Warning { text: "odd".to_owned() },
        };
        let end = TraceEnd {
            ended: "complete".to_owned(),
            reason: String::new(),
            answer: None,
            log: String::new(),
        };
        let digest = write(dir.path(), &head, std::slice::from_ref(&event), &end).unwrap();
        let text = read(dir.path(), digest).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(serde_json::from_str::<TraceHead>(lines[0]).unwrap(), head);
        assert_eq!(serde_json::from_str::<Event>(lines[1]).unwrap(), event);
        assert_eq!(serde_json::from_str::<TraceEnd>(lines[2]).unwrap(), end);
        let file = path(dir.path(), digest);
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert!(read(dir.path(), digest).is_err());
    }
}
