//! Sandboxes through bubblewrap, where there is no engine: namespaces over the host's root, and a second wall of filters.

use crate::cgroup::{self, Group};
use crate::contract::{
    Access, Command, CommandOutcome, Ending, Executor, Mount, Root, Sandbox, SandboxError,
    SandboxSpec,
};
use crate::host_root::{self, Part};
use crate::link::{Awaited, House, Link};
use crate::owner::Owner;
use crate::quarters::{self, Estate, HOME, PATH, Quarters, SOCKET, SUPERVISOR, SUPERVISOR_INSIDE};
use crate::{disk, probe};
use futures::future::BoxFuture;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

const PROGRAM: &str = "bwrap";
/// A supervisor whose connection is closed ends within milliseconds; the kernel may take longer to kill what it had.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes sandboxes through bubblewrap.
#[derive(Clone, Debug)]
pub struct BubblewrapExecutor {
    estate: Arc<Estate>,
    weaknesses: Vec<String>,
    has_groups: bool,
}

impl BubblewrapExecutor {
    /// Tries bubblewrap out, and finds what else the machine offers.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unavailable`] when it is not there or may not make namespaces.
    pub async fn new(_owner: &Owner, state: &Path) -> Result<Self, SandboxError> {
        probe::bubblewrap()
            .await
            .map_err(|reason| SandboxError::Unavailable { executor: "bubblewrap", reason })?;
        let estate = Arc::new(Estate::new(state)?);
        let has_groups = cgroup::can_be_made();
        let mut weaknesses = vec![
            "Disk use is measured once a second, not limited by the kernel: a sandbox may pass its limit for a moment."
                .to_owned(),
        ];
        if !has_groups {
            weaknesses.push(
                "No control groups can be made: memory and processes are limited for each process by itself, processors not at all."
                    .to_owned(),
            );
        }
        if !probe::has_landlock() {
            weaknesses.push(
                "The kernel has no Landlock: files are protected by mounts alone.".to_owned(),
            );
        }
        if !probe::has_seccomp() {
            weaknesses.push(
                "The kernel has no seccomp filters: system calls are not filtered.".to_owned(),
            );
        }
        Ok(BubblewrapExecutor { estate, weaknesses, has_groups })
    }

    async fn open(&self, spec: SandboxSpec) -> Result<BubblewrapSandbox, SandboxError> {
        quarters::check(&spec)?;
        if let Root::Image(image) = &spec.root {
            return Err(SandboxError::Refused {
                purpose: spec.purpose.clone(),
                reason: format!("bubblewrap has no images, and {image} is asked for"),
            });
        }
        let quarters = self.estate.quarters()?;
        let private = quarters.writable(&spec)?;
        let group = match self.has_groups {
            true => Some(Group::new(quarters.name(), &spec.limits)?),
            false => None,
        };
        let awaited = Awaited::listen(&quarters.path("link"))?;
        let arguments = arguments(&quarters, &private, &spec)?;
        let doors = group.as_ref().map_or(Ok(Vec::new()), Group::doors)?;
        let mut command = tokio::process::Command::new(PROGRAM);
        // Whoever looks into a sandbox's processes may find bubblewrap's own, and its environment.
        command.env_clear().env("PATH", PATH);
        command.args(&arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        // Only writes happen between fork and exec.
        unsafe {
            command.pre_exec(move || doors.iter().try_for_each(|mut door| door.write_all(b"0")));
        }
        let fail = |reason: String| SandboxError::Engine {
            doing: format!("start bubblewrap for {}", spec.purpose),
            reason,
        };
        let mut child = command.spawn().map_err(|error| fail(error.to_string()))?;
        let mut environment = vec![
            ("PATH".to_owned(), PATH.to_owned()),
            ("HOME".to_owned(), HOME.to_owned()),
            ("TMPDIR".to_owned(), "/tmp".to_owned()),
        ];
        environment.extend(spec.environment.iter().cloned());
        let mut writable = quarters::writable_paths(&spec.mounts);
        writable.extend(quarters::writable_paths(&private));
        writable.extend(["/dev".to_owned(), "/proc".to_owned()]);
        let house = House {
            purpose: spec.purpose.clone(),
            workdir: spec.workdir.clone(),
            environment,
            limits: spec.limits,
            limits_by_process: group.is_none(),
            filtered: true,
            writable,
        };
        let stderr = child.stderr.take();
        let link = tokio::select! {
            link = awaited.accept(house) => link?,
            _ = child.wait() => {
                let mut said = String::new();
                if let Some(mut stderr) = stderr {
                    // What it said is for the message alone.
                    let _ = tokio::io::AsyncReadExt::read_to_string(&mut stderr, &mut said).await;
                }
                return Err(fail(said.trim().to_owned()));
            }
        };
        if !link_has_workdir(&private, &spec) {
            link.make_folder(&spec.workdir).await?;
        }
        let watched: Vec<_> = private
            .iter()
            .chain(spec.mounts.iter().filter(|mount| mount.access == Access::ReadWrite))
            .map(|mount| mount.host.clone())
            .collect();
        let watch = disk::watch(watched, spec.limits.disk_bytes, link.too_full.clone());
        let parts = Parts { link, child, _watch: watch, group, quarters };
        Ok(BubblewrapSandbox { parts: Some(parts) })
    }
}

/// Tells whether the work directory is one of the mounts, and so is there.
fn link_has_workdir(private: &[Mount], spec: &SandboxSpec) -> bool {
    private.iter().chain(&spec.mounts).any(|mount| mount.inside == spec.workdir)
}

impl Executor for BubblewrapExecutor {
    fn name(&self) -> &'static str {
        "bubblewrap"
    }

