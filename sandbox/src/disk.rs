//! Watches how much a sandbox holds. Neither the engine's usual storage nor a plain folder has quotas for everybody, so
//! the folders are measured, and whoever writes too much is killed. A single file cannot pass the limit at all.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// So often folders are measured at most.
const PERIOD: Duration = Duration::from_secs(1);
/// Measuring takes at most one part in so many of the time.
const SHARE: u32 = 20;

/// Watches folders until it is dropped; cancels a token when they hold more than they may.
pub(crate) fn watch(
    folders: Vec<PathBuf>,
    most: u64,
    too_full: CancellationToken,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let mut pause = PERIOD;
        loop {
            tokio::time::sleep(pause).await;
            let measured = folders.clone();
            let began = Instant::now();
            let held = tokio::task::spawn_blocking(move || measure(&measured)).await;
            if held.is_ok_and(|held| held > most) {
                too_full.cancel();
                return;
            }
            pause = PERIOD.max(began.elapsed() * SHARE);
        }
    }))
}

/// Sums up the space that folders take, hard links once.
pub(crate) fn measure(folders: &[PathBuf]) -> u64 {
    let mut seen = HashSet::new();
    folders.iter().map(|folder| of(folder, &mut seen)).sum()
}

fn of(path: &Path, seen: &mut HashSet<(u64, u64)>) -> u64 {
    let Ok(data) = std::fs::symlink_metadata(path) else { return 0 };
    if data.nlink() > 1 && !data.is_dir() && !seen.insert((data.dev(), data.ino())) {
        return 0;
    }
    let mut bytes = data.blocks() * 512;
    if data.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            bytes += of(&entry.path(), seen);
        }
    }
    bytes
}
