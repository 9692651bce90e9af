//! The pantry: crates that an agent may use, as sources on disk, beside the Rust toolchain of the host.
//!
//! It is made once per machine from the seed agent's lockfile and a vetted list, by `cargo vendor`: crates are
//! fetched and unpacked, and nothing of them or of the agent runs. In a sandbox `cargo build --offline` then works
//! anywhere, whatever the network.

use crate::contract::Mount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Where the toolchain lies in a sandbox.
const RUST_INSIDE: &str = "/rust";
/// Where the pantry lies in a sandbox.
const PANTRY_INSIDE: &str = "/pantry";
/// Cargo reads the configuration of every ancestor of its directory, so this one holds everywhere.
const CONFIG_INSIDE: &str = "/.cargo";

/// Part of the digest: changes when the layout of a pantry does.
const LAYOUT: &str = "pantry 1";

/// Crates that an agent may use besides its own: the name, the version asked for, and features whose dependencies
/// come along. A version that the agent has locked wins where it satisfies the request.
const VETTED: &[(&str, &str, &[&str])] = &[
    ("aho-corasick", "1.1.4", &[]),
    ("anyhow", "1.0.100", &[]),
    ("bstr", "1.12.1", &[]),
    ("globset", "0.4.18", &[]),
    ("grep-regex", "0.1.14", &[]),
    ("grep-searcher", "0.1.16", &[]),
    ("ignore", "0.4.25", &[]),
    ("indexmap", "2.12.1", &["serde"]),
    ("itertools", "0.14.0", &[]),
    ("memchr", "2.7.6", &[]),
    ("rayon", "1.11.0", &[]),
    ("regex", "1.12.2", &[]),
    ("similar", "3.2.1", &["inline", "bytes"]),
    ("strsim", "0.11.1", &[]),
    ("tempfile", "3.23.0", &[]),
    // An agent that asks for one more feature of its runtime finds what that feature needs.
    ("tokio", "1.54.1", &["full"]),
    ("toml", "1.0.0", &[]),
    ("tree-sitter", "0.27.1", &[]),
    ("tree-sitter-python", "0.25.0", &[]),
    ("tree-sitter-rust", "0.24.0", &[]),
    ("unicode-width", "0.2.2", &[]),
    ("walkdir", "2.5.0", &[]),
];

/// A pantry cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PantryError {
    /// There is no usable Rust toolchain.
    #[error("find the Rust toolchain: {reason}")]
    NoToolchain {
        /// What is wrong.
        reason: String,
    },
    /// Cargo could not fetch the crates; the text is what it said.
    #[error("fetch the crates that an agent may use: {log}")]
    Fetch {
        /// What cargo said.
        log: String,
    },
    /// A crate of the agent's lockfile did not come along.
    #[error("put {name} {version} of the agent's lockfile into the pantry: it was not fetched")]
    Missing {
        /// The crate.
        name: String,
        /// Its version.
        version: String,
    },
    /// A file that should be TOML or JSON is none.
    #[error("read {}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file failed.
    #[error("{doing} {}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl PantryError {
    /// Says in full sentences what to do next, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            PantryError::NoToolchain { .. } => {
                Some("Install Rust 1.95 or later with rustup, and see that `rustc` is on the PATH.")
            }
            PantryError::Fetch { .. } => Some(
                "The first run on a machine needs cargo to reach its registry, or a filled cargo cache; later runs do not.",
            ),
            PantryError::Missing { .. } => Some("Run `cargo update` in the agent's folder."),
            PantryError::Malformed { .. } | PantryError::File { .. } => None,
        }
    }
}

/// A crate in the pantry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is on the vetted list or the agent names it itself; the others are what these need.
    pub named: bool,
}

/// What is written beside the crates once all of them are there.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    rustc: String,
    crates: Vec<Crate>,
}

/// Crates that an agent may use, and the toolchain that builds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pantry {
    folder: PathBuf,
    toolchain: PathBuf,
    digest: String,
    crates: Vec<Crate>,
}

