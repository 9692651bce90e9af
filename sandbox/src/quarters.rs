//! The private folder of a sandbox on the host: what it may write, its socket, its supervisor.

use crate::contract::{Access, Mount, SandboxError, SandboxSpec};
use crate::owner::Process;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a sandbox sees the folder with its supervisor.
pub(crate) const SUPERVISOR_INSIDE: &str = "/.hone";
/// The supervisor in it.
pub(crate) const SUPERVISOR: &str = "supervisor";
/// The socket in it.
pub(crate) const SOCKET: &str = "control";
/// The home of commands on the host's root.
pub(crate) const HOME: &str = "/home/agent";
/// The search path of commands on the host's root.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The folder of all quarters in the state directory.
const QUARTERS: &str = "sandboxes";

/// The supervisor, a static program.
static PROGRAM: &[u8] = include_bytes!(env!("HONE_SUPERVISOR"));

/// Where quarters are made.
#[derive(Debug)]
pub(crate) struct Estate {
    folder: PathBuf,
    process: Process,
    /// A file with the supervisor, which goes with the executor.
    program: PathBuf,
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Estate {
    /// Makes the folder for quarters in a state directory.
    pub fn new(state: &Path) -> Result<Self, SandboxError> {
        let folder = estate(state);
        private(&folder)?;
        let folder = folder.canonicalize().map_err(file("find", &folder))?;
        let process = Process::this();
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let home = folder.join(format!("{process}.{number}"));
        private(&home)?;
        let program = home.join(SUPERVISOR);
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&program)
            .and_then(|mut file| {
                file.write_all(PROGRAM)?;
                file.set_permissions(std::fs::Permissions::from_mode(0o755))
            })
            .map_err(file("write", &program))?;
        Ok(Estate { folder, process, program })
    }

    /// Returns the process that owns what is made here.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Makes quarters.
    pub fn quarters(&self) -> Result<Quarters, SandboxError> {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{number}", self.process);
        let folder = self.folder.join(&name);
        private(&folder)?;
        let quarters = Quarters { folder, name };
        let link = quarters.make("link", 0o755)?;
        quarters.make("home", 0o755)?;
        quarters.make("tmp", 0o1777)?;
        let program = link.join(SUPERVISOR);
        std::fs::hard_link(&self.program, &program).map_err(file("link", &program))?;
        Ok(quarters)
    }
}

impl Drop for Estate {
    fn drop(&mut self) {
        if let Some(home) = self.program.parent() {
            remove(home);
        }
    }
}

/// Returns where the quarters of a state directory lie.
pub(crate) fn estate(state: &Path) -> PathBuf {
    state.join(QUARTERS)
}

/// The private folder of one sandbox. It goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Quarters {
    folder: PathBuf,
    name: String,
}

impl Quarters {
    /// Returns its name: its owner and a number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns one of its folders.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes one of its folders.
    pub fn make(&self, name: &str, mode: u32) -> Result<PathBuf, SandboxError> {
        let path = self.path(name);
        std::fs::create_dir(&path)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)))
            .map_err(file("make", &path))?;
        Ok(path)
    }

    /// Writes one of its files.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, SandboxError> {
        let path = self.path(name);
        std::fs::write(&path, text)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)))
            .map_err(file("write", &path))?;
        Ok(path)
    }

    /// Returns the folders that the sandbox may write, where they lie.
    pub fn writable(&self, spec: &SandboxSpec) -> Result<Vec<Mount>, SandboxError> {
        let mut writable = vec![
            Mount::read_write(self.path("home"), HOME),
            Mount::read_write(self.path("tmp"), "/tmp"),
            Mount::read_write(self.path("tmp"), "/var/tmp"),
        ];
        let is_there =
            writable.iter().chain(&spec.mounts).any(|mount| is_below(&spec.workdir, &mount.inside));
        if !is_there {
            writable.push(Mount::read_write(self.make("work", 0o755)?, &spec.workdir));
        }
        Ok(writable)
    }
}

impl Drop for Quarters {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Tells whether a path is a folder or lies in it.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    Path::new(path).starts_with(folder)
}

/// Checks what a spec says about paths.
pub(crate) fn check(spec: &SandboxSpec) -> Result<(), SandboxError> {
    let refuse =
        |reason: String| Err(SandboxError::Refused { purpose: spec.purpose.clone(), reason });
    let plain = |path: &str| {
        path.starts_with('/')
            && path != "/"
            && Path::new(path)
                .components()
                .all(|part| !matches!(part, std::path::Component::ParentDir))
            && !path.contains('\0')
    };
    if !plain(&spec.workdir) {
        return refuse(format!("its work directory {} is no absolute path", spec.workdir));
    }
    for mount in &spec.mounts {
        if !plain(&mount.inside) || is_below(&mount.inside, SUPERVISOR_INSIDE) {
            return refuse(format!("nothing can be mounted at {}", mount.inside));
        }
        if !mount.host.is_absolute() || !mount.host.exists() {
            return refuse(format!("{} is not there to be mounted", mount.host.display()));
        }
        let name = mount.host.to_string_lossy();
        let is_engine = name.ends_with("docker.sock") || name.ends_with("containerd.sock");
        if is_engine {
            return refuse("the socket of an engine is never mounted".to_owned());
        }
    }
    Ok(())
}

/// Returns what may be written among mounts.
pub(crate) fn writable_paths(mounts: &[Mount]) -> Vec<String> {
    mounts
        .iter()
        .filter(|mount| mount.access == Access::ReadWrite)
        .map(|mount| mount.inside.clone())
        .collect()
}

/// Removes a tree, what its maker closed included.
pub(crate) fn remove(path: &Path) {
    if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
        return;
    }
    open_up(path);
    if let Err(error) = std::fs::remove_dir_all(path) {
        tracing::warn!(path = %path.display(), %error, "a folder of a sandbox is left");
    }
}

fn open_up(path: &Path) {
    let Ok(data) = std::fs::symlink_metadata(path) else { return };
    if data.is_dir() {
        // What stays closed fails the removal, which reports it.
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            open_up(&entry.path());
        }
    }
}

/// Makes a folder that nobody else can look into.
fn private(path: &Path) -> Result<(), SandboxError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(file("make", path))
}

/// Makes an I/O error one of a sandbox.
pub(crate) fn file(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::File { doing, path, source }
}
