//! Docker, bubblewrap, and what of the kernel they stand on.

use super::machine::Said;
use super::{Finding, Machine, State};
use crate::settings::SandboxChoice;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Where the engine listens unless something else is said.
const SOCKET: &str = "/var/run/docker.sock";

/// The engine answers a ping at once, or something is wrong with it.
const PATIENCE: Duration = Duration::from_secs(10);

const NEEDED_FOR: &str = "caging agents";

/// Looks at both executors, of which one is enough where the choice is left to Hone, and at the kernel.
pub async fn examine(machine: &Machine, choice: SandboxChoice) -> Vec<Finding> {
    let machine_ = machine.clone();
    let docker = tokio::task::spawn_blocking(move || docker(&machine_)).await;
    let mut docker = docker.unwrap_or_else(|error| Err((error.to_string(), String::new())));
    let mut bubblewrap = bubblewrap(machine).await;
    let (needs_docker, needs_bubblewrap) = match choice {
        SandboxChoice::Docker => (true, false),
        SandboxChoice::Bubblewrap => (false, true),
        SandboxChoice::Auto => (bubblewrap.is_err(), docker.is_err()),
        SandboxChoice::None => (false, false),
    };
    // With neither, one cure is enough: Docker's, since it cages better.
    if choice == SandboxChoice::Auto
        && let (Err((_, cure)), Err((seen, _))) = (&mut docker, &mut bubblewrap)
    {
        seen.push_str(" (either of the two is enough)");
        if cure.is_empty() {
            cure.push_str(&machine.install("docker.io"));
        }
    }
    let mut findings = vec![
        finding("docker", needs_docker, docker),
        finding("bubblewrap", needs_bubblewrap, bubblewrap),
    ];
    findings.extend(kernel(machine));
    findings
}

/// What was seen, or what is wrong and its cure.
type Seen = Result<String, (String, String)>;

fn finding(name: &str, is_needed: bool, seen: Seen) -> Finding {
    match seen {
        Ok(seen) => Finding::ok(name, NEEDED_FOR, seen),
        Err((seen, cure)) => {
            let state = if is_needed { State::Missing } else { State::Optional };
            Finding::lack(state, name, NEEDED_FOR, seen, cure)
        }
    }
}

/// Asks the engine for its version over its socket.
fn docker(machine: &Machine) -> Seen {
    let path = match &machine.docker_host {
        None => machine.at(SOCKET),
        Some(host) => match host.strip_prefix("unix://") {
            Some(path) => path.into(),
            None => {
                return Err((
                    format!("DOCKER_HOST is {host}: only an engine on this machine can be used"),
                    "unset DOCKER_HOST".to_owned(),
                ));
            }
        },
    };
    let ask = || -> std::io::Result<String> {
        let mut stream = UnixStream::connect(&path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /version HTTP/1.0\r\nHost: docker\r\n\r\n")?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    };
    let reply = ask().map_err(|error| {
        let is_installed = machine.find("dockerd").is_some() || machine.find("docker").is_some();
        let start = machine.start("docker");
        let cure = match error.kind() {
            ErrorKind::PermissionDenied => {
                "sudo usermod -aG docker \"$USER\" && newgrp docker".to_owned()
            }
            _ if is_installed => start,
            _ => format!("{} && {start}", machine.install("docker.io")),
        };
        (format!("no engine answers at {}: {error}", path.display()), cure)
    })?;
    let version: Option<serde_json::Value> =
        reply.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
    match version.as_ref().and_then(|version| version["Version"].as_str()) {
        Some(version) => Ok(format!("engine {version}")),
        None => {
            let line = reply.lines().next().unwrap_or("nothing").to_owned();
            Err((format!("what answers at {} is no engine: {line}", path.display()), String::new()))
        }
    }
}

/// Runs a program in bubblewrap with everything unshared, as a trial is.
async fn bubblewrap(machine: &Machine) -> Seen {
    let cage = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "/bin/true"];
    match machine.ask("bwrap", &cage).await {
        Said::NotFound => Err(("there is no bwrap".to_owned(), machine.install("bubblewrap"))),
        Said::Badly(why) => Err((format!("bwrap fails: {why}"), namespaces_cure(machine))),
        Said::Well(_) => match machine.ask("bwrap", &["--version"]).await {
            Said::Well(version) => Ok(version),
            Said::NotFound | Said::Badly(_) => Ok("it works".to_owned()),
        },
    }
}

/// Writes the command that allows user namespaces, where the kernel's own files say that it forbids them.
fn namespaces_cure(machine: &Machine) -> String {
    let is = |name: &str, value: &str| {
        machine.read(&format!("/proc/sys/{}", name.replace('.', "/"))).as_deref() == Some(value)
    };
    let settings = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
    ];
    match settings.iter().find(|(name, forbids, _)| is(name, forbids)) {
        Some((name, _, allows)) => machine.with_rights(&format!("sysctl -w {name}={allows}")),
        None => String::new(),
    }
}

/// Tells which limits sandboxes can put on what runs in them, and what stands in where one is missing.
pub async fn limits() -> Finding {
    const NAME: &str = "limits";
    // The executors themselves were looked at more closely.
    let probes = hone_sandbox::probe::probe().await.into_iter();
    let probes: Vec<_> =
        probes.filter(|probe| !matches!(probe.what, "docker" | "bubblewrap")).collect();
    let notes: Vec<String> =
        probes.iter().map(|probe| format!("{}: {}", probe.what, probe.note)).collect();
    let seen = notes.join("; ");
    match probes.iter().all(|probe| probe.found) {
        true => Finding::ok(NAME, NEEDED_FOR, seen),
        false => Finding::lack(State::Optional, NAME, NEEDED_FOR, seen, ""),
    }
}

/// Tells what the kernel has. What is really needed shows when an executor is tried; this says why one fails.
fn kernel(machine: &Machine) -> Vec<Finding> {
    let mut has = Vec::new();
    let mut lacks = Vec::new();
    let mut note = |is_there: bool, what: &str| {
        if is_there { has.push(what.to_owned()) } else { lacks.push(what.to_owned()) }
    };
    let number = machine.read("/proc/sys/user/max_user_namespaces");
    note(number.is_some_and(|number| number != "0"), "user namespaces");
    let actions = machine.read("/proc/sys/kernel/seccomp/actions_avail");
    note(actions.is_some_and(|actions| actions.contains("errno")), "seccomp");
    let version_2 = machine.at("/sys/fs/cgroup/cgroup.controllers").exists();
    let version_1 = machine.at("/sys/fs/cgroup/memory").is_dir();
    let cgroups = if version_2 { "cgroup v2" } else { "cgroup v1" };
    note(version_1 || version_2, if version_1 || version_2 { cgroups } else { "cgroups" });
    let release = machine.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let seen = format!("Linux {release}: {}", has.join(", "));
    if lacks.is_empty() {
        return vec![Finding::ok("kernel", NEEDED_FOR, seen)];
    }
    let seen = format!("{seen}; no {}", lacks.join(", no "));
    let cure = namespaces_cure(machine);
    vec![Finding::lack(State::Optional, "kernel", NEEDED_FOR, seen, cure)]
}
