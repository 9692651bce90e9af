//! No sandbox at all: commands run on the host as whoever runs Hone. It is there for machines that have nothing else, says
//! so, and is never chosen by itself.

use crate::contract::{
    Command, CommandOutcome, Executor, Mount, Root, Sandbox, SandboxError, SandboxSpec,
};
use crate::link::{Awaited, House, Link};
use crate::quarters::{self, Estate, PATH, Quarters, SOCKET, SUPERVISOR};
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// Runs commands without a sandbox. What a spec mounts is not mounted: paths below it are rewritten in arguments,
/// directories and variables of commands, and nowhere else.
#[derive(Clone, Debug)]
pub struct UnconfinedExecutor {
    estate: Arc<Estate>,
}

impl UnconfinedExecutor {
    /// Makes it.
    ///
    /// # Errors
    /// Returns an error when the state directory cannot be written.
    pub fn new(state: &Path) -> Result<Self, SandboxError> {
        Ok(UnconfinedExecutor { estate: Arc::new(Estate::new(state)?) })
    }

    async fn open(&self, spec: SandboxSpec) -> Result<UnconfinedSandbox, SandboxError> {
        quarters::check(&spec)?;
        if let Root::Image(image) = &spec.root {
            return Err(SandboxError::Refused {
                purpose: spec.purpose.clone(),
                reason: format!("without a sandbox there are no images, and {image} is asked for"),
            });
        }
        let quarters = self.estate.quarters()?;
        let mut mounts = quarters.writable(&spec)?;
        mounts.extend(spec.mounts.iter().cloned());
        // The innermost one counts.
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.inside.len()));
        let awaited = Awaited::listen(&quarters.path("link"))?;
        let link = quarters.path("link");
        let mut command = tokio::process::Command::new(link.join(SUPERVISOR));
        command.arg("init").arg(link.join(SOCKET)).env_clear().current_dir(&link);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(quarters::file("start", &link.join(SUPERVISOR)))?;
        let paths = Paths(mounts);
        let mut environment = vec![
            ("PATH".to_owned(), PATH.to_owned()),
            ("HOME".to_owned(), quarters.path("home").to_string_lossy().into_owned()),
            ("TMPDIR".to_owned(), quarters.path("tmp").to_string_lossy().into_owned()),
        ];
        for (name, value) in &spec.environment {
            environment.push((name.clone(), paths.rewrite(value)));
        }
        let house = House {
            purpose: spec.purpose.clone(),
            workdir: paths.rewrite(&spec.workdir),
            environment,
            limits: spec.limits,
            limits_by_process: true,
            filtered: false,
            writable: Vec::new(),
        };
        let link = awaited.accept(house).await?;
        link.make_folder(&link.house().workdir.clone()).await?;
        Ok(UnconfinedSandbox { link, child, paths, _quarters: quarters })
    }
}

impl Executor for UnconfinedExecutor {
    fn name(&self) -> &'static str {
        "none"
    }

    fn create(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, SandboxError>> {
        Box::pin(async move { Ok(Box::new(self.open(spec).await?) as Box<dyn Sandbox>) })
    }

    fn provide<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move {
            Err(SandboxError::NoImage {
                image: image.to_owned(),
                reason: "without a sandbox there are no images; use Docker".to_owned(),
            })
        })
    }

    fn weaknesses(&self) -> Vec<String> {
        [
            "THERE IS NO SANDBOX: code that a model wrote runs as you, and can read and delete everything that you can.",
            "The network is open.",
            "Keys and results of the harness are within reach of what it measures.",
            "Memory is limited for each process by itself; processors and disk are not limited.",
            "Paths of mounts are rewritten in commands only: an agent that looks for them elsewhere does not find them.",
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

/// The mounts that are none, innermost first.
struct Paths(Vec<Mount>);

impl Paths {
    /// Rewrites paths below mounts in a text.
    fn rewrite(&self, text: &str) -> String {
        let mut rewritten = String::new();
        let mut rest = text;
        'text: while let Some(next) = rest.chars().next() {
            let before = rewritten.chars().next_back();
            let starts = before.is_none_or(|before| !is_part_of_a_name(before) && before != '/');
            if next == '/' && starts {
                for mount in &self.0 {
                    let Some(after) = rest.strip_prefix(mount.inside.as_str()) else { continue };
                    if !after.chars().next().is_some_and(is_part_of_a_name) {
                        rewritten.push_str(&mount.host.to_string_lossy());
                        rest = after;
                        continue 'text;
                    }
                }
            }
            rewritten.push(next);
            rest = &rest[next.len_utf8()..];
        }
        rewritten
    }
}

fn is_part_of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

/// A place on the host to run commands in.
struct UnconfinedSandbox {
    link: Link,
    child: tokio::process::Child,
    paths: Paths,
    _quarters: Quarters,
}

impl Sandbox for UnconfinedSandbox {
    fn run(&self, mut command: Command) -> BoxFuture<'_, Result<CommandOutcome, SandboxError>> {
        for argument in &mut command.argv {
            *argument = self.paths.rewrite(argument);
        }
        for (_, value) in &mut command.environment {
            *value = self.paths.rewrite(value);
        }
        command.cwd = command.cwd.map(|cwd| self.paths.rewrite(&cwd));
        Box::pin(self.link.run(command))
    }

    fn copy_in<'a>(
        &'a self,
        from: &'a Path,
        to: &'a str,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.link.copy_in(from, &self.paths.rewrite(to)).await })
    }

    fn copy_out<'a>(
        &'a self,
        from: &'a str,
        to: &'a Path,
    ) -> BoxFuture<'a, Result<(), SandboxError>> {
        Box::pin(async move { self.link.copy_out(&self.paths.rewrite(from), to).await })
    }

    fn destroy(mut self: Box<Self>) -> BoxFuture<'static, Result<(), SandboxError>> {
        Box::pin(async move {
            drop(self.link);
            let path = PathBuf::from(SUPERVISOR);
            self.child.wait().await.map(drop).map_err(quarters::file("end", &path))
        })
    }
}
