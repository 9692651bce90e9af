//! The difference between two versions.

use crate::objects::intact_tree;
use git2::{Delta, DiffFormat, DiffOptions, Oid, Repository};
use serde::Serialize;

/// What differs between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The files, in order of their paths.
    pub files: Vec<FileChange>,
    /// Lines added.
    pub insertions: usize,
    /// Lines taken away.
    pub deletions: usize,
    /// A unified diff, as `git diff` prints it.
    pub patch: String,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// `added`, `deleted`, `modified` or `type_changed`.
    pub how: &'static str,
}

/// Compares two trees.
pub(crate) fn between(
    repository: &Repository,
    from: Oid,
    to: Oid,
) -> Result<Difference, git2::Error> {
    intact_tree(repository, from, true)?;
    intact_tree(repository, to, true)?;
    let (from, to) = (repository.find_tree(from)?, repository.find_tree(to)?);
    let mut options = DiffOptions::new();
    let diff = repository.diff_tree_to_tree(Some(&from), Some(&to), Some(&mut options))?;
    let files = diff
        .deltas()
        .map(|delta| {
            let file =
                if delta.status() == Delta::Deleted { delta.old_file() } else { delta.new_file() };
            FileChange {
                path: String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned(),
                how: match delta.status() {
                    Delta::Added => "added",
                    Delta::Deleted => "deleted",
                    Delta::Typechange => "type_changed",
                    _ => "modified",
                },
            }
        })
        .collect();
    let mut patch = Vec::new();
    diff.print(DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            patch.push(line.origin() as u8);
        }
        patch.extend_from_slice(line.content());
        true
    })?;
    let stats = diff.stats()?;
    Ok(Difference {
        files,
        insertions: stats.insertions(),
        deletions: stats.deletions(),
        patch: String::from_utf8_lossy(&patch).into_owned(),
    })
}
