//! `best_problems`: where an agent does well.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Lists the trials in which an agent of the archive did best: the highest score first, the cheaper
/// one of two that are equal.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The number of the agent.
    agent: u64,
    /// How many are listed; 10 when left out.
    count: Option<usize>,
}

pub(super) fn tool() -> Tool {
    Tool::new("best_problems", Kit::Archive, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let mut outcomes = desk.archive()?.results_of(arguments.agent).map_err(ToolError::refused)?;
    outcomes.retain(|outcome| outcome.score.is_some() && !outcome.is_failure());
    let score = |outcome: &crate::archive::Outcome| outcome.score.unwrap_or_default();
    outcomes.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.usd.total_cmp(&b.usd)));
    let count = arguments.count.unwrap_or(10);
    let lines: Vec<_> = outcomes.iter().take(count).map(|outcome| outcome.to_line()).collect();
    Ok(match lines.len() {
        0 => format!("agent {} has no scored trials", arguments.agent),
        _ => lines.join("\n"),
    })
}
