//! `hone audit`: what the overseer saw and did, judged again, and scored.
//!
//! | file | part |
//! |---|---|
//! | [`logs`] | reads the logs of a run out of its ledger |
//! | [`tell`] | `hone audit`: the logs as a story |
//! | [`replay`] | `hone audit replay`: checked against the tape, and judged again |
//! | [`score`] | `hone audit score`: against what turned out to be right |

mod logs;
mod replay;
mod score;
mod tell;

#[cfg(test)]
mod tests;

use super::Context;
use crate::failure::Outcome;

/// The arguments of `hone audit`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArguments {
    #[command(subcommand)]
    command: Option<AuditCommand>,
    #[command(flatten)]
    tell: tell::TellArguments,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Checks a log against its tape, and judges the trial again with other settings or another model
    Replay(replay::ReplayArguments),
    /// Scores detectors and judge against what turned out to be right
    Score(score::ScoreArguments),
}

/// Runs the command.
pub async fn run(arguments: AuditArguments, context: Context) -> Outcome {
    match arguments.command {
        Some(AuditCommand::Replay(arguments)) => replay::run(arguments, context).await,
        Some(AuditCommand::Score(arguments)) => score::run(&arguments, &context),
        None => tell::run(&arguments.tell, &context),
    }
}
