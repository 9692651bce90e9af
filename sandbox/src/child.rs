//! Builds a child: an agent's source becomes a binary in a sandbox, offline, from the pantry.
//!
//! Every source is mounted at the same path and starts from a private copy of its parent's or the seed's compiled
//! dependencies (the [`Base`]), so that cargo finds them fresh and compiles what was edited alone. What an editor
//! compiles in its [`Workshop`] never becomes a child: the child is built from its source on a copy of a base. A kept
//! base was written by the build scripts and tests of the version that it is of, so its children trust that version.

mod base;
mod freshness;
mod target;

pub use base::{Base, BaseError};
pub use target::{Target, abandoned, sweep};

use crate::contract::{
    Command, Ending, Limits, Mount, Root, Sandbox, SandboxError, SandboxSpec, SharedExecutor,
};
use crate::pantry::Pantry;
use freshness::Sources;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use target::{Nest, Spares};
use tokio_util::sync::CancellationToken;

/// Where the source of an agent lies in a sandbox. Fingerprints of cargo hold paths, so it is the same everywhere.
pub const SOURCE_INSIDE: &str = "/work/agent";
/// Where build output lies in a sandbox.
const TARGET_INSIDE: &str = "/target";
/// The platform that agents are built for, and their binary.
const BINARY: &str = "x86_64-unknown-linux-gnu/release/hone-agent";
/// Of a log so many bytes are kept: enough for hundreds of compiler errors.
const LOG_BYTES: usize = 256 << 10;
/// What cargo says when a crate or a version or a feature is not in the pantry.
const NOT_IN_THE_PANTRY: [&str; 6] = [
    "no matching package named",
    "no matching package found",
    "failed to select a version for",
    "perhaps a crate was updated and forgotten to be re-vendored",
    "you are in the offline mode",
    "attempting to make an HTTP request, but --offline was specified",
];

/// What is to be built.
#[derive(Clone, Debug)]
pub struct BuildRequest<'a> {
    /// What it is for, such as `child 7`.
    pub purpose: &'a str,
    /// The agent's source on the host. It is copied; of what the build does to the copy only a changed
    /// `Cargo.lock` comes back.
    pub source: &'a Path,
    /// After this time the build is killed.
    pub timeout: Duration,
    /// Kills the build when it is cancelled.
    pub cancelled: CancellationToken,
}

/// What came of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// There is a binary.
    Ok {
        /// The binary on the host.
        binary: PathBuf,
        /// What cargo said.
        log: String,
        /// How long the build took, the making of the sandbox included.
        elapsed: Duration,
    },
    /// There is none.
    Failed {
        /// What cargo said, and notes for whoever has to mend it.
        log: String,
        /// How cargo ended.
        ending: Ending,
    },
}

/// What came of the tests of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// How cargo ended; [`Ending::is_success`] when every test passed.
    pub ending: Ending,
    /// What cargo and the tests said.
    pub log: String,
    /// How long it took.
    pub elapsed: Duration,
}

/// Builds agents in sandboxes.
pub struct ChildBuilder {
    executor: SharedExecutor,
    pantry: Pantry,
    cache: PathBuf,
    root: Root,
    limits: Limits,
    nest: Arc<Nest>,
    spares: Spares,
}

impl ChildBuilder {
    /// Makes a builder that keeps compiled dependencies and private copies of them in a cache.
    ///
    /// # Errors
    /// Returns an error when the cache cannot be written.
    pub fn new(
        executor: SharedExecutor,
        pantry: Pantry,
        cache: &Path,
    ) -> Result<ChildBuilder, SandboxError> {
        let limits = Limits {
            cpus: std::thread::available_parallelism().map_or(2.0, |n| n.get() as f64),
            ..Limits::default()
        };
        Ok(ChildBuilder {
            executor,
            pantry,
            cache: cache.to_owned(),
            root: Root::Host,
            limits,
            nest: Arc::new(Nest::new(cache)?),
            spares: Spares::default(),
        })
    }

    /// Builds in sandboxes with another root file system than the host's.
    pub fn with_root(mut self, root: Root) -> Self {
        self.root = root;
        self
    }

    /// Builds under other limits than the default ones.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the pantry.
    pub fn pantry(&self) -> &Pantry {
        &self.pantry
    }

    /// Copies a base for one build, or takes the copy that was begun with a [`Workshop`].
    ///
    /// # Errors
    /// Returns an error when the copy fails.
    pub async fn target_for(&self, base: &Base) -> Result<Target, SandboxError> {
        self.spares.take(&self.nest, base).await
    }

