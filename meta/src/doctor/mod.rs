//! What this machine has and lacks for Hone, with the command that mends each lack.
//!
//! | module | what it looks at |
//! |---|---|
//! | `tools` | the programs that are run: Rust, a linker, Git, Python |
//! | `cages` | Docker, bubblewrap, and what of the kernel they stand on |
//! | `room` | folders, disk and memory |
//! | `providers` | models and keys |
//!
//! Nothing is installed and nothing is left behind.

mod cages;
mod machine;
mod providers;
mod room;
mod tools;

use crate::home::Home;
use crate::settings::Settings;
pub use machine::Machine;
use serde::Serialize;

/// What was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing.
    pub name: String,
    /// Whether it is there.
    pub state: State,
    /// What was seen.
    pub seen: String,
    /// What it is needed for.
    pub needed_for: String,
    /// The command that mends it.
    pub cure: Option<String>,
}

/// Whether a thing is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is.
    Ok,
    /// It is not, and runs can do without.
    Optional,
    /// It is not, and nothing can be run without.
    Missing,
}

impl Finding {
    fn ok(name: &str, needed_for: &str, seen: impl Into<String>) -> Self {
        Finding {
            name: name.to_owned(),
            state: State::Ok,
            seen: seen.into(),
            needed_for: needed_for.to_owned(),
            cure: None,
        }
    }

    fn lack(
        state: State,
        name: &str,
        needed_for: &str,
        seen: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        let cure = Some(cure.into()).filter(|cure| !cure.is_empty());
        Finding { state, cure, ..Finding::ok(name, needed_for, seen) }
    }
}

