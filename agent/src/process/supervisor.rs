//! The supervisor of one command: a program of its own, so that it can be the reaper of every
//! process that the command leaves behind.
//!
//! Its standard input is a socket to the agent. It reports there how the command ended, and takes
//! the end of the stream as the wish that everything ends now.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper,
    wait,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The first argument that makes this binary a supervisor; milliseconds and the command follow.
pub const SUPERVISE: &str = "--supervise";

/// How long the end of the processes is waited for. Longer ones are stuck in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It returned this exit code.
    Exited(i32),
    /// This signal killed it.
    Signaled(i32),
    /// Its time was up.
    TimedOut,
    /// It could not be started, for this reason.
    NotStarted(String),
}

/// Runs a command to its end, with everything that it starts. `arguments` are milliseconds, the
/// program and its arguments.
pub fn supervise(arguments: impl Iterator<Item = String>) -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // The command must not hold the socket: the agent would never see its end.
    let agent = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let ending = run(arguments, &agent)?;
    if let Some(ending) = ending {
        let mut agent = agent;
        serde_json::to_writer(&mut agent, &ending)?;
        agent.write_all(b"\n")?;
    }
    Ok(())
}

/// Runs the command; returns `None` when the agent has lost interest.
fn run(mut arguments: impl Iterator<Item = String>, agent: &File) -> io::Result<Option<Ending>> {
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, "milliseconds and a command");
    let limit = arguments.next().and_then(|text| text.parse().ok()).ok_or_else(usage)?;
    let deadline = Instant::now() + Duration::from_millis(limit);
    let program = arguments.next().ok_or_else(usage)?;
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Some(Ending::NotStarted(format!("{program}: {error}")))),
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(usage)?;
    let exit = pidfd_open(pid, PidfdFlags::empty())?;

    let woken = wait_for(&exit, agent, deadline);
    let status = child.try_wait();
    end_descendants();
    Ok(match (status?, woken?) {
        (Some(status), _) => Some(match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Signaled(signal.unwrap_or_default()),
        }),
        (None, Woken::TimeIsUp) => Some(Ending::TimedOut),
        (None, Woken::ByTheCommand | Woken::ByTheAgent) => None,
    })
}

enum Woken {
    ByTheCommand,
    ByTheAgent,
    TimeIsUp,
}

fn wait_for(exit: &OwnedFd, agent: &File, deadline: Instant) -> io::Result<Woken> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Woken::TimeIsUp);
        }
        // A wait of at most a minute fits every form of a timeout.
        let timeout = left.min(Duration::from_secs(60)).try_into().map_err(io::Error::other)?;
        let mut watched = [PollFd::new(exit, PollFlags::IN), PollFd::new(agent, PollFlags::IN)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if !watched[0].revents().is_empty() {
            return Ok(Woken::ByTheCommand);
        }
        if !watched[1].revents().is_empty() {
            return Ok(Woken::ByTheAgent);
        }
    }
}

/// Kills all descendants and waits until none is left.
fn end_descendants() {
    let patience = Instant::now() + KILL_PATIENCE;
    while Instant::now() < patience {
        for pid in descendants() {
            // It may have ended by itself in the meantime.
            let _ = kill_process(pid, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No children at all: since orphans come here, no descendants either.
                Err(_) => return,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Lists the processes below this one.
fn descendants() -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    for entry in processes.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![getpid().as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            open.push(child);
        }
    }
    found
}

/// Reads the parent of a process. The command's name in front of it may hold anything.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
