//! Which images Hone has pulled, and when each was last used.
//!
//! Only these may be evicted: an image that was there before belongs to someone else.

use super::{ImageError, file};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An image that Hone pulled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulled {
    /// Its size; layers that it shares with others count for each.
    pub bytes: u64,
    /// When it was last used.
    pub used: Timestamp,
}

/// The record of pulled images in a cache.
#[derive(Clone, Debug)]
pub struct Shelf {
    path: PathBuf,
}

impl Shelf {
    /// Describes the record of a cache; it need not be there.
    pub fn new(cache: &Path) -> Self {
        Shelf { path: cache.join("images.json") }
    }

    /// Returns the images by reference.
    ///
    /// # Errors
    /// Returns an error when the record cannot be read.
    pub fn images(&self) -> Result<BTreeMap<String, Pulled>, ImageError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| file("read", &self.path)(std::io::Error::other(error))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(file("read", &self.path)(error)),
        }
    }

    /// Notes that Hone pulled an image.
    ///
    /// # Errors
    /// Returns an error when the record cannot be written.
    pub fn pulled(&self, reference: &str, bytes: u64, now: Timestamp) -> Result<(), ImageError> {
        self.change(|images| {
            images.insert(reference.to_owned(), Pulled { bytes, used: now });
        })
    }

    /// Notes that an image is used. One that Hone did not pull stays unknown.
    ///
    /// # Errors
    /// Returns an error when the record cannot be written.
    pub fn used(&self, reference: &str, now: Timestamp) -> Result<(), ImageError> {
        self.change(|images| {
            if let Some(pulled) = images.get_mut(reference) {
                pulled.used = now;
            }
        })
    }

    /// Notes that an image is gone.
    ///
    /// # Errors
    /// Returns an error when the record cannot be written.
    pub fn removed(&self, reference: &str) -> Result<(), ImageError> {
        self.change(|images| {
            images.remove(reference);
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Pulled>)) -> Result<(), ImageError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(file("create", folder))?;
        let lock_path = self.path.with_extension("lock");
        let lock = std::fs::File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(file("open", &lock_path))?;
        lock.lock().map_err(file("lock", &lock_path))?;
        let before = self.images()?;
        let mut images = before.clone();
        change(&mut images);
        if images == before {
            return Ok(());
        }
        let json = serde_json::to_vec_pretty(&images)
            .map_err(|error| file("write", &self.path)(std::io::Error::other(error)))?;
        tempfile::NamedTempFile::new_in(folder)
            .and_then(|mut temporary| {
                std::io::Write::write_all(&mut temporary, &json)?;
                temporary.persist(&self.path).map_err(|error| error.error)
            })
            .map(drop)
            .map_err(file("write", &self.path))
    }
}

/// Chooses the images to evict so that the rest keeps to a budget: those that were not used for longest first, and
/// never one that is to be kept.
pub(super) fn to_evict(
    images: &BTreeMap<String, Pulled>,
    budget: u64,
    keep: &[String],
) -> Vec<String> {
    let mut total: u64 = images.values().map(|it| it.bytes).sum();
    let mut oldest_first: Vec<(&String, &Pulled)> =
        images.iter().filter(|(reference, _)| !keep.contains(reference)).collect();
    oldest_first.sort_by_key(|(_, pulled)| pulled.used);
    let mut evicted = Vec::new();
    for (reference, pulled) in oldest_first {
        if total <= budget {
            break;
        }
        total -= pulled.bytes;
        evicted.push(reference.clone());
    }
    evicted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_least_recently_used_images_go_until_the_rest_fits() {
        let cache = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(cache.path());
        for (name, second) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            shelf.pulled(name, 10, at(second)).unwrap();
        }
        shelf.used("a", at(5)).unwrap();
        let images = shelf.images().unwrap();

        assert_eq!(to_evict(&images, 40, &[]), [""; 0]);
        assert_eq!(to_evict(&images, 39, &[]), ["b"]);
        assert_eq!(to_evict(&images, 20, &["b".to_owned()]), ["c", "d"]);
        // What is kept may be more than the budget.
        assert_eq!(to_evict(&images, 0, &["a".to_owned()]), ["b", "c", "d"]);
    }

    #[test]
    fn an_image_that_hone_did_not_pull_is_never_on_the_shelf() {
        let cache = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(cache.path());
        shelf.used("somebody/elses:1", at(1)).unwrap();
        shelf.pulled("ours:1", 1, at(1)).unwrap();
        shelf.removed("somebody/elses:1").unwrap();
        assert_eq!(shelf.images().unwrap().into_keys().collect::<Vec<_>>(), ["ours:1"]);
    }
}
