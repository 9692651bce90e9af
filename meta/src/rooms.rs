//! Fresh sandboxes for scoring: what `benchmarks` asks of a room, on top of an executor.

use futures::future::BoxFuture;
use hone_benchmarks::kind::Root;
use hone_benchmarks::room::{Call, Ended, Ending, Room, RoomError, Rooms};
use hone_benchmarks::{Digest, Suite};
use hone_sandbox as sandbox;
use hone_sandbox::image::Images;
use hone_sandbox::{Executor, Limits, Mount, Sandbox, SandboxError, SandboxSpec, SharedExecutor};
use std::collections::BTreeMap;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// How folders of rooms begin; the process's number follows, so that those of the dead are known.
pub const ROOMS: &str = "hone-room-";

/// An image that was built from the Dockerfile in a tree of a suite's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The tree.
    pub tree: Digest,
    /// The image.
    pub image: String,
}

/// Builds the image of a problem that brings a Dockerfile, or finds it where it was built before. `scratch` takes the
/// Dockerfile's folder for that time.
pub async fn build(
    executor: &dyn Executor,
    suite: &Suite,
    root: &Root,
    scratch: &Path,
) -> Result<Option<Built>, SandboxError> {
    let Root::Dockerfile(tree) = root else { return Ok(None) };
    let missing = |reason: String| SandboxError::NoImage {
        image: format!("of the Dockerfile {}", tree.short()),
        reason,
    };
    if executor.name() != "docker" {
        return Err(missing(format!("{} has no images; use Docker", executor.name())));
    }
    let context = scratch.join("context");
    suite.files().write_tree(tree, &context).map_err(|error| missing(error.to_string()))?;
    let built = async {
        let images = Images::connect(scratch).await?;
        images.build_task(&context, &tree.to_string(), &|said| tracing::info!("{said}")).await
    };
    let image = built.await.map_err(|error| missing(crate::trial::problem::chain(&error)))?;
    Ok(Some(Built { tree: *tree, image }))
}

/// Returns the limits of a verifier's sandbox: wide, since what a verdict needs is not for the agent to save.
pub fn verifier_limits(memory_bytes: u64) -> Limits {
    Limits { memory_bytes, processes: 4096, disk_bytes: 16 << 30, ..Limits::default() }
}

/// Opens fresh sandboxes for verifiers. They see nothing of the host but its programs.
#[derive(Clone)]
pub struct ExecutorRooms {
    executor: SharedExecutor,
    limits: Limits,
    cancelled: CancellationToken,
    built: BTreeMap<Digest, String>,
}

impl ExecutorRooms {
    /// Makes rooms with the default limits that nobody cancels.
    pub fn new(executor: SharedExecutor) -> Self {
        ExecutorRooms {
            executor,
            limits: Limits::default(),
            cancelled: CancellationToken::new(),
            built: BTreeMap::new(),
        }
    }

    /// Sets what each room may use.
    pub fn with_limits(self, limits: Limits) -> Self {
        ExecutorRooms { limits, ..self }
    }

    /// Ends what runs in the rooms when the token is cancelled.
    pub fn with_cancellation(self, cancelled: CancellationToken) -> Self {
        ExecutorRooms { cancelled, ..self }
    }

    /// Says which image was built from a Dockerfile.
    pub fn with_built(mut self, built: Option<Built>) -> Self {
        self.built.extend(built.map(|Built { tree, image }| (tree, image)));
        self
    }

    async fn create(
        &self,
        root: sandbox::Root,
        folders: &[&str],
        label: &str,
    ) -> Result<Box<dyn Room>, RoomError> {
        let own = Folders::make(folders)?;
        let spec = SandboxSpec {
            root,
            mounts: own.mounts.clone(),
            limits: self.limits,
            ..SandboxSpec::new(label, "/tmp")
        };
        let created = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => return Err(RoomError::Cancelled),
            created = self.executor.create(spec) => created,
        };
        let sandbox = created.map_err(room_error)?;
        Ok(Box::new(ExecutorRoom { sandbox, own, cancelled: self.cancelled.clone() }))
    }
}

