//! Private copies of compiled dependencies, and where they lie until their process ends.

use super::base::Base;
use super::file;
use super::freshness::Sources;
use crate::contract::SandboxError;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// A target directory of cargo for one source. It goes when it is dropped.
#[derive(Debug)]
pub struct Target {
    // `None` only while it is dropped.
    folder: Option<tempfile::TempDir>,
    /// What cargo has certainly compiled in it.
    built: Sources,
    /// What the build under way compiles.
    building: Sources,
    nest: Arc<Nest>,
}

impl Target {
    /// Copies a base.
    async fn copy(nest: Arc<Nest>, base: &Base) -> Result<Target, SandboxError> {
        let folder = nest.folder("target-")?;
        let fail = |reason: String| SandboxError::Engine {
            doing: format!("copy compiled dependencies from {}", base.target().display()),
            reason,
        };
        // It keeps times, modes and hard links, and copies no data where the file system can share it.
        let output = tokio::process::Command::new("cp")
            .args(["-a", "--reflink=auto", "-T", "--"])
            .args([&base.target(), folder.path()])
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| fail(format!("cp cannot be started: {error}")))?;
        if !output.status.success() {
            return Err(fail(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(Target {
            folder: Some(folder),
            built: base.built().clone(),
            building: Sources::default(),
            nest,
        })
    }

    /// Returns the folder on the host.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), |folder| folder.path())
    }

    /// Moves the folder to another place of the cache; what is left is empty.
    pub(super) fn move_to(&mut self, place: &Path) -> Result<(), SandboxError> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        std::fs::rename(folder.path(), place).map_err(file("move", place))?;
        // There is nothing left to remove.
        let _ = folder.keep();
        Ok(())
    }

    /// Returns what cargo has certainly compiled in it.
    pub(super) fn built(&self) -> &Sources {
        &self.built
    }

    /// Notes that a build of these sources begins. Until it ends well, a file that it changes is compiled in neither
    /// state for certain.
    pub(super) fn started(&mut self, sources: Sources) {
        self.built.retain_common(&sources);
        self.building = sources;
    }

    /// Notes that the build ended well.
    pub(super) fn succeeded(&mut self) {
        self.built = std::mem::take(&mut self.building);
    }

    /// Notes that the build ended in any other way.
    pub(super) fn failed(&mut self) {
        self.building = Sources::default();
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let (folder, nest) = (self.folder.take(), self.nest.clone());
        let remove = move || {
            drop(folder);
            drop(nest);
        };
        // Hundreds of megabytes take a while.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

/// Copies made ahead of time: at most one for each base.
#[derive(Default)]
pub(super) struct Spares {
    copies: tokio::sync::Mutex<HashMap<String, Copying>>,
}

type Copying = AbortOnDropHandle<Result<Target, SandboxError>>;

impl Spares {
    /// Takes the spare copy of a base, or makes one.
    pub(super) async fn take(&self, nest: &Arc<Nest>, base: &Base) -> Result<Target, SandboxError> {
        let spare = self.copies.lock().await.remove(base.digest());
        // One that failed, perhaps for want of space then, is made again now.
        if let Some(copying) = spare
            && let Ok(Ok(target)) = copying.await
        {
            return Ok(target);
        }
        Target::copy(nest.clone(), base).await
    }

    /// Begins a spare copy of a base, where there is none.
    pub(super) async fn begin(&self, nest: &Arc<Nest>, base: &Base) {
        self.copies.lock().await.entry(base.digest().to_owned()).or_insert_with(|| {
            let (nest, base) = (nest.clone(), base.clone());
            AbortOnDropHandle::new(tokio::spawn(async move { Target::copy(nest, &base).await }))
        });
    }
}

/// A folder for what one process builds in, which a lock tells from those of dead processes.
#[derive(Debug)]
pub(super) struct Nest {
    folder: PathBuf,
    _lock: std::fs::File,
}

impl Nest {
    /// Makes a nest in a cache and sweeps those of dead processes.
    pub(super) fn new(cache: &Path) -> Result<Nest, SandboxError> {
        sweep(cache)?;
        let parent = nests(cache);
        let _guard = locked(&parent.join(".lock"))?;
        let folder = tempfile::Builder::new()
            .prefix("nest-")
            .tempdir_in(&parent)
            .map_err(file("make a folder in", &parent))?
            .keep();
        let lock = locked(&folder.join("lock"))?;
        Ok(Nest { folder, _lock: lock })
    }

    /// Makes a folder in it that goes when it is dropped.
    pub(super) fn folder(&self, prefix: &str) -> Result<tempfile::TempDir, SandboxError> {
        tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(&self.folder)
            .map_err(file("make a folder in", &self.folder))
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        // What is left is swept by the next process.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Removes what dead processes left of their builds in a cache, and returns the folders.
///
/// # Errors
/// Returns an error when the cache cannot be written.
pub fn sweep(cache: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let parent = nests(cache);
    std::fs::create_dir_all(&parent).map_err(file("create", &parent))?;
    // A nest is made under the same lock, so one without a lock of its own is never half made.
    let _guard = locked(&parent.join(".lock"))?;
    let abandoned = abandoned(cache)?;
    for path in &abandoned {
        std::fs::remove_dir_all(path).map_err(file("remove", path))?;
    }
    Ok(abandoned)
}

/// Finds what dead processes left of their builds in a cache.
///
/// # Errors
/// Returns an error when the cache cannot be read.
pub fn abandoned(cache: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let parent = nests(cache);
    if !parent.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&parent).map_err(file("list", &parent))? {
        let path = entry.map_err(file("list", &parent))?.path();
        let is_nest =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"nest-"));
        let is_alive = || {
            let lock = std::fs::File::open(path.join("lock"));
            lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
        };
        if is_nest && !is_alive() {
            found.push(path);
        }
    }
    Ok(found)
}

fn nests(cache: &Path) -> PathBuf {
    cache.join("builds")
}

/// Opens a file and takes a lock on it that ends with the process.
pub(super) fn locked(path: &Path) -> Result<std::fs::File, SandboxError> {
    let lock = open_lock(path)?;
    lock.lock().map_err(file("lock", path))?;
    Ok(lock)
}

/// Opens a file to lock it.
pub(super) fn open_lock(path: &Path) -> Result<std::fs::File, SandboxError> {
    std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(file("open", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_removes_the_nests_of_the_dead_and_no_other() {
        let cache = tempfile::tempdir().unwrap();
        let alive = Nest::new(cache.path()).unwrap();
        let dead = nests(cache.path()).join("nest-dead");
        std::fs::create_dir_all(dead.join("target-1/deps")).unwrap();
        std::fs::write(dead.join("lock"), "").unwrap();
        let foreign = nests(cache.path()).join("foreign");
        std::fs::create_dir(&foreign).unwrap();

        assert_eq!(abandoned(cache.path()).unwrap(), std::slice::from_ref(&dead));
        assert_eq!(sweep(cache.path()).unwrap(), [dead]);
        assert!(alive.folder.exists());
        assert!(foreign.exists());
        let folder = alive.folder.clone();
        drop(alive);
        assert!(!folder.exists());
    }
}
