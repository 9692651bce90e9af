//! Who owns a sandbox, and whether that process still lives.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;

/// Whom sandboxes are made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name of the run.
    pub run: String,
}

/// A process, told from every other one that had or will have its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// The boot that it lives in.
    boot: String,
    /// The namespace that its number belongs to.
    namespace: u64,
    /// Its number.
    pid: u32,
    /// When it started, in clock ticks since the boot.
    started: u64,
}

/// What is known about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It runs.
    Alive,
    /// It ended.
    Dead,
    /// It lives in another namespace of processes, which cannot be looked into from here.
    Unknown,
}

impl Process {
    /// Returns this process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Process {
            boot: boot(),
            namespace: namespace(),
            pid,
            started: started(pid).unwrap_or_default(),
        }
    }

    /// Looks whether it lives.
    pub fn life(&self) -> Life {
        if self.boot != boot() {
            Life::Dead
        } else if self.namespace != namespace() {
            Life::Unknown
        } else if started(self.pid) == Some(self.started) {
            Life::Alive
        } else {
            Life::Dead
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.boot, self.namespace, self.pid, self.started)
    }
}

impl FromStr for Process {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(());
        let process = Process {
            boot: next()?.to_owned(),
            namespace: next()?.parse().map_err(drop)?,
            pid: next()?.parse().map_err(drop)?,
            started: next()?.parse().map_err(drop)?,
        };
        if next().is_ok() { Err(()) } else { Ok(process) }
    }
}

/// Returns the id of this boot without its dashes; empty where the kernel does not tell.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().replace('-', "")
}

fn namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino())
}

/// Returns when a process started; `None` when it is gone, or ended and waits to be reaped.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // Its name may hold anything; fields are counted from the closing parenthesis: the third is the state, the 22nd
    // the time (proc(5)).
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Life, Process};

    #[test]
    fn a_process_lives_until_it_ends_and_its_number_in_other_hands_is_another_process() {
        let this = Process::this();
        assert_eq!(this.to_string().parse(), Ok(this.clone()));
        assert_eq!(this.life(), Life::Alive);
        assert_eq!(Process { started: this.started + 1, ..this.clone() }.life(), Life::Dead);
        assert_eq!(Process { boot: "other".to_owned(), ..this.clone() }.life(), Life::Dead);
        assert_eq!(Process { namespace: 1, ..this.clone() }.life(), Life::Unknown);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let other =
            Process { pid: child.id(), started: super::started(child.id()).unwrap(), ..this };
        assert_eq!(other.life(), Life::Alive);
        child.kill().unwrap();
        while other.life() == Life::Alive {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(other.life(), Life::Dead);
    }
}
