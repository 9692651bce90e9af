//! `hone bench summary`: the official summary of a whole run.

use super::Context;
use crate::failure::{FailureKind, OrFail, Outcome};
use hone_benchmarks::swe::command::{SummaryRequest, summary};
use std::path::PathBuf;

/// The arguments of `hone bench summary`.
#[derive(Debug, clap::Args)]
pub struct SummaryArguments {
    /// The folder of all runs' logs, as logs/run_evaluation
    #[arg(long, value_name = "DIR")]
    logs: PathBuf,
    /// The predictions, .jsonl or .json, or the word gold
    #[arg(long, value_name = "FILE")]
    predictions: PathBuf,
    /// The dataset's rows
    #[arg(long, value_name = "FILE")]
    dataset: PathBuf,
    /// The run's id
    #[arg(long, value_name = "ID")]
    run_id: String,
    /// Where the summary is written
    #[arg(long, value_name = "DIR", default_value = ".")]
    report_dir: PathBuf,
}

/// Runs the command.
pub fn run(arguments: SummaryArguments, context: &Context) -> Outcome {
    let SummaryArguments { logs, predictions, dataset, run_id, report_dir } = arguments;
    let request = SummaryRequest { logs, predictions, dataset, run_id, report_dir };
    let written = summary(&request).or_fail(FailureKind::Refused)?;
    if context.console.json {
        context.console.data(&written.summary.to_json())?;
    } else {
        context.console.data(&written.summary.words())?;
    }
    context.console.say(&format!("Report written to {}", written.path.display()));
    Ok(())
}
