//! The second wall for files: rules of Landlock, as far as the kernel has them.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
/// What a rule for a single file may grant: the above, truncation and requests to devices.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15;
/// Signals and abstract sockets end at the border of the domain. Signals: a command cannot kill the supervisor or
/// another command.
const SCOPES: u64 = 1 << 0 | 1 << 1;

const CREATE_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

/// As the kernel's `landlock_ruleset_attr`.
#[repr(C)]
struct Handled {
    files: u64,
    network: u64,
    scopes: u64,
}

/// As the kernel's `landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// A set of rules.
pub struct Rules(OwnedFd);

impl Rules {
    /// Makes rules by which everything may be read and run, and what lies beneath these paths changed. `None` where the
    /// kernel has no Landlock; the harness says so before it starts a sandbox.
    pub fn new(writable: &[Vec<u8>]) -> Option<Self> {
        let version = unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, CREATE_VERSION)
        };
        // Number of rights that each version of the interface knows, and whether it has scopes.
        let (rights, scopes) = match version {
            ..=0 => return None,
            1 => (13, 0),
            2 => (14, 0),
            3 => (15, 0),
            4 => (15, 0),
            5 => (16, 0),
            6.. => (16, SCOPES),
        };
        let all = (1_u64 << rights) - 1;
        let handled = Handled { files: all, network: 0, scopes };
        let size = match version {
            ..=3 => 8,
            4..=5 => 16,
            _ => size_of::<Handled>(),
        };
        let created = unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size, 0)
        };
        if created < 0 {
            return None;
        }
        let rules = Rules(unsafe { OwnedFd::from_raw_fd(created as i32) });
        rules.allow(b"/", EXECUTE | READ_FILE | READ_DIR);
        for path in writable {
            rules.allow(path, all);
        }
        Some(rules)
    }

    fn allow(&self, path: &[u8], rights: u64) {
        let Ok(path) = CString::new(path) else { return };
        let parent = unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
        if parent < 0 {
            // What is not there needs no rule.
            return;
        }
        let parent = unsafe { OwnedFd::from_raw_fd(parent) };
        let mut data: libc::stat = unsafe { std::mem::zeroed() };
        unsafe { libc::fstat(parent.as_raw_fd(), &raw mut data) };
        let is_folder = data.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let allowed = if is_folder { rights } else { rights & OF_FILES };
        let rule = Beneath { allowed, parent: parent.as_raw_fd() };
        // A rule that cannot be added leaves more forbidden, not less.
        unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                RULE_PATH_BENEATH,
                &raw const rule,
                0,
            );
        }
    }

    /// Puts this process under the rules, for good.
    pub fn enter(&self) -> io::Result<()> {
        match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
