//! Tells cargo which files of a source are new.
//!
//! Cargo goes by times of modification, and those of a checkout mean nothing. So a file whose content is what the
//! target was compiled from gets a time long ago, and every other file the present: what cargo does then depends on
//! contents alone.

use super::file;
use crate::contract::SandboxError;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The time of files that were compiled already: before any compiler output.
const LONG_AGO: i64 = 1_000_000_000;

/// What stands in a source: the digest of each file by its path. Files whose names are no UTF-8 are left out, and
/// so count as new always.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Reads a source tree.
    pub(super) fn read(root: &Path) -> Result<Sources, SandboxError> {
        let mut digests = BTreeMap::new();
        visit(root, &mut |relative, kind| {
            let (Some(name), true) = (relative.to_str(), kind.is_file()) else { return Ok(()) };
            let path = root.join(relative);
            let mut hasher = blake3::Hasher::new();
            std::fs::File::open(&path)
                .and_then(|opened| hasher.update_reader(opened).map(drop))
                .map_err(file("read", &path))?;
            digests.insert(name.to_owned(), hasher.finalize().to_hex().to_string());
            Ok(())
        })?;
        Ok(Sources(digests))
    }

    /// Returns a digest of the whole.
    pub(super) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, digest) in &self.0 {
            hasher.update(format!("{} {path} {digest}\n", path.len()).as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Keeps the files that stand alike in both.
    pub(super) fn retain_common(&mut self, other: &Sources) {
        self.0.retain(|path, digest| other.0.get(path) == Some(digest));
    }
}

/// Sets the times of a source for a target that was compiled from `built`.
pub(super) fn stamp(root: &Path, sources: &Sources, built: &Sources) -> Result<(), SandboxError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(
        Timespec { tv_sec: LONG_AGO, tv_nsec: 0 },
        |since| Timespec {
            tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: since.subsec_nanos().into(),
        },
    );
    visit(root, &mut |relative, kind| {
        if !kind.is_file() {
            return Ok(());
        }
        let digest = |of: &Sources| relative.to_str().and_then(|name| of.0.get(name).cloned());
        let is_known = digest(sources).is_some() && digest(sources) == digest(built);
        let time = if is_known { Timespec { tv_sec: LONG_AGO, tv_nsec: 0 } } else { now };
        let path = root.join(relative);
        let times = Timestamps { last_access: time, last_modification: time };
        utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| file("set the time of", &path)(error.into()))
    })
}

/// Copies a source tree: folders, regular files with their modes, and symbolic links as they are.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), SandboxError> {
    visit(from, &mut |relative, kind| {
        let (source, copy) = (from.join(relative), to.join(relative));
        if kind.is_dir() {
            std::fs::create_dir_all(&copy).map_err(file("create", &copy))
        } else if kind.is_symlink() {
            std::fs::read_link(&source)
                .and_then(|goal| std::os::unix::fs::symlink(goal, &copy))
                .map_err(file("copy", &source))
        } else if kind.is_file() {
            std::fs::copy(&source, &copy).map(drop).map_err(file("copy", &source))
        } else {
            // Pipes and devices are no source.
            Ok(())
        }
    })
}

/// Calls a function with each entry below a folder, a folder before its content; it follows no symbolic link and
/// leaves out `.git` and `target` at the top.
fn visit(
    root: &Path,
    each: &mut dyn FnMut(&Path, std::fs::FileType) -> Result<(), SandboxError>,
) -> Result<(), SandboxError> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        for entry in std::fs::read_dir(&path).map_err(file("list", &path))? {
            let entry = entry.map_err(file("list", &path))?;
            let name = entry.file_name();
            if folder.as_os_str().is_empty() && (name == ".git" || name == "target") {
                continue;
            }
            let relative = folder.join(name);
            let kind = entry.file_type().map_err(file("look at", &path))?;
            each(&relative, kind)?;
            if kind.is_dir() {
                folders.push(relative);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn is_old(root: &Path, name: &str) -> bool {
        let modified = std::fs::symlink_metadata(root.join(name)).unwrap().modified().unwrap();
        modified == SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(LONG_AGO as u64)
    }

    #[test]
    fn a_file_is_new_by_its_content_and_not_by_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "src/same.rs", "a");
        write(root, "src/edited.rs", "a");
        let built = Sources::read(root).unwrap();
        write(root, "src/same.rs", "a");
        write(root, "src/edited.rs", "b");
        write(root, "src/added.rs", "c");

        stamp(root, &Sources::read(root).unwrap(), &built).unwrap();

        assert!(is_old(root, "src/same.rs"));
        assert!(!is_old(root, "src/edited.rs"));
        assert!(!is_old(root, "src/added.rs"));
    }

    #[test]
    fn a_symbolic_link_is_neither_followed_nor_touched() {
        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "secret", "s");
        let before = std::fs::metadata(outside.path().join("secret")).unwrap().modified().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::os::unix::fs::symlink(outside.path(), root.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), root.join("link")).unwrap();

        let sources = Sources::read(root).unwrap();
        assert_eq!(sources, Sources::default());
        stamp(root, &sources, &sources).unwrap();
        let after = std::fs::metadata(outside.path().join("secret")).unwrap().modified().unwrap();
        assert_eq!(after, before);

        let to = tempfile::tempdir().unwrap();
        copy(root, to.path()).unwrap();
        assert_eq!(std::fs::read_link(to.path().join("folder")).unwrap(), outside.path());
    }

    #[test]
    fn a_copy_leaves_out_git_and_build_output_at_the_top() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".git/HEAD", "target/x", "src/target/y.rs", ".cargo/config.toml"] {
            write(folder.path(), name, "");
        }
        let to = tempfile::tempdir().unwrap();
        copy(folder.path(), to.path()).unwrap();
        let mut found: Vec<String> = Sources::read(to.path()).unwrap().0.into_keys().collect();
        found.sort();
        assert_eq!(found, [".cargo/config.toml", "src/target/y.rs"]);
    }
}
