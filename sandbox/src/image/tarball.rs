//! An archive that is written while the engine reads it, so that a gigabyte is never in memory or on disk twice.

use super::closure::{Closure, Entry};
use bytes::Bytes;
use futures::Stream;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tokio::sync::mpsc;

/// The size of a piece on its way to the engine.
const PIECE: usize = 256 << 10;

/// Streams a root file system, owned by root. Besides the entries of the closure it holds small files given as text.
pub(super) fn root_file_system(
    closure: Closure,
    texts: Vec<(String, String)>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let (sender, receiver) = mpsc::channel(4);
    let failures = sender.clone();
    tokio::task::spawn_blocking(move || {
        let pipe = io::BufWriter::with_capacity(PIECE, Pipe(sender));
        if let Err(error) = write(pipe, &closure, &texts) {
            // The receiver is gone when the engine has hung up, and then nobody asks.
            let _ = failures.blocking_send(Err(error));
        }
    });
    futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    })
}

fn write(to: impl Write, closure: &Closure, texts: &[(String, String)]) -> io::Result<()> {
    let mut archive = tar::Builder::new(to);
    for (path, entry) in &closure.0 {
        let inside = path.strip_prefix("/").unwrap_or(path);
        let mut header = tar::Header::new_gnu();
        header.set_uid(0);
        header.set_gid(0);
        match entry {
            Entry::Folder => {
                header.set_entry_type(tar::EntryType::Directory);
                // The temporary folder belongs to everyone, and no one removes another's files.
                header.set_mode(if inside == Path::new("tmp") { 0o1777 } else { 0o755 });
                header.set_size(0);
                archive.append_data(&mut header, inside, io::empty())?;
            }
            Entry::Link(goal) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                archive.append_link(&mut header, inside, goal)?;
            }
            Entry::File(host) => {
                let file = std::fs::File::open(host)?;
                let data = file.metadata()?;
                header.set_entry_type(tar::EntryType::Regular);
                // Without the bits that lend a program another user's rights.
                header.set_mode(data.mode() & 0o777);
                header.set_mtime(u64::try_from(data.mtime()).unwrap_or(0));
                header.set_size(data.len());
                archive.append_data(&mut header, inside, io::Read::take(file, data.len()))?;
            }
        }
    }
    for (path, text) in texts {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, path, text.as_bytes())?;
    }
    archive.into_inner()?.flush()
}

struct Pipe(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes))) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use std::path::PathBuf;

    #[tokio::test]
    async fn an_archive_reads_back_as_what_went_in() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, vec![7; 3 * PIECE]).unwrap();
        let setuid = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
        std::fs::set_permissions(&program, setuid).unwrap();
        let long = format!("/usr/{}/program", "n".repeat(150));
        let mut closure = Closure::default();
        closure.0.insert("/tmp".into(), Entry::Folder);
        closure.0.insert("/bin".into(), Entry::Link("usr/bin".into()));
        closure.0.insert(PathBuf::from(&long), Entry::File(program));

        let texts = vec![("etc/passwd".to_owned(), "root".to_owned())];
        let pieces: Vec<Bytes> =
            root_file_system(closure, texts).map(|piece| piece.unwrap()).collect().await;

        let bytes = pieces.concat();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            seen.push((
                entry.path().unwrap().display().to_string(),
                header.entry_type(),
                header.mode().unwrap(),
                entry.size(),
            ));
        }
        assert_eq!(
            seen,
            [
                ("bin".to_owned(), tar::EntryType::Symlink, 0o777, 0),
                ("tmp".to_owned(), tar::EntryType::Directory, 0o1777, 0),
                (long[1..].to_owned(), tar::EntryType::Regular, 0o755, 3 * PIECE as u64),
                ("etc/passwd".to_owned(), tar::EntryType::Regular, 0o644, 4),
            ]
        );
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_is_an_error_of_the_stream() {
        let mut closure = Closure::default();
        closure.0.insert("/gone".into(), Entry::File("/nonexistent/file".into()));
        let last = root_file_system(closure, Vec::new()).collect::<Vec<_>>().await;
        assert!(last.last().unwrap().is_err());
    }
}
