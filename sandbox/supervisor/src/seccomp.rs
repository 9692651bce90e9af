//! The second wall for system calls: what no build, test or editor needs is refused.

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W};
use std::io;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// Calls of the x32 interface have this bit; nothing uses it, and the numbers below would not match.
const X32: u32 = 0x4000_0000;

// Offsets in `seccomp_data`; of arguments the lower half on a little-endian machine.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// Refused whatever the arguments: they change mounts, the kernel, other processes' keys or clocks, or open a way around
/// the other filters.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Calls whose arguments lie in memory, where a filter cannot look. Programs that are told that they do not exist use
/// the older ones, which are filtered.
const UNKNOWN: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Calls with a mode among their arguments, and its place: a set-user-id file in a folder of the host would give its
/// owner's rights to everybody there.
const WITH_MODE: &[(libc::c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (452, 2), // fchmodat2
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    (libc::SYS_openat, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Kinds of sockets that namespaces cage. Others, such as those between a virtual machine and its host, know none.
const SOCKETS: &[libc::c_int] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const DENY: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const NO_FAMILY: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;

/// A compiled filter.
pub struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Compiles it.
    pub fn new() -> Self {
        let mut filter = Filter(Vec::new());
        filter.load(ARCH);
        // Another architecture's calls have other numbers.
        filter.unless_equal(ARCHITECTURE, DENY);
        filter.load(NUMBER);
        filter.push(BPF_JMP | BPF_JSET | BPF_K, 0, 1, X32);
        filter.give(ABSENT);
        for call in UNKNOWN {
            filter.if_equal(*call as u32, ABSENT);
        }
        for call in REFUSED {
            filter.if_equal(*call as u32, DENY);
        }
        for (call, place) in WITH_MODE {
            filter.when(*call, |filter| {
                filter.load(argument(*place));
                filter.push(BPF_JMP | BPF_JSET | BPF_K, 0, 1, libc::S_ISUID);
                filter.give(DENY);
                filter.give(ALLOW);
            });
        }
        filter.when(libc::SYS_clone, |filter| {
            filter.load(argument(0));
            filter.push(BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACES);
            filter.give(DENY);
            filter.give(ALLOW);
        });
        for call in [libc::SYS_socket, libc::SYS_socketpair] {
            filter.when(call, |filter| {
                filter.load(argument(0));
                for family in SOCKETS {
                    filter.if_equal(*family as u32, ALLOW);
                }
                filter.give(NO_FAMILY);
            });
        }
        filter.when(libc::SYS_ioctl, |filter| {
            filter.load(argument(1));
            // Typing into a terminal.
            filter.if_equal(libc::TIOCSTI as u32, DENY);
            filter.if_equal(libc::TIOCLINUX as u32, DENY);
            filter.give(ALLOW);
        });
        // Other personalities turn off what makes attacks hard; asking for the present one is fine.
        filter.when(libc::SYS_personality, |filter| {
            filter.load(argument(0));
            filter.if_equal(0, ALLOW);
            filter.if_equal(0xFFFF_FFFF, ALLOW);
            // Without address randomisation, for debuggers and reproducible tests.
            filter.if_equal(libc::ADDR_NO_RANDOMIZE as u32, ALLOW);
            filter.give(DENY);
        });
        filter.give(ALLOW);
        filter
    }

    fn push(&mut self, code: u32, yes: u8, no: u8, value: u32) {
        self.0.push(libc::sock_filter { code: code as u16, jt: yes, jf: no, k: value });
    }

    fn load(&mut self, offset: u32) {
        self.push(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
    }

    fn give(&mut self, verdict: u32) {
        self.push(BPF_RET | BPF_K, 0, 0, verdict);
    }

    fn if_equal(&mut self, value: u32, verdict: u32) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
        self.give(verdict);
    }

    fn unless_equal(&mut self, value: u32, verdict: u32) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
        self.give(verdict);
    }

    /// Adds a part for one call, which has to end with a verdict.
    fn when(&mut self, call: libc::c_long, part: impl FnOnce(&mut Self)) {
        let jump = self.0.len();
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, call as u32);
        part(self);
        self.0[jump].jf = (self.0.len() - jump - 1) as u8;
    }

    /// Puts this process under the filter, for good. A kernel without filters is no error: the harness says so before
    /// it starts a sandbox.
    pub fn enter(&self) -> io::Result<()> {
        let program =
            libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        let mode = libc::SECCOMP_MODE_FILTER;
        match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, 0, 0) } {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
                error => Err(error),
            },
        }
    }
}
