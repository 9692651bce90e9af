//! Sandboxes through a Docker engine on this machine.

use crate::contract::{
    Access, Command, CommandOutcome, Executor, Mount, Root, Sandbox, SandboxError, SandboxSpec,
};
use crate::host_root::{self, Part};
use crate::image::{self, Images};
use crate::link::{Awaited, House, Link};
use crate::owner::Owner;
use crate::quarters::{self, Estate, HOME, PATH, Quarters, SOCKET, SUPERVISOR, SUPERVISOR_INSIDE};
use crate::{SharedExecutor, disk, labels};
use bollard::Docker;
use bollard::errors::Error as EngineError;
use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, MountType, ResourcesUlimits,
};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, CreateImageOptionsBuilder, InspectContainerOptionsBuilder,
    RemoveContainerOptionsBuilder, StartContainerOptions, WaitContainerOptionsBuilder,
};
use futures::StreamExt;
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// An image with nothing in it: everything that a sandbox on the host's root sees is mounted.
const EMPTY_IMAGE: &str = "hone-empty:1";
/// Bytes that pulled images may take: what SWE-bench asks for on a disk. When one more is pulled, those that were not
/// used for longest make room.
const PULLED_IMAGES: u64 = 120_000_000_000;
/// Processes of the supervisor itself, besides those that a sandbox may have.
const OWN_PROCESSES: u64 = 16;
/// How long an engine may take to remove a container whose supervisor ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the engine is asked how much a container wrote; it has to count.
const MEASURE: Duration = Duration::from_secs(3);
/// Rights that root of an image needs for what root of a machine takes for granted: files of any owner. They hold for
/// the files that the sandbox sees.
const FILE_RIGHTS: [&str; 3] = ["CHOWN", "DAC_OVERRIDE", "FOWNER"];

/// Makes sandboxes through a Docker engine.
#[derive(Clone)]
pub struct DockerExecutor {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Docker,
    images: Images,
    owner: Owner,
    estate: Estate,
}

/// Connects to the engine that `DOCKER_HOST` or the usual socket leads to, or says what to do.
pub(crate) async fn connect() -> Result<Docker, String> {
    let fail = |error: EngineError| {
        let said = error.to_string();
        let cure = if said.to_lowercase().contains("permission denied") {
            "allow this user with `sudo usermod -aG docker $USER`, then log in again"
        } else {
            "install it with `sudo apt-get install docker.io`, or start it with `sudo systemctl start docker`"
        };
        format!("no Docker engine answers ({said}); {cure}")
    };
    let engine = Docker::connect_with_defaults().map_err(fail)?;
    let engine = engine.negotiate_version().await.map_err(fail)?;
    engine.ping().await.map_err(fail)?;
    Ok(engine)
}

impl DockerExecutor {
    /// Connects to the engine. Private files of sandboxes and records of pulled images are kept in a state directory.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unavailable`] when no engine answers.
    pub async fn new(owner: Owner, state: &Path) -> Result<Self, SandboxError> {
        let engine = connect()
            .await
            .map_err(|reason| SandboxError::Unavailable { executor: "docker", reason })?;
        let images = Images::new(engine.clone(), state);
        let estate = Estate::new(state)?;
        let inner = Inner { engine, images, owner, estate };
        Ok(DockerExecutor { inner: Arc::new(inner) })
    }

    /// Returns this executor, shared.
    pub fn shared(self) -> SharedExecutor {
        Arc::new(self)
    }
}

