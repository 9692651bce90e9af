//! Files on the way, with their bytes, modes, times and symbolic links. What is neither file, folder nor link stays.
//! The harness compiles this file too.

use crate::wire::{self, Parts, Payload};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const CHUNK: usize = 256 << 10;

/// Writes the files that come, to a folder or, where a single one comes, to a file. Whoever sends them is not trusted:
/// nothing is written through a symbolic link that came too, and no file is set-user-id.
pub fn receive(from: &mut impl Read, to: &Path) -> io::Result<()> {
    let default = Permissions::from_mode(0o755);
    // A folder gets its mode when it is full; it may be one that cannot be written.
    let mut folders = Vec::new();
    let mut known = BTreeSet::new();
    loop {
        let Some((tag, payload)) = wire::read_frame(from)? else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        let mut parts = Parts(&payload);
        match tag {
            wire::FOLDER => {
                let mode = parts.number()? as u32 & 0o777;
                let name = parts.bytes()?;
                let path = below(to, &name, &known)?;
                if name.is_empty() && !path.is_dir() {
                    fs::create_dir_all(&path).map_err(at(&path))?;
                    folders.push((path, mode));
                    known.insert(name);
                    continue;
                }
                // Where the whole goes to a folder that is there, that keeps its mode.
                if name.is_empty() {
                    known.insert(name);
                    continue;
                }
                if !fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) {
                    clear(&path)?;
                    fs::create_dir(&path).map_err(at(&path))?;
                    fs::set_permissions(&path, default.clone()).map_err(at(&path))?;
                }
                folders.push((path, mode));
                known.insert(name);
            }
            wire::FILE => {
                let (mode, time, size) = (parts.number()?, parts.number()?, parts.number()?);
                let path = below(to, &parts.bytes()?, &known)?;
                clear(&path)?;
                let mut file = File::create_new(&path).map_err(at(&path))?;
                let mut left = size;
                while left > 0 {
                    let Some((wire::BYTES, bytes)) = wire::read_frame(from)? else {
                        return Err(wire::garbled());
                    };
                    left = left.checked_sub(bytes.len() as u64).ok_or_else(wire::garbled)?;
                    file.write_all(&bytes).map_err(at(&path))?;
                }
                file.set_permissions(Permissions::from_mode(mode as u32 & 0o777))
                    .map_err(at(&path))?;
                let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(time);
                file.set_modified(time).map_err(at(&path))?;
            }
            wire::LINK => {
                let path = below(to, &parts.bytes()?, &known)?;
                clear(&path)?;
                symlink(OsStr::from_bytes(&parts.bytes()?), &path).map_err(at(&path))?;
            }
            wire::DONE => break,
            wire::FAILED => {
                let code = parts.number()?;
                let text = String::from_utf8_lossy(&parts.bytes()?).into_owned();
                let kind = io::Error::from_raw_os_error(code as i32).kind();
                return Err(io::Error::new(kind, text));
            }
            _ => return Err(wire::garbled()),
        }
    }
    for (path, mode) in folders.into_iter().rev() {
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(at(&path))?;
    }
    Ok(())
}

/// Returns where something goes: into a folder that came before it.
fn below(to: &Path, name: &[u8], known: &BTreeSet<Vec<u8>>) -> io::Result<PathBuf> {
    if name.is_empty() {
        return Ok(to.to_owned());
    }
    let (folder, file) = match name.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => (&b""[..], name),
    };
    if !known.contains(folder) || matches!(file, b"" | b"." | b"..") {
        return Err(wire::garbled());
    }
    Ok(to.join(OsStr::from_bytes(name)))
}

/// Makes room for a file.
fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path).map_err(at(path)),
        Ok(_) => fs::remove_file(path).map_err(at(path)),
        Err(_) => Ok(()),
    }
}

/// Sends a file or a folder, of at most so many bytes.
pub fn send(path: &Path, to: &mut impl Write, most: u64) -> io::Result<()> {
    Sending { to, left: most }.send(path, Path::new(""))
}

struct Sending<'a, W> {
    to: &'a mut W,
    left: u64,
}

impl<W: Write> Sending<'_, W> {
    fn send(&mut self, path: &Path, name: &Path) -> io::Result<()> {
        let data = fs::symlink_metadata(path).map_err(at(path))?;
        let named = name.as_os_str().as_bytes();
        if data.is_symlink() {
            let target = fs::read_link(path).map_err(at(path))?;
            let payload = Payload::default().bytes(named).bytes(target.as_os_str().as_bytes());
            wire::write_frame(self.to, wire::LINK, &payload.0)
        } else if data.is_dir() {
            let mode = Payload::default().number(u64::from(data.mode() & 0o777));
            wire::write_frame(self.to, wire::FOLDER, &mode.bytes(named).0)?;
            let list = || fs::read_dir(path)?.collect::<io::Result<Vec<_>>>();
            let mut entries = readable(path, &data, 0o500, list).map_err(at(path))?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let file = entry.file_name();
                self.send(&path.join(&file), &name.join(&file))?;
            }
            Ok(())
        } else if data.is_file() {
            self.send_file(path, named, &data)
        } else {
            Ok(())
        }
    }

    fn send_file(&mut self, path: &Path, named: &[u8], data: &fs::Metadata) -> io::Result<()> {
        // What is there may have been changed meanwhile into something that blocks or leads elsewhere.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let open = || OpenOptions::new().read(true).custom_flags(flags).open(path);
        let mut file = readable(path, data, 0o400, open).map_err(at(path))?;
        let data = file.metadata().map_err(at(path))?;
        if !data.is_file() {
            return Ok(());
        }
        let size = data.len();
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            at(path)(io::Error::new(ErrorKind::FileTooLarge, "more than the sandbox may hold"))
        })?;
        let modified = data.modified().ok();
        let time = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let head = Payload::default()
            .number(u64::from(data.mode() & 0o777))
            .number(time.map_or(0, |time| time.as_nanos() as u64))
            .number(size)
            .bytes(named);
        wire::write_frame(self.to, wire::FILE, &head.0)?;
        let mut buffer = vec![0; CHUNK];
        let mut left = size;
        while left > 0 {
            let most = left.min(CHUNK as u64) as usize;
            let read = match file.read(&mut buffer[..most]) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(at(path)(error)),
            };
            if read == 0 {
                // It was cut short meanwhile. Its size was promised.
                buffer[..most].fill(0);
            }
            let sent = if read == 0 { most } else { read };
            wire::write_frame(self.to, wire::BYTES, &buffer[..sent])?;
            left -= sent as u64;
        }
        Ok(())
    }
}

/// Does something that needs rights which the owner of a path may have taken from himself.
fn readable<T>(
    path: &Path,
    data: &fs::Metadata,
    rights: u32,
    act: impl Fn() -> io::Result<T>,
) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            fs::set_permissions(path, Permissions::from_mode(data.mode() & 0o777 | rights))?;
            act()
        }
        done => done,
    }
}

/// Says where something went wrong, and keeps the number of the error.
fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let path = path.to_owned();
    move |error| {
        let code = match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::StorageFull => {
                error.kind()
            }
            _ => ErrorKind::Other,
        };
        io::Error::new(code, format!("{}: {error}", path.display()))
    }
}
