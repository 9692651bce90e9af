//! Versions of an archive: adding, checking out, comparing.

use super::{Archive, ArchiveError, Inner, with_ids};
use crate::identity::{AgentNumber, TreeId};
use crate::ledger::{Damage, LedgerError};
use crate::record::{Change, Record, Version};
use crate::versions::{self, Difference};
use jiff::Timestamp;
use std::path::Path;

/// Versions whose refs are checked at each opening: those that a crash may have left without one.
const RECENT: usize = 16;

impl Archive {
    /// Adds a directory's source as a new version and returns it; it is durable then. Build output and
    /// `.git` are left out. Same source, parents, change and time give the same commit.
    pub fn add_version(
        &self,
        directory: &Path,
        parents: &[AgentNumber],
        change: &Change,
        time: Timestamp,
    ) -> Result<Version, ArchiveError> {
        let mut inner = self.lock();
        // Written before the lock is taken: it is the long part, and nobody sees it yet.
        let tree = versions::write_directory(&inner.ledger.repository, directory)?;
        inner.add(tree.into(), parents, change, time)
    }

    /// Adds a version with the source of another, for a child that changed nothing.
    pub fn add_same(
        &self,
        source: AgentNumber,
        parents: &[AgentNumber],
        change: &Change,
        time: Timestamp,
    ) -> Result<Version, ArchiveError> {
        let mut inner = self.lock();
        let tree = inner.version(source)?.tree;
        inner.add(tree, parents, change, time)
    }

    /// Returns a version.
    pub fn version(&self, agent: AgentNumber) -> Result<Version, ArchiveError> {
        self.lock().version(agent)
    }

    /// Writes a version's source into a directory that is empty or does not exist.
    pub fn checkout(&self, agent: AgentNumber, directory: &Path) -> Result<(), ArchiveError> {
        let mut inner = self.lock();
        let tree = inner.version(agent)?.tree.oid().map_err(unreadable(agent, "tree"))?;
        Ok(versions::write_tree(&inner.ledger.repository, tree, directory)?)
    }

    /// Makes a normal repository in a directory that is empty or does not exist: the version is checked
    /// out on branch `agent-N`, with its ancestry.
    pub fn checkout_repository(
        &self,
        agent: AgentNumber,
        directory: &Path,
    ) -> Result<(), ArchiveError> {
        self.checkout(agent, directory)?;
        let mut inner = self.lock();
        let version = inner.version(agent)?;
        let error = unreadable(agent, "ancestry");
        versions::clone_into(&inner.ledger.repository, &version, directory).map_err(error)
    }

    /// Compares two versions.
    pub fn diff(&self, from: AgentNumber, to: AgentNumber) -> Result<Difference, ArchiveError> {
        let mut inner = self.lock();
        let trees = (inner.version(from)?.tree, inner.version(to)?.tree);
        let from_tree = trees.0.oid().map_err(unreadable(from, "tree"))?;
        let to_tree = trees.1.oid().map_err(unreadable(to, "tree"))?;
        versions::between(&inner.ledger.repository, from_tree, to_tree)
            .map_err(unreadable(to, "difference"))
    }

    /// Compares a version with a directory, as [`Archive::add_version`] would keep it.
    pub fn diff_directory(
        &self,
        from: AgentNumber,
        directory: &Path,
    ) -> Result<Difference, ArchiveError> {
        let mut inner = self.lock();
        let from_tree = inner.version(from)?.tree.oid().map_err(unreadable(from, "tree"))?;
        let to = versions::write_directory(&inner.ledger.repository, directory)?;
        versions::between(&inner.ledger.repository, from_tree, to)
            .map_err(unreadable(from, "difference"))
    }
}

pub(crate) fn unreadable(
    agent: AgentNumber,
    what: &str,
) -> impl Fn(git2::Error) -> ArchiveError + use<> {
    let what = what.to_owned();
    move |source| ArchiveError::Version { agent, what: what.clone(), source }
}

impl Inner {
    pub(crate) fn version(&mut self, agent: AgentNumber) -> Result<Version, ArchiveError> {
        self.refresh()?;
        self.state
            .versions
            .get(&agent)
            .cloned()
            .ok_or(ArchiveError::UnknownAgent { agent, count: self.state.versions.len() })
    }

    fn add(
        &mut self,
        tree: TreeId,
        parents: &[AgentNumber],
        change: &Change,
        time: Timestamp,
    ) -> Result<Version, ArchiveError> {
        let mut commits = Vec::new();
        for parent in parents {
            commits.push(self.version(*parent)?.commit);
        }
        let commit = tree
            .oid()
            .and_then(|tree| {
                versions::commit(&self.ledger.repository, tree, &commits, change, time)
            })
            .map_err(ArchiveError::git("commit a version"))?;
        self.exclusively(|inner| {
            inner.refresh()?;
            let newest = inner.state.versions.last_key_value();
            let agent = newest.map_or(AgentNumber(0), |(agent, _)| AgentNumber(agent.0 + 1));
            let version = Version {
                agent,
                commit: commit.into(),
                tree,
                parents: parents.to_vec(),
                time,
                change: change.clone(),
            };
            inner.keep(&version)?;
            Ok(version)
        })
    }

    /// Records a version durably and sets its ref; the caller holds the ledger's lock. After a crash between
    /// the two, the next opening sets the ref.
    pub(crate) fn keep(&mut self, version: &Version) -> Result<(), ArchiveError> {
        let (_, lines) = with_ids(&[Record::Version(version.clone())])?;
        let file = self.ledger.write_locked(&lines)?;
        file.sync_data().map_err(|source| LedgerError::file(self.ledger.directory(), source))?;
        version
            .commit
            .oid()
            .and_then(|commit| {
                versions::set_reference(&self.ledger.repository, version.agent, commit)
            })
            .map_err(unreadable(version.agent, "ref"))
    }

    /// Does something while no other process writes.
    pub(crate) fn exclusively<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let lock = self.ledger.exclusive()?;
        let result = work(self);
        drop(lock);
        result
    }

    /// Sets the refs of recent versions that lack theirs.
    pub(crate) fn mend_references(&mut self) -> Result<(), ArchiveError> {
        self.refresh()?;
        let recent: Vec<Version> =
            self.state.versions.values().rev().take(RECENT).cloned().collect();
        for version in recent {
            let name = versions::reference_name(version.agent);
            let target = self.ledger.repository.refname_to_id(&name);
            let commit = version.commit.oid().map_err(unreadable(version.agent, "commit"))?;
            if target.is_ok_and(|target| target == commit) {
                continue;
            }
            let repository = &self.ledger.repository;
            let found = crate::objects::intact(repository, commit)
                .and_then(|()| repository.find_commit(commit).map(drop));
            if let Err(error) = found {
                let reason = error.message().to_owned();
                self.ledger.damage.push(Damage::LostVersion { agent: version.agent.0, reason });
                continue;
            }
            // Git refuses to replace a ref whose file holds nonsense.
            let path = self.ledger.repository.path().join(&name);
            if path.exists() {
                std::fs::remove_file(&path).map_err(|error| LedgerError::file(&path, error))?;
            }
            versions::set_reference(&self.ledger.repository, version.agent, commit)
                .map_err(unreadable(version.agent, "ref"))?;
            self.ledger.note(Damage::LostReference { agent: version.agent.0 });
        }
        Ok(())
    }
}