    fn create(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, SandboxError>> {
        Box::pin(async move { Ok(Box::new(self.open(spec).await?) as Box<dyn Sandbox>) })
    }

    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            Err(SandboxError::NoImage {
                image: image.to_owned(),
                reason: "bubblewrap has no images; use Docker".to_owned(),
            })
        })
    }

    fn weaknesses(&self) -> Vec<String> {
        self.weaknesses.clone()
    }
}

/// Writes the arguments of bubblewrap.
fn arguments(
    quarters: &Quarters,
    private: &[Mount],
    spec: &SandboxSpec,
) -> Result<Vec<std::ffi::OsString>, SandboxError> {
    let mut all: Vec<std::ffi::OsString> = Vec::new();
    let mut add = |parts: &[&std::ffi::OsStr]| all.extend(parts.iter().map(|it| (*it).to_owned()));
    let text = std::ffi::OsStr::new;
    add(&[
        text("--unshare-user"),
        text("--unshare-ipc"),
        text("--unshare-pid"),
        text("--unshare-net"),
        text("--unshare-uts"),
        text("--unshare-cgroup-try"),
        text("--hostname"),
        text("hone"),
        text("--as-pid-1"),
        text("--new-session"),
        text("--cap-drop"),
        text("ALL"),
        text("--clearenv"),
    ]);
    for part in host_root::parts(quarters)? {
        match part {
            Part::Seen { host, inside } => {
                add(&[text("--ro-bind"), host.as_os_str(), text(&inside)]);
            }
            Part::Link { target, inside } => {
                add(&[text("--symlink"), text(&target), text(&inside)]);
            }
        }
    }
    add(&[text("--proc"), text("/proc"), text("--dev"), text("/dev"), text("--dir"), text("/run")]);
    // Inner folders have to come after those that they lie in.
    let mut mounts: Vec<&Mount> = private.iter().chain(&spec.mounts).collect();
    mounts.sort_by_key(|mount| Path::new(&mount.inside).components().count());
    for mount in mounts {
        let how = match mount.access {
            Access::ReadOnly => "--ro-bind",
            Access::ReadWrite => "--bind",
        };
        add(&[text(how), mount.host.as_os_str(), text(&mount.inside)]);
    }
    let link = quarters.path("link");
    add(&[text("--ro-bind"), link.as_os_str(), text(SUPERVISOR_INSIDE)]);
    add(&[text("--remount-ro"), text("/"), text("--chdir"), text("/"), text("--")]);
    let program = format!("{SUPERVISOR_INSIDE}/{SUPERVISOR}");
    let socket = format!("{SUPERVISOR_INSIDE}/{SOCKET}");
    add(&[text(&program), text("init"), text(&socket)]);
    Ok(all)
}

/// A sandbox of bubblewrap.
struct BubblewrapSandbox {
    // `None` only when it was destroyed.
    parts: Option<Parts>,
}

/// The order of the fields is the order in which they go: the connection first, which ends everything inside.
struct Parts {
    link: Link,
    child: tokio::process::Child,
    _watch: AbortOnDropHandle<()>,
    group: Option<Group>,
    quarters: Quarters,
}

impl Parts {
    async fn destroy(self) -> Result<(), SandboxError> {
        let Parts { link, mut child, _watch, group, quarters } = self;
        let purpose = link.house().purpose.clone();
        drop(link);
        if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
            return Err(SandboxError::Engine {
                doing: format!("end the sandbox of {purpose}"),
                reason: format!("bubblewrap still runs after {} s", PATIENCE.as_secs()),
            });
        }
        drop(group);
        let removed = tokio::task::spawn_blocking(move || drop(quarters)).await;
        removed.map_err(|error| SandboxError::Engine {
            doing: format!("remove the files of {purpose}"),
            reason: error.to_string(),
        })
    }
}

impl BubblewrapSandbox {
    fn parts(&self) -> Result<&Parts, SandboxError> {
        self.parts.as_ref().ok_or_else(|| SandboxError::Gone {
            purpose: String::new(),
            reason: "it was destroyed".to_owned(),
        })
    }
}

impl Drop for BubblewrapSandbox {
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

impl Sandbox for BubblewrapSandbox {
    fn run(&self, command: Command) -> BoxFuture<'_, Result<CommandOutcome, SandboxError>> {
        Box::pin(async move {
            let parts = self.parts()?;
            let kills = || parts.group.as_ref().map_or(0, Group::kills);
            let before = kills();
            let mut outcome = parts.link.run(command).await?;
            let failed = match outcome.ending {
                Ending::Exited(code) => code != 0,
                Ending::Signaled(_) => true,
                _ => false,
            };
            if failed && kills() > before {
                outcome.ending = Ending::OutOfMemory;
            }
            Ok(outcome)
        })
    }

    fn copy_in<'a>(
        &'a self,
        from: &'a Path,
        to: &'a str,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.parts()?.link.copy_in(from, to).await })
    }

    fn copy_out<'a>(
        &'a self,
        from: &'a str,
        to: &'a Path,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.parts()?.link.copy_out(from, to).await })
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
