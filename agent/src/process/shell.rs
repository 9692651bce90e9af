//! Runs commands in a shell, under a supervisor.

use super::capture::Capture;
use super::supervisor::{Ending, SUPERVISE};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// How long the rest of the output is waited for once all processes have ended.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// Starts commands.
#[derive(Clone, Debug)]
pub struct Shell {
    supervisor: PathBuf,
    program: &'static str,
}

/// What came of a command.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output and standard error, in the order in which they were written.
    pub output: Capture,
}

/// Why a command could not be run or followed.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The supervisor could not be started.
    #[error("failed to start {program}", program = supervisor.display())]
    Start { supervisor: PathBuf, source: io::Error },
    /// The output or the report could not be read.
    #[error("failed to follow the command")]
    Follow(#[from] io::Error),
    /// The supervisor went away without a report.
    #[error("the supervisor of the command ended without a report")]
    NoReport,
}

impl Shell {
    /// Prepares to run commands; `supervisor` is the path of this agent's binary.
    pub fn new(supervisor: PathBuf) -> Self {
        let program = if Path::new("/bin/bash").exists() { "bash" } else { "sh" };
        Shell { supervisor, program }
    }

    /// Runs a command in `directory`. When the returned future is dropped, everything that the
    /// command has started ends.
    pub async fn run(
        &self,
        command: &str,
        directory: &Path,
        timeout: Duration,
        cap: usize,
    ) -> Result<Outcome, ShellError> {
        if command.contains('\0') {
            let ending = Ending::NotStarted("a command cannot hold a NUL byte".to_owned());
            return Ok(Outcome { ending, output: Capture::new(cap) });
        }
        let (output, output_end) = io::pipe()?;
        let (report, report_end) = std::os::unix::net::UnixStream::pair()?;
        let mut supervisor = tokio::process::Command::new(&self.supervisor);
        supervisor
            .args([SUPERVISE, &timeout.as_millis().to_string(), self.program, "-c", command])
            .current_dir(directory)
            .env_remove(hone_protocol::SOCKET_VARIABLE)
            .stdin(Stdio::from(OwnedFd::from(report_end)))
            .stdout(output_end.try_clone()?)
            .stderr(output_end);
        let mut child = supervisor
            .spawn()
            .map_err(|source| ShellError::Start { supervisor: self.supervisor.clone(), source })?;
        // The command owns the other ends of the pipe and the socket now.
        drop(supervisor);

        report.set_nonblocking(true)?;
        let mut report = BufReader::new(UnixStream::from_std(report)?);
        let mut output = pipe::Receiver::from_owned_fd(output.into())?;
        let mut capture = Capture::new(cap);
        let mut line = Vec::new();
        {
            let drain = drain(&mut output, &mut capture);
            tokio::pin!(drain);
            let mut drained = false;
            let reported = report.read_to_end(&mut line);
            tokio::pin!(reported);
            loop {
                tokio::select! {
                    read = &mut reported => { read?; break }
                    read = &mut drain, if !drained => { read?; drained = true }
                }
            }
            if !drained {
                // A process that is stuck in the kernel may still hold the pipe.
                let _ = tokio::time::timeout(DRAIN_PATIENCE, drain).await;
            }
        }
        child.wait().await?;
        let ending = serde_json::from_slice(&line).map_err(|_| ShellError::NoReport)?;
        Ok(Outcome { ending, output: capture })
    }
}

async fn drain(output: &mut pipe::Receiver, capture: &mut Capture) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match output.read(&mut buffer).await? {
            0 => return Ok(()),
            count => capture.push(&buffer[..count]),
        }
    }
}
