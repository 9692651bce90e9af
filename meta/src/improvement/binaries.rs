//! The programs of versions: built in a sandbox when they are first needed, and kept in the cache by their source.

use crate::harness::Harness;
use hone_archive::{AgentNumber, Archive, ArchiveError, TreeId};
use hone_sandbox::{Base, BuildRequest, Built, ChildBuilder, SandboxError, Target, Tested};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a build may take: a cold one on a slow machine.
const BUILD: Duration = Duration::from_secs(1800);

/// A version's program could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A file failed.
    #[error("keep the program of a version")]
    File(#[from] std::io::Error),
    /// It was accepted once, and does not build now.
    #[error("build agent {agent}: {}", super::statement::tail(log, 2000))]
    NotBuilt {
        /// The version.
        agent: AgentNumber,
        /// The build's log.
        log: String,
    },
}

/// Builds programs and keeps them.
#[derive(Clone)]
pub struct Binaries {
    builder: Arc<ChildBuilder>,
    seed: Base,
    folder: PathBuf,
}

/// A build that went well: the program, and the build output that tests can go on with.
pub struct Made {
    /// The program.
    pub program: PathBuf,
    /// The build output.
    pub target: Target,
}

impl Binaries {
    /// Keeps programs in a folder of the cache.
    pub fn new(builder: ChildBuilder, seed: Base, cache: &Path) -> std::io::Result<Self> {
        let folder = cache.join("binaries");
        std::fs::create_dir_all(&folder)?;
        Ok(Binaries { builder: Arc::new(builder), seed, folder })
    }

    /// Builds a source from the compiled dependencies of another; the program is put at a path. A failed build is its
    /// log.
    pub async fn build(
        &self,
        harness: &Harness,
        purpose: &str,
        source: &Path,
        program: &Path,
        base: &Base,
    ) -> Result<Result<Made, String>, SandboxError> {
        let mut target = self.builder.target_for(base).await?;
        let request = request(harness, purpose, source);
        match self.builder.build(request, &mut target, program).await? {
            Built::Ok { binary, .. } => Ok(Ok(Made { program: binary, target })),
            Built::Failed { log, .. } => Ok(Err(log)),
        }
    }

    /// Runs the tests of a source that was built.
    pub async fn test(
        &self,
        harness: &Harness,
        purpose: &str,
        source: &Path,
        target: &mut Target,
    ) -> Result<Tested, SandboxError> {
        self.builder.run_tests(request(harness, purpose, source), target).await
    }

    /// Returns the compiled dependencies of a source, or those of the seed where they were not kept.
    pub async fn base(&self, source: &Path) -> Result<Base, SandboxError> {
        Ok(self.builder.kept(source).await?.unwrap_or_else(|| self.seed.clone()))
    }

    /// Keeps the build output of a source for its children.
    pub async fn keep_base(&self, source: &Path, target: Target) -> Result<Base, SandboxError> {
        self.builder.keep(source, target).await
    }

    /// Makes what an editor needs to build a source in its own sandbox.
    pub async fn workshop(&self, source: &Path) -> Result<hone_sandbox::Workshop, SandboxError> {
        self.builder.workshop(source, &self.base(source).await?).await
    }

    /// Returns the program of a version.
    pub async fn of(
        &self,
        harness: &Harness,
        archive: &Archive,
        agent: AgentNumber,
    ) -> Result<PathBuf, BinaryError> {
        let kept = self.path(archive.version(agent)?.tree);
        if kept.is_file() {
            return Ok(kept);
        }
        let work = harness.directory("build")?;
        let source = work.path().join("source");
        archive.checkout(agent, &source)?;
        let program = work.path().join("program");
        let base = self.base(&source).await?;
        match self.build(harness, &format!("agent {agent}"), &source, &program, &base).await? {
            Ok(made) => Ok(self.keep(&made.program, archive.version(agent)?.tree)?),
            Err(log) => Err(BinaryError::NotBuilt { agent, log }),
        }
    }

    /// Keeps a program as that of a source.
    pub fn keep(&self, binary: &Path, tree: TreeId) -> std::io::Result<PathBuf> {
        let kept = self.path(tree);
        let part = tempfile::NamedTempFile::new_in(&self.folder)?;
        std::fs::copy(binary, part.path())?;
        part.persist(&kept)?;
        Ok(kept)
    }

    fn path(&self, tree: TreeId) -> PathBuf {
        self.folder.join(tree.to_string())
    }
}

fn request<'a>(harness: &Harness, purpose: &'a str, source: &'a Path) -> BuildRequest<'a> {
    BuildRequest { purpose, source, timeout: BUILD, cancelled: harness.interrupted.clone() }
}
