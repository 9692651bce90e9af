//! The real `hone` program in a home of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A home for runs, which goes with its owner.
pub struct Hone {
    folder: TempDir,
}

/// What a command said and how it ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Data.
    pub out: String,
    /// Words.
    pub err: String,
}

impl Said {
    /// Returns itself when the exit code is the expected one, and fails the test otherwise.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Reads the data as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.out) {
            Ok(value) => value,
            Err(error) => panic!("no JSON ({error}): {}\n{}", self.out, self.err),
        }
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Default for Hone {
    fn default() -> Self {
        Hone::new()
    }
}

impl Hone {
    /// Makes an empty home.
    pub fn new() -> Self {
        match tempfile::Builder::new().prefix("hone-test-").tempdir() {
            Ok(folder) => Hone { folder },
            Err(error) => panic!("no temporary folder: {error}"),
        }
    }

    /// Returns the working directory, which a `hone.toml` may be put into.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of a run.
    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.folder.path().join("hone-runs").join(run)
    }

    /// Returns a command that is not started yet. Its environment knows no key and no configuration of the user.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("HONE_CACHE", cache())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        // Cargo and rustup are found by the real home.
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            if std::env::var_os(name).is_none()
                && let Some(home) = std::env::var_os("HOME")
            {
                command.env(name, Path::new(&home).join(folder));
            }
        }
        for name in [
            "HONE_HOME",
            "HONE_MODEL",
            "HONE_BASE_URL",
            "HONE_BUDGET",
            "HONE_SANDBOX",
            "HONE_WORKERS",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "XDG_CONFIG_HOME",
            "XDG_CACHE_HOME",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn say<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Said {
        match self.command(arguments).output() {
            Ok(output) => output.into(),
            Err(error) => panic!("{} cannot be started: {error}", program().display()),
        }
    }
}

/// Runs git in a folder and returns what it prints; fails the test when git fails.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(folder).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        other => panic!("git {arguments:?}: {other:?}"),
    }
}

/// Returns the folder of build output that this test lies in.
fn target() -> PathBuf {
    // <target>/debug/deps/end_to_end-…
    let test = std::env::current_exe().unwrap_or_default();
    test.ancestors().nth(3).map(Path::to_owned).unwrap_or_default()
}

/// Returns the program; it is built with the workspace.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let profile = test.ancestors().nth(2).map(Path::to_owned).unwrap_or_default();
    let program = profile.join("hone");
    assert!(
        program.is_file(),
        "{} is missing: `cargo build --bin hone` makes it",
        program.display()
    );
    program
}

/// Returns the cache that all tests share, so that compiled dependencies are made once.
fn cache() -> PathBuf {
    target().join("hone-cache")
}