impl Inner {
    async fn open(self: Arc<Self>, spec: SandboxSpec) -> Result<DockerSandbox, SandboxError> {
        quarters::check(&spec)?;
        let quarters = self.estate.quarters()?;
        let awaited = Awaited::listen(&quarters.path("link"))?;
        let private = match spec.root {
            Root::Host => quarters.writable(&spec)?,
            Root::Image(_) => Vec::new(),
        };
        let (environment, writable) = match &spec.root {
            Root::Host => {
                let mut writable = quarters::writable_paths(&spec.mounts);
                writable.extend(quarters::writable_paths(&private));
                writable.extend(["/dev".to_owned(), "/proc".to_owned()]);
                let environment = [("PATH", PATH), ("HOME", HOME), ("TMPDIR", "/tmp")];
                (environment.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec(), writable)
            }
            Root::Image(image) => (self.environment_of(image).await?, vec!["/".to_owned()]),
        };
        let body = self.body(&spec, &quarters, &private)?;
        let name = format!("hone-{}", quarters.name());
        // From here on the container is removed when anything fails or the caller goes away.
        let mut guard = Guard { engine: Some(self.engine.clone()), name: name.clone() };
        self.create(&spec, &name, body).await?;
        let fail = |error: EngineError| SandboxError::Engine {
            doing: format!("start a container for {}", spec.purpose),
            reason: said(error),
        };
        self.engine.start_container(&name, None::<StartContainerOptions>).await.map_err(fail)?;
        let house = House {
            purpose: spec.purpose.clone(),
            workdir: spec.workdir.clone(),
            environment: environment.into_iter().chain(spec.environment.clone()).collect(),
            limits: spec.limits,
            limits_by_process: false,
            filtered: true,
            writable,
        };
        let ended = WaitContainerOptionsBuilder::new().condition("not-running").build();
        let mut ended = self.engine.wait_container(&name, Some(ended));
        let link = tokio::select! {
            link = awaited.accept(house) => link?,
            ended = ended.next() => {
                let reason = match ended {
                    Some(Err(error)) => said(error),
                    Some(Ok(end)) => format!("its supervisor ended with {}", end.status_code),
                    None => "the engine says nothing".to_owned(),
                };
                return Err(SandboxError::Engine {
                    doing: format!("start the supervisor of {}", spec.purpose),
                    reason,
                });
            }
        };
        drop(ended);
        let mounted = private.iter().chain(&spec.mounts).any(|mount| mount.inside == spec.workdir);
        if !mounted {
            link.make_folder(&spec.workdir).await?;
        }
        let folders: Vec<PathBuf> = private
            .iter()
            .chain(spec.mounts.iter().filter(|mount| mount.access == Access::ReadWrite))
            .map(|mount| mount.host.clone())
            .collect();
        let most = spec.limits.disk_bytes;
        let mut watches = vec![disk::watch(folders, most, link.too_full.clone())];
        if matches!(spec.root, Root::Image(_)) {
            let full = link.too_full.clone();
            watches.push(watch_layer(self.engine.clone(), name.clone(), most, full));
        }
        guard.engine = None;
        let parts = Parts { link, _watches: watches, engine: self.engine.clone(), name, quarters };
        Ok(DockerSandbox { parts: Some(parts) })
    }

    /// Creates the container; makes the empty image, or fetches the one that is asked for, where it is missing.
    async fn create(
        &self,
        spec: &SandboxSpec,
        name: &str,
        body: ContainerCreateBody,
    ) -> Result<(), SandboxError> {
        let fail = |error: EngineError| SandboxError::Engine {
            doing: format!("create a container for {}", spec.purpose),
            reason: said(error),
        };
        let options = || Some(CreateContainerOptionsBuilder::new().name(name).build());
        match self.engine.create_container(options(), body.clone()).await {
            Ok(_) => return Ok(()),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(fail(error)),
        }
        match &spec.root {
            Root::Host => self.make_empty_image().await?,
            Root::Image(image) => self.provide(image).await?,
        }
        self.engine.create_container(options(), body).await.map(drop).map_err(fail)
    }

    async fn make_empty_image(&self) -> Result<(), SandboxError> {
        let (repository, tag) = EMPTY_IMAGE.split_once(':').unwrap_or((EMPTY_IMAGE, "latest"));
        let options = CreateImageOptionsBuilder::new()
            .from_src("-")
            .repo(repository)
            .tag(tag)
            .changes(vec![format!("LABEL {}=empty", image::LABEL)])
            .build();
        // Two blocks of zeros are a tar file without entries.
        let empty = bollard::body_full(vec![0; 1024].into());
        let mut steps = self.engine.create_image(Some(options), Some(empty), None);
        while let Some(step) = steps.next().await {
            step.map_err(|error| SandboxError::Engine {
                doing: format!("make the image {EMPTY_IMAGE}"),
                reason: said(error),
            })?;
        }
        Ok(())
    }

    async fn provide(&self, image: &str) -> Result<(), SandboxError> {
        let tell = |text: &str| tracing::info!("{text}");
        self.images.provide(image, Some(PULLED_IMAGES), &tell).await.map_err(|error| {
            SandboxError::NoImage {
                image: image.to_owned(),
                reason: match error.hint() {
                    Some(hint) => format!("{error}. {hint}"),
                    None => error.to_string(),
                },
            }
        })
    }

