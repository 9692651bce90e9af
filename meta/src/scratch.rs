//! temporary
use futures::future::BoxFuture;
use hone_sandbox::*;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
pub struct Bw;
pub struct Box1(SandboxSpec);
impl Executor for Bw {
    fn name(&self) -> &'static str {
        "bubblewrap"
    }
    fn create(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, SandboxError>> {
        Box::pin(async { Ok(Box::new(Box1(spec)) as Box<dyn Sandbox>) })
    }
    fn provide<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async { Ok(()) })
    }
    fn weaknesses(&self) -> Vec<String> {
        vec![]
    }
}
fn e(doing: &str, r: impl ToString) -> SandboxError {
    SandboxError::Engine { doing: doing.into(), reason: r.to_string() }
}
impl Sandbox for Box1 {
    fn run(&self, c: Command) -> BoxFuture<'_, Result<CommandOutcome, SandboxError>> {
        Box::pin(async move {
            let mut p = tokio::process::Command::new("bwrap");
            p.args([
                "--unshare-all",
                "--die-with-parent",
                "--new-session",
                "--cap-drop",
                "ALL",
                "--clearenv",
                "--proc",
                "/proc",
                "--dev",
                "/dev",
                "--tmpfs",
                "/tmp",
                "--tmpfs",
                "/home",
                "--dir",
                "/home/agent",
            ]);
            for d in ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"] {
                p.args(["--ro-bind-try", d, d]);
            }
            for m in &self.0.mounts {
                p.args([
                    if m.access == Access::ReadOnly { "--ro-bind" } else { "--bind" },
                    m.host.to_str().unwrap(),
                    &m.inside,
                ]);
            }
            p.args([
                "--setenv",
                "PATH",
                "/usr/local/bin:/usr/bin:/bin",
                "--setenv",
                "HOME",
                "/home/agent",
                "--setenv",
                "TMPDIR",
                "/tmp",
            ]);
            for (k, v) in self.0.environment.iter().chain(&c.environment) {
                p.args(["--setenv", k, v]);
            }
            p.args([
                "--dir",
                &self.0.workdir,
                "--chdir",
                c.cwd.as_deref().unwrap_or(&self.0.workdir),
                "--",
            ])
            .args(&c.argv);
            p.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
            let t = Instant::now();
            let child = p.spawn().map_err(|x| e("spawn bwrap", x))?;
            let out = child.wait_with_output();
            let cap = |b: Vec<u8>| Captured { head: b, tail: vec![], dropped: 0 };
            tokio::select! {
                o = out => { let o = o.map_err(|x| e("wait", x))?; use std::os::unix::process::ExitStatusExt; let ending = match o.status.code() { Some(c) if c > 128 => Ending::Signaled(c - 128), Some(c) => Ending::Exited(c), None => Ending::Signaled(o.status.signal().unwrap_or(0)) };
                    Ok(CommandOutcome { ending, stdout: cap(o.stdout), stderr: cap(o.stderr), elapsed: t.elapsed() }) }
                () = tokio::time::sleep(c.timeout) => Ok(CommandOutcome { ending: Ending::TimedOut, stdout: Captured::default(), stderr: Captured::default(), elapsed: t.elapsed() }),
                () = c.cancelled.cancelled() => Ok(CommandOutcome { ending: Ending::Cancelled, stdout: Captured::default(), stderr: Captured::default(), elapsed: t.elapsed() }),
            }
        })
    }
    fn copy_in<'a>(&'a self, _: &'a Path, _: &'a str) -> BoxFuture<'a, Result<(), SandboxError>> {
        todo!()
    }
    fn copy_out<'a>(
        &'a self,
        from: &'a str,
        to: &'a Path,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            let m = self
                .0
                .mounts
                .iter()
                .filter(|m| from.starts_with(&m.inside))
                .max_by_key(|m| m.inside.len())
                .unwrap();
            let host = m.host.join(from[m.inside.len()..].trim_start_matches('/'));
            std::fs::copy(&host, to).map(|_| ()).map_err(|source| SandboxError::File {
                doing: "copy",
                path: host,
                source,
            })
        })
    }
    fn destroy(self: Box<Self>) -> BoxFuture<'static, Result<(), SandboxError>> {
        Box::pin(async { Ok(()) })
    }
}
