//! A directory as a git tree, and a git tree as a directory.
//!
//! Bytes, executable bits and symbolic links are kept. Build output (`target/`) and `.git` are left out:
//! the first is not source, the second would be a repository inside a repository.

use crate::objects::intact;
use git2::{FileMode, ObjectType, Oid, Repository};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// How deep a source tree may be nested; deeper ones are an attack or a mistake.
const DEEPEST: usize = 64;

/// A failure to read or write a tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A file could not be read or written.
    #[error("access {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something that is no file, directory or symbolic link.
    #[error("keep {0}: it is neither a file, a directory nor a symbolic link")]
    Kind(PathBuf),
    /// Directories nested too deeply.
    #[error("keep {0}: directories are nested more than {DEEPEST} deep")]
    Deep(PathBuf),
    /// The place to write to is in use.
    #[error("write to {0}: it exists and is not empty")]
    Occupied(PathBuf),
    /// Git refused.
    #[error("access the tree of {path} in git")]
    Git {
        /// The directory or file in question.
        path: PathBuf,
        /// What git said.
        source: git2::Error,
    },
}

/// Writes a directory's content as git objects and returns the tree.
pub(crate) fn write_directory(repository: &Repository, directory: &Path) -> Result<Oid, TreeError> {
    write_level(repository, directory, 0).map(|(tree, _)| tree)
}

fn write_level(
    repository: &Repository,
    directory: &Path,
    depth: usize,
) -> Result<(Oid, usize), TreeError> {
    if depth > DEEPEST {
        return Err(TreeError::Deep(directory.to_owned()));
    }
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |source| TreeError::File { path, source }
    };
    let git_error = |path: &Path| {
        let path = path.to_owned();
        move |source| TreeError::Git { path, source }
    };
    let mut builder = repository.treebuilder(None).map_err(git_error(directory))?;
    for entry in fs::read_dir(directory).map_err(file_error(directory))? {
        let entry = entry.map_err(file_error(directory))?;
        let (name, path) = (entry.file_name(), entry.path());
        let kind = entry.file_type().map_err(file_error(&path))?;
        if name == ".git" || (kind.is_dir() && is_build_output(&path, depth)) {
            continue;
        }
        let (oid, mode) = if kind.is_dir() {
            let (oid, entries) = write_level(repository, &path, depth + 1)?;
            if entries == 0 {
                continue; // git has no empty directories
            }
            (oid, FileMode::Tree)
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(file_error(&path))?;
            let oid = repository.blob(target.as_os_str().as_bytes()).map_err(git_error(&path))?;
            (oid, FileMode::Link)
        } else if kind.is_file() {
            let content = fs::read(&path).map_err(file_error(&path))?;
            let executable =
                entry.metadata().map_err(file_error(&path))?.permissions().mode() & 0o100 != 0;
            let oid = repository.blob(&content).map_err(git_error(&path))?;
            (oid, if executable { FileMode::BlobExecutable } else { FileMode::Blob })
        } else {
            return Err(TreeError::Kind(path));
        };
        builder.insert(name.as_bytes(), oid, mode.into()).map_err(git_error(&path))?;
    }
    let entries = builder.len();
    Ok((builder.write().map_err(git_error(directory))?, entries))
}

/// Cargo marks its output with a `CACHEDIR.TAG`; at the root `target` is output in any case. A module of
/// an agent may well be called `target`.
fn is_build_output(path: &Path, depth: usize) -> bool {
    path.file_name().is_some_and(|name| name == "target")
        && (depth == 0 || path.join("CACHEDIR.TAG").exists())
}

/// Writes a git tree into a directory that is empty or does not exist.
pub(crate) fn write_tree(
    repository: &Repository,
    tree: Oid,
    directory: &Path,
) -> Result<(), TreeError> {
    let file_error = |source| TreeError::File { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(file_error)?;
    if fs::read_dir(directory).map_err(file_error)?.next().is_some() {
        return Err(TreeError::Occupied(directory.to_owned()));
    }
    read_level(repository, tree, directory, 0)
}

fn read_level(
    repository: &Repository,
    tree: Oid,
    directory: &Path,
    depth: usize,
) -> Result<(), TreeError> {
    if depth > DEEPEST {
        return Err(TreeError::Deep(directory.to_owned()));
    }
    let git_error = |path: &Path| {
        let path = path.to_owned();
        move |source| TreeError::Git { path, source }
    };
    let found = intact(repository, tree).and_then(|()| repository.find_tree(tree));
    let tree = found.map_err(git_error(directory))?;
    for entry in &tree {
        let path = directory.join(std::ffi::OsStr::from_bytes(entry.name_bytes()));
        let file_error = |source| TreeError::File { path: path.clone(), source };
        match entry.kind() {
            Some(ObjectType::Tree) => {
                fs::create_dir(&path).map_err(file_error)?;
                read_level(repository, entry.id(), &path, depth + 1)?;
            }
            Some(ObjectType::Blob) => {
                let blob = intact(repository, entry.id())
                    .and_then(|()| repository.find_blob(entry.id()))
                    .map_err(git_error(&path))?;
                if entry.filemode() == i32::from(FileMode::Link) {
                    symlink(std::ffi::OsStr::from_bytes(blob.content()), &path)
                        .map_err(file_error)?;
                } else {
                    let executable = entry.filemode() == i32::from(FileMode::BlobExecutable);
                    let mut file = fs::OpenOptions::new()
                        .write(true)
                        .create_new(true)
                        .mode(if executable { 0o777 } else { 0o666 })
                        .open(&path)
                        .map_err(file_error)?;
                    std::io::Write::write_all(&mut file, blob.content()).map_err(file_error)?;
                }
            }
            _ => return Err(TreeError::Kind(path)),
        }
    }
    Ok(())
}
