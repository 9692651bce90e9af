//! Changes and snapshots out of a local git repository.

use super::{Change, ChangeSource, Changes, OriginError, Snapshot, SourceFile, folder, slug};
use crate::suite::Source;
use git2::{Commit, Delta, DiffOptions, ObjectType, Oid, Repository, Sort, Tree, TreeWalkMode};
use std::path::{Path, PathBuf};

/// Commits that are looked at, newest first; the histories of the largest projects are longer, and nothing
/// is gained from reading them to the end.
const COMMITS: usize = 20_000;

/// Largest Python file that is taken, in bytes.
const LARGEST: usize = 1 << 20;

/// A repository at a revision.
pub struct GitOrigin {
    path: PathBuf,
    name: String,
    repository: Repository,
    head: Oid,
}

impl GitOrigin {
    /// Opens a repository at a revision, `HEAD` when none is given.
    pub fn open(path: &Path, revision: Option<&str>) -> Result<Self, OriginError> {
        let wrong = |source| OriginError::Git { path: path.to_owned(), source };
        let repository = Repository::open(path).map_err(|source| match source.code() {
            git2::ErrorCode::Owner => {
                OriginError::NotOwned(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
            }
            _ => wrong(source),
        })?;
        let object = repository.revparse_single(revision.unwrap_or("HEAD")).map_err(wrong)?;
        let head = object.peel_to_commit().map_err(wrong)?.id();
        drop(object);
        let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = full.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "repository".to_owned());
        let name = name.strip_suffix(".git").filter(|n| !n.is_empty()).unwrap_or(&name).to_owned();
        Ok(GitOrigin { path: path.to_owned(), name, repository, head })
    }

    fn wrong(&self) -> impl Fn(git2::Error) -> OriginError + '_ {
        |source| OriginError::Git { path: self.path.clone(), source }
    }

    fn source(&self) -> Source {
        Source::Git { repository: self.name.clone(), revision: self.head.to_string() }
    }

    fn about(&self) -> String {
        format!("the repository {} at {}", self.name, &self.head.to_string()[..12])
    }

    /// Commits with one parent that modify one `.py` file and nothing beside it.
    fn list_changes(&self, most: usize) -> Result<Changes, OriginError> {
        let wrong = self.wrong();
        let mut walk = self.repository.revwalk().map_err(&wrong)?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME).map_err(&wrong)?;
        walk.push(self.head).map_err(&wrong)?;
        let mut list = Vec::new();
        for id in walk.take(COMMITS) {
            let commit = self.repository.find_commit(id.map_err(&wrong)?).map_err(&wrong)?;
            list.extend(self.change(&commit)?);
            if list.len() >= most {
                break;
            }
        }
        Ok(Changes { source: self.source(), about: self.about(), list })
    }

    fn change(&self, commit: &Commit<'_>) -> Result<Option<Change>, OriginError> {
        let wrong = self.wrong();
        if commit.parent_count() != 1 {
            return Ok(None);
        }
        // A shallow clone names parents that it does not have.
        let Ok(parent) = commit.parent(0) else { return Ok(None) };
        let (old, new) = (parent.tree().map_err(&wrong)?, commit.tree().map_err(&wrong)?);
        let mut options = DiffOptions::new();
        options.skip_binary_check(true).ignore_submodules(true);
        let diff = self
            .repository
            .diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))
            .map_err(&wrong)?;
        let mut deltas = diff.deltas();
        let (Some(delta), None) = (deltas.next(), deltas.next()) else { return Ok(None) };
        let path = delta.new_file().path().and_then(Path::to_str).unwrap_or_default().to_owned();
        let is_blob = |mode| matches!(mode, git2::FileMode::Blob | git2::FileMode::BlobExecutable);
        let plain = delta.status() == Delta::Modified
            && is_blob(delta.old_file().mode())
            && is_blob(delta.new_file().mode());
        if !plain || !path.ends_with(".py") {
            return Ok(None);
        }
        let (Some(before), Some(after)) =
            (self.blob(delta.old_file().id())?, self.blob(delta.new_file().id())?)
        else {
            return Ok(None);
        };
        let short = commit.id().to_string()[..12].to_owned();
        Ok(Some(Change {
            id: format!("{}-{short}", slug(&self.name)),
            group: self.name.clone(),
            origin: format!("commit {}", commit.id()),
            parent: parent.id().to_string(),
            path,
            before,
            after,
        }))
    }

    /// Reads a blob; `None` when it is too large.
    fn blob(&self, id: Oid) -> Result<Option<Vec<u8>>, OriginError> {
        let blob = self.repository.find_blob(id).map_err(self.wrong())?;
        Ok((blob.size() <= LARGEST).then(|| blob.content().to_vec()))
    }

    /// Reads the Python files in the folder of a file.
    fn siblings(&self, tree: &Tree<'_>, path: &str) -> Result<Vec<SourceFile>, OriginError> {
        let place = folder(path);
        let subtree = match place {
            "" => tree.clone(),
            _ => {
                let object =
                    tree.get_path(Path::new(place)).and_then(|e| e.to_object(&self.repository));
                object.and_then(|object| object.peel_to_tree()).map_err(self.wrong())?
            }
        };
        let mut found = Vec::new();
        for entry in &subtree {
            let Ok(name) = entry.name() else { continue };
            let sibling =
                if place.is_empty() { name.to_owned() } else { format!("{place}/{name}") };
            let wanted =
                is_python(&entry) && sibling != path && crate::files::check_path(&sibling).is_ok();
            if let Some(bytes) = wanted.then(|| self.blob(entry.id())).transpose()?.flatten() {
                found.push((sibling, bytes.into()));
            }
        }
        Ok(found)
    }

    /// Reads all Python files at the revision.
    pub fn snapshot(&self) -> Result<Snapshot, OriginError> {
        let wrong = self.wrong();
        let commit = self.repository.find_commit(self.head).map_err(&wrong)?;
        let mut found: Vec<(String, Oid)> = Vec::new();
        let walked = commit.tree().map_err(&wrong)?.walk(TreeWalkMode::PreOrder, |place, entry| {
            if is_python(entry)
                && let (Ok(name), Ok(place)) = (entry.name(), std::str::from_utf8(place.as_bytes()))
            {
                found.push((format!("{place}{name}"), entry.id()));
            }
            git2::TreeWalkResult::Ok
        });
        walked.map_err(&wrong)?;
        let mut files: Vec<SourceFile> = Vec::with_capacity(found.len());
        for (path, id) in found {
            if crate::files::check_path(&path).is_ok()
                && let Some(bytes) = self.blob(id)?
            {
                files.push((path, bytes.into()));
            }
        }
        files.sort();
        Ok(Snapshot { source: self.source(), about: self.about(), group: self.name.clone(), files })
    }
}

impl ChangeSource for GitOrigin {
    fn changes(&self, most: usize) -> Result<Changes, OriginError> {
        self.list_changes(most)
    }

    fn around(&self, change: &Change) -> Result<Vec<SourceFile>, OriginError> {
        let wrong = self.wrong();
        let id = Oid::from_str(&change.parent).map_err(&wrong)?;
        let tree = self.repository.find_commit(id).and_then(|c| c.tree()).map_err(&wrong)?;
        self.siblings(&tree, &change.path)
    }
}

fn is_python(entry: &git2::TreeEntry<'_>) -> bool {
    entry.kind() == Some(ObjectType::Blob)
        && entry.filemode() != i32::from(git2::FileMode::Link)
        && entry.name().is_ok_and(|name| name.ends_with(".py"))
}
