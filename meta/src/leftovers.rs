//! What dead processes left behind, and nothing else: what a living one uses, or what Hone did not make, stays.
//!
//! | left | known by | is dead when |
//! |---|---|---|
//! | a run's work folder and half-written files | their place in the run's folder | nobody holds the run's lock |
//! | a folder of a run that never began | it holds a lock and nothing of a run | nobody holds that lock |
//! | folders of sockets, and of verifiers' rooms | their name, with the process in it | there is no such process |
//! | build folders | their place in the cache | nobody holds their lock |
//! | half-written programs | their place in the cache | they are older than a day |

use crate::failure::{FailureKind, OrFail, Outcome};
use crate::harness::{SOCKETS, WORK, remove_tree};
use crate::home::{Home, RunFolder};
use crate::rooms::ROOMS;
use crate::session::RunLock;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Something that a dead process left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// What it is.
    pub what: &'static str,
    /// Where it is.
    pub path: PathBuf,
}

/// How a file begins that is written aside and then put into its place.
const HALF_WRITTEN: &str = ".tmp";

/// No program takes this long to be copied.
const SURELY_DEAD: Duration = Duration::from_secs(24 * 3600);

/// Finds what is left of runs in a home, of builds in its cache, and of sockets in a folder for temporary files.
pub fn find(home: &Home, temporary: &Path) -> Outcome<Vec<Leftover>> {
    let mut found = Vec::new();
    for folder in folders(home) {
        if !RunLock::is_taken(&folder) {
            found.extend(of_run(&folder));
        }
    }
    found.extend(sockets(temporary));
    let builds =
        hone_sandbox::child::abandoned(home.cache()).or_fail(FailureKind::Infrastructure)?;
    found.extend(builds.into_iter().map(|path| Leftover { what: "build folder", path }));
    found.extend(half_written(&home.cache().join("binaries")).filter(|left| is_old(&left.path)));
    Ok(found)
}

/// Removes what is left, and returns what was removed. A run's lock is held while its folder is cleaned.
pub fn remove(home: &Home, temporary: &Path) -> Outcome<Vec<Leftover>> {
    let mut removed = Vec::new();
    let mut remove = |left: Leftover| -> Outcome {
        remove_tree_or_file(&left.path)
            .or_fail(FailureKind::Infrastructure)
            .map_err(|failure| failure.context(format!("remove {}", left.path.display())))?;
        removed.push(left);
        Ok(())
    };
    for folder in folders(home) {
        if of_run(&folder).is_empty() {
            continue;
        }
        // One that was taken up in between is no leftover.
        let Ok(lock) = RunLock::take(&folder) else { continue };
        for left in of_run(&folder) {
            remove(left)?;
        }
        drop(lock);
    }
    for left in sockets(temporary) {
        remove(left)?;
    }
    for left in half_written(&home.cache().join("binaries")).filter(|left| is_old(&left.path)) {
        remove(left)?;
    }
    let has_builds = !hone_sandbox::child::abandoned(home.cache())
        .or_fail(FailureKind::Infrastructure)?
        .is_empty();
    if has_builds {
        let builds =
            hone_sandbox::child::sweep(home.cache()).or_fail(FailureKind::Infrastructure)?;
        removed.extend(builds.into_iter().map(|path| Leftover { what: "build folder", path }));
    }
    Ok(removed)
}

/// Lists the folders in a home that a run has or had.
fn folders(home: &Home) -> Vec<RunFolder> {
    let entries = std::fs::read_dir(home.root()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut folders: Vec<RunFolder> =
        names.filter_map(|name| home.run(&name).ok()).filter(|run| run.lock().is_file()).collect();
    folders.sort();
    folders
}

/// Finds what is left in the folder of a run that nobody drives.
fn of_run(folder: &RunFolder) -> Vec<Leftover> {
    if never_began(folder) {
        return vec![Leftover { what: "run that never began", path: folder.root().to_owned() }];
    }
    let mut found = Vec::new();
    let work = folder.root().join(WORK);
    if work.is_dir() {
        found.push(Leftover { what: "work folder", path: work });
    }
    found.extend(half_written(folder.root()));
    found.extend(half_written(&folder.traces()));
    found
}

/// Tells whether a run died before anything of it was written.
fn never_began(folder: &RunFolder) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder.root()) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            name == "lock" || name.to_string_lossy().starts_with(HALF_WRITTEN)
        })
    })
}