/// Folders of the host that a room may write, where its root can only be read. They go with the room.
struct Folders {
    place: Option<tempfile::TempDir>,
    mounts: Vec<Mount>,
}

impl Folders {
    fn make(inside: &[&str]) -> Result<Self, RoomError> {
        let failed = |error: std::io::Error| RoomError::Engine(format!("make a folder: {error}"));
        let (mut place, mut mounts) = (None, Vec::new());
        if !inside.is_empty() {
            let folder = tempfile::Builder::new()
                .prefix(&format!("{ROOMS}{}-", std::process::id()))
                .tempdir()
                .map_err(failed)?;
            for (number, inside) in inside.iter().enumerate() {
                let host = folder.path().join(number.to_string());
                std::fs::create_dir(&host).map_err(failed)?;
                mounts.push(Mount::read_write(host, *inside));
            }
            place = Some(folder);
        }
        Ok(Folders { place, mounts })
    }

    /// Removes them, closed ones that a verifier left included.
    fn remove(self) -> std::io::Result<()> {
        match self.place {
            Some(place) => crate::harness::remove_tree(&place.keep()),
            None => Ok(()),
        }
    }
}

impl Rooms for ExecutorRooms {
    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = self.cancelled.cancelled() => Err(RoomError::Cancelled),
                provided = self.executor.provide(image) => provided.map_err(room_error),
            }
        })
    }

    fn open<'a>(
        &'a self,
        image: &'a str,
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(self.create(sandbox::Root::Image(image.to_owned()), &[], label))
    }

    fn open_root<'a>(
        &'a self,
        root: &'a Root,
        folders: &'a [&'a str],
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(async move {
            match root {
                Root::Host => self.create(sandbox::Root::Host, folders, label).await,
                Root::Image(image) => self.open(image, label).await,
                Root::Dockerfile(tree) => match self.built.get(tree) {
                    Some(image) => self.open(image, label).await,
                    None => Err(RoomError::Engine(format!(
                        "the image of the Dockerfile in {tree} was not built"
                    ))),
                },
            }
        })
    }
}

/// One fresh sandbox.
struct ExecutorRoom {
    sandbox: Box<dyn Sandbox>,
    own: Folders,
    cancelled: CancellationToken,
}

impl Room for ExecutorRoom {
    fn run(&self, call: Call) -> BoxFuture<'_, Result<Ended, RoomError>> {
        Box::pin(async move {
            let command = sandbox::Command {
                cwd: Some(call.cwd),
                output_bytes: call.output_limit,
                cancelled: self.cancelled.clone(),
                ..sandbox::Command::new(call.argv, call.timeout)
            };
            let outcome = self.sandbox.run(command).await.map_err(room_error)?;
            let ending = match outcome.ending {
                sandbox::Ending::Exited(code) => Ending::Exited(code),
                sandbox::Ending::Signaled(signal) => Ending::Signaled(signal),
                sandbox::Ending::TimedOut => Ending::TimedOut,
                sandbox::Ending::OutOfMemory => Ending::OutOfMemory,
                sandbox::Ending::NotStarted(why) => Ending::NotStarted(why),
                sandbox::Ending::Cancelled => return Err(RoomError::Cancelled),
            };
            let sandbox::Captured { head: mut output, tail, dropped } = outcome.stdout;
            output.extend_from_slice(&tail);
            Ok(Ended { ending, output, dropped, elapsed: outcome.elapsed })
        })
    }

    fn copy_in<'a>(&'a self, from: &'a Path, to: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        Box::pin(async move { self.sandbox.copy_in(from, to).await.map_err(room_error) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), RoomError>> {
        Box::pin(async move {
            self.sandbox.destroy().await.map_err(room_error)?;
            self.own
                .remove()
                .map_err(|error| RoomError::Engine(format!("remove a folder: {error}")))
        })
    }
}

fn room_error(error: SandboxError) -> RoomError {
    match error {
        SandboxError::NoImage { image, reason } => RoomError::NoImage { image, why: reason },
        SandboxError::File { ref source, .. } => RoomError::Engine(format!("{error}: {source}")),
        other => RoomError::Engine(other.to_string()),
    }
}
