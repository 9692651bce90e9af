//! Finding, killing and reaping processes, and waiting for what happens to them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// So often the tree is looked at while it is stopped; a tree that still grows then is killed as it is, again and
/// again.
const LOOKS: u32 = 64;

/// What a look for ended children saw.
pub enum Reaped {
    /// One ended, with the status that `waitpid` tells.
    Ended(i32, i32),
    /// All run.
    None,
    /// There are no children, and so no descendants: a subreaper adopts those whose parent is gone.
    Childless,
}

/// Reaps a child that ended.
pub fn reap() -> Reaped {
    let mut status = 0;
    match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) } {
        0 => Reaped::None,
        -1 => Reaped::Childless,
        pid => Reaped::Ended(pid, status),
    }
}

/// Kills every descendant of this process and reaps it, except those who are spared and their descendants. Returns when
/// none is left. Every child that is reaped is reported, since one of those spared may have ended too.
pub fn end(spared: &dyn Fn(i32) -> bool, reaped: &mut dyn FnMut(i32)) {
    if !is_left(spared, reaped) {
        return;
    }
    // A tree that forks as fast as it is killed is stopped first: what is stopped cannot fork, and still counts
    // against the limit of processes.
    let mut stopped = BTreeSet::new();
    for _ in 0..LOOKS {
        let mut new = descendants(spared);
        new.retain(|pid| stopped.insert(*pid));
        if new.is_empty() {
            break;
        }
        send(&new, libc::SIGSTOP);
    }
    while is_left(spared, reaped) {
        send(&descendants(spared), libc::SIGKILL);
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Reaps what ended and tells whether something is left.
fn is_left(spared: &dyn Fn(i32) -> bool, reaped: &mut dyn FnMut(i32)) -> bool {
    loop {
        match reap() {
            Reaped::Ended(pid, _) => reaped(pid),
            Reaped::None => return !descendants(spared).is_empty(),
            Reaped::Childless => return false,
        }
    }
}

fn send(pids: &[i32], signal: i32) {
    for pid in pids {
        // One that is gone already is what is wanted.
        unsafe { libc::kill(*pid, signal) };
    }
}

/// Lists the descendants of this process without those who are spared and theirs. Ended ones that nobody reaped yet are
/// among them: threads of a process may go on when its first one has ended.
fn descendants(spared: &dyn Fn(i32) -> bool) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // The name of a program may hold anything, so fields are counted from its closing parenthesis.
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        let stat = String::from_utf8_lossy(&stat);
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let Some(parent) = rest.split_ascii_whitespace().nth(1) else { continue };
        let Ok(parent) = parent.parse() else { continue };
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut open = vec![std::process::id() as i32];
    while let Some(parent) = open.pop() {
        for pid in children.remove(&parent).into_iter().flatten() {
            if !spared(pid) {
                open.push(pid);
                found.push(pid);
            }
        }
    }
    found
}

/// Makes a descriptor that can be read when one of these signals arrives.
pub fn signals(which: &[i32]) -> io::Result<OwnedFd> {
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in which {
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    match unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) } {
        -1 => Err(io::Error::last_os_error()),
        descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
    }
}

/// Takes the signals that arrived.
pub fn arrived(signals: &OwnedFd) -> Vec<i32> {
    let mut all = Vec::new();
    loop {
        let mut one: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of_val(&one);
        let read = unsafe { libc::read(signals.as_raw_fd(), (&raw mut one).cast(), size) };
        if read != size as isize {
            return all;
        }
        all.push(one.ssi_signo as i32);
    }
}

/// Waits until one of the descriptors can be read or is closed, or for a time; says which. A negative one is left out.
pub fn wait_for<const N: usize>(
    descriptors: [RawFd; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up, since a poll that returns too early only to be repeated burns processor time.
    let milliseconds = timeout.map_or(-1, |timeout| {
        i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX)
    });
    if unsafe { libc::poll(polled.as_mut_ptr(), N as _, milliseconds) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(polled.map(|one| one.revents != 0))
}