impl Pantry {
    /// Finds the pantry for an agent in a cache, or makes it, which takes seconds to minutes and blocks.
    ///
    /// Two processes may do so at once: one makes it, the other waits and uses it.
    ///
    /// # Errors
    /// Returns an error when there is no toolchain, when cargo cannot fetch, or when a file fails.
    pub fn prepare(
        cache: &Path,
        agent_source: &Path,
        progress: &dyn Fn(&str),
    ) -> Result<Pantry, PantryError> {
        let (toolchain, rustc) = toolchain()?;
        let digest = digest(agent_source, &rustc)?;
        let parent = cache.join("pantry");
        create_dir(&parent)?;
        let folder = parent.join(&digest);
        let mut contents = stored(&folder)?;
        if contents.is_none() {
            let _lock = lock(&parent.join(".lock"))?;
            contents = stored(&folder)?;
            if contents.is_none() {
                progress("fetching the crates that an agent may use");
                contents = Some(make(&parent, &folder, agent_source, &toolchain, &rustc)?);
            }
        }
        // Cleaning up goes by the time of last use. That a time cannot be set only makes that worse.
        let _ = std::fs::File::open(&folder).and_then(|it| it.set_modified(SystemTime::now()));
        let crates = contents.map(|contents| contents.crates).unwrap_or_default();
        Ok(Pantry { folder, toolchain, digest, crates })
    }

    /// Returns the digest of what the pantry was made for: the agent's dependencies, the vetted list, the compiler.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the folder of the host's Rust toolchain.
    pub fn toolchain(&self) -> &Path {
        &self.toolchain
    }

    /// Returns the folder of the pantry on the host.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the crates in it by name, what they need included.
    pub fn crates(&self) -> &[Crate] {
        &self.crates
    }

    /// Says in a sentence which crates an agent may use; written for an editor.
    pub fn allowed(&self) -> String {
        let named: Vec<String> = self
            .crates
            .iter()
            .filter(|it| it.named)
            .map(|it| format!("{} {}", it.name, it.version))
            .collect();
        format!(
            "There is no network. An agent may use these crates in these versions, and what they depend on: {}.",
            named.join(", ")
        )
    }

    /// Returns what a sandbox has to see so that `cargo build --offline` works anywhere in it.
    pub fn mounts(&self) -> Vec<Mount> {
        vec![
            Mount::read_only(&self.toolchain, RUST_INSIDE),
            Mount::read_only(self.folder.join("vendor"), format!("{PANTRY_INSIDE}/vendor")),
            Mount::read_only(self.folder.join("cargo"), CONFIG_INSIDE),
        ]
    }