    /// Builds a source. On success the binary stands at `binary`, executable.
    ///
    /// # Errors
    /// Returns an error when the sandbox or a file of the host fails; what the source does wrong is in [`Built`].
    pub async fn build(
        &self,
        request: BuildRequest<'_>,
        target: &mut Target,
        binary: &Path,
    ) -> Result<Built, SandboxError> {
        let start = Instant::now();
        let source = self.stage(request.source, target).await?;
        let sandbox = self.enter("build", &request, source.path(), target.folder()).await?;
        let built = self.build_in(&*sandbox, &request, binary, start).await;
        let destroyed = sandbox.destroy().await;
        let built = built?;
        destroyed?;
        match &built {
            Built::Ok { .. } => {
                target.succeeded();
                take_lockfile(source.path(), request.source)?;
            }
            Built::Failed { .. } => target.failed(),
        }
        Ok(built)
    }

    /// Runs the tests of a source in the release profile.
    ///
    /// # Errors
    /// Returns an error when the sandbox or a file of the host fails; what the tests say is in [`Tested`].
    pub async fn run_tests(
        &self,
        request: BuildRequest<'_>,
        target: &mut Target,
    ) -> Result<Tested, SandboxError> {
        let start = Instant::now();
        let source = self.stage(request.source, target).await?;
        let sandbox = self.enter("tests", &request, source.path(), target.folder()).await?;
        let ran = run_cargo(&*sandbox, "test --release --offline", &request).await;
        let destroyed = sandbox.destroy().await;
        let (ending, log) = ran?;
        destroyed?;
        // Tests may have been compiled in part, so nothing is known of what the target holds.
        target.failed();
        let log = self.with_notes(log, &ending);
        Ok(Tested { ending, log, elapsed: start.elapsed() })
    }

    /// Makes what an editor needs to build its own source in its own sandbox: the source is changed in place, and
    /// what it compiles is for its eyes only.
    ///
    /// # Errors
    /// Returns an error when the base cannot be copied or the source cannot be read.
    pub async fn workshop(&self, source: &Path, base: &Base) -> Result<Workshop, SandboxError> {
        let target = self.target_for(base).await?;
        // While an editor thinks there is time for the copy that its child will be built on.
        self.spares.begin(&self.nest, base).await;
        let built = target.built().clone();
        let root = source.to_owned();
        blocking(move || freshness::stamp(&root, &Sources::read(&root)?, &built)).await?;
        let mut mounts = self.pantry.mounts();
        mounts.push(Mount::read_write(source, SOURCE_INSIDE));
        mounts.push(Mount::read_write(target.folder(), TARGET_INSIDE));
        Ok(Workshop { mounts, environment: self.environment(), _target: target })
    }

    /// Copies a source beside the target and gives its files the times that tell cargo which ones are new.
    async fn stage(
        &self,
        source: &Path,
        target: &mut Target,
    ) -> Result<tempfile::TempDir, SandboxError> {
        let staged = self.nest.folder("source-")?;
        let (from, to, built) =
            (source.to_owned(), staged.path().to_owned(), target.built().clone());
        let sources = blocking(move || {
            freshness::copy(&from, &to)?;
            let sources = Sources::read(&to)?;
            freshness::stamp(&to, &sources, &built)?;
            Ok(sources)
        })
        .await?;
        target.started(sources);
        Ok(staged)
    }

    /// Makes the sandbox of a build.
    async fn enter(
        &self,
        what: &str,
        request: &BuildRequest<'_>,
        source: &Path,
        target: &Path,
    ) -> Result<Box<dyn Sandbox>, SandboxError> {
        let mut mounts = self.pantry.mounts();
        mounts.push(Mount::read_write(source, SOURCE_INSIDE));
        mounts.push(Mount::read_write(target, TARGET_INSIDE));
        let spec = SandboxSpec {
            purpose: format!("{what} of {}", request.purpose),
            root: self.root.clone(),
            mounts,
            workdir: SOURCE_INSIDE.to_owned(),
            environment: self.environment(),
            limits: self.limits,
        };
        self.executor.create(spec).await
    }

