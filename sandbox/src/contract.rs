//! The contract between whoever runs something and the executors that run it.
//!
//! A sandbox is created from a [`SandboxSpec`], runs [`Command`]s one after the other or side by side, and is
//! destroyed. What a command did is a [`CommandOutcome`]; that the sandbox itself failed is a [`SandboxError`].

use crate::capture::Captured;
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the root file system of a sandbox is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The programs of the host, read-only, beside a private home and tmp.
    Host,
    /// A container image; an executor without an engine refuses it.
    Image(String),
}

/// Whether a mount may be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading alone.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// A path of the host that a sandbox sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The absolute path on the host; it must exist.
    pub host: PathBuf,
    /// The absolute path in the sandbox.
    pub inside: String,
    /// What may be done with it.
    pub access: Access,
}

impl Mount {
    /// Makes a mount that can only be read.
    pub fn read_only(host: impl Into<PathBuf>, inside: impl Into<String>) -> Self {
        Mount { host: host.into(), inside: inside.into(), access: Access::ReadOnly }
    }

    /// Makes a mount that can be written.
    pub fn read_write(host: impl Into<PathBuf>, inside: impl Into<String>) -> Self {
        Mount { host: host.into(), inside: inside.into(), access: Access::ReadWrite }
    }
}

/// What a sandbox may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of memory, all processes together.
    pub memory_bytes: u64,
    /// Processor cores.
    pub cpus: f64,
    /// Processes and threads.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes on disk: the work directory and whatever else can be written.
    pub disk_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes: 4 << 30,
            cpus: 2.0,
            processes: 512,
            open_files: 4096,
            disk_bytes: 8 << 30,
        }
    }
}

/// What a sandbox is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxSpec {
    /// What it is for, such as `trial edit/tidy-3 of agent 4`; shown by tools that list sandboxes.
    pub purpose: String,
    /// Its root file system.
    pub root: Root,
    /// What it sees of the host besides.
    pub mounts: Vec<Mount>,
    /// The absolute path of the directory that commands start in by default; it is made where it is missing.
    pub workdir: String,
    /// The whole environment of its commands, besides `PATH`, `HOME` and `TMPDIR`, which the executor sets
    /// where they are not given.
    pub environment: Vec<(String, String)>,
    /// What it may use.
    pub limits: Limits,
}

impl SandboxSpec {
    /// Makes a spec on the host's programs with no mounts.
    pub fn new(purpose: impl Into<String>, workdir: impl Into<String>) -> Self {
        SandboxSpec {
            purpose: purpose.into(),
            root: Root::Host,
            mounts: Vec::new(),
            workdir: workdir.into(),
            environment: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// A command for a sandbox.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory to start in; the spec's work directory where it is `None`.
    pub cwd: Option<String>,
    /// Variables besides those of the spec.
    pub environment: Vec<(String, String)>,
    /// After this time the whole process tree is killed.
    pub timeout: Duration,
    /// Of each output stream so many bytes are kept, half from the head and half from the tail.
    pub output_bytes: usize,
    /// Kills the whole process tree when it is cancelled.
    pub cancelled: CancellationToken,
}

impl Command {
    /// Makes a command with an output limit of 1 MiB that nobody cancels.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>, timeout: Duration) -> Self {
        Command {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            environment: Vec::new(),
            timeout,
            output_bytes: 1 << 20,
            cancelled: CancellationToken::new(),
        }
    }

    /// Makes a command out of a script for `sh`.
    pub fn shell(script: impl Into<String>, timeout: Duration) -> Self {
        Command::new(["/bin/sh".to_owned(), "-c".to_owned(), script.into()], timeout)
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with a code.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It was killed after its time.
    TimedOut,
    /// It was killed since it was cancelled.
    Cancelled,
    /// It was killed for its memory.
    OutOfMemory,
    /// It could not be started, for this reason; it never ran.
    NotStarted(String),
}

impl Ending {
    /// Tells whether the command exited with 0.
    pub fn is_success(&self) -> bool {
        *self == Ending::Exited(0)
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// How long it ran.
    pub elapsed: Duration,
}

/// A sandbox or its executor failed. It is never the doing of what runs in it.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The executor cannot be used on this machine; the text says what mends it.
    #[error("use the {executor} sandbox: {reason}")]
    Unavailable {
        /// The executor.
        executor: &'static str,
        /// What is missing, and how to get it.
        reason: String,
    },
    /// An image is not there and cannot be fetched.
    #[error("find the image {image}: {reason}")]
    NoImage {
        /// The image.
        image: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The spec cannot be fulfilled.
    #[error("make a sandbox for {purpose}: {reason}")]
    Refused {
        /// What it was for.
        purpose: String,
        /// Why.
        reason: String,
    },
    /// The engine or a helper program failed.
    #[error("{doing}: {reason}")]
    Engine {
        /// What was being done.
        doing: String,
        /// What went wrong.
        reason: String,
    },
    /// The sandbox died while it was in use.
    #[error("reach the sandbox of {purpose}: it is gone ({reason})")]
    Gone {
        /// What it was for.
        purpose: String,
        /// What is known about its end.
        reason: String,
    },
    /// A file of the host failed.
    #[error("{doing} {}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Makes sandboxes.
pub trait Executor: Send + Sync {
    /// Returns `docker`, `bubblewrap` or `none`, as it stands in records.
    fn name(&self) -> &'static str;

    /// Creates a sandbox and starts it. A create that is dropped half-way leaves nothing behind.
    fn create(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, SandboxError>>;

    /// Sees to it that an image is there, without starting anything.
    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), SandboxError>>;

    /// Says what this executor does not enforce on this machine, a sentence each; stored with the run.
    fn weaknesses(&self) -> Vec<String>;
}

/// A sandbox that runs. Dropping it kills and removes it too, in the background; [`Sandbox::destroy`] says when
/// that is done.
pub trait Sandbox: Send + Sync {
    /// Runs a command to its end. When the outcome is returned no process of the command is left.
    fn run(&self, command: Command) -> BoxFuture<'_, Result<CommandOutcome, SandboxError>>;

    /// Copies the content of a folder of the host into a folder of the sandbox, which is made where it is
    /// missing. Modes and symbolic links are kept.
    fn copy_in<'a>(
        &'a self,
        from: &'a Path,
        to: &'a str,
    ) -> BoxFuture<'a, Result<(), SandboxError>>;

    /// Copies a file or a folder of the sandbox to a path of the host: exact bytes, modes and symbolic links,
    /// owned by who runs this. A path that is not there is an error of kind [`SandboxError::File`] with
    /// [`std::io::ErrorKind::NotFound`].
    fn copy_out<'a>(
        &'a self,
        from: &'a str,
        to: &'a Path,
    ) -> BoxFuture<'a, Result<(), SandboxError>>;

    /// Kills everything in the sandbox and removes it.
    fn destroy(self: Box<Self>) -> BoxFuture<'static, Result<(), SandboxError>>;
}

/// An executor that several parts share.
pub type SharedExecutor = Arc<dyn Executor>;
