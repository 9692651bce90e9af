//! `worst_problems`: where an agent does badly.

use super::{Desk, Kit, Tool, ToolError};
use crate::archive::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;

/// Lists the trials in which an agent of the archive did worst: crashes, time-outs and other ends
/// without a proper score first, with their reasons, then the lowest scores.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The number of the agent.
    agent: u64,
    /// How many are listed; 10 when left out.
    count: Option<usize>,
}

pub(super) fn tool() -> Tool {
    Tool::new("worst_problems", Kit::Archive, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let archive = desk.archive()?;
    let outcomes = archive.results_of(arguments.agent).map_err(ToolError::refused)?;
    let unscored = |outcome: &Outcome| outcome.score.is_none() && !outcome.is_failure();
    let (missing, mut outcomes): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(unscored);
    outcomes.sort_by(|a, b| {
        let score = |outcome: &Outcome| outcome.score.unwrap_or_default();
        b.is_failure()
            .cmp(&a.is_failure())
            .then(score(a).total_cmp(&score(b)))
            .then(b.usd.total_cmp(&a.usd))
    });
    let shown = outcomes.iter().take(arguments.count.unwrap_or(10));
    let mut lines: Vec<_> = shown.map(Outcome::to_line).collect();
    if lines.is_empty() {
        lines.push(format!("agent {} has no trials", arguments.agent));
    }
    if !missing.is_empty() {
        let count = missing.len();
        lines.push(format!("{count} trials could not be scored, for reasons outside of the agent"));
    }
    lines.push(format!("traces, where they were kept: {}/traces", archive.root().display()));
    Ok(lines.join("\n"))
}
