//! Files in and out.

use crate::files;
use crate::wire::{self, Parts, Payload};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

const BUFFER: usize = 256 << 10;

/// Writes the files that come.
pub fn take_in(mut socket: UnixStream, to: &[u8]) -> io::Result<()> {
    let mut from = io::BufReader::with_capacity(BUFFER, socket.try_clone()?);
    let result = files::receive(&mut from, Path::new(OsStr::from_bytes(to)));
    report(&mut socket, result)
}

/// Sends the files that are wanted.
pub fn hand_out(mut socket: UnixStream, payload: &[u8]) -> io::Result<()> {
    let mut parts = Parts(payload);
    let most = parts.number()?;
    let path = parts.bytes()?;
    let mut to = io::BufWriter::with_capacity(BUFFER, socket.try_clone()?);
    let result = files::send(Path::new(OsStr::from_bytes(&path)), &mut to, most);
    let result = result.and_then(|()| io::Write::flush(&mut to));
    report(&mut socket, result)
}

fn report(socket: &mut UnixStream, result: io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) => wire::write_frame(socket, wire::DONE, &[]),
        Err(error) => {
            let code = match error.kind() {
                ErrorKind::NotFound => libc::ENOENT,
                ErrorKind::PermissionDenied => libc::EACCES,
                ErrorKind::StorageFull => libc::ENOSPC,
                _ => libc::EIO,
            };
            let payload =
                Payload::default().number(code as u64).bytes(error.to_string().as_bytes());
            wire::write_frame(socket, wire::FAILED, &payload.0)
        }
    }
}
