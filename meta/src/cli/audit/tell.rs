//! `hone audit`: the overseer's logs as a story.

use super::super::Context;
use super::logs::{self, Log};
use crate::failure::Outcome;
use crate::home::RunFolder;
use crate::trial::trace;
use hone_archive::record::ChildVerdict;
use hone_overseer::story::{Filter, Line, Part, render_lines, story, to_csv};
use serde::Serialize;

/// The arguments of `hone audit`.
#[derive(Debug, Default, clap::Args)]
pub(super) struct TellArguments {
    /// The run [default: the newest]
    pub run: Option<String>,
    /// Only trials whose name has this in it; all of their log is told
    #[arg(long, value_name = "TRIAL")]
    pub trial: Option<String>,
    /// Nudges, and what became of them
    #[arg(long)]
    pub nudges: bool,
    /// Cancels, and what became of them
    #[arg(long)]
    pub cancels: bool,
    /// Notes and judgements
    #[arg(long)]
    pub notes: bool,
    /// What the detectors saw
    #[arg(long)]
    pub detectors: bool,
    /// Prints CSV
    #[arg(long)]
    pub csv: bool,
}

/// The log of a trial as `--json` prints it.
#[derive(Debug, Serialize)]
struct Told {
    trial: String,
    agent: u32,
    iteration: Option<u32>,
    suite: String,
    problem: String,
    epoch: u32,
    verdict: Option<&'static str>,
    child: Option<&'static str>,
    score: Option<f64>,
    cost_nano_usd: u64,
    trace: Option<String>,
    tape: Option<String>,
    lines: Vec<Line>,
}

/// Runs the command.
pub(super) fn run(arguments: &TellArguments, context: &Context) -> Outcome {
    let folder = context.home.existing_run(arguments.run.as_deref())?;
    let logs = match &arguments.trial {
        Some(trial) => logs::read_named(&folder, trial)?,
        None => logs::read(&folder)?,
    };
    let filter = Filter {
        cancels: arguments.cancels,
        nudges: arguments.nudges,
        notes: arguments.notes,
        detectors: arguments.detectors,
    };
    if context.console.json {
        let told: Vec<Told> = logs.iter().map(|log| told(log, filter)).collect();
        return context.console.json("audit", &told);
    }
    let all = || logs.iter().flat_map(|log| story(&log.records, filter));
    if arguments.csv {
        return context.console.data(&to_csv(&all().collect::<Vec<_>>()));
    }
    let everything = arguments.trial.is_some();
    let text = as_text(&folder, &logs, filter, everything);
    context.console.data(&text)?;
    let quiet = logs.iter().filter(|log| !is_shown(log, filter, everything)).count();
    if logs.is_empty() {
        context.console.say("No trial of this run was watched.");
    } else if quiet > 0 {
        context.console.say(&format!(
            "{} trials were watched; of {quiet} there is nothing to tell. `--trial` tells all of one.",
            logs.len()
        ));
    }
    Ok(())
}

/// Tells whether a trial has its place in the story of a run.
fn is_shown(log: &Log, filter: Filter, everything: bool) -> bool {
    let lines = story(&log.records, filter);
    if everything || !filter.is_open() {
        return !lines.is_empty();
    }
    // A trial that was only looked at is not worth a chapter.
    lines.iter().any(|line| matches!(line.part, Part::Detector | Part::Nudge | Part::Cancel))
}

/// Writes logs for people.
pub(super) fn as_text(
    folder: &RunFolder,
    logs: &[Log],
    filter: Filter,
    everything: bool,
) -> String {
    let shown = logs.iter().filter(|log| is_shown(log, filter, everything));
    shown
        .map(|log| {
            let lines = render_lines(&story(&log.records, filter));
            format!("{}\n{lines}", heading(folder, log))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Names a trial, how it ended, and where its events are.
fn heading(folder: &RunFolder, log: &Log) -> String {
    let mut text = log.trial.clone();
    if let Some(child) = log.child {
        text.push_str(&format!(": its child is {child}"));
    }
    if let Some(trial) = &log.ended {
        text.push_str(&format!(": {}", trial.outcome.name()));
        if let Some(score) = trial.outcome.score() {
            text.push_str(&format!(", score {score:.2}"));
        }
        if let Some(digest) = trial.trace {
            let path = trace::path(&folder.traces(), digest);
            let path = path.strip_prefix(folder.root()).unwrap_or(&path).display().to_string();
            text.push_str(&format!(" (events: {path})"));
        }
    }
    text
}

fn told(log: &Log, filter: Filter) -> Told {
    let ended = log.ended.as_ref();
    Told {
        trial: log.trial.clone(),
        agent: log.audit.agent.0,
        iteration: log.audit.iteration,
        suite: log.audit.suite.clone(),
        problem: log.audit.problem.clone(),
        epoch: log.audit.epoch,
        verdict: ended.map(|trial| trial.outcome.name()),
        child: log.child.map(ChildVerdict::name),
        score: log.score(),
        cost_nano_usd: log.audit.cost.0,
        trace: ended.and_then(|trial| trial.trace).map(|digest| digest.to_string()),
        tape: log.audit.tape.map(|digest| digest.to_string()),
        lines: story(&log.records, filter),
    }
}
