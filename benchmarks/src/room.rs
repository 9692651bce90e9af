//! A fresh sandbox, as far as a verifier needs one.
//!
//! Who scores sees this much of the sandbox crate and no more; tests stand in for it.

use crate::kind::Root;
use futures::future::BoxFuture;
use std::path::Path;
use std::time::Duration;

/// A command for a room.
#[derive(Debug, Clone)]
pub struct Call {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The work directory.
    pub cwd: String,
    /// After this time the whole process tree is killed.
    pub timeout: Duration,
    /// Of each output stream so many bytes are kept.
    pub output_limit: usize,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It exited with a code.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It was killed after its time.
    TimedOut,
    /// It was killed for its memory.
    OutOfMemory,
    /// It did not start.
    NotStarted(String),
}

/// What came of a command.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Bytes of output that were dropped.
    pub dropped: u64,
    /// How long it ran.
    pub elapsed: Duration,
}

/// Why a room failed. It is never the agent's doing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoomError {
    /// The image is not there and cannot be fetched.
    #[error("find the image {image}: {why}. Fetch it with `docker pull {image}`, or build it")]
    NoImage {
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
    /// The engine failed.
    #[error("use the sandbox: {0}")]
    Engine(String),
    /// The run was cancelled.
    #[error("finish: the run was cancelled")]
    Cancelled,
}

/// Makes rooms.
pub trait Rooms: Send + Sync {
    /// Sees to it that an image is there, without starting anything.
    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), RoomError>>;

    /// Opens a fresh room from an image; `label` says what for.
    fn open<'a>(
        &'a self,
        image: &'a str,
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>>;

    /// Opens a fresh room on any root file system. On the host's programs, which can only be read, the room has the
    /// folders that are named here, empty and writable, beside its temporary ones.
    fn open_root<'a>(
        &'a self,
        root: &'a Root,
        folders: &'a [&'a str],
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        let _ = folders;
        match root {
            Root::Image(image) => self.open(image, label),
            Root::Host | Root::Dockerfile(_) => Box::pin(async move {
                Err(RoomError::Engine(format!(
                    "it opens rooms from images alone, not from {root:?}"
                )))
            }),
        }
    }
}

/// One fresh sandbox.
pub trait Room: Send + Sync {
    /// Runs a command to its end.
    fn run(&self, call: Call) -> BoxFuture<'_, Result<Ended, RoomError>>;

    /// Copies the files of a folder of the host into a folder of the room, which is made where it is missing.
    fn copy_in<'a>(&'a self, from: &'a Path, to: &'a str) -> BoxFuture<'a, Result<(), RoomError>>;

    /// Removes the room with all that runs in it.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), RoomError>>;
}
