//! What the harness and the supervisor say to each other. Both sides compile this file.
//!
//! For every request the harness makes a pair of sockets and hands one end over. On it go frames: a tag of one byte,
//! the length of the payload (`u32`, little-endian), the payload.

use std::io::{self, Read, Write};

/// A frame is never longer; whoever sends one lies.
pub const LONGEST: usize = 64 << 20;

/// From the harness: a [`Start`].
pub const START: u8 = b'S';
/// From the harness: files come next; the payload is the folder that they go to.
pub const COPY_IN: u8 = b'I';
/// From the harness: files are wanted; the payload is a `u64`, the most bytes that may come, and a path.
pub const COPY_OUT: u8 = b'O';
/// From the harness: kill the command.
pub const KILL: u8 = b'K';
/// From the supervisor: a part of the output; the payload starts with a byte for the stream and the part.
pub const OUTPUT: u8 = b'o';
/// From the supervisor: an [`Ended`].
pub const ENDED: u8 = b'e';
/// From the supervisor: whoever served the request is gone, and what it had started too.
pub const CLOSED: u8 = b'x';
/// A folder: mode and path.
pub const FOLDER: u8 = b'd';
/// A file: mode, time, size and path; its bytes follow.
pub const FILE: u8 = b'f';
/// A symbolic link: path and target.
pub const LINK: u8 = b'l';
/// Bytes of a file.
pub const BYTES: u8 = b'b';
/// No more files come.
pub const DONE: u8 = b'z';
/// Copying failed: the error number (`u32`) and a text.
pub const FAILED: u8 = b'!';

/// Writes a frame.
pub fn write_frame(to: &mut impl Write, tag: u8, payload: &[u8]) -> io::Result<()> {
    let mut head = [tag, 0, 0, 0, 0];
    head[1..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    to.write_all(&head)?;
    to.write_all(payload)
}

/// Reads a frame; `None` at the end of the stream.
pub fn read_frame(from: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 5];
    match from.read(&mut head[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut head[1..])?,
    }
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length > LONGEST {
        return Err(garbled());
    }
    let mut payload = vec![0; length];
    from.read_exact(&mut payload)?;
    Ok(Some((head[0], payload)))
}

/// Says that a payload is not what its tag says.
pub fn garbled() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a garbled frame")
}

/// Puts a payload together.
#[derive(Default)]
pub struct Payload(pub Vec<u8>);

impl Payload {
    /// Adds a number.
    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Adds bytes with their length.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self = self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a list of bytes.
    pub fn list(mut self, list: &[Vec<u8>]) -> Self {
        self = self.number(list.len() as u64);
        for one in list {
            self = self.bytes(one);
        }
        self
    }
}

/// Takes a payload apart.
pub struct Parts<'a>(pub &'a [u8]);

impl Parts<'_> {
    /// Takes a number.
    pub fn number(&mut self) -> io::Result<u64> {
        let (number, rest) = self.0.split_first_chunk().ok_or_else(garbled)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// Takes bytes.
    pub fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.number()?).map_err(|_| garbled())?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(garbled)?;
        self.0 = rest;
        Ok(bytes.to_vec())
    }

    /// Takes a list of bytes.
    pub fn list(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let length = self.number()?;
        (0..length).map(|_| self.bytes()).collect()
    }
}

/// What a command is, and what confines it besides the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The program and its arguments.
    pub argv: Vec<Vec<u8>>,
    /// Where it starts.
    pub cwd: Vec<u8>,
    /// Its whole environment, as `NAME=value`.
    pub environment: Vec<Vec<u8>>,
    /// Milliseconds until it is killed.
    pub timeout: u64,
    /// Of each stream so many bytes are kept.
    pub output_bytes: u64,
    /// The most open files of a process.
    pub open_files: u64,
    /// The most bytes of one file.
    pub file_bytes: u64,
    /// The most bytes of address space of a process; 0 for no limit.
    pub address_space: u64,
    /// The most processes of the user; 0 for no limit.
    pub processes: u64,
    /// Whether system calls and paths are filtered.
    pub filtered: bool,
    /// The paths that may be written, for the filter of paths.
    pub writable: Vec<Vec<u8>>,
}

impl Start {
    /// Writes it.
    pub fn encode(&self) -> Vec<u8> {
        Payload::default()
            .list(&self.argv)
            .bytes(&self.cwd)
            .list(&self.environment)
            .number(self.timeout)
            .number(self.output_bytes)
            .number(self.open_files)
            .number(self.file_bytes)
            .number(self.address_space)
            .number(self.processes)
            .number(u64::from(self.filtered))
            .list(&self.writable)
            .0
    }

    /// Reads it.
    pub fn decode(payload: &[u8]) -> io::Result<Self> {
        let mut parts = Parts(payload);
        Ok(Start {
            argv: parts.list()?,
            cwd: parts.bytes()?,
            environment: parts.list()?,
            timeout: parts.number()?,
            output_bytes: parts.number()?,
            open_files: parts.number()?,
            file_bytes: parts.number()?,
            address_space: parts.number()?,
            processes: parts.number()?,
            filtered: parts.number()? != 0,
            writable: parts.list()?,
        })
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// With a code.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
    /// It was killed after its time.
    TimedOut,
    /// It was killed on demand.
    Killed,
    /// It never ran.
    NotStarted(String),
}

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// How many bytes of its two streams were dropped.
    pub dropped: [u64; 2],
    /// Whether the kernel killed something for its memory meanwhile.
    pub out_of_memory: bool,
    /// How long it ran, in microseconds.
    pub elapsed: u64,
}

impl Ended {
    /// Writes it.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, number, text) = match &self.how {
            How::Exited(code) => (0, *code, ""),
            How::Signaled(signal) => (1, *signal, ""),
            How::TimedOut => (2, 0, ""),
            How::Killed => (3, 0, ""),
            How::NotStarted(why) => (4, 0, why.as_str()),
        };
        Payload::default()
            .number(kind)
            .number(number as u32 as u64)
            .bytes(text.as_bytes())
            .number(self.dropped[0])
            .number(self.dropped[1])
            .number(u64::from(self.out_of_memory))
            .number(self.elapsed)
            .0
    }

    /// Reads it.
    pub fn decode(payload: &[u8]) -> io::Result<Self> {
        let mut parts = Parts(payload);
        let kind = parts.number()?;
        let number = parts.number()? as u32 as i32;
        let text = parts.bytes()?;
        Ok(Ended {
            how: match kind {
                0 => How::Exited(number),
                1 => How::Signaled(number),
                2 => How::TimedOut,
                3 => How::Killed,
                4 => How::NotStarted(String::from_utf8_lossy(&text).into_owned()),
                _ => return Err(garbled()),
            },
            dropped: [parts.number()?, parts.number()?],
            out_of_memory: parts.number()? != 0,
            elapsed: parts.number()?,
        })
    }
}
