//! The compiled dependencies of the seed, made once per machine and shared by every child.

use super::freshness::{self, Sources};
use super::target::{Target, locked, open_lock};
use super::{BINARY, BuildRequest, ChildBuilder, blocking, file, run_cargo};
use crate::contract::{Ending, SandboxError};
use crate::pantry::Pantry;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A cold build takes a minute on two idle cores; a busy machine may need many times that.
const COLD_BUILD: Duration = Duration::from_secs(3600);
/// How often a process looks whether another one has finished the base.
const LOOK: Duration = Duration::from_millis(200);
/// So many bases are kept; each takes some hundred megabytes.
const BASES: usize = 8;
/// A base that was used within this time is not removed.
const IN_USE: Duration = Duration::from_secs(600);
/// Part of the digest: changes when the layout of a base does.
const LAYOUT: &str = "base 1";

/// There is no base to build children from.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The seed itself does not build.
    #[error("build the seed agent: cargo ended as {ending:?}\n{log}")]
    NotBuilt {
        /// How cargo ended.
        ending: Ending,
        /// What cargo said.
        log: String,
    },
    /// It was cancelled.
    #[error("build the seed agent: it was cancelled")]
    Cancelled,
    /// The sandbox or a file failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// The compiled dependencies of a seed.
#[derive(Clone, Debug)]
pub struct Base {
    folder: PathBuf,
    digest: String,
    built: Sources,
}

impl Base {
    /// Returns the digest of what it was compiled from.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the target directory, which nobody may write to.
    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// Returns the sources that it was compiled from.
    pub(super) fn built(&self) -> &Sources {
        &self.built
    }

    /// Reads a base that is finished.
    fn stored(folder: &Path, digest: &str) -> Result<Option<Base>, SandboxError> {
        let path = folder.join("sources.json");
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(file("read", &path)(error)),
        };
        let built = serde_json::from_slice(&bytes)
            .map_err(|error| file("read", &path)(std::io::Error::other(error)))?;
        // Cleaning up goes by the time of last use. That a time cannot be set only makes that worse.
        let _ = std::fs::File::open(folder)
            .and_then(|it| it.set_modified(std::time::SystemTime::now()));
        Ok(Some(Base { folder: folder.to_owned(), digest: digest.to_owned(), built }))
    }
}