    /// Returns the environment that an image comes with.
    async fn environment_of(&self, image: &str) -> Result<Vec<(String, String)>, SandboxError> {
        let details = match self.engine.inspect_image(image).await {
            Ok(details) => details,
            Err(error) if is_missing(&error) => {
                self.provide(image).await?;
                self.engine.inspect_image(image).await.map_err(|error| SandboxError::NoImage {
                    image: image.to_owned(),
                    reason: said(error),
                })?
            }
            Err(error) => {
                return Err(SandboxError::Engine {
                    doing: format!("look at the image {image}"),
                    reason: said(error),
                });
            }
        };
        let config = details.config.unwrap_or_default();
        let user = config.user.unwrap_or_default();
        let is_root = matches!(user.split(':').next(), Some("" | "0" | "root"));
        let home = if is_root { "/root" } else { "/tmp" };
        let mut environment = vec![
            ("PATH".to_owned(), PATH.to_owned()),
            ("HOME".to_owned(), home.to_owned()),
            ("TMPDIR".to_owned(), "/tmp".to_owned()),
        ];
        environment.extend(config.env.into_iter().flatten().filter_map(|variable| {
            let (name, value) = variable.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        }));
        Ok(environment)
    }

    fn body(
        &self,
        spec: &SandboxSpec,
        quarters: &Quarters,
        private: &[Mount],
    ) -> Result<ContainerCreateBody, SandboxError> {
        let mut mounts = Vec::new();
        let mut add = |host: &Path, inside: &str, access: Access| {
            mounts.push(bollard::models::Mount {
                typ: Some(MountType::BIND),
                source: Some(host.to_string_lossy().into_owned()),
                target: Some(inside.to_owned()),
                read_only: Some(access == Access::ReadOnly),
                ..Default::default()
            });
        };
        let on_host = spec.root == Root::Host;
        if on_host {
            for part in host_root::parts(quarters)? {
                match part {
                    Part::Seen { host, inside } => add(&host, &inside, Access::ReadOnly),
                    // The engine mounts what a link of the host leads to.
                    Part::Link { inside, .. } => {
                        add(Path::new(&inside), &inside, Access::ReadOnly);
                    }
                }
            }
        }
        for mount in private.iter().chain(&spec.mounts) {
            add(&mount.host, &mount.inside, mount.access);
        }
        add(&quarters.path("link"), SUPERVISOR_INSIDE, Access::ReadOnly);
        let limits = spec.limits;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let user = || {
            let user = rustix::process::getuid().as_raw();
            format!("{user}:{}", rustix::process::getgid().as_raw())
        };
        let files = number(limits.open_files);
        let host = HostConfig {
            mounts: Some(mounts),
            network_mode: Some("none".to_owned()),
            ipc_mode: Some("private".to_owned()),
            cap_drop: Some(vec!["ALL".to_owned()]),
            cap_add: (!on_host).then(|| FILE_RIGHTS.map(str::to_owned).to_vec()),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            readonly_rootfs: Some(on_host),
            memory: Some(number(limits.memory_bytes)),
            memory_swap: Some(number(limits.memory_bytes)),
            cpu_period: Some(100_000),
            cpu_quota: Some(((limits.cpus * 100_000.0) as i64).max(1000)),
            pids_limit: Some(number(limits.processes.saturating_add(OWN_PROCESSES))),
            ulimits: Some(vec![ResourcesUlimits {
                name: Some("nofile".to_owned()),
                soft: Some(files),
                hard: Some(files),
            }]),
            auto_remove: Some(true),
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            ..Default::default()
        };
        Ok(ContainerCreateBody {
            image: Some(match &spec.root {
                Root::Host => EMPTY_IMAGE.to_owned(),
                Root::Image(image) => image.clone(),
            }),
            user: on_host.then(user),
            hostname: Some("hone".to_owned()),
            working_dir: Some("/".to_owned()),
            entrypoint: Some(vec![
                format!("{SUPERVISOR_INSIDE}/{SUPERVISOR}"),
                "init".to_owned(),
                format!("{SUPERVISOR_INSIDE}/{SOCKET}"),
            ]),
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..Default::default()
            }),
            network_disabled: Some(true),
            labels: Some(labels::of(&self.owner, self.estate.process(), &spec.purpose)),
            host_config: Some(host),
            ..Default::default()
        })
    }
}

impl Executor for DockerExecutor {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn create(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, SandboxError>> {
        // In a task of its own, so that one that nobody waits for any more is cleaned up and not left half-way.
        let purpose = spec.purpose.clone();
        let created = tokio::spawn(self.inner.clone().open(spec));
        Box::pin(async move {
            match created.await {
                Ok(sandbox) => sandbox.map(|it| Box::new(it) as Box<dyn Sandbox>),
                Err(error) => Err(SandboxError::Engine {
                    doing: format!("create a container for {purpose}"),
                    reason: error.to_string(),
                }),
            }
        })
    }

    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(self.inner.provide(image))
    }

