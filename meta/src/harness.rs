//! What every job of a process works with: the gateway, the executor, builds, and places for files.

use crate::settings::Settings;
use hone_gateway::Gateway;
use hone_sandbox::SharedExecutor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// The folder of a run in which jobs have their directories.
pub const WORK: &str = "work";

/// How the folders of sockets begin, among other temporary files; the number of the process follows.
pub const SOCKETS: &str = "hone-doors-";

/// What every job of a process works with. It is cheap to clone.
#[derive(Clone)]
pub struct Harness {
    /// The door to the models.
    pub gateway: Gateway,
    /// Makes sandboxes.
    pub executor: SharedExecutor,
    /// The settings of the run.
    pub settings: Arc<Settings>,
    /// The name of the run; part of the ids of its jobs.
    pub run: String,
    /// Where traces are kept.
    pub traces: PathBuf,
    /// Where work directories are made; what lies there when no process works is rubbish.
    pub work: PathBuf,
    /// Where sockets are made: a short path.
    pub sockets: Arc<tempfile::TempDir>,
    /// Ends every job at once, unrecorded.
    pub interrupted: CancellationToken,
    numbers: Arc<AtomicU64>,
}

impl Harness {
    /// Puts a harness together. `work` is made, and emptied of what an earlier process left.
    pub fn new(
        gateway: Gateway,
        executor: SharedExecutor,
        settings: Settings,
        run: &str,
        traces: &Path,
        work: &Path,
    ) -> std::io::Result<Self> {
        if work.exists() {
            remove_tree(work)?;
        }
        std::fs::create_dir_all(work)?;
        std::fs::create_dir_all(traces)?;
        // A unix socket's path has at most 107 bytes; a home may be longer than that.
        let sockets = tempfile::Builder::new()
            .prefix(&format!("{SOCKETS}{}-", std::process::id()))
            .tempdir()?;
        Ok(Harness {
            gateway,
            executor,
            settings: Arc::new(settings),
            run: run.to_owned(),
            traces: traces.to_owned(),
            work: work.to_owned(),
            sockets: Arc::new(sockets),
            interrupted: CancellationToken::new(),
            numbers: Arc::default(),
        })
    }

    /// Tells whether models are the rehearsal's, so that time is computed and not measured.
    pub fn rehearses(&self) -> bool {
        self.gateway.rehearses()
    }

    /// Makes an empty directory for a job, which is removed when it is dropped.
    pub fn directory(&self, what: &str) -> std::io::Result<WorkDirectory> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let path = self.work.join(format!("{what}-{number}"));
        std::fs::create_dir_all(&path)?;
        Ok(WorkDirectory(path))
    }

    /// Makes an empty directory for a door's socket.
    pub fn socket_directory(&self) -> std::io::Result<WorkDirectory> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let path = self.sockets.path().join(number.to_string());
        std::fs::create_dir(&path)?;
        Ok(WorkDirectory(path))
    }
}

/// A directory that goes with its owner.
#[derive(Debug)]
pub struct WorkDirectory(PathBuf);

impl WorkDirectory {
    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a work directory is left");
        }
    }
}

/// Removes a tree, directories that an agent made unreadable or unwritable included.
pub fn remove_tree(path: &Path) -> std::io::Result<()> {
    if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
        return Ok(());
    }
    open_up(path);
    std::fs::remove_dir_all(path)
}

fn open_up(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(data) = std::fs::symlink_metadata(path) else { return };
    if !data.is_dir() {
        return;
    }
    // What stays closed fails the removal, which reports it.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::remove_tree;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_tree_with_closed_directories_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().join("tree/closed");
        std::fs::create_dir_all(closed.join("inner")).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(&dir.path().join("tree")).unwrap();
        assert!(!dir.path().join("tree").exists());
    }
}
