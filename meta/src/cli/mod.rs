//! The command line: one file per command, and what all of them share.

mod archive;
mod audit;
mod bench;
mod clean;
mod console;
mod doctor;
mod image;
mod run;

use crate::failure::{Failure, FailureKind, Outcome};
use crate::home::Home;
use crate::settings::Settings;
use clap::{Parser, Subcommand};
pub use console::Console;
use std::path::PathBuf;
use std::process::ExitCode;

/// A coding agent that sharpens itself, and proves it.
#[derive(Debug, Parser)]
#[command(name = "hone", version, propagate_version = true)]
struct Arguments {
    #[command(flatten)]
    global: GlobalArguments,
    #[command(subcommand)]
    command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, clap::Args)]
pub struct GlobalArguments {
    /// The folder of runs and suites [default: ./hone-runs]
    #[arg(long, global = true, env = "HONE_HOME", value_name = "DIR")]
    home: Option<PathBuf>,
    /// A configuration file in place of ./hone.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sets a key of the configuration, such as trial.seconds=120
    #[arg(short = 'c', global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Prints data as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Prints no progress
    #[arg(short, long, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs improvement iterations
    Run(run::RunArguments),
    /// Lists, makes, runs and scores benchmarks
    Bench(Box<bench::BenchArguments>),
    /// Looks into the archive of versions
    Archive(archive::ArchiveArguments),
    /// Tells what the overseer saw and did
    Audit(audit::AuditArguments),
    /// Builds, lists and prunes images
    Image(image::ImageArguments),
    /// Says what is missing on this machine and how to mend it
    Doctor(doctor::DoctorArguments),
    /// Removes what dead runs left behind
    Clean(clean::CleanArguments),
}

/// What a command works with.
#[derive(Debug)]
pub struct Context {
    /// The home of runs and suites.
    pub home: Home,
    /// Settings from files, environment and `-c`; flags of a command come on top.
    pub settings: Settings,
    /// The pairs of `-c`, for commands that put them on the settings of a run.
    pub set: Vec<String>,
    /// Where words and data go.
    pub console: Console,
}

/// Runs the program.
pub fn main() -> ExitCode {
    // The first provider to be installed stays; that there is one already is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    let console = Console::new(arguments.global.json, arguments.global.quiet);
    let result = context(&arguments.global, console).and_then(|context| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Failure::infrastructure)?;
        let result = runtime.block_on(run(arguments.command, context));
        // A read of the terminal or a file that hangs must not hold up the end.
        runtime.shutdown_timeout(std::time::Duration::from_secs(2));
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console.failure(&failure);
            ExitCode::from(failure.kind as u8)
        }
    }
}

fn context(global: &GlobalArguments, console: Console) -> Outcome<Context> {
    let settings = crate::settings::load(global.config.as_deref(), &global.set)?;
    let root = global.home.clone().unwrap_or_else(|| PathBuf::from("hone-runs"));
    let root =
        std::path::absolute(&root).map_err(|error| Failure::new(FailureKind::Usage, error))?;
    let cache = match std::env::var_os("HONE_CACHE") {
        Some(path) => PathBuf::from(path),
        None => match std::env::var_os("XDG_CACHE_HOME").or_else(|| std::env::var_os("HOME")) {
            Some(path) if std::env::var_os("XDG_CACHE_HOME").is_some() => {
                PathBuf::from(path).join("hone")
            }
            Some(path) => PathBuf::from(path).join(".cache/hone"),
            None => root.join(".cache"),
        },
    };
    let cache =
        std::path::absolute(&cache).map_err(|error| Failure::new(FailureKind::Usage, error))?;
    Ok(Context { home: Home::new(root, cache), settings, set: global.set.clone(), console })
}

async fn run(command: Command, context: Context) -> Outcome {
    match command {
        Command::Run(arguments) => run::run(arguments, context).await,
        Command::Bench(arguments) => bench::run(*arguments, context).await,
        Command::Archive(arguments) => archive::run(arguments, context).await,
        Command::Audit(arguments) => audit::run(arguments, context).await,
        Command::Image(arguments) => image::run(arguments, context).await,
        Command::Doctor(arguments) => doctor::run(arguments, context).await,
        Command::Clean(arguments) => clean::run(arguments, context).await,
    }
}
