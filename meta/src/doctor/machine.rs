//! The machine as the doctor sees it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Longer than any of the programs takes to say its version, even on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// The machine: where programs are looked for, and where the kernel tells of itself.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The search path of programs.
    pub path: OsString,
    /// The root of `proc`, `sys` and `etc`.
    pub root: PathBuf,
    /// The address of the Docker engine, where one is named.
    pub docker_host: Option<String>,
    /// Whether commands that need rights have to ask for them.
    pub needs_sudo: bool,
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is not there.
    NotFound,
    /// It ran well and printed this.
    Well(String),
    /// It failed, and this is why.
    Badly(String),
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        Machine {
            path: std::env::var_os("PATH").unwrap_or_default(),
            root: PathBuf::from("/"),
            docker_host: std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty()),
            needs_sudo: !rustix::process::geteuid().is_root(),
        }
    }

    /// Finds a program.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path).map(|folder| folder.join(program)).find(|file| {
            rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
        })
    }

    /// Runs a program, for a short time and with no input.
    pub async fn ask(&self, program: &str, arguments: &[&str]) -> Said {
        let Some(file) = self.find(program) else { return Said::NotFound };
        let running = tokio::process::Command::new(file)
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = match tokio::time::timeout(PATIENCE, running).await {
            Err(_) => {
                return Said::Badly(format!("it does not end within {} s", PATIENCE.as_secs()));
            }
            Ok(Err(error)) => return Said::Badly(error.to_string()),
            Ok(Ok(output)) => output,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            return Said::Well(text(&output.stdout));
        }
        let complaint = text(&output.stderr);
        let last = complaint.lines().last().unwrap_or_default();
        Said::Badly(if last.is_empty() { output.status.to_string() } else { last.to_owned() })
    }

    /// Reads a file of the kernel or the distribution.
    pub fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.at(path)).ok().map(|text| text.trim().to_owned())
    }

    /// Returns a path below the root.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path).strip_prefix("/").unwrap_or(Path::new(path)))
    }

    /// Writes a command that needs rights.
    pub fn with_rights(&self, command: &str) -> String {
        if self.needs_sudo { format!("sudo {command}") } else { command.to_owned() }
    }

    /// Writes the command that installs packages.
    pub fn install(&self, packages: &str) -> String {
        let release = self.read("/etc/os-release").unwrap_or_default();
        let is_debian = release.lines().any(|line| {
            matches!(line.split_once('='), Some(("ID" | "ID_LIKE", of)) if of.contains("debian"))
        });
        // A fresh machine has no lists of packages.
        let update = self.with_rights("apt-get update");
        let install = self.with_rights(&format!("apt-get install -y {packages}"));
        let command = format!("{update} && {install}");
        if is_debian || release.is_empty() {
            command
        } else {
            format!("{command}   # or what your distribution has in place of apt-get")
        }
    }

    /// Writes the command that starts a service.
    pub fn start(&self, service: &str) -> String {
        let has_systemd = self.at("/run/systemd/system").is_dir();
        self.with_rights(&match has_systemd {
            true => format!("systemctl start {service}"),
            false => format!("service {service} start"),
        })
    }
}
