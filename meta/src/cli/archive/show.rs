//! `hone archive show`.

use super::Opened;
use crate::display::{self, NONE, estimate, seconds, standing, table, text_of, usd, verdict};
use crate::failure::Outcome;
use comfy_table::CellAlignment::{Left, Right};
use hone_archive::record::{Child, Trial, Version};
use hone_archive::{AgentNumber, AgentSummary, Record, UtilitySettings};
use serde_json::json;
use std::collections::HashMap;

/// The arguments of `hone archive show`.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArguments {
    /// The agent
    agent: u32,
    /// Lists every trial
    #[arg(long)]
    trials: bool,
}

pub(super) fn show(arguments: &ShowArguments, opened: &Opened<'_>) -> Outcome {
    let agent = opened.check(arguments.agent)?;
    let archive = &opened.archive;
    let version = archive.version(agent).map_err(|error| opened.fail(error))?;
    let summary = opened.summaries()?.into_iter().find(|it| it.agent == agent);
    let child = match (&version.change.run, version.change.iteration) {
        (Some(run), Some(iteration)) => {
            let judged = archive
                .read(|state| state.child_of(run, iteration).is_some())
                .map_err(|error| opened.fail(error))?;
            match judged {
                true => {
                    archive.explain(Some(run), iteration).map_err(|error| opened.fail(error))?.child
                }
                false => None,
            }
        }
        _ => None,
    };
    let trials = match arguments.trials {
        true => Some(trials(agent, opened)?),
        false => None,
    };
    if opened.context.console.json {
        let trials = trials.map(|trials| {
            let one = |(trial, utility): &(Trial, Option<f64>)| json!({ "trial": trial, "utility": utility });
            trials.iter().map(one).collect::<Vec<_>>()
        });
        return opened.print(
            "agent",
            json!({ "version": version, "summary": summary, "child": child, "trials": trials }),
        );
    }
    let mut text = origin(&version, summary.as_ref());
    if let Some(child) = &child {
        text.push_str(&making(child));
    }
    if let Some(summary) = &summary {
        text.push_str(&results(summary));
    }
    if let Some(trials) = trials {
        text.push('\n');
        text.push_str(&trials_table(&trials));
    }
    opened.context.console.data(&text)?;
    opened.say_rehearsal()
}

/// Reads an agent's trials, repeats included, with their utility.
fn trials(agent: AgentNumber, opened: &Opened<'_>) -> Outcome<Vec<(Trial, Option<f64>)>> {
    let (mut trials, mut settings) = (Vec::new(), HashMap::new());
    opened
        .archive
        .for_each_record(|entry| match entry.record {
            Record::Conditions(stated) => {
                settings.insert(stated.conditions, stated.content.utility);
            }
            Record::Trial(trial) if trial.agent == agent => {
                let settings: UtilitySettings =
                    settings.get(&trial.conditions).copied().unwrap_or_default();
                let utility = settings.of_outcome(&trial.outcome, trial.cost, trial.seconds);
                trials.push((trial, utility));
            }
            _ => {}
        })
        .map_err(|error| opened.fail(error))?;
    Ok(trials)
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<12}{value}\n")
}

fn origin(version: &Version, summary: Option<&AgentSummary>) -> String {
    let mut text = line("agent", &version.agent.to_string());
    let change = &version.change;
    if !version.parents.is_empty() {
        text.push_str(&line("base", &display::numbers(&version.parents)));
    }
    if let Some(editor) = change.editor {
        text.push_str(&line("editor", &editor.to_string()));
    }
    if let (Some(run), Some(iteration)) = (&change.run, change.iteration) {
        text.push_str(&line("made in", &format!("iteration {iteration} of {run}")));
    }
    text.push_str(&line("time", &version.time.to_string()));
    text.push_str(&line("commit", &version.commit.to_string()));
    text.push_str(&line("tree", &version.tree.to_string()));
    text.push_str(&line("verdict", &verdict(change.verdict)));
    if let Some(summary) = summary {
        if standing(summary) != verdict(summary.verdict) {
            text.push_str(&line("standing", &standing(summary)));
        }
        text.push_str(&line("children", &format!("{} accepted", summary.children)));
    }
    text.push_str(&line("change", &indented(&change.description)));
    text
}

/// What stands under the name of a value stays under its column.
fn indented(text: &str) -> String {
    text.trim().replace('\n', &format!("\n{:12}", ""))
}

fn making(child: &Child) -> String {
    let mut text = String::new();
    if !child.reason.is_empty() {
        text.push_str(&line("reason", &indented(&child.reason)));
    }
    let repairs = match child.repairs {
        0 => String::new(),
        1 => "; 1 repair".to_owned(),
        repairs => format!("; {repairs} repairs"),
    };
    let editing = format!(
        "{} and {}; the editor's job ended: {}{repairs}",
        usd(child.cost),
        seconds(child.seconds),
        child.editor_ended
    );
    text.push_str(&line("editing", &editing));
    if let Some(trace) = child.trace {
        text.push_str(&line("trace", &trace.to_string()));
    }
    if let Some(log) = &child.log {
        if let Some(digest) = log.digest {
            text.push_str(&line("whole log", &digest.to_string()));
        }
        text.push_str(&line("log", &indented(&log.tail)));
    }
    text
}

fn results(summary: &AgentSummary) -> String {
    let mut text = line("utility", &estimate(summary.utility.as_ref()));
    if summary.trials.recorded == 0 {
        return text;
    }
    let cost = summary.mean_cost.map_or(NONE.to_owned(), usd);
    let time = summary.mean_seconds.map_or(NONE.to_owned(), seconds);
    let tokens = summary.mean_tokens.map_or(NONE.to_owned(), |tokens| format!("{tokens:.0}"));
    text.push_str(&line("per trial", &format!("{cost}, {time}, {tokens} tokens")));
    text.push_str(&line("trials", &counts(summary)));
    let mut suites = table(&[
        ("suite", Left),
        ("score", Left),
        ("utility", Left),
        ("scored", Right),
        ("missing", Right),
    ]);
    for suite in &summary.suites {
        suites.add_row([
            suite.suite.clone(),
            estimate(suite.score.as_ref()),
            estimate(suite.utility.as_ref()),
            suite.scored.to_string(),
            suite.missing.to_string(),
        ]);
    }
    text.push('\n');
    text.push_str(&text_of(&suites));
    text
}

fn counts(summary: &AgentSummary) -> String {
    let counts = &summary.trials;
    let verdicts: Vec<String> = counts
        .verdicts
        .iter()
        .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
        .collect();
    format!(
        "{} of {} ({}); {} recorded with repeats",
        counts.scored,
        counts.planned,
        verdicts.join(", "),
        counts.recorded
    )
}

fn trials_table(trials: &[(Trial, Option<f64>)]) -> String {
    let number = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.3}"));
    let mut table = table(&[
        ("suite", Left),
        ("problem", Left),
        ("epoch", Right),
        ("verdict", Left),
        ("score", Right),
        ("utility", Right),
        ("cost", Right),
        ("time", Right),
        ("trace", Left),
        ("reason", Left),
    ]);
    for (trial, utility) in trials {
        table.add_row([
            trial.suite.clone(),
            trial.problem.clone(),
            trial.epoch.to_string(),
            trial.outcome.name().replace('_', " "),
            number(trial.outcome.score()),
            number(*utility),
            usd(trial.cost),
            seconds(trial.seconds),
            trial.trace.map_or(NONE.to_owned(), |digest| digest.to_string()[..12].to_owned()),
            display::first_line(&trial.reason, 60),
        ]);
    }
    text_of(&table)
}