    /// Returns the variables that go with the mounts.
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("PATH", "/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            // Cargo keeps locks and notes here, so it has to be writable, and nobody else's.
            ("CARGO_HOME", "/tmp/cargo"),
            ("CARGO_NET_OFFLINE", "true"),
            ("CARGO_TERM_COLOR", "never"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }
}

/// Finds the toolchain's folder and what its compiler calls itself.
fn toolchain() -> Result<(PathBuf, String), PantryError> {
    let ask = |argument: &[&str]| {
        let fail = |reason: String| PantryError::NoToolchain { reason };
        let output = Command::new("rustc")
            .args(argument)
            .output()
            .map_err(|error| fail(format!("rustc cannot be started: {error}")))?;
        if !output.status.success() {
            return Err(fail(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let folder = PathBuf::from(ask(&["--print", "sysroot"])?);
    let rustc = ask(&["-vV"])?;
    // A distribution may package the compiler without cargo.
    if !folder.join("bin/cargo").exists() {
        return Err(PantryError::NoToolchain {
            reason: format!("{} has no bin/cargo", folder.display()),
        });
    }
    Ok((folder, rustc))
}

/// Digests everything that decides which crates the pantry has.
fn digest(agent_source: &Path, rustc: &str) -> Result<String, PantryError> {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(LAYOUT.as_bytes());
    part(rustc.as_bytes());
    part(extras_manifest().as_bytes());
    let mut found = false;
    for file in source_files(agent_source)? {
        let is_manifest =
            file.file_name().is_some_and(|name| name == "Cargo.toml" || name == "Cargo.lock");
        if is_manifest {
            found = true;
            part(file.as_os_str().as_encoded_bytes());
            part(&read(&agent_source.join(&file))?);
        }
    }
    if !found {
        return Err(PantryError::File {
            doing: "read the agent's manifest",
            path: agent_source.join("Cargo.toml"),
            source: std::io::ErrorKind::NotFound.into(),
        });
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// Writes the manifest of a package that depends on the vetted list.
fn extras_manifest() -> String {
    let mut text = "[package]\nname = \"pantry\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n".to_owned();
    for (name, version, features) in VETTED {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {{ version = \"{version}\", features = {features:?} }}");
    }
    text
}

/// Reads what a finished pantry holds.
fn stored(folder: &Path) -> Result<Option<Contents>, PantryError> {
    let path = folder.join("contents.json");
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| PantryError::Malformed { path, reason: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PantryError::File { doing: "read", path, source }),
    }
}

/// Makes a pantry in a temporary folder and moves it to its place. The caller holds the lock.
fn make(
    parent: &Path,
    folder: &Path,
    agent_source: &Path,
    toolchain: &Path,
    rustc: &str,
) -> Result<Contents, PantryError> {
    // Whoever holds the lock is alone, so a temporary folder that is there was left by a dead process.
    let building = parent.join(".building");
    remove_dir(&building)?;
    let agent = building.join("agent");
    for file in source_files(agent_source)? {
        let to = agent.join(&file);
        create_dir(to.parent().unwrap_or(&agent))?;
        write(&to, &read(&agent_source.join(&file))?)?;
    }
    let extras = building.join("extras");
    create_dir(&extras.join("src"))?;
    write(&extras.join("src/lib.rs"), b"")?;
    write(&extras.join("Cargo.toml"), extras_manifest().as_bytes())?;
    if agent.join("Cargo.lock").exists() {
        // Both then agree on the versions of what they share.
        write(&extras.join("Cargo.lock"), &read(&agent.join("Cargo.lock"))?)?;
    }
    vendor(&building, toolchain)?;

    let locked = locked(&agent.join("Cargo.lock"))?;
    let mut named: BTreeSet<String> = VETTED.iter().map(|it| it.0.to_owned()).collect();
    named.extend(direct_dependencies(&agent)?);
    let mut crates: Vec<Crate> = locked
        .iter()
        .cloned()
        .chain(self::locked(&extras.join("Cargo.lock"))?)
        .map(|(name, version)| Crate { named: named.contains(&name), name, version })
        .collect();
    crates.sort();
    crates.dedup();
    for Crate { name, version, .. } in &crates {
        if !building.join("vendor").join(format!("{name}-{version}")).is_dir() {
            return Err(PantryError::Missing { name: name.clone(), version: version.clone() });
        }
    }
    create_dir(&building.join("cargo"))?;
    write(
        &building.join("cargo/config.toml"),
        format!(
            "# Made by hone: crates come from the pantry, never from a network.\n\
             [source.crates-io]\nreplace-with = \"pantry\"\n\n\
             [source.pantry]\ndirectory = \"{PANTRY_INSIDE}/vendor\"\n\n\
             [net]\noffline = true\n"
        )
        .as_bytes(),
    )?;
    age(&building.join("vendor"))?;
    let contents = Contents { rustc: rustc.to_owned(), crates };
    let json = serde_json::to_vec_pretty(&contents).map_err(|error| PantryError::Malformed {
        path: building.join("contents.json"),
        reason: error.to_string(),
    })?;
    write(&building.join("contents.json"), &json)?;
    remove_dir(&agent)?;
    remove_dir(folder)?;
    std::fs::rename(&building, folder).map_err(|source| PantryError::File {
        doing: "move into place",
        path: folder.to_owned(),
        source,
    })?;
    Ok(contents)
}

/// Lets cargo fetch and unpack the crates of `agent` and `extras` into `vendor`.
fn vendor(building: &Path, toolchain: &Path) -> Result<(), PantryError> {
    let output = Command::new(toolchain.join("bin/cargo"))
        .args(["vendor", "--quiet", "--versioned-dirs", "--manifest-path", "extras/Cargo.toml"])
        .args(["--sync", "agent/Cargo.toml", "vendor"])
        .current_dir(building)
        .env("PATH", path_with(toolchain))
        .env("CARGO_TERM_COLOR", "never")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| PantryError::Fetch { log: format!("cargo cannot be started: {error}") })?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(PantryError::Fetch { log });
    }
    Ok(())
}

/// Puts the toolchain's programs in front of the search path, so that no proxy picks another toolchain.
fn path_with(toolchain: &Path) -> std::ffi::OsString {
    let mut path = toolchain.join("bin").into_os_string();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

/// Lists the names and versions of a lockfile that come from a registry.
fn locked(path: &Path) -> Result<Vec<(String, String)>, PantryError> {
    #[derive(Deserialize)]
    struct Lockfile {
        #[serde(default)]
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        source: Option<String>,
    }
    let lockfile: Lockfile = parse(path)?;
    Ok(lockfile
        .package
        .into_iter()
        .filter(|it| it.source.is_some())
        .map(|it| (it.name, it.version))
        .collect())
}

/// Lists the crates that the manifests of a tree name as dependencies.
fn direct_dependencies(agent: &Path) -> Result<Vec<String>, PantryError> {
    let mut names = Vec::new();
    for file in source_files(agent)? {
        if file.file_name().is_none_or(|name| name != "Cargo.toml") {
            continue;
        }
        let manifest: toml::Table = parse(&agent.join(&file))?;
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            if let Some(table) = manifest.get(section).and_then(toml::Value::as_table) {
                names.extend(table.keys().cloned());
            }
        }
    }
    Ok(names)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, PantryError> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    toml::from_str(&text).map_err(|error| PantryError::Malformed {
        path: path.to_owned(),
        reason: error.message().to_owned(),
    })
}

/// Lists the regular files of an agent's tree, relative to it and sorted, without hidden ones and build output.
///
/// Hidden folders stay out since a `.cargo/config.toml` of the agent could make cargo start a program.
fn source_files(root: &Path) -> Result<Vec<PathBuf>, PantryError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |source| PantryError::File { doing: "list", path, source }
    };
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        for entry in std::fs::read_dir(&path).map_err(fail(&path))? {
            let entry = entry.map_err(fail(&path))?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") || name == "target" {
                continue;
            }
            let kind = entry.file_type().map_err(fail(&path))?;
            if kind.is_dir() {
                folders.push(folder.join(name));
            } else if kind.is_file() {
                files.push(folder.join(name));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Gives every file below a folder one old time: compiled crates then stay valid when the pantry is made anew.
fn age(folder: &Path) -> Result<(), PantryError> {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |source| PantryError::File { doing: "set the time of", path, source }
    };
    for entry in std::fs::read_dir(folder).map_err(fail(folder))? {
        let entry = entry.map_err(fail(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(fail(&path))?;
        if kind.is_dir() {
            age(&path)?;
        } else if kind.is_file() {
            std::fs::File::open(&path)
                .and_then(|file| file.set_modified(long_ago))
                .map_err(fail(&path))?;
        }
    }
    Ok(())
}

/// Takes a lock that ends with the process.
fn lock(path: &Path) -> Result<std::fs::File, PantryError> {
    std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|source| PantryError::File { doing: "lock", path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, PantryError> {
    std::fs::read(path).map_err(|source| PantryError::File {
        doing: "read",
        path: path.to_owned(),
        source,
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), PantryError> {
    std::fs::write(path, bytes).map_err(|source| PantryError::File {
        doing: "write",
        path: path.to_owned(),
        source,
    })
}

fn create_dir(path: &Path) -> Result<(), PantryError> {
    std::fs::create_dir_all(path).map_err(|source| PantryError::File {
        doing: "create",
        path: path.to_owned(),
        source,
    })
}

fn remove_dir(path: &Path) -> Result<(), PantryError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(PantryError::File { doing: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vetted_crate_stands_once_and_in_order() {
        let names: Vec<&str> = VETTED.iter().map(|it| it.0).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
    }

    #[test]
    fn the_digest_follows_the_dependencies_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
        std::fs::write(at("Cargo.lock"), "version = 4\n").unwrap();
        let first = digest(folder.path(), "rustc 1.95.0").unwrap();

        std::fs::write(at("lib.rs"), "fn new() {}").unwrap();
        assert_eq!(digest(folder.path(), "rustc 1.95.0").unwrap(), first);
        assert_ne!(digest(folder.path(), "rustc 1.96.0").unwrap(), first);
        std::fs::write(at("Cargo.lock"), "version = 5\n").unwrap();
        assert_ne!(digest(folder.path(), "rustc 1.95.0").unwrap(), first);
    }

    #[test]
    fn a_folder_without_a_manifest_is_no_agent() {
        let folder = tempfile::tempdir().unwrap();
        let error = digest(folder.path(), "rustc 1.95.0").unwrap_err();
        assert!(matches!(error, PantryError::File { doing: "read the agent's manifest", .. }));
    }

    #[test]
    fn the_agents_cargo_configuration_stays_out_of_the_fetch() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["Cargo.toml", "src/lib.rs", ".cargo/config.toml", "target/x.rs"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let files = source_files(folder.path()).unwrap();
        assert_eq!(files, [PathBuf::from("Cargo.toml"), PathBuf::from("src/lib.rs")]);
    }
}
