//! Output of bounded size: head and tail are kept, what lies between is counted.

use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};

/// As much as a pipe holds here at most; large reads make a fast writer cheap.
const PIPE: usize = 1 << 20;

/// An output stream of a command.
pub struct Output<R> {
    // `None` at its end.
    pipe: Option<R>,
    head: Vec<u8>,
    head_size: usize,
    // A ring once it is full.
    tail: Vec<u8>,
    tail_size: usize,
    start: usize,
    total: u64,
}

impl<R: Read + AsRawFd> Output<R> {
    /// Starts to read a pipe, of which so many bytes are kept.
    pub fn new(pipe: R, keep: usize) -> Self {
        let fd = pipe.as_raw_fd();
        unsafe { libc::fcntl(fd, libc::F_SETPIPE_SZ, PIPE as libc::c_int) };
        unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
        Output {
            pipe: Some(pipe),
            head: Vec::new(),
            head_size: keep / 2,
            tail: Vec::new(),
            tail_size: keep - keep / 2,
            start: 0,
            total: 0,
        }
    }

    /// Returns the descriptor to wait for, or -1.
    pub fn descriptor(&self) -> RawFd {
        self.pipe.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Reads once; says whether there may be more.
    pub fn read(&mut self, buffer: &mut [u8]) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        match pipe.read(buffer) {
            Ok(0) => {
                self.pipe = None;
                false
            }
            Ok(read) => {
                self.keep(&buffer[..read]);
                true
            }
            Err(error) => {
                let wait = matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                );
                if !wait {
                    self.pipe = None;
                }
                false
            }
        }
    }

    fn keep(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.head_size - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        // Only the last bytes can stay.
        bytes = &bytes[bytes.len().saturating_sub(self.tail_size)..];
        let room = (self.tail_size - self.tail.len()).min(bytes.len());
        self.tail.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        while !bytes.is_empty() {
            let run = (self.tail_size - self.start).min(bytes.len());
            self.tail[self.start..self.start + run].copy_from_slice(&bytes[..run]);
            self.start = (self.start + run) % self.tail_size;
            bytes = &bytes[run..];
        }
    }

    /// Returns head, tail and the number of bytes dropped between them.
    pub fn finish(mut self) -> (Vec<u8>, Vec<u8>, u64) {
        self.tail.rotate_left(self.start);
        let kept = (self.head.len() + self.tail.len()) as u64;
        (self.head, self.tail, self.total - kept)
    }
}
