//! `hone bench`: suites and what work on them is worth.
//!
//! | file | what it owns |
//! |---|---|
//! | `list`, `show`, `verify` | what suites there are, what is in them, whether they are whole |
//! | `build`, `import` | new suites, kept by `keep` |
//! | `grade`, `summary`, `score` | SWE-bench: logs, runs, predictions |
//! | `choose` | the flags that choose problems out of a suite |
//! | `failures` | which exit code an error of suites has, and which hint |

mod build;
pub mod choose;
mod failures;
mod grade;
mod import;
mod keep;
mod list;
mod score;
mod show;
mod summary;
mod table;
mod verify;

use super::Context;
use crate::failure::Outcome;
use clap::Subcommand;

/// The arguments of `hone bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Lists the suites that there are
    List(list::ListArguments),
    /// Shows a suite, or one of its problems as an agent sees it
    Show(show::ShowArguments),
    /// Builds a suite from the history of source code
    Build(build::BuildArguments),
    /// Imports a published set, or a folder of tasks
    Import(import::ImportArguments),
    /// Checks that suites are whole and unchanged
    Verify(verify::VerifyArguments),
    /// Grades logs of SWE-bench test runs as the official harness does
    Grade(grade::GradeArguments),
    /// Summarises the reports of a whole SWE-bench run
    Summary(summary::SummaryArguments),
    /// Scores predictions in fresh sandboxes
    Score(score::ScoreArguments),
}

/// Runs the command.
pub async fn run(arguments: BenchArguments, context: Context) -> Outcome {
    match arguments.command {
        BenchCommand::List(arguments) => list::run(arguments, &context),
        BenchCommand::Show(arguments) => show::run(arguments, &context),
        BenchCommand::Build(arguments) => build::run(arguments, &context),
        BenchCommand::Import(arguments) => import::run(arguments, &context),
        BenchCommand::Verify(arguments) => verify::run(arguments, &context),
        BenchCommand::Grade(arguments) => grade::run(arguments, &context),
        BenchCommand::Summary(arguments) => summary::run(arguments, &context),
        BenchCommand::Score(arguments) => score::run(arguments, &context).await,
    }
}
