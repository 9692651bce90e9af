//! Python files out of a wheel, which is a zip file. Nothing is unpacked to disk.

use super::OriginError;
use crate::digest::Digest;
use crate::suite::Release;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Largest Python file that is taken, in bytes.
const LARGEST: u64 = 1 << 20;
/// Most bytes that a wheel may unpack to; a larger one is taken for a bomb.
const ALL: u64 = 256 << 20;
/// Largest wheel, in bytes.
const WHEEL: u64 = 256 << 20;

/// A wheel that was read.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// The package, as the file's name gives it.
    pub package: String,
    /// The release.
    pub release: Release,
    /// Its Python files by their paths.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

impl Wheel {
    /// Reads a wheel.
    pub fn read(path: &Path) -> Result<Self, OriginError> {
        let wrong = |what: String| OriginError::Wheel { path: path.to_owned(), what };
        let io = |source| OriginError::Io { path: path.to_owned(), source };
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let mut parts = file.strip_suffix(".whl").unwrap_or_default().split('-');
        let (Some(package), Some(version)) = (parts.next(), parts.next()) else {
            return Err(wrong("its name is not NAME-VERSION-….whl".to_owned()));
        };
        let (package, version) = (package.to_owned(), version.to_owned());
        if std::fs::metadata(path).map_err(io)?.len() > WHEEL {
            return Err(wrong(format!("it is larger than {} MiB", WHEEL >> 20)));
        }
        let bytes = std::fs::read(path).map_err(io)?;
        let digest = Digest::of(&bytes);
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes))
            .map_err(|e| wrong(format!("it is no zip file: {e}")))?;
        let mut files = BTreeMap::new();
        let mut all = 0;
        for number in 0..archive.len() {
            let entry = archive.by_index(number).map_err(|e| wrong(e.to_string()))?;
            let name = entry.name().map(|name| name.into_owned()).unwrap_or_default();
            let wanted = entry.is_file()
                && name.ends_with(".py")
                && crate::files::check_path(&name).is_ok()
                && !name.split('/').any(|part| part.ends_with(".data"));
            if !wanted {
                continue;
            }
            let mut text = Vec::new();
            entry
                .take(LARGEST + 1)
                .read_to_end(&mut text)
                .map_err(|e| wrong(format!("{name}: {e}")))?;
            all += text.len() as u64;
            if all > ALL {
                return Err(wrong(format!("it unpacks to more than {} MiB", ALL >> 20)));
            }
            if text.len() as u64 <= LARGEST {
                files.insert(name, text.into());
            }
        }
        Ok(Wheel { package, release: Release { version, file, digest }, files })
    }
}
