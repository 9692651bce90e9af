//! The seed agent's source, which is part of the program.

use std::io;
use std::path::Path;

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/seed.rs"));

/// Writes the seed's tree into a directory.
pub fn write(directory: &Path) -> io::Result<()> {
    for (path, content) in FILES {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_seed_has_its_manifest_its_lockfile_and_its_protocol() {
        let dir = tempfile::tempdir().unwrap();
        super::write(dir.path()).unwrap();
        for file in [
            "Cargo.toml",
            "Cargo.lock",
            ".cargo/config.toml",
            "protocol/src/lib.rs",
            "description.txt",
        ] {
            assert!(dir.path().join(file).is_file(), "{file}");
        }
        assert!(!dir.path().join("target").exists());
    }
}
