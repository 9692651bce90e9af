//! Loose git objects that were cut off.
//!
//! libgit2 reads a loose object whose compressed stream stops short for ever: it asks for more output and never
//! sees that there is no more input. So what lies loose is inflated here first.

use flate2::read::ZlibDecoder;
use git2::{ErrorClass, ErrorCode, ObjectType, Oid, Repository};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Returns where an object would lie loose.
fn loose(repository: &Repository, oid: Oid) -> PathBuf {
    let name = oid.to_string();
    let (folder, file) = name.split_at(2);
    repository.path().join("objects").join(folder).join(file)
}

/// Tells whether a file is a whole compressed stream.
pub(crate) fn is_whole(path: &Path) -> io::Result<()> {
    let mut stream = ZlibDecoder::new(File::open(path)?);
    io::copy(&mut stream, &mut io::sink()).map(drop)
}

/// Fails where an object lies loose and is cut off. One that is packed, or missing, is left to git.
pub(crate) fn intact(repository: &Repository, oid: Oid) -> Result<(), git2::Error> {
    match is_whole(&loose(repository, oid)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let text = format!("object {oid} is damaged: {error}");
            Err(git2::Error::new(ErrorCode::GenericError, ErrorClass::Odb, text))
        }
        _ => Ok(()),
    }
}

/// Fails where a tree, or a tree within it, is cut off; with `files`, also where a file in it is.
pub(crate) fn intact_tree(
    repository: &Repository,
    tree: Oid,
    files: bool,
) -> Result<(), git2::Error> {
    intact(repository, tree)?;
    for entry in &repository.find_tree(tree)? {
        match entry.kind() {
            Some(ObjectType::Tree) => intact_tree(repository, entry.id(), files)?,
            _ if files => intact(repository, entry.id())?,
            _ => {}
        }
    }
    Ok(())
}
