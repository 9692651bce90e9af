//! Where files are: the work directory, and the archive beside it for jobs that improve an agent.
//!
//! Models see and write paths relative to the work directory. The sandbox is what keeps an agent
//! in its place; the checks here are for models, so that a slip gets a clear answer.

use std::path::{Component, Path, PathBuf};

/// The directories of a job.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    archive: Option<PathBuf>,
}

impl Workspace {
    /// Describes the directories of a job.
    pub fn new(root: impl Into<PathBuf>, archive: Option<PathBuf>) -> Self {
        Workspace { root: root.into(), archive }
    }

    /// Returns the work directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the read-only view of the archive.
    pub fn archive(&self) -> Option<&Path> {
        self.archive.as_deref()
    }

    /// Returns the place of a path that is to be read.
    pub fn readable(&self, path: &str) -> Result<PathBuf, String> {
        let place = self.place(path);
        let in_archive = self.archive.as_ref().is_some_and(|archive| place.starts_with(archive));
        if in_archive { Ok(place) } else { self.inside(place, path) }
    }

    /// Returns the place of a path that is to be written.
    pub fn writable(&self, path: &str) -> Result<PathBuf, String> {
        let place = self.inside(self.place(path), path)?;
        if place == self.root {
            return Err("name a file, not the work directory".to_owned());
        }
        Ok(place)
    }

    /// Returns a path the way models are shown it, however they wrote it.
    pub fn shown(&self, path: &str) -> String {
        self.name(&self.place(path))
    }

    /// Returns the name of a place, relative to the work directory.
    pub fn name(&self, place: &Path) -> String {
        let name = place.strip_prefix(&self.root).unwrap_or(place);
        if name.as_os_str().is_empty() { ".".to_owned() } else { name.display().to_string() }
    }

    fn place(&self, path: &str) -> PathBuf {
        let mut place = PathBuf::new();
        for component in self.root.join(path.trim()).components() {
            match component {
                Component::ParentDir => {
                    place.pop();
                }
                Component::CurDir => {}
                part => place.push(part),
            }
        }
        place
    }

    fn inside(&self, place: PathBuf, path: &str) -> Result<PathBuf, String> {
        if place.starts_with(&self.root) {
            return Ok(place);
        }
        Err(format!("{path} is outside of the work directory; use a path relative to it"))
    }
}

#[cfg(test)]
mod tests {
    use super::Workspace;
    use std::path::{Path, PathBuf};

    #[test]
    fn paths_are_relative_to_the_work_directory_and_stay_inside() {
        let workspace = Workspace::new("/work", Some(PathBuf::from("/archive")));
        assert_eq!(workspace.shown("./a/../b.py"), "b.py");
        assert_eq!(workspace.shown("/work/b.py"), "b.py");
        assert_eq!(workspace.shown("."), ".");
        assert_eq!(workspace.writable("a/b.py").unwrap(), Path::new("/work/a/b.py"));
        assert!(workspace.writable("../etc/passwd").unwrap_err().contains("outside"));
        assert!(workspace.writable("/archive/x").unwrap_err().contains("outside"));
        assert!(workspace.writable(".").unwrap_err().contains("name a file"));
        assert!(workspace.readable("/workshop").unwrap_err().contains("outside"));
        assert_eq!(workspace.readable("/archive/x").unwrap(), Path::new("/archive/x"));
    }
}
