//! The tape of a trial: every exchange with its raw bytes, one zstd stream a file.
//!
//! The stream holds a head line and then exchanges. An exchange is one line of JSON that ends with
//! the lengths of three runs of bytes, and these runs: what the agent asked, what was sent to the
//! provider, and what came back. One stream for the whole trial, since each prompt repeats the one
//! before. It is flushed after each exchange: of a file that was cut off, all that was flushed can
//! be read.

use crate::completion::{Dialect, Usage};
use crate::error::Problem;
use crate::money::NanoUsd;
use crate::provider::ReplyForm;
use crate::purse::Capped;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The part of the version that changes when an old reader would misread a new file.
const BREAKING: u32 = 1;

/// The part of the version that changes when fields are added.
const ADDITIVE: u32 = 0;

/// Fast, and already good on prompts that repeat.
const LEVEL: i32 = 1;

/// The window reaches back 2 MiB, which is longer than most prompts, so that a prompt is found in
/// the one before; a larger one would cost memory in each trial.
const WINDOW_LOG: u32 = 21;

/// The longest head of an exchange; a longer one is no tape.
const MOST_HEAD: u64 = 1024 * 1024;

/// The most bytes of one run; more is no tape.
const MOST_RUN: u64 = 1024 * 1024 * 1024;

/// The file extension of a tape.
const EXTENSION: &str = "calls.zst";

/// The first line of a tape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeHead {
    /// Breaking and additive version.
    pub version: (u32, u32),
    /// The trial or desk.
    pub door: String,
}

/// One exchange without its bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeHead {
    /// The number of the call at its door, from 1.
    pub call: u64,
    /// Milliseconds since the Unix epoch at which it was asked.
    pub time: i64,
    /// The alias that was asked for.
    pub alias: String,
    /// The model that answered, or was tried last.
    pub model: String,
    /// The dialect of the reply.
    pub dialect: Dialect,
    /// How the reply is laid out.
    pub form: ReplyForm,
    /// How it ended.
    pub outcome: Outcome,
    /// The tokens.
    pub usage: Usage,
    /// Whether the tokens were estimated.
    pub estimated: bool,
    /// The cost.
    pub cost: NanoUsd,
    /// The model time that counts.
    pub model_time: Duration,
    /// The time on the wall.
    pub wall_time: Duration,
    /// The time until the first content, on the wall.
    #[serde(default)]
    pub first_content: Option<Duration>,
    /// Tries that came to nothing before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<Try>,
    /// Whether the request's `max_tokens` was lowered to what the purse still held.
    #[serde(default)]
    pub shortened: bool,
    /// The lengths of the three runs of bytes.
    pub runs: [u64; 3],
}

/// A try that came to nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Try {
    /// The model.
    pub model: String,
    /// What went wrong.
    pub problem: Problem,
    /// Tokens that the provider had counted all the same.
    #[serde(default)]
    pub usage: Usage,
    /// What they cost.
    #[serde(default)]
    pub cost: NanoUsd,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Outcome {
    /// The reply came whole.
    Done,
    /// The reply failed, or broke off after it had begun.
    Failed {
        /// The provider.
        provider: String,
        /// What went wrong.
        problem: Problem,
    },
    /// The agent went away before the end.
    Abandoned,
    /// It was refused at a cap, and nothing was sent.
    Capped {
        /// Which.
        capped: Capped,
    },
}

/// One exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Everything but the bytes.
    pub head: ExchangeHead,
    /// The body that the agent sent.
    pub asked: Bytes,
    /// The body that was sent to the provider.
    pub sent: Bytes,
    /// The body that came back.
    pub reply: Bytes,
}

/// A tape could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// Reading or writing failed.
    #[error("use the recording {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no tape, or of a version that this program cannot read.
    #[error("read the recording {}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
}

/// Returns the path of a door's tape; characters that no file name should have become `-`.
pub fn tape_path(directory: &Path, door: &str) -> PathBuf {
    let name: String = door
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._=+,@".contains(c) { c } else { '-' })
        .collect();
    directory.join(format!("{name}.{EXTENSION}"))
}

