//! The harness's end of the connection to a supervisor.
//!
//! The supervisor connects to a socket in a folder that it sees read-only. Every command and every copy gets a pair of
//! sockets of its own, of which the supervisor is handed one end.

use crate::capture::Captured;
use crate::contract::{Command, CommandOutcome, Ending, Limits, SandboxError};
use crate::wire::{self, Ended, How, Payload, Start};
use crate::{files, quarters};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

/// How long a supervisor may take to connect. An engine under load takes seconds to start a container.
const CONNECT: Duration = Duration::from_secs(60);
/// How much later than the deadline a supervisor may report: it kills within one second, and then sends the output.
const LATE: Duration = Duration::from_secs(30);

/// What a sandbox is like for every command in it.
#[derive(Clone, Debug)]
pub(crate) struct House {
    /// What the sandbox is for.
    pub purpose: String,
    /// Where commands start.
    pub workdir: String,
    /// The environment of commands, as `(name, value)`; later ones win.
    pub environment: Vec<(String, String)>,
    /// What it may use.
    pub limits: Limits,
    /// Whether limits of memory and processes have to be set for each command, since nothing else does it.
    pub limits_by_process: bool,
    /// Whether system calls and paths are filtered.
    pub filtered: bool,
    /// What may be written, for the filter of paths.
    pub writable: Vec<String>,
}

/// A place where a supervisor is expected.
#[derive(Debug)]
pub(crate) struct Awaited(UnixListener);

/// A connection to a supervisor. When it is dropped everything in the sandbox is killed.
#[derive(Debug)]
pub(crate) struct Link {
    control: UnixStream,
    house: House,
    /// Cancelled when the sandbox holds more than it may.
    pub too_full: CancellationToken,
}

impl Awaited {
    /// Listens in a folder.
    pub fn listen(folder: &Path) -> Result<Self, SandboxError> {
        let fail = |source| SandboxError::File {
            doing: "listen at",
            path: folder.join(quarters::SOCKET),
            source,
        };
        // The name of a socket has at most 107 bytes, and the folder may lie deep.
        let opened = std::fs::File::open(folder).map_err(fail)?;
        let short = format!(
            "/proc/self/fd/{}/{}",
            std::os::fd::AsRawFd::as_raw_fd(&opened),
            quarters::SOCKET
        );
        UnixListener::bind(short).map(Awaited).map_err(fail)
    }

    /// Waits for the supervisor to connect.
    pub async fn accept(self, house: House) -> Result<Link, SandboxError> {
        let fail = |reason: String| SandboxError::Engine {
            doing: format!("start the supervisor of {}", house.purpose),
            reason,
        };
        let accepted = tokio::time::timeout(CONNECT, async {
            let (mut control, _) = self.0.accept().await?;
            // It says one byte when it is ready.
            control.read_exact(&mut [0]).await?;
            Ok::<_, io::Error>(control)
        });
        match accepted.await {
            Ok(Ok(control)) => Ok(Link { control, house, too_full: CancellationToken::new() }),
            Ok(Err(error)) => Err(fail(error.to_string())),
            Err(_) => Err(fail(format!(
                "it did not connect within {} seconds; the engine has to run on this machine",
                CONNECT.as_secs()
            ))),
        }
    }
}

impl Link {
    /// Says that the sandbox is gone.
    pub fn gone(&self, reason: impl Into<String>) -> SandboxError {
        SandboxError::Gone { purpose: self.house.purpose.clone(), reason: reason.into() }
    }

    /// Returns what the sandbox is like.
    pub fn house(&self) -> &House {
        &self.house
    }