fn half_written(folder: &Path) -> impl Iterator<Item = Leftover> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(HALF_WRITTEN))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| Leftover { what: "half-written file", path: entry.path() })
}

fn is_old(path: &Path) -> bool {
    let modified = std::fs::metadata(path).and_then(|data| data.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > SURELY_DEAD))
}

/// Finds folders of sockets and rooms whose process is dead. Those of other users are theirs.
fn sockets(temporary: &Path) -> Vec<Leftover> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    let mut found: Vec<Leftover> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let (what, rest) =
                [("folder of sockets", SOCKETS), ("folder of a verifier's room", ROOMS)]
                    .into_iter()
                    .find_map(|(what, prefix)| {
                        Some((what, name.to_str()?.strip_prefix(prefix)?))
                    })?;
            let process: u32 = rest.split('-').next()?.parse().ok()?;
            let is_mine = entry.metadata().is_ok_and(|data| data.is_dir() && data.uid() == me);
            let is_dead = !Path::new(&format!("/proc/{process}")).exists();
            (is_mine && is_dead).then(|| Leftover { what, path: entry.path() })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn remove_tree_or_file(path: &Path) -> std::io::Result<()> {
    if path.is_dir() { remove_tree(path) } else { std::fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn write(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }

    fn shown(root: &Path, left: &[Leftover]) -> Vec<String> {
        let path = |left: &Leftover| left.path.strip_prefix(root).unwrap().display().to_string();
        left.iter().map(|left| format!("{}: {}", left.what, path(left))).collect()
    }

    #[test]
    fn what_the_dead_left_goes_and_all_else_stays() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let home = Home::new(root.join("home"), root.join("cache"));
        let temporary = root.join("tmp");
        for run in ["alive", "dead"] {
            for file in
                ["run.json", "lock", "work/seed-0/a", ".tmpAb12Cd", "traces/.tmpX", "traces/t"]
            {
                write(&home.root().join(run).join(file));
            }
        }
        write(&home.root().join("unborn/lock"));
        write(&home.root().join("foreign/work/a"));
        write(&home.root().join("suites/mine/lock"));
        // No process has this number: the kernel's own limit is 2^22.
        let me = std::process::id();
        for folder in [
            format!("{SOCKETS}4999999-a"),
            format!("{SOCKETS}{me}-b"),
            format!("{ROOMS}4999999-c"),
            "other".to_owned(),
        ] {
            write(&temporary.join(folder).join("0/door.sock"));
        }
        write(&home.cache().join("builds/nest-dead/lock"));
        write(&home.cache().join("binaries/.tmpYoung"));
        write(&home.cache().join("binaries/program"));
        let lock = RunLock::take(&home.run("alive").unwrap()).unwrap();

        let wanted = [
            "half-written file: home/dead/.tmpAb12Cd",
            "half-written file: home/dead/traces/.tmpX",
            "work folder: home/dead/work",
            "run that never began: home/unborn",
            &format!("folder of sockets: tmp/{SOCKETS}4999999-a"),
            &format!("folder of a verifier's room: tmp/{ROOMS}4999999-c"),
            "build folder: cache/builds/nest-dead",
        ];
        let mut wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        let sorted = |left: &[Leftover]| {
            let mut shown = shown(root, left);
            shown.sort();
            shown
        };
        wanted.sort();
        assert_eq!(sorted(&find(&home, &temporary).unwrap()), wanted);
        assert_eq!(sorted(&remove(&home, &temporary).unwrap()), wanted);
        assert_eq!(find(&home, &temporary).unwrap(), []);
        for file in [
            "home/alive/work/seed-0/a",
            "home/alive/.tmpAb12Cd",
            "home/dead/run.json",
            "home/dead/traces/t",
            "home/foreign/work/a",
            "home/suites/mine/lock",
            &format!("tmp/{SOCKETS}{me}-b/0/door.sock"),
            "tmp/other/0/door.sock",
            "cache/binaries/.tmpYoung",
            "cache/binaries/program",
        ] {
            assert!(root.join(file).exists(), "{file}");
        }
        drop(lock);
        assert!(!find(&home, &temporary).unwrap().is_empty(), "it is dead now");
    }
}