    fn weaknesses(&self) -> Vec<String> {
        vec![
            "Disk use is measured every few seconds, not limited by the engine: a sandbox may pass its limit for a moment."
                .to_owned(),
        ]
    }
}

/// Watches the writable layer of a container.
fn watch_layer(
    engine: Docker,
    name: String,
    most: u64,
    too_full: CancellationToken,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            tokio::time::sleep(MEASURE).await;
            let options = InspectContainerOptionsBuilder::new().size(true).build();
            let Ok(seen) = engine.inspect_container(&name, Some(options)).await else { continue };
            let written = seen.size_rw.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
            if written > most {
                too_full.cancel();
                return;
            }
        }
    }))
}

/// Removes a container that did not become a sandbox.
struct Guard {
    engine: Option<Docker>,
    name: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let (Some(engine), name) = (self.engine.take(), std::mem::take(&mut self.name)) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&engine, &name).await });
        }
    }
}

/// Removes a container by force; one that is gone or going is fine.
async fn remove(engine: &Docker, name: &str) -> Result<(), EngineError> {
    let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
    match engine.remove_container(name, Some(options)).await {
        Ok(()) => Ok(()),
        Err(EngineError::DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A container with a supervisor.
struct DockerSandbox {
    // `None` only when it was destroyed.
    parts: Option<Parts>,
}

/// The order of the fields is the order in which they go: the connection first, which ends everything inside and makes
/// the engine remove the container.
struct Parts {
    link: Link,
    _watches: Vec<AbortOnDropHandle<()>>,
    engine: Docker,
    name: String,
    quarters: Quarters,
}

impl DockerSandbox {
    fn link(&self) -> Result<&Link, SandboxError> {
        self.parts.as_ref().map(|parts| &parts.link).ok_or_else(|| SandboxError::Gone {
            purpose: String::new(),
            reason: "it was destroyed".to_owned(),
        })
    }
}

impl Parts {
    async fn destroy(self) -> Result<(), SandboxError> {
        let Parts { link, _watches, engine, name, quarters } = self;
        let purpose = link.house().purpose.clone();
        let removed = WaitContainerOptionsBuilder::new().condition("removed").build();
        let mut removed = engine.wait_container(&name, Some(removed));
        // The request has to be under way before the container goes, or the engine knows it no more. It knows it no
        // less when it is: a missing one is what is wanted.
        drop(link);
        if tokio::time::timeout(PATIENCE, removed.next()).await.is_err() {
            remove(&engine, &name).await.map_err(|error| SandboxError::Engine {
                doing: format!("remove the container of {purpose}"),
                reason: said(error),
            })?;
        }
        let gone = tokio::task::spawn_blocking(move || drop(quarters)).await;
        gone.map_err(|error| SandboxError::Engine {
            doing: format!("remove the files of {purpose}"),
            reason: error.to_string(),
        })
    }
}

impl Drop for DockerSandbox {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                if let Err(error) = parts.destroy().await {
                    tracing::warn!(%error, "a sandbox that nobody destroyed is left");
                }
            });
        }
    }
}

impl Sandbox for DockerSandbox {
    fn run(&self, command: Command) -> BoxFuture<'_, Result<CommandOutcome, SandboxError>> {
        Box::pin(async move { self.link()?.run(command).await })
    }

    fn copy_in<'a>(
        &'a self,
        from: &'a Path,
        to: &'a str,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.link()?.copy_in(from, to).await })
    }

    fn copy_out<'a>(
        &'a self,
        from: &'a str,
        to: &'a Path,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.link()?.copy_out(from, to).await })
    }

    fn destroy(mut self: Box<Self>) -> BoxFuture<'static, Result<(), SandboxError>> {
        let parts = self.parts.take();
        Box::pin(async move {
            match parts {
                Some(parts) => parts.destroy().await,
                None => Ok(()),
            }
        })
    }
}

fn is_missing(error: &EngineError) -> bool {
    matches!(error, EngineError::DockerResponseServerError { status_code: 404, .. })
}

/// Returns what an engine said.
pub(crate) fn said(error: EngineError) -> String {
    match error {
        EngineError::DockerResponseServerError { message, .. } => message,
        error => error.to_string(),
    }
}