/// Moves an earlier tape to a free name beside it.
fn set_aside(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.strip_suffix(EXTENSION).unwrap_or(&name).trim_end_matches('.');
    let free = (1..).map(|number: u64| path.with_file_name(format!("{stem}~{number}.{EXTENSION}")));
    match free.into_iter().find(|place| !place.exists()) {
        Some(place) => fs_err::rename(path, place),
        None => Ok(()),
    }
}

/// Writes a tape.
pub struct TapeWriter {
    path: PathBuf,
    stream: zstd::stream::write::Encoder<'static, fs_err::File>,
}

impl TapeWriter {
    /// Starts the tape of a door anew. One that is there, such as that of a trial which a crash cut off, is kept under
    /// another name: its calls were paid for.
    pub fn create(directory: &Path, door: &str) -> Result<Self, TapeError> {
        let path = tape_path(directory, door);
        let start = || {
            fs_err::create_dir_all(directory)?;
            set_aside(&path)?;
            let file = fs_err::File::create(&path)?;
            let mut stream = zstd::stream::write::Encoder::new(file, LEVEL)?;
            stream.window_log(WINDOW_LOG)?;
            let head = TapeHead { version: (BREAKING, ADDITIVE), door: door.to_owned() };
            serde_json::to_writer(&mut stream, &head)?;
            stream.write_all(b"\n")?;
            stream.flush()?;
            Ok(stream)
        };
        match start() {
            Ok(stream) => Ok(TapeWriter { path, stream }),
            Err(source) => Err(TapeError::Io { path, source }),
        }
    }

    /// Adds an exchange; its head's lengths are set here.
    pub fn add(&mut self, exchange: &Exchange) -> Result<(), TapeError> {
        let runs = [&exchange.asked, &exchange.sent, &exchange.reply];
        let mut head = exchange.head.clone();
        head.runs = runs.map(|run| run.len() as u64);
        let mut write = || {
            serde_json::to_writer(&mut self.stream, &head)?;
            self.stream.write_all(b"\n")?;
            for run in runs {
                self.stream.write_all(run)?;
            }
            self.stream.flush()
        };
        write().map_err(|source| TapeError::Io { path: self.path.clone(), source })
    }

    /// Ends the tape, and makes it durable.
    pub fn finish(self) -> Result<PathBuf, TapeError> {
        let path = self.path;
        match self.stream.finish().and_then(|file| file.sync_all()) {
            Ok(()) => Ok(path),
            Err(source) => Err(TapeError::Io { path, source }),
        }
    }
}

/// Reads a tape, exchange by exchange.
pub struct TapeReader {
    path: PathBuf,
    head: TapeHead,
    stream: BufReader<zstd::stream::read::Decoder<'static, BufReader<fs_err::File>>>,
    ended: bool,
}

impl TapeReader {
    /// Opens a tape.
    pub fn open(path: &Path) -> Result<Self, TapeError> {
        let io = |source| TapeError::Io { path: path.to_owned(), source };
        let malformed = |detail: String| TapeError::Malformed { path: path.to_owned(), detail };
        let file = fs_err::File::open(path).map_err(io)?;
        let mut stream = BufReader::new(zstd::stream::read::Decoder::new(file).map_err(io)?);
        let line = read_line(&mut stream).map_err(io)?;
        let head: TapeHead =
            serde_json::from_slice(&line).map_err(|error| malformed(error.to_string()))?;
        if head.version.0 != BREAKING {
            return Err(malformed(format!(
                "it has version {}.{}, and this program reads {BREAKING}.x",
                head.version.0, head.version.1
            )));
        }
        Ok(TapeReader { path: path.to_owned(), head, stream, ended: false })
    }

    /// Returns the first line.
    pub fn head(&self) -> &TapeHead {
        &self.head
    }

    fn read(&mut self) -> io::Result<Option<Exchange>> {
        let line = read_line(&mut self.stream)?;
        if line.is_empty() {
            return Ok(None);
        }
        let head: ExchangeHead = serde_json::from_slice(&line)?;
        let mut runs = [Bytes::new(), Bytes::new(), Bytes::new()];
        for (run, length) in runs.iter_mut().zip(head.runs) {
            if length > MOST_RUN {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a run of bytes is too long",
                ));
            }
            let mut bytes = Vec::new();
            self.stream.by_ref().take(length).read_to_end(&mut bytes)?;
            if (bytes.len() as u64) < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            *run = Bytes::from(bytes);
        }
        let [asked, sent, reply] = runs;
        Ok(Some(Exchange { head, asked, sent, reply }))
    }
}

