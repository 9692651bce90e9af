//! The files of problems: trees that share their contents.
//!
//! On disk: `files.pack` is every content once, in the order of their digests; `files.json` is the index, that is
//! where each content lies in the pack, and the trees as lists of paths. A content is compared with its digest
//! each time that it is read.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// One file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The digest of its content.
    pub content: Digest,
    /// Whether it may be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// A tree: files by their relative paths, with `/` between the parts.
pub type Tree = BTreeMap<String, Entry>;

/// Why files of a problem cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file cannot be read or written.
    #[error("access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The index is not what it should be.
    #[error("read {path}: {what}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A tree or a content is missing.
    #[error("find {what} {digest} among the suite's files")]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// Its digest.
        digest: Digest,
    },
    /// A content is not what its digest says.
    #[error("read the content {0}: the bytes were changed")]
    Changed(Digest),
    /// A path would lead out of the tree, or into version control.
    #[error("use {0:?} as a path in a problem's files")]
    BadPath(String),
}

#[derive(Clone, Debug)]
enum Content {
    Held(Arc<[u8]>),
    Packed { offset: u64, length: u64 },
}

/// A store of trees and contents, in memory or on disk.
#[derive(Clone, Debug, Default)]
pub struct Files {
    trees: BTreeMap<Digest, Tree>,
    contents: BTreeMap<Digest, Content>,
    pack: Option<(PathBuf, Arc<std::fs::File>)>,
}

#[derive(Serialize, Deserialize)]
struct Index {
    contents: BTreeMap<Digest, (u64, u64)>,
    trees: BTreeMap<Digest, Tree>,
}

impl Files {
    /// Opens the store in a folder; one without index is empty.
    pub(crate) fn open(dir: &Path) -> Result<Self, FilesError> {
        let path = dir.join("files.json");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Files::default());
            }
            Err(source) => return Err(FilesError::Io { path, source }),
        };
        let index: Index = serde_json::from_slice(&text).map_err(|source| {
            FilesError::Malformed { path: path.clone(), what: source.to_string() }
        })?;
        let pack = dir.join("files.pack");
        let open = std::fs::File::open(&pack)
            .map_err(|source| FilesError::Io { path: pack.clone(), source })?;
        for (digest, tree) in &index.trees {
            if *digest != tree_digest(tree) {
                return Err(FilesError::Changed(*digest));
            }
            tree.keys().try_for_each(|path| check_path(path))?;
        }
        let packed = |(offset, length)| Content::Packed { offset, length };
        Ok(Files {
            trees: index.trees,
            contents: index.contents.into_iter().map(|(d, at)| (d, packed(at))).collect(),
            pack: Some((pack, Arc::new(open))),
        })
    }

    pub(crate) fn save(&self, dir: &Path) -> Result<(), FilesError> {
        use std::io::Write;
        if self.trees.is_empty() {
            return Ok(());
        }
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| FilesError::Io { path, source }
        };
        let path = dir.join("files.pack");
        let partial = dir.join(".files.pack.partial");
        let pack = std::fs::File::create(&partial).map_err(io(&partial))?;
        let mut pack = std::io::BufWriter::new(pack);
        let mut index = Index { contents: BTreeMap::new(), trees: self.trees.clone() };
        let mut offset = 0;
        for digest in self.contents.keys() {
            let bytes = self.read(digest)?;
            pack.write_all(&bytes).map_err(io(&partial))?;
            index.contents.insert(*digest, (offset, bytes.len() as u64));
            offset += bytes.len() as u64;
        }
        pack.flush().map_err(io(&partial))?;
        std::fs::rename(&partial, &path).map_err(io(&path))?;
        let path = dir.join("files.json");
        let mut text = serde_json::to_string_pretty(&index)
            .map_err(|e| FilesError::Malformed { path: path.clone(), what: e.to_string() })?;
        text.push('\n');
        std::fs::write(&path, text).map_err(io(&path))
    }

    /// Adds a content and returns its digest.
    pub fn add_content(&mut self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.contents.entry(digest).or_insert_with(|| Content::Held(bytes.into()));
        digest
    }

    /// Adds a tree whose contents were added before, and returns its digest.
    pub fn add_tree(&mut self, tree: Tree) -> Result<Digest, FilesError> {
        for (path, entry) in &tree {
            check_path(path)?;
            if !self.contents.contains_key(&entry.content) {
                return Err(FilesError::Missing { what: "the content", digest: entry.content });
            }
        }
        let digest = tree_digest(&tree);
        self.trees.insert(digest, tree);
        Ok(digest)
    }

    /// Returns a tree.
    pub fn tree(&self, digest: &Digest) -> Result<&Tree, FilesError> {
        self.trees.get(digest).ok_or(FilesError::Missing { what: "the tree", digest: *digest })
    }

    /// Reads a content and compares it with its digest.
    pub fn read(&self, digest: &Digest) -> Result<Arc<[u8]>, FilesError> {
        match (self.contents.get(digest), &self.pack) {
            (Some(Content::Held(bytes)), _) => Ok(Arc::clone(bytes)),
            (Some(Content::Packed { offset, length }), Some((path, pack))) => {
                let io = |source| FilesError::Io { path: path.clone(), source };
                let size = pack.metadata().map_err(io)?.len();
                if offset.checked_add(*length).is_none_or(|end| end > size) {
                    return Err(FilesError::Changed(*digest));
                }
                let mut bytes = vec![0; *length as usize];
                pack.read_exact_at(&mut bytes, *offset).map_err(io)?;
                if Digest::of(&bytes) != *digest {
                    return Err(FilesError::Changed(*digest));
                }
                Ok(bytes.into())
            }
            _ => Err(FilesError::Missing { what: "the content", digest: *digest }),
        }
    }

    /// Reads one file of a tree.
    pub fn file(&self, tree: &Digest, path: &str) -> Result<Option<Arc<[u8]>>, FilesError> {
        self.tree(tree)?.get(path).map(|entry| self.read(&entry.content)).transpose()
    }

    /// Reads every content of a tree, to see that it is whole.
    pub fn verify(&self, tree: &Digest) -> Result<(), FilesError> {
        self.tree(tree)?.values().try_for_each(|entry| self.read(&entry.content).map(|_| ()))
    }

    /// Reads every content of all trees.
    pub fn verify_all(&self) -> Result<(), FilesError> {
        self.trees.keys().try_for_each(|tree| self.verify(tree))
    }

    /// Writes a tree into a folder that exists.
    pub fn write_tree(&self, tree: &Digest, dir: &Path) -> Result<(), FilesError> {
        for (path, entry) in self.tree(tree)? {
            let path = dir.join(path);
            let io = |source| FilesError::Io { path: path.clone(), source };
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(io)?;
            }
            std::fs::write(&path, self.read(&entry.content)?).map_err(io)?;
            let mode = if entry.executable { 0o755 } else { 0o644 };
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).map_err(io)?;
        }
        Ok(())
    }
}

