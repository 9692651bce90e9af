//! Commits and refs of versions.

use crate::identity::{AgentNumber, CommitId};
use crate::record::Change;
use git2::{Oid, Repository, Signature, Time};
use jiff::Timestamp;

/// Every commit has one author, so that a version's identity depends on its content, ancestry and time alone.
const AUTHOR: (&str, &str) = ("Hone", "hone@localhost");

/// Returns the ref of a version.
pub(crate) fn reference_name(agent: AgentNumber) -> String {
    format!("refs/heads/agents/{agent}")
}

/// Returns the author of every commit, at a time.
pub(crate) fn signature(time: Timestamp) -> Result<Signature<'static>, git2::Error> {
    Signature::new(AUTHOR.0, AUTHOR.1, &Time::new(time.as_second(), 0))
}

/// Writes a version's commit; no ref points to it yet.
pub(crate) fn commit(
    repository: &Repository,
    tree: Oid,
    parents: &[CommitId],
    change: &Change,
    time: Timestamp,
) -> Result<Oid, git2::Error> {
    let parents = parents
        .iter()
        .map(|parent| repository.find_commit(parent.oid()?))
        .collect::<Result<Vec<_>, _>>()?;
    let author = signature(time)?;
    let tree = repository.find_tree(tree)?;
    let parents: Vec<_> = parents.iter().collect();
    repository.commit(None, &author, &author, &message(change), &tree, &parents)
}

/// Writes the message: the description, then the trailers.
fn message(change: &Change) -> String {
    let mut message = change.description.trim().replace('\0', "");
    if message.is_empty() {
        message.push_str("no description");
    }
    message.push_str("\n\n");
    let mut trailer = |name: &str, value: &dyn std::fmt::Display| {
        let value = value.to_string().replace(['\n', '\r', '\0'], " ");
        message.push_str(&format!("Hone-{name}: {value}\n"));
    };
    if let Some(run) = &change.run {
        trailer("Run", run);
    }
    if let Some(iteration) = change.iteration {
        trailer("Iteration", &iteration);
    }
    if let Some(editor) = change.editor {
        trailer("Editor", &editor);
    }
    trailer("Verdict", &change.verdict);
    message
}

/// Removes the lock file of a ref that a process left which was killed. The caller holds the archive's lock, so
/// that nobody who lives can own it.
pub(crate) fn clear_stale_lock(repository: &Repository, reference: &str) {
    // Nearly always there is none; one that cannot be removed fails the next step with its name.
    let _ = std::fs::remove_file(repository.path().join(format!("{reference}.lock")));
}

/// Points a version's ref to its commit. The caller holds the archive's lock.
pub(crate) fn set_reference(
    repository: &Repository,
    agent: AgentNumber,
    commit: Oid,
) -> Result<(), git2::Error> {
    clear_stale_lock(repository, &reference_name(agent));
    repository.reference(&reference_name(agent), commit, true, "hone").map(drop)
}