/// Looks at everything.
pub async fn examine(machine: &Machine, settings: &Settings, home: &Home) -> Vec<Finding> {
    let mut findings = tools::examine(machine).await;
    findings.extend(cages::examine(machine, settings.sandbox).await);
    findings.push(cages::limits().await);
    findings.extend(room::examine(machine, settings, home));
    findings.extend(providers::examine(settings, home).await);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SandboxChoice;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    /// A machine of a folder: programs in `bin`, files of the kernel below the root.
    struct Bench(tempfile::TempDir);

    impl Bench {
        fn new() -> Self {
            Bench(tempfile::tempdir().unwrap())
        }

        fn write(&self, path: &str, text: &str) -> &Self {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
            self
        }

        /// Another process writes the program: while this one has it open, none can be started from it.
        fn program(&self, name: &str, script: &str) -> &Self {
            self.write("bin/.keep", "");
            let path = self.0.path().join("bin").join(name);
            let write = "printf '#!/bin/sh\n%s\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
            let mut shell = std::process::Command::new("/bin/sh");
            shell.args(["-c", write, "sh"]).arg(path).arg(script);
            assert!(shell.status().unwrap().success());
            self
        }

        fn machine(&self) -> Machine {
            Machine {
                path: self.0.path().join("bin").into(),
                root: self.0.path().to_owned(),
                docker_host: None,
                needs_sudo: true,
            }
        }

        /// Answers each connection to the engine's socket with a text.
        fn engine(&self, reply: &'static str) {
            let socket = self.0.path().join("var/run/docker.sock");
            std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
            let listener = UnixListener::bind(socket).unwrap();
            std::thread::spawn(move || {
                for mut stream in listener.incoming().map_while(Result::ok) {
                    let _ = stream.read(&mut [0; 512]);
                    let _ = stream.write_all(reply.as_bytes());
                }
            });
        }

        async fn tools(&self) -> String {
            self.told(&tools::examine(&self.machine()).await)
        }

        async fn cages(&self, choice: SandboxChoice) -> String {
            self.told(&cages::examine(&self.machine(), choice).await)
        }

        fn told(&self, findings: &[Finding]) -> String {
            let line = |finding: &Finding| {
                let cure = finding.cure.as_deref().map(|cure| format!(" => {cure}"));
                let cure = cure.unwrap_or_default();
                format!("{:?} {}: {}{cure}", finding.state, finding.name, finding.seen)
            };
            let lines: Vec<String> = findings.iter().map(line).collect();
            lines.join("\n").replace(&format!("{}/", self.0.path().display()), "/")
        }
    }

    #[tokio::test]
    async fn on_an_empty_machine_each_lack_comes_with_the_command_that_mends_it() {
        let bench = Bench::new();
        insta::assert_snapshot!(bench.tools().await, @r"
        Missing rust: there is no rustc => curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . ~/.cargo/env
        Missing cc: there is no C compiler, which links programs => sudo apt-get update && sudo apt-get install -y build-essential
        Optional git: there is no git => sudo apt-get update && sudo apt-get install -y git
        Optional python3: there is no python3 => sudo apt-get update && sudo apt-get install -y python3 python3-pip
        ");
        insta::assert_snapshot!(bench.cages(SandboxChoice::Auto).await, @r"
        Missing docker: no engine answers at /var/run/docker.sock: No such file or directory (os error 2) => sudo apt-get update && sudo apt-get install -y docker.io && sudo service docker start
        Missing bubblewrap: there is no bwrap (either of the two is enough) => sudo apt-get update && sudo apt-get install -y bubblewrap
        Optional kernel: Linux : ; no user namespaces, no seccomp, no cgroups
        ");
    }

    #[tokio::test]
    async fn tools_that_are_too_old_or_broken_are_lacks() {
        let bench = Bench::new();
        bench.program("rustup", "").program("rustc", "echo rustc 1.63.0");
        bench.program("cc", "echo libc.a");
        bench.program("python3", "echo no module named pip >&2; exit 1");
        bench.program("git", "echo git version 2.39.5");
        bench.write("etc/os-release", "ID=fedora\n");
        insta::assert_snapshot!(bench.tools().await, @r"
        Missing rust: rustc 1.63.0 is older than 1.95 => rustup update stable && rustup default stable
        Missing cc: cc has no static C library (libc.a) => sudo apt-get update && sudo apt-get install -y build-essential   # or what your distribution has in place of apt-get
        Ok git: git version 2.39.5
        Optional python3: python3 -m pip --version fails: no module named pip => sudo apt-get update && sudo apt-get install -y python3 python3-pip   # or what your distribution has in place of apt-get
        ");
    }

    #[tokio::test]
    async fn a_whole_toolchain_is_fine() {
        let bench = Bench::new();
        bench.write("lib/rustlib/x86_64-unknown-linux-gnu/lib/std", "");
        let sysroot = bench.0.path().display();
        let rustc = format!("[ \"$1\" = --print ] && echo {sysroot} || echo rustc 1.95.0");
        bench.program("rustc", &rustc).program("cargo", "echo cargo 1.95.0");
        bench.program("cc", "[ \"$1\" = --version ] && echo cc 12 || echo /usr/lib/libc.a");
        let findings = tools::examine(&bench.machine()).await;
        let states: Vec<State> = findings.iter().map(|finding| finding.state).collect();
        assert_eq!(states, [State::Ok, State::Ok, State::Optional, State::Optional]);
    }

    #[tokio::test]
    async fn one_executor_is_enough_unless_the_other_is_asked_for() {
        let bench = Bench::new();
        bench.engine("HTTP/1.0 200 OK\r\n\r\n{\"Version\":\"20.10.24\"}");
        bench.program("bwrap", "echo 'No permissions to create new namespace' >&2; exit 1");
        bench.write("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        bench.write("proc/sys/user/max_user_namespaces", "100\n");
        bench.write("sys/fs/cgroup/cgroup.controllers", "memory");
        bench.write("proc/sys/kernel/seccomp/actions_avail", "kill_process errno");
        bench.write("proc/sys/kernel/osrelease", "6.8.0");
        insta::assert_snapshot!(bench.cages(SandboxChoice::Auto).await, @r"
        Ok docker: engine 20.10.24
        Optional bubblewrap: bwrap fails: No permissions to create new namespace => sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
        Ok kernel: Linux 6.8.0: user namespaces, seccomp, cgroup v2
        ");
        let states = |findings: Vec<Finding>| -> Vec<State> {
            findings.iter().take(2).map(|finding| finding.state).collect()
        };
        let machine = bench.machine();
        let asked = states(cages::examine(&machine, SandboxChoice::Bubblewrap).await);
        assert_eq!(asked, [State::Ok, State::Missing]);
    }

    #[tokio::test]
    async fn what_is_no_engine_is_not_taken_for_one() {
        let bench = Bench::new();
        bench.engine("HTTP/1.0 502 Bad Gateway\r\n\r\n");
        let told = bench.cages(SandboxChoice::Docker).await;
        let wanted = "Missing docker: what answers at /var/run/docker.sock is no engine: HTTP/1.0 502 Bad Gateway";
        assert_eq!(told.lines().next(), Some(wanted));
        let far = Machine { docker_host: Some("tcp://10.0.0.1:1".to_owned()), ..bench.machine() };
        let findings = cages::examine(&far, SandboxChoice::Docker).await;
        assert_eq!(findings[0].cure.as_deref(), Some("unset DOCKER_HOST"));
    }

    #[test]
    fn a_home_that_cannot_be_is_a_lack_and_nothing_is_left_in_one_that_can() {
        let bench = Bench::new();
        bench.write("file", "").write("proc/meminfo", "MemTotal: 2097152 kB\n");
        let examine = |root: &Path| {
            let home = Home::new(root, bench.0.path().join("cache"));
            room::examine(&bench.machine(), &Settings::default(), &home)
        };
        let findings = examine(&bench.0.path().join("file/home"));
        assert_eq!(findings[0].state, State::Missing);
        assert!(findings[0].seen.ends_with("/file is no folder"), "{}", findings[0].seen);
        let findings = examine(&bench.0.path().join("home"));
        assert_ne!(findings[0].seen, "");
        assert!(!bench.0.path().join("home").exists() && !bench.0.path().join("cache").exists());
        let told = bench.told(&findings[3..]);
        let wanted = "Optional memory: 2048 MiB; trials may take 4096, an editor 6144 => \
             run with -c workers=1 or a lower -c trial.memory_mib=";
        assert_eq!(told, wanted);
    }
}