    /// Makes a pair of sockets and hands one over.
    async fn request(&self) -> Result<UnixStream, SandboxError> {
        let pair = UnixStream::pair().and_then(|(ours, theirs)| {
            let theirs = theirs.into_std()?;
            theirs.set_nonblocking(false)?;
            Ok((ours, OwnedFd::from(theirs)))
        });
        let (ours, theirs) = pair.map_err(|error| SandboxError::Engine {
            doing: format!("speak with the sandbox of {}", self.house.purpose),
            reason: error.to_string(),
        })?;
        let sent = self.control.async_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            let handed = [theirs.as_fd()];
            ancillary.push(SendAncillaryMessage::ScmRights(&handed));
            let bytes = [io::IoSlice::new(b"+")];
            let control = self.control.as_fd();
            rustix::net::sendmsg(control, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
            Ok(())
        });
        sent.await.map_err(|error| self.gone(error.to_string()))?;
        Ok(ours)
    }

    /// Runs a command to its end.
    pub async fn run(&self, command: Command) -> Result<CommandOutcome, SandboxError> {
        if command.cancelled.is_cancelled() {
            return Ok(CommandOutcome {
                ending: Ending::Cancelled,
                stdout: Captured::default(),
                stderr: Captured::default(),
                elapsed: Duration::ZERO,
            });
        }
        let began = Instant::now();
        let stream = self.request().await?;
        let (mut from, mut to) = stream.into_split();
        let start = self.start(&command).encode();
        let lost = |error: io::Error| self.gone(error.to_string());
        // What is too long for the supervisor would be too long for the kernel.
        if start.len() > wire::LONGEST {
            let ending = Ending::NotStarted("its arguments are too long".to_owned());
            let (stdout, stderr) = Default::default();
            return Ok(CommandOutcome { ending, stdout, stderr, elapsed: Duration::ZERO });
        }
        let mut frame = Vec::with_capacity(start.len() + 5);
        wire::write_frame(&mut frame, wire::START, &start).map_err(lost)?;
        to.write_all(&frame).await.map_err(lost)?;

        let result = receive(&mut from);
        tokio::pin!(result);
        let last = command.timeout.saturating_add(LATE);
        let (mut over, mut demanded) = (false, false);
        let received = loop {
            tokio::select! {
                received = &mut result => break received,
                () = command.cancelled.cancelled(), if !demanded => demanded = true,
                () = self.too_full.cancelled(), if !demanded => (demanded, over) = (true, true),
                () = tokio::time::sleep(last.saturating_sub(began.elapsed())) => {
                    return Err(self.gone("it does not answer"));
                }
            }
            if demanded {
                // One that ended meanwhile does not listen any more.
                let _ = to.write_all(&[wire::KILL, 0, 0, 0, 0]).await;
            }
        };
        let (ended, stdout, mut stderr) = match received {
            Ok(Some(received)) => received,
            // The supervisor itself says that the one who watched over the command was killed: by whom but the command.
            Ok(None) => {
                let (stdout, stderr) = Default::default();
                let ending = Ending::Signaled(libc::SIGKILL);
                return Ok(CommandOutcome { ending, stdout, stderr, elapsed: began.elapsed() });
            }
            Err(error) => return Err(self.gone(error.to_string())),
        };
        let ending = match ended.how {
            How::Exited(0) => Ending::Exited(0),
            How::Exited(_) | How::Signaled(_) if ended.out_of_memory => Ending::OutOfMemory,
            How::Exited(code) => Ending::Exited(code),
            How::Signaled(signal) => Ending::Signaled(signal),
            How::TimedOut => Ending::TimedOut,
            How::Killed if over => {
                let note = format!(
                    "\nkilled: the sandbox may hold {} bytes of files, and held more\n",
                    self.house.limits.disk_bytes
                );
                stderr.tail.extend_from_slice(note.as_bytes());
                Ending::Signaled(libc::SIGXFSZ)
            }
            How::Killed => Ending::Cancelled,
            How::NotStarted(why) => Ending::NotStarted(why),
        };
        let elapsed = Duration::from_micros(ended.elapsed);
        Ok(CommandOutcome { ending, stdout, stderr, elapsed })
    }

    fn start(&self, command: &Command) -> Start {
        let house = &self.house;
        let mut variables = std::collections::BTreeMap::new();
        for (name, value) in house.environment.iter().chain(&command.environment) {
            variables.insert(name, value);
        }
        let limits = house.limits;
        let by_process = |limit: u64| if house.limits_by_process { limit } else { 0 };
        Start {
            argv: command.argv.iter().map(|it| it.clone().into_bytes()).collect(),
            cwd: command.cwd.as_ref().unwrap_or(&house.workdir).clone().into_bytes(),
            environment: variables
                .into_iter()
                .map(|(name, value)| format!("{name}={value}").into_bytes())
                .collect(),
            timeout: u64::try_from(command.timeout.as_millis()).unwrap_or(u64::MAX),
            output_bytes: command.output_bytes as u64,
            open_files: limits.open_files,
            file_bytes: limits.disk_bytes,
            address_space: by_process(limits.memory_bytes),
            processes: by_process(limits.processes),
            filtered: house.filtered,
            writable: house.writable.iter().map(|it| it.clone().into_bytes()).collect(),
        }
    }

    /// Copies the content of a folder into a folder of the sandbox.
    pub async fn copy_in(&self, from: &Path, to: &str) -> Result<(), SandboxError> {
        let stream = self.request().await?;
        let (from, to) = (from.to_owned(), to.to_owned());
        let doing = format!("copy {} into {to} of the sandbox", from.display());
        let path = from.clone();
        let copied = blocking(stream, move |mut stream| {
            // Something that cannot be read is found before anything is sent.
            std::fs::read_dir(&from)?;
            wire::write_frame(&mut stream, wire::COPY_IN, to.as_bytes())?;
            let mut writer = io::BufWriter::with_capacity(256 << 10, &mut stream);
            let sent = files::send(&from, &mut writer, u64::MAX)
                .and_then(|()| wire::write_frame(&mut writer, wire::DONE, &[]))
                .and_then(|()| writer.flush());
            drop(writer);
            match sent {
                // It stopped listening, and says why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error),
                Ok(()) => {}
            }
            verdict(&mut stream)
        });
        match copied.await? {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.gone(format!("while it was to {doing}")))
            }
            Err(source) => Err(SandboxError::File { doing: "copy into the sandbox", path, source }),
        }
    }

    /// Copies a file or a folder of the sandbox out.
    pub async fn copy_out(&self, from: &str, to: &Path) -> Result<(), SandboxError> {
        let stream = self.request().await?;
        let wanted =
            Payload::default().number(self.house.limits.disk_bytes).bytes(from.as_bytes()).0;
        let to = to.to_owned();
        let copied = blocking(stream, move |mut stream| {
            wire::write_frame(&mut stream, wire::COPY_OUT, &wanted)?;
            files::receive(&mut io::BufReader::with_capacity(256 << 10, stream), &to)
        });
        match copied.await? {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.gone("while it was to copy files out"))
            }
            Err(source) => {
                let path = Path::new(from).to_owned();
                Err(SandboxError::File { doing: "copy out of the sandbox", path, source })
            }
        }
    }

    /// Makes folders in the sandbox.
    pub async fn make_folder(&self, path: &str) -> Result<(), SandboxError> {
        let stream = self.request().await?;
        let wanted = path.to_owned();
        let made = blocking(stream, move |mut stream| {
            wire::write_frame(&mut stream, wire::COPY_IN, wanted.as_bytes())?;
            let top = Payload::default().number(0o755).bytes(b"");
            wire::write_frame(&mut stream, wire::FOLDER, &top.0)?;
            wire::write_frame(&mut stream, wire::DONE, &[])?;
            verdict(&mut stream)
        });
        made.await?.map_err(|source| SandboxError::File {
            doing: "make the folder",
            path: Path::new(path).to_owned(),
            source,
        })
    }
}

