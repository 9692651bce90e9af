//! Packing: one file in place of thousands, and rubbish taken away.

use super::{Archive, ArchiveError};
use crate::ledger::LedgerError;
use crate::objects;
use git2::{Oid, PackBuilderStage, Repository};
use serde::Serialize;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Objects that nothing reaches are taken away at this age: younger ones may belong to a version that is
/// being added.
const RUBBISH_AGE: Duration = Duration::from_secs(24 * 3600);

/// What packing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// Objects in the pack.
    pub objects: usize,
    /// Bytes of the repository before.
    pub bytes_before: u64,
    /// Bytes of the repository after.
    pub bytes_after: u64,
}

impl Archive {
    /// Commits what is in the journal and packs the repository. Everything stays; it may be called while others
    /// write.
    pub fn pack(&self, progress: impl FnMut(usize, usize)) -> Result<Packed, ArchiveError> {
        let mut inner = self.lock();
        let root = inner.ledger.repository.path().to_owned();
        let bytes_before = bytes_of(&root);
        inner.ledger.locked(|ledger| ledger.rotate())?;
        check_loose(&root)?;
        let started = SystemTime::now();
        let (pack, objects) = write_pack(&inner.ledger.repository, progress)
            .map_err(ArchiveError::git("pack the archive"))?;
        let Some(pack) = pack else {
            return Ok(Packed { objects: 0, bytes_before, bytes_after: bytes_before });
        };
        let folder = root.join("objects/pack");
        let stem = format!("pack-{pack}");
        // Nothing is taken away before the pack would survive a loss of power.
        for suffix in ["pack", "idx"] {
            let path = folder.join(format!("{stem}.{suffix}"));
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(|source| LedgerError::file(&path, source))?;
        }
        let error = |source| LedgerError::file(&folder, source);
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(error)?;
        remove_loose(&root, &objects, started)?;
        remove_old_packs(&folder, &stem, started)?;
        // What an earlier start set aside as unreadable is of no use any more.
        let aside = inner.ledger.directory().join("damaged");
        if aside.exists() {
            fs::remove_dir_all(&aside).map_err(|source| LedgerError::file(&aside, source))?;
        }
        Ok(Packed { objects: objects.len(), bytes_before, bytes_after: bytes_of(&root) })
    }
}

type Objects = std::collections::HashSet<Oid>;

/// Writes a pack of everything that a ref reaches. Returns its name, or none where there is nothing.
fn write_pack(
    repository: &Repository,
    mut progress: impl FnMut(usize, usize),
) -> Result<(Option<String>, Objects), git2::Error> {
    let mut walk = repository.revwalk()?;
    walk.push_glob("refs/heads/*")?;
    let mut builder = repository.packbuilder()?;
    builder.set_threads(0);
    builder.insert_walk(&mut walk)?;
    if builder.object_count() == 0 {
        return Ok((None, Objects::new()));
    }
    builder.set_progress_callback(move |stage, done, of| {
        if matches!(stage, PackBuilderStage::Deltafication) {
            progress(done as usize, of as usize);
        }
        true
    })?;
    let folder = repository.path().join("objects/pack");
    builder.write(&folder, 0o444)?;
    let name = builder.name()?.map(str::to_owned);
    builder.unset_progress_callback()?;
    // What is in the pack is read from the pack itself, not from what was asked for.
    let mut objects = Objects::new();
    if let Some(name) = &name {
        let odb = git2::Odb::new()?;
        odb.add_disk_alternate(&pack_alone(repository, name)?)?;
        odb.foreach(|oid| {
            objects.insert(*oid);
            true
        })?;
        fs::remove_dir_all(repository.path().join("hone/packed")).ok();
    }
    Ok((name, objects))
}

/// Makes an object directory that holds one pack alone.
fn pack_alone(repository: &Repository, name: &str) -> Result<String, git2::Error> {
    let say = |error: std::io::Error| git2::Error::from_str(&error.to_string());
    let from = repository.path().join("objects/pack");
    let to = repository.path().join("hone/packed");
    fs::remove_dir_all(&to).ok();
    fs::create_dir_all(to.join("pack")).map_err(say)?;
    for suffix in ["pack", "idx"] {
        let file = format!("pack-{name}.{suffix}");
        fs::hard_link(from.join(&file), to.join("pack").join(&file)).map_err(say)?;
    }
    Ok(to.to_string_lossy().into_owned())
}

/// Fails where a loose object is cut off: git would read it for ever.
fn check_loose(root: &Path) -> Result<(), LedgerError> {
    let objects = root.join("objects");
    let error = |source| LedgerError::file(&objects, source);
    for folder in fs::read_dir(&objects).map_err(error)?.flatten() {
        if folder.file_name().len() != 2 {
            continue;
        }
        for file in fs::read_dir(folder.path()).map_err(error)?.flatten() {
            if file.file_name().len() == 38 {
                let path = file.path();
                objects::is_whole(&path).map_err(|source| LedgerError::file(&path, source))?;
            }
        }
    }
    Ok(())
}

fn remove_loose(root: &Path, packed: &Objects, now: SystemTime) -> Result<(), LedgerError> {
    let objects = root.join("objects");
    let error = |source| LedgerError::file(&objects, source);
    for folder in fs::read_dir(&objects).map_err(error)?.flatten() {
        let prefix = folder.file_name().to_string_lossy().into_owned();
        if prefix.len() != 2 {
            continue;
        }
        for file in fs::read_dir(folder.path()).map_err(error)?.flatten() {
            let name = format!("{prefix}{}", file.file_name().to_string_lossy());
            let known =
                name.len() == 40 && Oid::from_str(&name).is_ok_and(|oid| packed.contains(&oid));
            if known || is_rubbish(&file.path(), now) {
                fs::remove_file(file.path()).map_err(error)?;
            }
        }
        // It stays where objects remain in it.
        let _ = fs::remove_dir(folder.path());
    }
    Ok(())
}

fn remove_old_packs(folder: &Path, kept: &str, started: SystemTime) -> Result<(), LedgerError> {
    let error = |source| LedgerError::file(folder, source);
    for file in fs::read_dir(folder).map_err(error)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let before = file.metadata().and_then(|data| data.modified()).is_ok_and(|it| it < started);
        if name.starts_with("pack-") && !name.starts_with(kept) && before {
            fs::remove_file(file.path()).map_err(error)?;
        }
    }
    Ok(())
}

fn is_rubbish(path: &Path, now: SystemTime) -> bool {
    let age = fs::metadata(path).and_then(|data| data.modified()).ok();
    age.and_then(|modified| now.duration_since(modified).ok()).is_some_and(|it| it > RUBBISH_AGE)
}

fn bytes_of(folder: &Path) -> u64 {
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => open.push(entry.path()),
                Ok(data) => bytes += data.len(),
                Err(_) => {} // it went away meanwhile
            }
        }
    }
    bytes
}