impl Iterator for TapeReader {
    type Item = Result<Exchange, TapeError>;

    /// Returns the next exchange. A tape that was cut off ends with its last whole exchange.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.read() {
            Ok(Some(exchange)) => Some(Ok(exchange)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    return None;
                }
                let path = self.path.clone();
                Some(Err(TapeError::Malformed { path, detail: error.to_string() }))
            }
        }
    }
}

fn read_line(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    stream.take(MOST_HEAD).read_until(b'\n', &mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_earlier_tape_of_a_door_is_kept_beside_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        for asked in ["first", "second", "third"] {
            let mut writer = TapeWriter::create(dir.path(), "t/1").unwrap();
            writer.add(&exchange(1, asked)).unwrap();
            writer.finish().unwrap();
        }
        let asked = |name: &str| {
            let mut reader = TapeReader::open(&dir.path().join(name)).unwrap();
            assert_eq!(reader.head().door, "t/1");
            reader.next().unwrap().unwrap().asked
        };
        assert_eq!(asked("t-1.calls.zst"), "third");
        assert_eq!(asked("t-1~1.calls.zst"), "first");
        assert_eq!(asked("t-1~2.calls.zst"), "second");
    }

    fn exchange(call: u64, asked: &str) -> Exchange {
        Exchange {
            head: ExchangeHead {
                call,
                time: 1,
                alias: "main".into(),
                model: "m".into(),
                dialect: Dialect::OpenAi,
                form: ReplyForm::Whole,
                outcome: Outcome::Done,
                usage: Usage::default(),
                estimated: false,
                cost: NanoUsd(3),
                model_time: Duration::from_nanos(7),
                wall_time: Duration::ZERO,
                first_content: None,
                tries: Vec::new(),
                shortened: false,
                runs: [asked.len() as u64, 4, 5],
            },
            asked: Bytes::copy_from_slice(asked.as_bytes()),
            sent: Bytes::from_static(b"\n\n{}"),
            reply: Bytes::from_static(b"\xff\x00{}\n"),
        }
    }

    #[test]
    fn a_tape_gives_back_the_very_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let mut tape = TapeWriter::create(dir.path(), "trial/1 x").unwrap();
        let all = [exchange(1, "a"), exchange(2, "")];
        for one in &all {
            tape.add(one).unwrap();
        }
        let path = tape.finish().unwrap();
        assert_eq!(path.file_name().unwrap(), "trial-1-x.calls.zst");
        let reader = TapeReader::open(&path).unwrap();
        assert_eq!(reader.head().door, "trial/1 x");
        let read: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(read, all);
    }

    #[test]
    fn a_tape_that_was_cut_off_still_gives_what_was_flushed() {
        let dir = tempfile::tempdir().unwrap();
        let mut tape = TapeWriter::create(dir.path(), "t").unwrap();
        tape.add(&exchange(1, "first")).unwrap();
        // Never finished, as after `kill -9`.
        let path = tape_path(dir.path(), "t");
        let read: Vec<_> = TapeReader::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [exchange(1, "first")]);
        tape.add(&exchange(2, "second")).unwrap();
        let bytes = fs_err::read(&path).unwrap();
        fs_err::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let read: Vec<_> = TapeReader::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [exchange(1, "first")]);
    }

    #[test]
    fn a_file_that_is_no_tape_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs_err::write(&path, "no tape").unwrap();
        assert!(TapeReader::open(&path).is_err());
        let newer = zstd::encode_all(&b"{\"version\":[2,0],\"door\":\"t\"}\n"[..], 1).unwrap();
        fs_err::write(&path, newer).unwrap();
        let error = TapeReader::open(&path).err().unwrap().to_string();
        assert!(error.ends_with("it has version 2.0, and this program reads 1.x"), "{error}");
    }

    #[test]
    fn the_oldest_recording_ever_written_can_still_be_read() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/1.0.calls.zst"));
        let reader = TapeReader::open(path).unwrap();
        assert_eq!(reader.head().version, (1, 0));
        let read: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(read, [exchange(1, "first")]);
    }
}
