//! A normal repository of one version.

use crate::identity::CommitId;
use crate::objects::{intact, intact_tree};
use crate::record::Version;
use git2::{ObjectType, Oid, Repository, RepositoryInitOptions};
use std::collections::HashSet;
use std::path::Path;

/// Makes a repository around a directory into which a version was checked out: branch `agent-N` with the
/// version's commit and its ancestry.
pub(crate) fn clone_into(
    from: &Repository,
    version: &Version,
    directory: &Path,
) -> Result<(), git2::Error> {
    let branch = format!("refs/heads/agent-{}", version.agent);
    let mut options = RepositoryInitOptions::new();
    options.external_template(false).initial_head(&branch);
    let to = Repository::init_opts(directory, &options)?;
    let head = version.commit.oid()?;
    let mut walk = from.revwalk()?;
    walk.push(head)?;
    let mut copier = Copier { from: from.odb()?, to: to.odb()?, done: HashSet::new() };
    for commit in walk {
        let commit = from.find_commit(commit?)?;
        copier.copy(commit.id())?;
        copier.copy_tree(from, commit.tree_id())?;
    }
    to.reference(&branch, head, true, "hone")?;
    to.set_head(&branch)?;
    // The files are there already: this only makes the index agree with them.
    to.reset(to.find_commit(head)?.as_object(), git2::ResetType::Mixed, None)
}

/// Copies a commit with its tree into another archive that has its parents. What is there is not copied.
pub(crate) fn copy_commit(
    from: &Repository,
    to: &Repository,
    commit: CommitId,
) -> Result<(), git2::Error> {
    intact(from, commit.oid()?)?;
    let commit = from.find_commit(commit.oid()?)?;
    let mut copier = Copier { from: from.odb()?, to: to.odb()?, done: HashSet::new() };
    copier.copy_tree(from, commit.tree_id())?;
    copier.copy(commit.id()).map(drop)
}

struct Copier<'a> {
    from: git2::Odb<'a>,
    to: git2::Odb<'a>,
    done: HashSet<Oid>,
}

impl Copier<'_> {
    /// Copies one object; false where it was copied before.
    fn copy(&mut self, oid: Oid) -> Result<bool, git2::Error> {
        if !self.done.insert(oid) || self.to.exists(oid) {
            return Ok(false);
        }
        let object = self.from.read(oid)?;
        self.to.write(object.kind(), object.data())?;
        Ok(true)
    }

    /// Copies a tree after all that is in it, so that a tree that is there is there as a whole.
    fn copy_tree(&mut self, repository: &Repository, tree: Oid) -> Result<(), git2::Error> {
        if self.done.contains(&tree) || self.to.exists(tree) {
            return Ok(());
        }
        intact_tree(repository, tree, true)?;
        for entry in &repository.find_tree(tree)? {
            match entry.kind() {
                Some(ObjectType::Tree) => self.copy_tree(repository, entry.id())?,
                _ => drop(self.copy(entry.id())?),
            }
        }
        self.copy(tree).map(drop)
    }
}
