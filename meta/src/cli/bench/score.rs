//! `hone bench score`: anybody's predictions, tested in fresh sandboxes.

use super::choose::ChoiceArguments;
use super::{Context, failures};
use crate::cli::Console;
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::rooms::{self, ExecutorRooms};
use crate::session;
use hone_benchmarks::Suite;
use hone_benchmarks::swe::import::{ImportRequest, import};
use hone_benchmarks::swe::json::PyString;
use hone_benchmarks::swe::prediction::read_predictions;
use hone_benchmarks::swe::row::Row;
use hone_benchmarks::swe::score::{Progress, ScoreOptions, ScoreRunError, gold, score};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The arguments of `hone bench score`.
#[derive(Debug, clap::Args)]
pub struct ScoreArguments {
    /// The benchmark
    benchmark: Benchmark,
    /// The predictions, .jsonl or .json, or the word gold
    #[arg(long, value_name = "FILE")]
    predictions: PathBuf,
    /// An imported suite of SWE-bench rows
    #[arg(long, value_name = "SUITE", required_unless_present = "dataset")]
    suite: Option<String>,
    /// The dataset's rows, in place of a suite
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    dataset: Option<PathBuf>,
    /// The run's id; verdicts of an earlier run with this id stand
    #[arg(long, value_name = "ID")]
    run_id: String,
    /// The folder of all runs' logs
    #[arg(long, value_name = "DIR", default_value = "logs/run_evaluation")]
    logs: PathBuf,
    /// Where the summary is written
    #[arg(long, value_name = "DIR", default_value = ".")]
    report_dir: PathBuf,
    /// How many instances are tested at once [default: the setting workers]
    #[arg(long, value_name = "W")]
    workers: Option<usize>,
    /// Seconds for the tests of an instance
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    timeout: u64,
    /// Memory of a sandbox, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8192)]
    memory: u64,
    #[command(flatten)]
    choice: ChoiceArguments,
}

/// Benchmarks whose predictions are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Benchmark {
    /// SWE-bench
    Swe,
}

/// Runs the command.
pub async fn run(arguments: ScoreArguments, context: &Context) -> Outcome {
    match arguments.benchmark {
        Benchmark::Swe => swe(arguments, context).await,
    }
}

async fn swe(arguments: ScoreArguments, context: &Context) -> Outcome {
    let suite = arguments.choice.take(&suite(&arguments, context)?)?;
    let rows = suite.problems().iter().map(|problem| Row::from_problem(&problem.data));
    let rows: Vec<Row> = rows.collect::<Result<_, _>>().or_fail(FailureKind::Refused)?;
    let predictions = match arguments.predictions == Path::new("gold") {
        true => gold(&rows),
        false => {
            let mut predictions =
                read_predictions(&arguments.predictions).or_fail(FailureKind::Refused)?;
            if arguments.choice.selection() != ChoiceArguments::default().selection() {
                // Who asks for a part of the instances wants that part of the predictions.
                let ids: HashSet<PyString> =
                    rows.iter().map(|row| row.labels.instance_id.clone()).collect();
                predictions.retain(|id, _| ids.contains(id));
            }
            predictions
        }
    };
    let cancelled = CancellationToken::new();
    let limits = rooms::verifier_limits(arguments.memory << 20);
    let executor =
        session::executor(&context.home, context.settings.sandbox, &arguments.run_id).await?;
    let rooms =
        ExecutorRooms::new(executor).with_limits(limits).with_cancellation(cancelled.clone());
    let options = ScoreOptions {
        dataset: suite.name().to_owned(),
        created_at: jiff::Timestamp::now().to_string(),
        timeout: Duration::from_secs(arguments.timeout),
        workers: arguments.workers.unwrap_or(context.settings.workers),
        ..ScoreOptions::new(arguments.logs, arguments.report_dir, &arguments.run_id)
    };
    let all = predictions.values().filter(|prediction| !prediction.patch.is_empty()).count();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let progress = |progress: Progress<'_>| {
        if cancelled.is_cancelled() {
            return;
        }
        let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let (instance, what) = match progress {
            Progress::Kept { instance_id } => (instance_id, "verdict of an earlier run".to_owned()),
            Progress::Evaluated { instance_id, resolved: true } => {
                (instance_id, "resolved".to_owned())
            }
            Progress::Evaluated { instance_id, resolved: false } => {
                (instance_id, "not resolved".to_owned())
            }
            Progress::Unscored { instance_id, why } => {
                context.console.warn(&format!("[{done}/{all}] {instance_id}: no verdict: {why}"));
                return;
            }
        };
        context.console.say(&format!("[{done}/{all}] {instance}: {what}"));
    };
    let interrupted = tokio::spawn(interrupt(cancelled.clone(), context.console));
    let scored = score(&rooms, &rows, &predictions, &options, &progress).await;
    interrupted.abort();
    if cancelled.is_cancelled() {
        return Err(Failure::new(
            FailureKind::Interrupted,
            anyhow::anyhow!("score the predictions to the end: it was interrupted"),
        )
        .hint("Run the same command again; verdicts that are there stand."));
    }
    let scored = scored.map_err(failure)?;
    match context.console.json {
        true => context.console.data(&scored.summary.to_json())?,
        false => context.console.data(&scored.summary.words())?,
    }
    context.console.say(&format!("Report written to {}", scored.path.display()));
    match scored.unscored.len() {
        0 => Ok(()),
        count => Err(Failure::infrastructure(anyhow::anyhow!(
            "score {count} of {all} predictions: their sandboxes failed"
        ))
        .hint("Run the same command again: only instances without a verdict are tested.")),
    }
}

/// Waits for Ctrl-C, and then ends everything that runs in the sandboxes.
async fn interrupt(cancelled: CancellationToken, console: Console) {
    if tokio::signal::ctrl_c().await.is_ok() {
        console.warn("interrupted: removing the sandboxes");
        cancelled.cancel();
    }
}

/// Opens the suite, or makes one of the dataset's rows.
fn suite(arguments: &ScoreArguments, context: &Context) -> Outcome<Suite> {
    if let Some(rows) = &arguments.dataset {
        let name = rows.to_string_lossy().into_owned();
        let request = ImportRequest { name, rows: rows.clone(), ..ImportRequest::default() };
        return Ok(import(&request).map_err(|error| failures::import(error.into()))?.suite);
    }
    let suite = failures::open(context, arguments.suite.as_deref().unwrap_or_default())?;
    match suite.manifest().kind.as_str() {
        "swe" => Ok(suite),
        other => Err(Failure::usage(format!(
            "score predictions of the suite {}: its kind is {other}, not swe",
            suite.name()
        ))),
    }
}

fn failure(error: ScoreRunError) -> Failure {
    match error {
        ScoreRunError::UnknownInstances { .. } => Failure::new(FailureKind::Usage, error)
            .hint("Take the dataset that the predictions were made for."),
        ScoreRunError::NoImages { .. } | ScoreRunError::Room(_) => Failure::infrastructure(error),
        ScoreRunError::NoText { .. } | ScoreRunError::Folder(_) | ScoreRunError::Summary(_) => {
            Failure::new(FailureKind::Refused, error)
        }
    }
}
