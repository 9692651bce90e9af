//! `problem_history`: one problem across versions.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows how every agent of the archive did on one problem, the oldest agent first.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The problem, as it stands in the lists of problems; with its suite in front (`edit/p1`) where
    /// the name alone is not unique.
    problem: String,
}

pub(super) fn tool() -> Tool {
    Tool::new("problem_history", Kit::Archive, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let wanted = arguments.problem.trim();
    let mut outcomes = desk.archive()?.results().map_err(ToolError::refused)?;
    outcomes.retain(|outcome| {
        outcome.problem == wanted || format!("{}/{}", outcome.suite, outcome.problem) == wanted
    });
    if outcomes.is_empty() {
        return Err(ToolError::refused(format!("no agent has done a problem `{wanted}`")));
    }
    outcomes.sort_by_key(|outcome| (outcome.agent, outcome.epoch));
    let lines =
        outcomes.iter().map(|outcome| format!("agent {} | {}", outcome.agent, outcome.to_line()));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
