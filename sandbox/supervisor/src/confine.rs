//! What a command may not do, besides what its sandbox hides.

use crate::wire::Start;
use crate::{landlock, seccomp};
use std::io;

/// Processes of commands are killed for memory before those of the supervisor.
const OOM_SCORE: &[u8] = b"500";

/// Everything that confines a command, ready to be entered between fork and exec.
pub struct Confinement {
    limits: Vec<(u32, u64)>,
    paths: Option<landlock::Rules>,
    calls: Option<seccomp::Filter>,
}

impl Confinement {
    /// Prepares it.
    pub fn new(start: &Start) -> Self {
        let limits = [
            (libc::RLIMIT_NOFILE, start.open_files),
            (libc::RLIMIT_FSIZE, start.file_bytes),
            (libc::RLIMIT_AS, start.address_space),
            (libc::RLIMIT_NPROC, start.processes),
        ];
        let mut limits: Vec<(u32, u64)> =
            limits.into_iter().filter(|(_, most)| *most != 0).collect();
        limits.push((libc::RLIMIT_CORE, 0));
        Confinement {
            limits,
            paths: start.filtered.then(|| landlock::Rules::new(&start.writable)).flatten(),
            calls: start.filtered.then(seccomp::Filter::new),
        }
    }

    /// Enters it. Makes nothing but system calls.
    pub fn enter(&self) -> io::Result<()> {
        unsafe {
            // The supervisor blocks the signals that it waits for, and a blocked one is inherited.
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::setsid();
            libc::umask(0o022);
            // The files of /proc belong to root while a process is hidden from its user.
            libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
            let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
            if score >= 0 {
                libc::write(score, OOM_SCORE.as_ptr().cast(), OOM_SCORE.len());
                libc::close(score);
            }
        }
        for (which, most) in &self.limits {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            unsafe { libc::getrlimit(*which as _, &raw mut limit) };
            let most = (*most as libc::rlim_t).min(limit.rlim_max);
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            if unsafe { libc::setrlimit(*which as _, &raw const limit) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        if let Some(paths) = &self.paths {
            paths.enter()?;
        }
        match &self.calls {
            Some(calls) => calls.enter(),
            None => Ok(()),
        }
    }
}
