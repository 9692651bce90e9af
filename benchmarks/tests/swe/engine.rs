//! Rooms made with the `docker` program, for tests.

use std::future::Future;
use std::path::Path;
use std::process::{Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use hone_benchmarks::room::{Call, Ended, Ending, Room, RoomError, Rooms};
use std::io::Read;

/// Drives a future whose steps block.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

pub struct DockerRooms;

pub struct DockerRoom {
    id: String,
}

fn docker(words: &[&str]) -> Result<String, String> {
    let output = Command::new("docker").args(words).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

impl Rooms for DockerRooms {
    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        Box::pin(async move {
            docker(&["image", "inspect", image])
                .map(|_| ())
                .map_err(|why| RoomError::NoImage { image: image.to_owned(), why })
        })
    }

    fn open<'a>(
        &'a self,
        image: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn Room>, RoomError>> {
        Box::pin(async move { Ok(Box::new(DockerRoom::open(image)?) as Box<dyn Room>) })
    }
}

impl DockerRoom {
    pub fn open(image: &str) -> Result<Self, RoomError> {
        let label = "hone.test=swe";
        let id = docker(&[
            "run",
            "-d",
            "--pull",
            "never",
            "--network",
            "none",
            "--label",
            label,
            "-w",
            "/testbed",
            image,
            "tail",
            "-f",
            "/dev/null",
        ])
        .map_err(|why| match why.contains("No such image") {
            true => RoomError::NoImage { image: image.to_owned(), why },
            false => RoomError::Engine(why),
        })?;
        Ok(Self { id })
    }

    /// Runs a shell script as the agent would, and returns what it printed.
    pub fn script(&self, script: &str) -> String {
        let argv = ["/bin/bash", "-c", script].map(str::to_owned).to_vec();
        let timeout = Duration::from_secs(60);
        let call = Call { argv, cwd: "/testbed".to_owned(), timeout, output_limit: 1 << 20 };
        let ended = wait(self.run(call)).unwrap();
        let output = String::from_utf8_lossy(&ended.output).into_owned();
        assert_eq!(ended.ending, Ending::Exited(0), "{script}\n{output}");
        output
    }

    pub fn copy_out(&self, from: &str, to: &Path) {
        docker(&["cp", &format!("{}:{from}/.", self.id), to.to_str().unwrap()]).unwrap();
    }
}

impl Drop for DockerRoom {
    fn drop(&mut self) {
        let _ = docker(&["rm", "-f", "-v", &self.id]);
    }
}

impl Room for DockerRoom {
    fn run(&self, call: Call) -> BoxFuture<'_, Result<Ended, RoomError>> {
        Box::pin(async move {
            let start = Instant::now();
            let mut child = Command::new("docker")
                .args(["exec", "-w", &call.cwd, &self.id])
                .args(&call.argv)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .spawn()
                .map_err(|e| RoomError::Engine(e.to_string()))?;
            let mut stdout = child.stdout.take().unwrap();
            let reader = std::thread::spawn(move || {
                let (mut kept, mut dropped, mut buffer) = (Vec::new(), 0, vec![0; 1 << 16]);
                while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                    let room = call.output_limit.saturating_sub(kept.len()).min(count);
                    kept.extend_from_slice(&buffer[..room]);
                    dropped += (count - room) as u64;
                }
                (kept, dropped)
            });
            let ending = loop {
                if let Some(status) =
                    child.try_wait().map_err(|e| RoomError::Engine(e.to_string()))?
                {
                    break Ending::Exited(status.code().unwrap_or(-1));
                }
                if start.elapsed() > call.timeout {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Ending::TimedOut;
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            let (output, dropped) = reader.join().unwrap();
            Ok(Ended { ending, output, dropped, elapsed: start.elapsed() })
        })
    }

    fn copy_in<'a>(&'a self, from: &'a Path, to: &'a str) -> BoxFuture<'a, Result<(), RoomError>> {
        Box::pin(async move {
            docker(&["cp", &format!("{}/.", from.display()), &format!("{}:{to}", self.id)])
                .map(|_| ())
                .map_err(RoomError::Engine)
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), RoomError>> {
        Box::pin(async move {
            drop(self);
            Ok(())
        })
    }
}