/// Reads how copying in went.
fn verdict(stream: &mut impl Read) -> io::Result<()> {
    match wire::read_frame(stream)? {
        Some((wire::DONE, _)) => Ok(()),
        Some((wire::FAILED, payload)) => {
            let mut parts = wire::Parts(&payload);
            let kind = io::Error::from_raw_os_error(parts.number()? as i32).kind();
            Err(io::Error::new(kind, String::from_utf8_lossy(&parts.bytes()?).into_owned()))
        }
        Some(_) => Err(wire::garbled()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Does blocking work on a stream.
async fn blocking<T: Send + 'static>(
    stream: UnixStream,
    work: impl FnOnce(std::os::unix::net::UnixStream) -> io::Result<T> + Send + 'static,
) -> Result<io::Result<T>, SandboxError> {
    let task = tokio::task::spawn_blocking(move || {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        work(stream)
    });
    task.await.map_err(|error| SandboxError::Engine {
        doing: "copy files".to_owned(),
        reason: error.to_string(),
    })
}

type Received = (Ended, Captured, Captured);

/// Reads what a command wrote and how it ended; `None` when its watcher was killed.
async fn receive(from: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<Option<Received>> {
    let mut streams = [Captured::default(), Captured::default()];
    loop {
        let mut head = [0; 5];
        from.read_exact(&mut head).await?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > wire::LONGEST {
            return Err(wire::garbled());
        }
        let mut payload = vec![0; length];
        from.read_exact(&mut payload).await?;
        match head[0] {
            wire::OUTPUT => match payload.as_slice() {
                [stream @ 0..=1, 0, bytes @ ..] => {
                    streams[usize::from(*stream)].head.extend_from_slice(bytes);
                }
                [stream @ 0..=1, 1, bytes @ ..] => {
                    streams[usize::from(*stream)].tail.extend_from_slice(bytes);
                }
                _ => return Err(wire::garbled()),
            },
            wire::ENDED => {
                let ended = Ended::decode(&payload)?;
                let [mut stdout, mut stderr] = streams;
                (stdout.dropped, stderr.dropped) = (ended.dropped[0], ended.dropped[1]);
                return Ok(Some((ended, stdout, stderr)));
            }
            wire::CLOSED => return Ok(None),
            _ => return Err(wire::garbled()),
        }
    }
}
