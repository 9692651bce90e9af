//! Changes and snapshots out of the published wheels of successive releases.

use super::wheel::Wheel;
use super::{Change, ChangeSource, Changes, OriginError, Snapshot, SourceFile, folder, slug};
use crate::suite::Source;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// How many releases edits are made from where none are named.
pub const RELEASES: usize = 4;

/// How many more releases are tried where newer ones have no wheel for this Python.
const SPARE: usize = 3;

/// The wheels of a package, oldest first.
#[derive(Debug)]
pub struct Wheels {
    package: String,
    wheels: Vec<Wheel>,
}

impl Wheels {
    /// Reads wheels that lie on disk: files, or folders of them.
    pub fn open(package: &str, places: &[PathBuf]) -> Result<Self, OriginError> {
        let mut paths = Vec::new();
        for place in places {
            if !place.is_dir() {
                paths.push(place.clone());
                continue;
            }
            let io = |source| OriginError::Io { path: place.clone(), source };
            for entry in std::fs::read_dir(place).map_err(io)? {
                let path = entry.map_err(io)?.path();
                let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
                let (stem, _) = name.split_once('-').unwrap_or_default();
                if name.ends_with(".whl") && normal(stem) == normal(package) {
                    paths.push(path);
                }
            }
        }
        let mut wheels =
            paths.iter().map(|path| Wheel::read(path)).collect::<Result<Vec<_>, _>>()?;
        if let Some(other) = wheels.iter().find(|wheel| normal(&wheel.package) != normal(package)) {
            let file = &other.release.file;
            return Err(OriginError::TooLittle(format!(
                "{package}: {file} is a wheel of another package"
            )));
        }
        wheels.sort_by_cached_key(|wheel| order(&wheel.release.version));
        wheels.dedup_by(|a, b| a.release.version == b.release.version);
        if wheels.is_empty() {
            return Err(OriginError::TooLittle(format!("{package}: there is no wheel")));
        }
        Ok(Wheels { package: package.to_owned(), wheels })
    }

    fn source(&self, wheels: &[Wheel]) -> Source {
        let releases = wheels.iter().map(|wheel| wheel.release.clone()).collect();
        Source::Pypi { package: self.package.clone(), releases }
    }

    /// The files that changed from one release to the next.
    fn list_changes(&self) -> Result<Changes, OriginError> {
        if self.wheels.len() < 2 {
            return Err(OriginError::TooLittle(format!(
                "{}: edits need the wheels of two releases, there is one",
                self.package
            )));
        }
        let mut list = Vec::new();
        for pair in self.wheels.windows(2).rev() {
            let [old, new] = pair else { continue };
            for (path, before) in &old.files {
                let Some(after) = new.files.get(path).filter(|after| *after != before) else {
                    continue;
                };
                let version = &new.release.version;
                list.push(Change {
                    id: format!("{}-{}-{}", slug(&self.package), slug(version), slug(path)),
                    group: self.package.clone(),
                    origin: format!("{} {} to {version}", self.package, old.release.version),
                    path: path.clone(),
                    before: before.to_vec(),
                    after: after.to_vec(),
                    parent: old.release.version.clone(),
                });
            }
        }
        // Two paths can have one slug; the later one then says so.
        let mut seen = std::collections::HashSet::new();
        for change in &mut list {
            while !seen.insert(change.id.clone()) {
                change.id.push_str("-again");
            }
        }
        let about = format!("{} releases of {}", self.wheels.len(), self.package);
        Ok(Changes { source: self.source(&self.wheels), about, list })
    }

    /// Returns the files of the newest release.
    pub fn snapshot(&self) -> Result<Snapshot, OriginError> {
        let newest = self.wheels.last().map(std::slice::from_ref).unwrap_or_default();
        let files = newest.iter().flat_map(|wheel| wheel.files.clone()).collect();
        let version = newest.first().map(|w| w.release.version.clone()).unwrap_or_default();
        Ok(Snapshot {
            source: self.source(newest),
            about: format!("{} {version}", self.package),
            group: self.package.clone(),
            files,
        })
    }
}

impl ChangeSource for Wheels {
    fn changes(&self, _: usize) -> Result<Changes, OriginError> {
        self.list_changes()
    }

