//! `compare_agents`: two versions beside each other.

use super::{Desk, Kit, Tool, ToolError};
use crate::archive::{Archive, ArchiveError, Outcome};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Compares two agents of the archive: what they are, and the mean score, cost and time on each
/// problem that both have done.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The number of the first agent.
    first: u64,
    /// The number of the second agent.
    second: u64,
}

/// More problems are left out, the greatest differences are shown.
const MOST_PROBLEMS: usize = 40;

pub(super) fn tool() -> Tool {
    Tool::new("compare_agents", Kit::Archive, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let archive = desk.archive()?;
    compare(&archive, arguments.first, arguments.second).map_err(ToolError::refused)
}

fn compare(archive: &Archive, first: u64, second: u64) -> Result<String, ArchiveError> {
    let mut lines = Vec::new();
    for agent in [first, second] {
        let description = archive.file(agent, "description.txt")?;
        let verdict = archive.file(agent, "verdict.json")?.replace('\n', " ");
        let description = description.lines().next().unwrap_or("(no description)").to_owned();
        lines.push(format!("agent {agent}: {description} {}", verdict.trim()));
    }
    let before = means(archive.results_of(first)?);
    let after = means(archive.results_of(second)?);
    let mut pairs: Vec<_> = before
        .iter()
        .filter_map(|(problem, mean)| Some((problem, mean, after.get(problem)?)))
        .collect();
    let difference = |(_, a, b): &(&String, &Mean, &Mean)| b.score - a.score;
    pairs.sort_by(|a, b| difference(b).abs().total_cmp(&difference(a).abs()));
    lines.push(format!("{} problems that both have done:", pairs.len()));
    for (problem, a, b) in pairs.iter().take(MOST_PROBLEMS) {
        lines.push(format!(
            "{problem} | score {:.3} → {:.3} | ${:.4} → ${:.4} | {:.1} s → {:.1} s",
            a.score, b.score, a.usd, b.usd, a.seconds, b.seconds
        ));
    }
    if let Some(more) = pairs.len().checked_sub(MOST_PROBLEMS).filter(|more| *more > 0) {
        lines.push(format!("[… {more} problems with smaller differences left out …]"));
    }
    Ok(lines.join("\n"))
}

#[derive(Default)]
struct Mean {
    score: f64,
    usd: f64,
    seconds: f64,
    trials: f64,
}

/// Takes the mean over the scored repeats of each problem.
fn means(outcomes: Vec<Outcome>) -> BTreeMap<String, Mean> {
    let mut means: BTreeMap<String, Mean> = BTreeMap::new();
    for outcome in outcomes {
        let Some(score) = outcome.score else { continue };
        let mean = means.entry(format!("{}/{}", outcome.suite, outcome.problem)).or_default();
        mean.trials += 1.0;
        mean.score += (score - mean.score) / mean.trials;
        mean.usd += (outcome.usd - mean.usd) / mean.trials;
        mean.seconds += (outcome.seconds - mean.seconds) / mean.trials;
    }
    means
}