fn tree_digest(tree: &Tree) -> Digest {
    let lines: Vec<String> = tree
        .iter()
        .map(|(path, entry)| format!("{} {} {path}", entry.content, entry.executable))
        .collect();
    Digest::of_parts("hone tree 1", lines.iter().map(|line| line.as_bytes()))
}

/// Accepts relative paths of plain parts, outside of version control.
pub(crate) fn check_path(path: &str) -> Result<(), FilesError> {
    let plain = !path.is_empty()
        && !path.contains(['\0', '\\'])
        && !path.ends_with('/')
        && !path.contains("//")
        && Path::new(path).components().all(|part| match part {
            Component::Normal(name) => name != ".git",
            _ => false,
        })
        && !path.starts_with("./")
        && !path.contains("/./");
    if plain { Ok(()) } else { Err(FilesError::BadPath(path.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Files, FilesError, Tree, check_path};

    fn store() -> (Files, crate::Digest) {
        let mut files = Files::default();
        let content = files.add_content(b"x = 1\n");
        let script = files.add_content(b"#!/bin/sh\n");
        let tree = Tree::from([
            ("a/b.py".to_owned(), Entry { content, executable: false }),
            ("a/c.py".to_owned(), Entry { content, executable: false }),
            ("run.sh".to_owned(), Entry { content: script, executable: true }),
        ]);
        let tree = files.add_tree(tree).unwrap();
        (files, tree)
    }

    #[test]
    fn a_tree_comes_back_from_disk_as_it_was() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (files, tree) = store();
        files.save(dir.path()).unwrap();
        let files = Files::open(dir.path()).unwrap();
        let out = tempfile::tempdir().unwrap();
        files.write_tree(&tree, out.path()).unwrap();
        assert_eq!(std::fs::read(out.path().join("a/c.py")).unwrap(), b"x = 1\n");
        let mode = std::fs::metadata(out.path().join("run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn changed_and_cut_packs_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (files, tree) = store();
        files.save(dir.path()).unwrap();
        let pack = dir.path().join("files.pack");
        let mut bytes = std::fs::read(&pack).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&pack, &bytes).unwrap();
        let files = Files::open(dir.path()).unwrap();
        assert!(matches!(files.verify(&tree), Err(FilesError::Changed(_))));
        std::fs::write(&pack, b"").unwrap();
        assert!(matches!(files.verify(&tree), Err(FilesError::Changed(_))));
    }

    #[test]
    fn paths_that_lead_astray_are_refused() {
        for path in
            ["", "/etc/passwd", "../a", "a/../b", ".git/config", "a/.git/x", "./a", "a//b", "a/"]
        {
            assert!(check_path(path).is_err(), "{path}");
        }
        for path in ["a", "a/b.py", ".github/x", "a b/ü.py", "..a"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
    }
}
