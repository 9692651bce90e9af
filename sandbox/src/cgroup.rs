//! Limits of a bubblewrap sandbox through control groups, where this process may make some.

use crate::contract::{Limits, SandboxError};
use crate::owner::{Life, Process};
use crate::quarters::file;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of groups start with; an owner and a number follow.
const PREFIX: &str = "hone.";
/// The microseconds of processor time are counted in periods of so many.
const PERIOD: u64 = 100_000;
/// Processes of bubblewrap and the supervisor, besides those that a sandbox may have.
const OWN_PROCESSES: u64 = 16;
/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The groups of one sandbox: one for each controller in version 1, else a single one. They go when it is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    folders: Vec<PathBuf>,
    /// The file with the number of processes killed for memory.
    kills: PathBuf,
}

impl Group {
    /// Makes a group with limits.
    pub fn new(name: &str, limits: &Limits) -> Result<Self, SandboxError> {
        Self::below(&parents(), name, limits)
    }

    fn below(parents: &Parents, name: &str, limits: &Limits) -> Result<Self, SandboxError> {
        let name = format!("{PREFIX}{name}");
        let quota = ((limits.cpus * PERIOD as f64) as u64).max(1000);
        let (memory, processes) = (
            limits.memory_bytes.to_string(),
            limits.processes.saturating_add(OWN_PROCESSES).to_string(),
        );
        let mut group = Group { folders: Vec::new(), kills: PathBuf::new() };
        match parents {
            Parents::One { memory: m, processors: c, processes: p } => {
                let folder = group.make(m, &name)?;
                write(&folder, "memory.limit_in_bytes", &memory)?;
                // Without accounting of swap the file is not there.
                let _ = write(&folder, "memory.memsw.limit_in_bytes", &memory);
                group.kills = folder.join("memory.oom_control");
                let folder = group.make(c, &name)?;
                write(&folder, "cpu.cfs_period_us", &PERIOD.to_string())?;
                write(&folder, "cpu.cfs_quota_us", &quota.to_string())?;
                let folder = group.make(p, &name)?;
                write(&folder, "pids.max", &processes)?;
            }
            Parents::Two(parent) => {
                let folder = group.make(parent, &name)?;
                write(&folder, "memory.max", &memory)?;
                let _ = write(&folder, "memory.swap.max", "0");
                write(&folder, "cpu.max", &format!("{quota} {PERIOD}"))?;
                write(&folder, "pids.max", &processes)?;
                group.kills = folder.join("memory.events");
            }
        }
        Ok(group)
    }

    fn make(&mut self, parent: &Path, name: &str) -> Result<PathBuf, SandboxError> {
        let folder = parent.join(name);
        std::fs::create_dir(&folder).map_err(file("make the control group", &folder))?;
        self.folders.push(folder.clone());
        Ok(folder)
    }

    /// Opens the files that a process writes `0` to in order to enter.
    pub fn doors(&self) -> Result<Vec<File>, SandboxError> {
        let open = |folder: &PathBuf| {
            let path = folder.join("cgroup.procs");
            File::options().write(true).open(&path).map_err(file("open", &path))
        };
        self.folders.iter().map(open).collect()
    }

    /// Returns how many processes were killed for memory.
    pub fn kills(&self) -> u64 {
        let text = std::fs::read_to_string(&self.kills).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let folders = std::mem::take(&mut self.folders);
        let left: Vec<PathBuf> =
            folders.into_iter().filter(|folder| std::fs::remove_dir(folder).is_err()).collect();
        if left.is_empty() {
            return;
        }
        // Processes that were killed just now leave their group a little later.
        std::thread::spawn(move || {
            for folder in left {
                let mut tries = 0;
                while folder.exists() && std::fs::remove_dir(&folder).is_err() && tries < 200 {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                    tries += 1;
                }
            }
        });
    }
}

/// Finds the groups of dead processes.
pub(crate) fn leftovers() -> Vec<PathBuf> {
    let parents = match parents() {
        Parents::One { memory, processors, processes } => vec![memory, processors, processes],
        Parents::Two(parent) => vec![parent],
    };
    let mut found = Vec::new();
    for parent in parents {
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(PREFIX).and_then(|name| name.rsplit_once('.'));
            let owner = owner.and_then(|(owner, _)| owner.parse::<Process>().ok());
            if owner.is_some_and(|owner| owner.life() == Life::Dead) {
                found.push(entry.path());
            }
        }
    }
    found
}

/// Kills what is in a group, and removes it.
pub(crate) fn clear(group: &Path) {
    for _ in 0..200 {
        let processes = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for pid in processes.lines().filter_map(|line| line.parse().ok()) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                // One that ended meanwhile is what is wanted.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        if std::fs::remove_dir(group).is_ok() || !group.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    tracing::warn!(group = %group.display(), "a control group is left");
}

/// The groups in which ours are made.
enum Parents {
    /// Version 1: each controller has a tree of its own.
    One { memory: PathBuf, processors: PathBuf, processes: PathBuf },
    /// Version 2.
    Two(PathBuf),
}

/// Finds the groups that this process is in.
fn parents() -> Parents {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of = |controller: &str| {
        let path = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let has = parts.next()?.split(',').any(|name| name == controller);
            has.then(|| parts.next()).flatten()
        });
        path.unwrap_or("/").trim_start_matches('/')
    };
    let root = Path::new(ROOT);
    if root.join("cgroup.controllers").exists() {
        let own = root.join(of(""));
        // A group with processes in it can have no children with limits, so ours lie beside it, unless it is the root.
        let parent = own.parent().filter(|parent| parent.starts_with(root)).unwrap_or(&own);
        return Parents::Two(parent.to_owned());
    }
    Parents::One {
        memory: root.join("memory").join(of("memory")),
        processors: root.join("cpu").join(of("cpu")),
        processes: root.join("pids").join(of("pids")),
    }
}

fn write(folder: &Path, name: &str, value: &str) -> Result<(), SandboxError> {
    let path = folder.join(name);
    std::fs::write(&path, value).map_err(file("write", &path))
}

/// Tells whether this process can make groups with limits.
pub(crate) fn can_be_made() -> bool {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    Group::new(&format!("{}.probe{number}", Process::this()), &Limits::default()).is_ok()
}
