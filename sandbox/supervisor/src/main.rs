//! PID 1 of a sandbox: starts commands, bounds their output, enforces deadlines, kills and reaps process trees.
//!
//! `supervisor init SOCKET` connects to the harness and waits for requests, each of which brings a socket of its own.
//! It hands every request to a worker, a process of this same program (`supervisor worker`), which adopts whatever its
//! command leaves behind and can so tell when nothing of it is left. When the harness closes the connection, or dies,
//! everything ends.
//!
//! | module | what it owns |
//! |---|---|
//! | `wire` | what is said on the sockets |
//! | `init` | requests and workers |
//! | `command` | one command, from its start to its last process |
//! | `output` | output of bounded size |
//! | `tree` | finding and killing processes |
//! | `confine` | limits and filters of a command |
//! | `landlock`, `seccomp` | the two filters |
//! | `files` | how files travel |
//! | `copy` | files in and out |

mod command;
mod confine;
mod copy;
mod files;
mod init;
mod landlock;
mod output;
mod seccomp;
mod tree;
#[allow(dead_code, reason = "the harness uses the rest")]
mod wire;

use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;

fn main() {
    // Without this a command of the same user could read and change the memory of this process.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let result = match (arguments.next(), arguments.next()) {
        (Some(what), Some(socket)) if what == "init" => init::run(&program, socket.as_ref()),
        (Some(what), None) if what == "worker" => {
            // The one who starts a worker gives it its socket as standard input.
            let socket = unsafe { UnixStream::from_raw_fd(0) };
            worker(socket)
        }
        _ => Err(std::io::Error::other("usage: supervisor init SOCKET")),
    };
    if let Err(error) = result {
        eprintln!("supervisor: {error}");
        std::process::exit(1);
    }
}

fn worker(mut socket: UnixStream) -> std::io::Result<()> {
    // Descriptor 0 must not reach a command.
    unsafe { libc::fcntl(0, libc::F_SETFD, libc::FD_CLOEXEC) };
    match wire::read_frame(&mut socket)? {
        None => Ok(()),
        Some((wire::START, payload)) => command::run(socket, wire::Start::decode(&payload)?),
        Some((wire::COPY_IN, payload)) => copy::take_in(socket, &payload),
        Some((wire::COPY_OUT, payload)) => copy::hand_out(socket, &payload),
        Some(_) => Err(wire::garbled()),
    }
}
