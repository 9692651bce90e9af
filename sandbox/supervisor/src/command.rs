//! One command: it is started, watched, and ended with everything that it started.

use crate::output::Output;
use crate::wire::{self, Ended, How, Payload, Start};
use crate::{confine, tree};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Where the kernel counts what it killed for memory: version 1 and version 2 of cgroups.
const OOM_COUNTERS: [&str; 2] =
    ["/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"];

/// Runs a command to its end, and reports it.
pub fn run(mut socket: UnixStream, start: Start) -> io::Result<()> {
    let began = Instant::now();
    let killed_before = killed_for_memory();
    let signals = tree::signals(&[libc::SIGCHLD])?;
    let mut child = match spawn(&start) {
        Ok(child) => child,
        Err(why) => {
            let ended = Ended {
                how: How::NotStarted(why),
                dropped: [0; 2],
                out_of_memory: false,
                elapsed: 0,
            };
            return wire::write_frame(&mut socket, wire::ENDED, &ended.encode());
        }
    };
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::Error::other("a child without pipes"));
    };
    let keep = start.output_bytes as usize;
    let mut out = Output::new(stdout, keep);
    let mut err = Output::new(stderr, keep);
    let main = child.id() as i32;
    let deadline = began.checked_add(Duration::from_millis(start.timeout));
    let mut buffer = vec![0; 256 << 10];

    let how = loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break How::TimedOut;
        }
        let waited = [signals.as_raw_fd(), socket.as_raw_fd(), out.descriptor(), err.descriptor()];
        let ready = tree::wait_for(waited, left)?;
        if ready[1] {
            // A demand to kill, or the harness does not want the command any more.
            break How::Killed;
        }
        if ready[2] {
            out.read(&mut buffer);
        }
        if ready[3] {
            err.read(&mut buffer);
        }
        if ready[0] {
            tree::arrived(&signals);
            if let Some(how) = reap(main) {
                break how;
            }
        }
    };
    let elapsed = began.elapsed();
    tree::end(&|_| false, &mut |_| {});
    // Nobody writes any more, so what the pipes hold is the rest.
    while out.read(&mut buffer) {}
    while err.read(&mut buffer) {}

    let mut dropped = [0; 2];
    for (stream, output) in [out.finish(), err.finish()].into_iter().enumerate() {
        for (part, bytes) in [output.0, output.1].into_iter().enumerate() {
            let payload = Payload(vec![stream as u8, part as u8]);
            for chunk in bytes.chunks(wire::LONGEST / 2) {
                let payload = [payload.0.as_slice(), chunk].concat();
                wire::write_frame(&mut socket, wire::OUTPUT, &payload)?;
            }
        }
        dropped[stream] = output.2;
    }
    let ended = Ended {
        how,
        dropped,
        out_of_memory: killed_for_memory() > killed_before,
        elapsed: elapsed.as_micros() as u64,
    };
    wire::write_frame(&mut socket, wire::ENDED, &ended.encode())
}

/// Reaps what ended; says how the command did, if it was among it.
fn reap(main: i32) -> Option<How> {
    let mut ended = None;
    while let tree::Reaped::Ended(pid, status) = tree::reap() {
        if pid == main {
            let status = ExitStatus::from_raw(status);
            ended = match (status.code(), status.signal()) {
                (Some(code), _) => Some(How::Exited(code)),
                (None, signal) => Some(How::Signaled(signal.unwrap_or(0))),
            };
        }
    }
    ended
}

/// Starts it, or says why that is impossible.
fn spawn(start: &Start) -> Result<Child, String> {
    let Some((program, arguments)) = start.argv.split_first() else {
        return Err("it has no program".to_owned());
    };
    let cwd = OsStr::from_bytes(&start.cwd);
    match std::fs::metadata(cwd) {
        Ok(data) if data.is_dir() => {}
        Ok(_) => return Err(format!("its directory {} is no directory", cwd.display())),
        Err(error) => return Err(format!("its directory {}: {error}", cwd.display())),
    }
    let program = OsStr::from_bytes(program);
    let mut command = Command::new(program);
    command
        .args(arguments.iter().map(|argument| OsStr::from_bytes(argument)))
        .current_dir(cwd)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for variable in &start.environment {
        let (name, value) = match variable.iter().position(|byte| *byte == b'=') {
            Some(at) => (&variable[..at], &variable[at + 1..]),
            None => (variable.as_slice(), &b""[..]),
        };
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    let confinement = confine::Confinement::new(start);
    // Only system calls happen between fork and exec.
    unsafe { command.pre_exec(move || confinement.enter()) };
    command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("there is no program {}", program.display()),
        ErrorKind::WouldBlock => format!("no process is left for it: {error}"),
        _ => format!("{}: {error}", program.display()),
    })
}

/// Returns how many processes the kernel killed for the memory of this sandbox, as far as it can be seen.
fn killed_for_memory() -> u64 {
    let counter = OOM_COUNTERS.iter().find_map(|path| std::fs::read_to_string(path).ok());
    let counter = counter.unwrap_or_default();
    let line = counter.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}