    fn around(&self, change: &Change) -> Result<Vec<SourceFile>, OriginError> {
        let old = self.wheels.iter().find(|wheel| wheel.release.version == change.parent);
        let files = old.iter().flat_map(|wheel| &wheel.files);
        let beside =
            files.filter(|(path, _)| **path != change.path && folder(path) == folder(&change.path));
        Ok(beside.map(|(path, bytes)| (path.clone(), Arc::clone(bytes))).collect())
    }
}

/// Fetches wheels with pip into a folder, and returns their paths: those of the versions, or of the `most` newest
/// releases where none are named. What lies there already is not fetched again. pip runs nothing of the package: only
/// wheels are taken, and none is installed.
pub fn fetch(
    package: &str,
    versions: &[String],
    most: usize,
    into: &Path,
) -> Result<Vec<PathBuf>, OriginError> {
    let named = !versions.is_empty();
    let versions = if named { versions.to_vec() } else { newest(package, most + SPARE)? };
    let wanted = if named { versions.len() } else { most };
    std::fs::create_dir_all(into)
        .map_err(|source| OriginError::Io { path: into.to_owned(), source })?;
    let mut paths = Vec::new();
    let mut failed = None;
    for version in &versions {
        if paths.len() == wanted {
            break;
        }
        if let Some(path) = wheel_of(package, version, into) {
            paths.push(path);
            continue;
        }
        let requirement = format!("{package}=={version}");
        let into = into.to_string_lossy();
        let arguments = [
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
            &into,
            "--",
            &requirement,
        ];
        match pip(package, &arguments) {
            Ok(_) => paths.extend(wheel_of(package, version, Path::new(into.as_ref()))),
            // A release without a wheel for this Python is passed over, unless it was asked for by name.
            Err(error) if named => return Err(error),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if paths.is_empty() => Err(error),
        _ => Ok(paths),
    }
}

/// Asks pip for the newest final releases of a package, newest first.
fn newest(package: &str, count: usize) -> Result<Vec<String>, OriginError> {
    let output = pip(package, &["index", "versions", "--", package])?;
    let line = output.lines().find_map(|line| line.strip_prefix("Available versions:"));
    let listed = line.unwrap_or_default().split(',').map(str::trim);
    let is_final = |v: &&str| !v.is_empty() && v.chars().all(|c| c.is_ascii_digit() || c == '.');
    let versions: Vec<String> = listed.filter(is_final).take(count).map(str::to_owned).collect();
    if versions.is_empty() {
        let what = "it lists no final release".to_owned();
        return Err(OriginError::Pip { package: package.to_owned(), what });
    }
    Ok(versions)
}

fn pip(package: &str, arguments: &[&str]) -> Result<String, OriginError> {
    let failed = |what: String| OriginError::Pip { package: package.to_owned(), what };
    let output = Command::new("python3")
        .args(["-m", "pip", "--no-input", "--disable-pip-version-check"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            failed(format!("python3 cannot be started ({e}); install python3 and python3-pip"))
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("ERROR")).collect();
    let errors = if errors.is_empty() { said.trim().to_owned() } else { errors.join("; ") };
    if said.contains("No module named pip") {
        return Err(failed("python3 has no pip; install python3-pip".to_owned()));
    }
    Err(failed(errors.chars().take(1000).collect()))
}

fn wheel_of(package: &str, version: &str, folder: &Path) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let mut parts = name.strip_suffix(".whl").unwrap_or_default().split('-');
            parts.next().is_some_and(|part| normal(part) == normal(package))
                && parts.next() == Some(version)
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.into_iter().next()
}

/// The form in which two names of one package are equal (PEP 503).
fn normal(name: &str) -> String {
    name.split(['-', '_', '.'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
        .to_ascii_lowercase()
}

/// Orders versions by their numbers; a letter, as in a pre-release, comes before the end of the version.
fn order(version: &str) -> (Vec<u64>, bool, String) {
    let numbers = version
        .split('.')
        .map_while(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect();
    let is_final = version.chars().all(|c| c.is_ascii_digit() || c == '.');
    (numbers, is_final, version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{normal, order};

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut versions = ["2.10.0", "2.9.1", "2.10.0rc1", "10.0", "2.9"];
        versions.sort_by_key(|version| order(version));
        assert_eq!(versions, ["2.9", "2.9.1", "2.10.0rc1", "2.10.0", "10.0"]);
    }

    #[test]
    fn names_of_one_package_are_equal() {
        assert_eq!(normal("Typing_Extensions"), normal("typing-extensions"));
    }
}