    async fn build_in(
        &self,
        sandbox: &dyn Sandbox,
        request: &BuildRequest<'_>,
        binary: &Path,
        start: Instant,
    ) -> Result<Built, SandboxError> {
        let (ending, mut log) = run_cargo(sandbox, "build --release --offline", request).await?;
        if !ending.is_success() {
            let log = self.with_notes(log, &ending);
            return Ok(Built::Failed { log, ending });
        }
        let made = format!("{TARGET_INSIDE}/{BINARY}");
        if let Some(parent) = binary.parent() {
            std::fs::create_dir_all(parent).map_err(file("create", parent))?;
        }
        match sandbox.copy_out(&made, binary).await {
            Ok(()) => {}
            Err(SandboxError::File { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                log.push_str(&format!(
                    "\nnote: cargo succeeded, but made no {made}. The agent is a binary called hone-agent, built for x86_64-unknown-linux-gnu as its .cargo/config.toml says.\n"
                ));
                return Ok(Built::Failed { log, ending });
            }
            Err(error) => return Err(error),
        }
        // A build script may have put something else there.
        let kind = std::fs::symlink_metadata(binary).map_err(file("look at", binary))?;
        if !kind.is_file() {
            log.push_str(&format!("\nnote: {made} is not a regular file.\n"));
            return Ok(Built::Failed { log, ending });
        }
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(binary, executable).map_err(file("make executable", binary))?;
        Ok(Built::Ok { binary: binary.to_owned(), log, elapsed: start.elapsed() })
    }

    /// Adds to a log what whoever has to mend the source should know.
    fn with_notes(&self, mut log: String, ending: &Ending) -> String {
        if NOT_IN_THE_PANTRY.iter().any(|said| log.contains(said)) {
            log.push_str(&format!("\nnote: {}\n", self.pantry.allowed()));
        }
        match ending {
            Ending::TimedOut => log.push_str("\nnote: the time was up.\n"),
            Ending::OutOfMemory => log.push_str("\nnote: the memory was not enough.\n"),
            _ => {}
        }
        log
    }

    fn environment(&self) -> Vec<(String, String)> {
        let mut environment = self.pantry.environment();
        environment.push(("CARGO_TARGET_DIR".to_owned(), TARGET_INSIDE.to_owned()));
        environment
    }
}

/// What the sandbox of an editor has to have, so that `cargo build --release --offline` in [`SOURCE_INSIDE`] is warm.
/// It has to live as long as the sandbox.
#[derive(Debug)]
pub struct Workshop {
    /// The source, the target, the toolchain and the pantry.
    pub mounts: Vec<Mount>,
    /// The variables that go with them.
    pub environment: Vec<(String, String)>,
    _target: Target,
}

/// Runs cargo with its two output streams in one, in the order they were written.
async fn run_cargo(
    sandbox: &dyn Sandbox,
    arguments: &str,
    request: &BuildRequest<'_>,
) -> Result<(Ending, String), SandboxError> {
    let mut command = Command::shell(format!("exec cargo {arguments} 2>&1"), request.timeout);
    command.output_bytes = LOG_BYTES;
    command.cancelled = request.cancelled.clone();
    let outcome = sandbox.run(command).await?;
    let mut log = outcome.stdout.text();
    log.push_str(&outcome.stderr.text());
    Ok((outcome.ending, log))
}

/// Takes the lockfile of a built copy into its source, where the build changed it.
fn take_lockfile(built: &Path, source: &Path) -> Result<(), SandboxError> {
    let (from, to) = (built.join("Cargo.lock"), source.join("Cargo.lock"));
    let is_file = std::fs::symlink_metadata(&from).is_ok_and(|data| data.is_file());
    if !is_file {
        return Ok(());
    }
    let new = std::fs::read(&from).map_err(file("read", &from))?;
    let is_same = std::fs::symlink_metadata(&to).is_ok_and(|data| data.is_file())
        && std::fs::read(&to).is_ok_and(|old| old == new);
    if is_same {
        return Ok(());
    }
    // A rename replaces a symbolic link; a write would follow it.
    let written = tempfile::NamedTempFile::new_in(source)
        .and_then(|mut temporary| {
            std::io::Write::write_all(&mut temporary, &new)?;
            let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            temporary.as_file().set_permissions(plain)?;
            Ok(temporary)
        })
        .map_err(file("write", &to))?;
    written.persist(&to).map(drop).map_err(|error| SandboxError::File {
        doing: "write",
        path: to,
        source: error.error,
    })
}

/// Makes an I/O error one of a sandbox.
fn file(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::File { doing, path, source }
}

/// Runs file work off the threads that serve sockets.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SandboxError> + Send + 'static,
) -> Result<T, SandboxError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(SandboxError::Engine {
            doing: "prepare the source of a child".to_owned(),
            reason: error.to_string(),
        }),
    }
}