impl ChildBuilder {
    /// Finds the compiled dependencies of a seed in the cache, or compiles them in a sandbox, which takes minutes.
    ///
    /// Two processes may ask at once: one compiles, the other waits and uses what came of it.
    ///
    /// # Errors
    /// Returns an error when the seed does not build, when it was cancelled, or when the sandbox fails.
    pub async fn base(
        &self,
        seed_source: &Path,
        progress: &(dyn Fn(&str) + Sync),
        cancelled: &CancellationToken,
    ) -> Result<Base, BaseError> {
        let seed = seed_source.to_owned();
        let sources = blocking(move || Sources::read(&seed)).await?;
        let digest = self.base_digest(&sources);
        let parent = self.cache.join("compiled");
        std::fs::create_dir_all(&parent).map_err(file("create", &parent))?;
        let folder = parent.join(&digest);
        if let Some(base) = Base::stored(&folder, &digest)? {
            return Ok(base);
        }
        let lock_path = parent.join(format!("{digest}.lock"));
        let lock = open_lock(&lock_path)?;
        let mut has_said = false;
        while let Err(error) = lock.try_lock() {
            match error {
                std::fs::TryLockError::WouldBlock if !has_said => {
                    progress("waiting for another process that compiles the seed agent");
                    has_said = true;
                }
                std::fs::TryLockError::WouldBlock => {}
                std::fs::TryLockError::Error(error) => {
                    return Err(file("lock", &lock_path)(error).into());
                }
            }
            tokio::select! {
                () = cancelled.cancelled() => return Err(BaseError::Cancelled),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        if let Some(base) = Base::stored(&folder, &digest)? {
            return Ok(base);
        }
        progress("compiling the seed agent and its dependencies, once on this machine");
        // Whoever holds the lock is alone, so what is there was left by a dead process.
        let building = parent.join(format!("{digest}.building"));
        remove(&building)?;
        let made = self.compile(seed_source, &building, progress, cancelled).await;
        if made.is_err() {
            // The error that counts is the first.
            let _ = remove(&building);
        }
        made?;
        remove(&folder)?;
        std::fs::rename(&building, &folder).map_err(file("move into place", &folder))?;
        Base::stored(&folder, &digest)?.ok_or_else(|| {
            file("read", &folder.join("sources.json"))(std::io::ErrorKind::NotFound.into()).into()
        })
    }

    /// Finds what was kept of a source.
    ///
    /// # Errors
    /// Returns an error when the source or the cache cannot be read.
    pub async fn kept(&self, source: &Path) -> Result<Option<Base>, SandboxError> {
        let source = source.to_owned();
        let digest = self.base_digest(&blocking(move || Sources::read(&source)).await?);
        Base::stored(&self.cache.join("compiled").join(&digest), &digest)
    }

    /// Keeps the build output of a source, so that its children start from it. What was used least recently makes
    /// room.
    ///
    /// # Errors
    /// Returns an error when the source cannot be read or the cache cannot be written.
    pub async fn keep(&self, source: &Path, mut target: Target) -> Result<Base, SandboxError> {
        let source = source.to_owned();
        let digest = self.base_digest(&blocking(move || Sources::read(&source)).await?);
        let parent = self.cache.join("compiled");
        std::fs::create_dir_all(&parent).map_err(file("create", &parent))?;
        let folder = parent.join(&digest);
        let _lock = locked(&parent.join(format!("{digest}.lock")))?;
        if let Some(base) = Base::stored(&folder, &digest)? {
            return Ok(base);
        }
        make_room(&parent)?;
        let building = parent.join(format!("{digest}.building"));
        remove(&building)?;
        std::fs::create_dir_all(&building).map_err(file("create", &building))?;
        let sources = target.built().clone();
        target.move_to(&building.join("target"))?;
        finish(&building, &sources)?;
        remove(&folder)?;
        std::fs::rename(&building, &folder).map_err(file("move into place", &folder))?;
        Ok(Base { folder, digest, built: sources })
    }

    /// Digests everything that decides what the compiled dependencies are.
    fn base_digest(&self, sources: &Sources) -> String {
        let text = format!(
            "{LAYOUT}\n{}\n{:?}\n{}",
            Pantry::digest(&self.pantry),
            self.root,
            sources.digest()
        );
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }

    /// Compiles a seed and its tests into `building/target`.
    async fn compile(
        &self,
        seed_source: &Path,
        building: &Path,
        progress: &(dyn Fn(&str) + Sync),
        cancelled: &CancellationToken,
    ) -> Result<(), BaseError> {
        let target = building.join("target");
        std::fs::create_dir_all(&target).map_err(file("create", &target))?;
        let staged = self.nest.folder("source-")?;
        let (from, to) = (seed_source.to_owned(), staged.path().to_owned());
        let sources = blocking(move || {
            freshness::copy(&from, &to)?;
            let sources = Sources::read(&to)?;
            freshness::stamp(&to, &sources, &sources)?;
            Ok(sources)
        })
        .await?;
        let request = BuildRequest {
            purpose: "the seed agent",
            source: seed_source,
            timeout: COLD_BUILD,
            cancelled: cancelled.clone(),
        };
        let sandbox = self.enter("build", &request, staged.path(), &target).await?;
        let ran = async {
            let built = run_cargo(&*sandbox, "build --release --offline", &request).await?;
            if built.0.is_success() {
                progress("compiling what the tests of the agent need");
                let tests = "test --release --offline --no-run";
                let tests = run_cargo(&*sandbox, tests, &request).await?;
                if tests.0 == Ending::Cancelled {
                    return Ok(tests);
                }
                // A seed whose tests do not compile is a base all the same.
            }
            Ok::<_, SandboxError>(built)
        }
        .await;
        let destroyed = sandbox.destroy().await;
        let (ending, log) = ran?;
        destroyed?;
        match ending {
            Ending::Exited(0) => {}
            Ending::Cancelled => return Err(BaseError::Cancelled),
            ending => {
                return Err(BaseError::NotBuilt { log: self.with_notes(log, &ending), ending });
            }
        }
        Ok(finish(building, &sources)?)
    }
}

/// Makes build output a base: without the binary, and with the sources that it was made of.
fn finish(building: &Path, sources: &Sources) -> Result<(), SandboxError> {
    // It must never pass for the binary of a child that makes none. Cargo puts it back from `deps`.
    remove_binary(&building.join("target"))?;
    let path = building.join("sources.json");
    let json = serde_json::to_vec(sources)
        .map_err(|error| file("write", &path)(std::io::Error::other(error)))?;
    std::fs::write(&path, json).map_err(file("write", &path))
}

/// Removes the agent's binary from build output. A build may have put a symbolic link anywhere in it, and following one
/// would remove a file of the host.
fn remove_binary(target: &Path) -> Result<(), SandboxError> {
    let mut path = target.to_owned();
    for part in Path::new(BINARY) {
        path.push(part);
        match std::fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() => {}
            Ok(_) => return std::fs::remove_file(&path).map_err(file("remove", &path)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(file("look at", &path)(error)),
        }
    }
    // A folder of that name is no binary either.
    remove(&path)
}

/// Removes bases that were used least recently, until there is room for one more.
fn make_room(parent: &Path) -> Result<(), SandboxError> {
    let mut bases = Vec::new();
    for entry in std::fs::read_dir(parent).map_err(file("list", parent))?.flatten() {
        let path = entry.path();
        let used = path.metadata().and_then(|data| data.modified());
        if let (true, Ok(used)) = (path.join("sources.json").is_file(), used) {
            bases.push((used, path));
        }
    }
    bases.sort();
    let surplus = (bases.len() + 1).saturating_sub(BASES);
    for (used, path) in bases.into_iter().take(surplus) {
        // Another process may be copying one that it took a moment ago.
        if used.elapsed().is_ok_and(|age| age > IN_USE) {
            remove(&path)?;
        }
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<(), SandboxError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(file("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_build_output_does_not_lead_to_the_removal_of_a_file_of_the_host() {
        let host = tempfile::tempdir().unwrap();
        let theirs = host.path().join("hone-agent");
        std::fs::write(&theirs, "").unwrap();
        let target = tempfile::tempdir().unwrap();
        let platform = target.path().join("x86_64-unknown-linux-gnu");
        std::fs::create_dir(&platform).unwrap();
        let release = platform.join("release");

        std::os::unix::fs::symlink(host.path(), &release).unwrap();
        remove_binary(target.path()).unwrap();
        assert!(theirs.exists());
        assert!(!release.exists());

        std::fs::create_dir(&release).unwrap();
        std::fs::write(release.join("hone-agent"), "").unwrap();
        std::fs::write(release.join("other"), "").unwrap();
        remove_binary(target.path()).unwrap();
        // That there is none is as good.
        remove_binary(target.path()).unwrap();
        let left: Vec<_> =
            std::fs::read_dir(&release).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
    }
}
