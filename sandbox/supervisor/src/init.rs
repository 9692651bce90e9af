//! Requests come in, workers go out.

use crate::{tree, wire};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// The byte that says to the harness that requests can come.
const READY: u8 = b'r';

/// Serves until the harness closes the connection or is gone.
pub fn run(program: &OsStr, socket: &Path) -> io::Result<()> {
    let signals = tree::signals(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGINT])?;
    let mut control = UnixStream::connect(socket)?;
    control.write_all(&[READY])?;
    let mut workers = BTreeMap::new();
    loop {
        let ready = tree::wait_for([control.as_raw_fd(), signals.as_raw_fd()], None)?;
        if ready[1] && tree::arrived(&signals).iter().any(|signal| *signal != libc::SIGCHLD) {
            break;
        }
        reap(&mut workers);
        if ready[0] {
            match receive(&control) {
                Ok(Some(request)) => start(program, request, &mut workers),
                Ok(None) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    tree::end(&|_| false, &mut |_| {});
    Ok(())
}

/// Takes a request; `None` when the harness is gone.
fn receive(control: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // Room for one descriptor, aligned as a header must be.
    let mut space = [0_u64; 8];
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = space.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&space) as _;
    let flags = libc::MSG_CMSG_CLOEXEC;
    match unsafe { libc::recvmsg(control.as_raw_fd(), &raw mut message, flags) } {
        -1 => return Err(io::Error::last_os_error()),
        0 => return Ok(None),
        _ => {}
    }
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() || unsafe { (*header).cmsg_type } != libc::SCM_RIGHTS {
        return Err(wire::garbled());
    }
    let descriptor = unsafe { libc::CMSG_DATA(header).cast::<libc::c_int>().read_unaligned() };
    Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

fn start(program: &OsStr, request: OwnedFd, workers: &mut BTreeMap<i32, UnixStream>) {
    let socket = UnixStream::from(request);
    let Ok(stdin) = socket.try_clone() else { return };
    let worker = Command::new(program)
        .arg("worker")
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(stdin)))
        .stdout(Stdio::null())
        .spawn();
    match worker {
        Ok(worker) => drop(workers.insert(worker.id() as i32, socket)),
        Err(error) => {
            // The limit of processes is reached by other commands, or memory is short.
            let why = format!("the supervisor has no process for it: {error}");
            let ended = wire::Ended {
                how: wire::How::NotStarted(why),
                dropped: [0; 2],
                out_of_memory: false,
                elapsed: 0,
            };
            say(&socket, wire::ENDED, &ended.encode());
        }
    }
}

/// Reaps whatever ended. Workers may have been killed by what they watch over, so what is left of it is killed here.
fn reap(workers: &mut BTreeMap<i32, UnixStream>) {
    let mut ended = Vec::new();
    while let tree::Reaped::Ended(pid, _) = tree::reap() {
        ended.push(pid);
    }
    while let Some(pid) = ended.pop() {
        if let Some(socket) = workers.remove(&pid) {
            tree::end(&|pid| workers.contains_key(&pid), &mut |pid| ended.push(pid));
            say(&socket, wire::CLOSED, &[]);
        }
    }
}

/// Says something to the harness, unless it does not listen.
fn say(mut socket: &UnixStream, tag: u8, payload: &[u8]) {
    let _ = socket.set_nonblocking(true);
    let _ = wire::write_frame(&mut socket, tag, payload);
}
