//! Folders, disk and memory.

use super::{Finding, Machine, State};
use crate::home::Home;
use crate::settings::Settings;
use std::path::{Path, PathBuf};

const GIB: u64 = 1 << 30;

/// The least disk: the pantry, the seed's compiled dependencies, and one build on a copy of them.
const LEAST_DISK: u64 = 3 * GIB;

/// Disk for a run of some length.
const GOOD_DISK: u64 = 10 * GIB;

/// Looks at all of it.
pub fn examine(machine: &Machine, settings: &Settings, home: &Home) -> Vec<Finding> {
    vec![
        folder("home", "runs and suites", home.root(), "--home DIR"),
        folder("cache", "crates and compiled dependencies", home.cache(), "HONE_CACHE=DIR"),
        pantry(home.cache()),
        memory(machine, settings),
    ]
}

/// Looks whether a folder can be written and has room; a folder that is not there is judged by where it would be.
fn folder(name: &str, needed_for: &str, path: &Path, elsewhere: &str) -> Finding {
    let lack =
        |state, seen: String, cure: String| Finding::lack(state, name, needed_for, seen, cure);
    let shown = path.display();
    let Some(existing) = nearest_existing(path) else {
        return lack(State::Missing, format!("{shown} is nowhere"), use_other(elsewhere));
    };
    if !existing.is_dir() {
        let seen = format!("{} is no folder", existing.display());
        return lack(State::Missing, seen, use_other(elsewhere));
    }
    // Writing is the only sure test: rights, read-only file systems and quotas all forbid it in their own way.
    if let Err(error) = tempfile::tempfile_in(&existing) {
        let seen = format!("{} cannot be written: {error}", existing.display());
        return lack(State::Missing, seen, use_other(elsewhere));
    }
    let free = match rustix::fs::statvfs(&existing) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let seen = format!("the disk of {shown} cannot be asked: {error}");
            return lack(State::Optional, seen, String::new());
        }
    };
    let seen = format!("{shown}, {:.1} GiB free", free as f64 / GIB as f64);
    if free < GOOD_DISK {
        let state = if free < LEAST_DISK { State::Missing } else { State::Optional };
        let seen = format!("{seen}: {} GiB are good to have", GOOD_DISK / GIB);
        return lack(state, seen, format!("hone clean   # or {}", use_other(elsewhere)));
    }
    Finding::ok(name, needed_for, seen)
}

fn use_other(elsewhere: &str) -> String {
    format!("name another place with {elsewhere}")
}

fn nearest_existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|path| path.exists()).map(Path::to_owned)
}

/// Tells whether crates were fetched already, after which nothing needs a network.
fn pantry(cache: &Path) -> Finding {
    const NAME: &str = "pantry";
    const NEEDED_FOR: &str = "building agents without a network";
    let pantries = std::fs::read_dir(cache.join("pantry")).into_iter().flatten().flatten();
    let made = pantries.filter(|entry| entry.path().join("contents.json").is_file()).count();
    match made {
        0 => Finding::ok(
            NAME,
            NEEDED_FOR,
            "made on the first run, when cargo has to reach its registry",
        ),
        made => Finding::ok(NAME, NEEDED_FOR, format!("{made} made, no registry is needed")),
    }
}

fn memory(machine: &Machine, settings: &Settings) -> Finding {
    const NAME: &str = "memory";
    const NEEDED_FOR: &str = "trials side by side and builds";
    let total = machine.read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let Some(total) = total.map(|kib| kib / 1024) else {
        return Finding::ok(NAME, NEEDED_FOR, "its size cannot be asked");
    };
    let trials = settings.workers as u64 * settings.trial.memory_mib;
    let wanted = trials.max(settings.editor.memory_mib);
    let seen =
        format!("{total} MiB; trials may take {trials}, an editor {}", settings.editor.memory_mib);
    if wanted <= total {
        return Finding::ok(NAME, NEEDED_FOR, seen);
    }
    let cure = match trials > total {
        true => "-c workers=1 or a lower -c trial.memory_mib=".to_owned(),
        false => format!("-c editor.memory_mib={}", total * 3 / 4),
    };
    Finding::lack(State::Optional, NAME, NEEDED_FOR, seen, format!("run with {cure}"))
}
