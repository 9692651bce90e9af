//! CSV: one row per trial, one row per version.

use super::{ExportError, for_each_trial};
use crate::Archive;
use crate::record::Trial;
use crate::state::{AgentSummary, Eligibility};
use std::io::Write;

/// Writes every trial's record, repeats included, in the order of the ledger.
pub fn trials_csv(archive: &Archive, to: impl Write) -> Result<(), ExportError> {
    let mut table = csv::Writer::from_writer(to);
    table.write_record([
        "agent",
        "tree",
        "suite",
        "suite_digest",
        "problem",
        "epoch",
        "verdict",
        "score",
        "utility",
        "input_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "output_tokens",
        "cost_usd",
        "seconds",
        "wall_seconds",
        "reason",
        "trace",
        "conditions",
        "run",
        "time",
    ])?;
    for_each_trial(archive, |_, trial, utility| Ok(write_trial(&mut table, trial, utility)?))?;
    Ok(table.flush()?)
}

fn write_trial(
    table: &mut csv::Writer<impl Write>,
    trial: &Trial,
    utility: Option<f64>,
) -> Result<(), csv::Error> {
    table.write_record([
        trial.agent.to_string(),
        trial.tree.to_string(),
        trial.suite.clone(),
        trial.suite_digest.to_string(),
        trial.problem.clone(),
        trial.epoch.to_string(),
        trial.outcome.name().to_owned(),
        optional(trial.outcome.score()),
        optional(utility),
        trial.usage.input.to_string(),
        trial.usage.cache_read.to_string(),
        trial.usage.cache_write.to_string(),
        trial.usage.output.to_string(),
        trial.cost.usd().to_string(),
        trial.seconds.to_string(),
        trial.wall_seconds.to_string(),
        trial.reason.clone(),
        optional(trial.trace),
        trial.conditions.to_string(),
        trial.run.clone(),
        trial.time.to_string(),
    ])
}

/// Writes a row for each version: the columns of `hone archive list`, and two for each suite.
pub fn versions_csv(summaries: &[AgentSummary], to: impl Write) -> Result<(), ExportError> {
    let mut table = csv::Writer::from_writer(to);
    let suites: Vec<&str> = summaries
        .first()
        .map(|summary| summary.suites.iter().map(|suite| suite.suite.as_str()).collect())
        .unwrap_or_default();
    let mut columns: Vec<String> = [
        "agent",
        "bases",
        "editor",
        "iteration",
        "verdict",
        "eligible",
        "utility",
        "utility_half_width",
        "scored",
        "missing",
        "mean_cost_usd",
        "mean_seconds",
        "mean_tokens",
        "trials_cost_usd",
        "editing_cost_usd",
        "editing_seconds",
        "children",
        "description",
    ]
    .map(str::to_owned)
    .to_vec();
    for suite in suites {
        columns.push(format!("score_{suite}"));
        columns.push(format!("score_half_width_{suite}"));
    }
    table.write_record(&columns)?;
    for summary in summaries {
        let bases: Vec<String> = summary.parents.iter().map(ToString::to_string).collect();
        let mut row = vec![
            summary.agent.to_string(),
            bases.join(" "),
            optional(summary.editor),
            optional(summary.iteration),
            summary.verdict.to_string(),
            (summary.eligibility == Eligibility::Yes).to_string(),
            optional(summary.utility.map(|it| it.mean)),
            optional(summary.utility.and_then(|it| it.half_width)),
            summary.trials.scored.to_string(),
            summary.trials.missing.to_string(),
            optional(summary.mean_cost.map(|it| it.usd())),
            optional(summary.mean_seconds),
            optional(summary.mean_tokens),
            summary.trials_cost.usd().to_string(),
            summary.editing_cost.usd().to_string(),
            summary.editing_seconds.to_string(),
            summary.children.to_string(),
            summary.description.clone(),
        ];
        for suite in &summary.suites {
            row.push(optional(suite.score.map(|it| it.mean)));
            row.push(optional(suite.score.and_then(|it| it.half_width)));
        }
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
