//! Rooms for tests: bubblewrap over the host's programs, without network.

use futures::FutureExt;
use futures::future::BoxFuture;
use hone_benchmarks::Root;
use hone_benchmarks::room::{Call, Ended, Ending, Room, RoomError, Rooms};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Opens rooms that differ from those of a run in one thing: nothing limits memory and processes.
pub struct Bubblewrap;

/// Waits for a future that never has to wait, as those of these rooms.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("rooms of tests block")
}

struct Home(tempfile::TempDir);

fn failed(error: std::io::Error) -> RoomError {
    RoomError::Engine(error.to_string())
}

impl Rooms for Bubblewrap {
    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        let why = "bubblewrap has no images".to_owned();
        Box::pin(async move { Err(RoomError::NoImage { image: image.to_owned(), why }) })
    }

    fn open<'a>(
        &'a self,
        image: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(async move {
            self.provide(image).await?;
            unreachable!("there is no image")
        })
    }

    fn open_root<'a>(
        &'a self,
        root: &'a Root,
        _: &'a [&'a str],
        label: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(async move {
            match root {
                Root::Image(image) => self.open(image, label).await,
                Root::Dockerfile(_) => {
                    Err(RoomError::Engine("bubblewrap builds no images".to_owned()))
                }
                Root::Host => {
                    let home = tempfile::tempdir().map_err(failed)?;
                    std::fs::create_dir(home.path().join("tmp")).map_err(failed)?;
                    for link in ["bin", "sbin", "lib", "lib64"] {
                        let target = format!("usr/{link}");
                        std::os::unix::fs::symlink(target, home.path().join(link))
                            .map_err(failed)?;
                    }
                    Ok(Box::new(Home(home)) as Box<dyn Room>)
                }
            }
        })
    }
}

impl Room for Home {
    fn run(&self, call: Call) -> BoxFuture<'_, Result<Ended, RoomError>> {
        Box::pin(async move {
            let root = self.0.path().to_string_lossy().into_owned();
            let seconds = call.timeout.as_secs_f64().to_string();
            let mut command = Command::new("timeout");
            command.args([
                "--signal=KILL",
                &seconds,
                "bwrap",
                "--unshare-all",
                "--die-with-parent",
            ]);
            command.args(["--new-session", "--bind", &root, "/", "--ro-bind", "/usr", "/usr"]);
            command.args(["--proc", "/proc", "--dev", "/dev", "--chdir", &call.cwd, "--"]);
            command.args(&call.argv);
            command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            let start = Instant::now();
            let mut child = command.spawn().map_err(failed)?;
            let mut output = Vec::new();
            if let Some(pipe) = child.stdout.as_mut() {
                pipe.take(call.output_limit as u64).read_to_end(&mut output).map_err(failed)?;
            }
            let status = child.wait().map_err(failed)?;
            let ending = match (status.code(), status.signal()) {
                _ if start.elapsed() >= call.timeout => Ending::TimedOut,
                (Some(code), _) => Ending::Exited(code),
                (None, signal) => Ending::Signaled(signal.unwrap_or(0)),
            };
            Ok(Ended { ending, output, dropped: 0, elapsed: start.elapsed() })
        })
    }

    fn copy_in<'a>(&'a self, from: &'a Path, to: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        Box::pin(async move {
            let to = self.0.path().join(to.trim_start_matches('/'));
            std::fs::create_dir_all(&to).map_err(failed)?;
            let copied = Command::new("cp").arg("-a").arg(from.join(".")).arg(&to).status();
            copied
                .map_err(failed)?
                .success()
                .then_some(())
                .ok_or_else(|| failed(std::io::Error::other("cp failed")))
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), RoomError>> {
        Box::pin(async move { self.0.close().map_err(failed) })
    }
}
