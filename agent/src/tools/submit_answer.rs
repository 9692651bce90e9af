//! `submit_answer`: hands in the answer of the job.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Hands in the answer to the problem. The last one counts; the job goes on until `complete`.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The answer, exactly as the problem asks for it and nothing else.
    answer: String,
}

pub(super) fn tool() -> Tool {
    Tool::new("submit_answer", Kit::Lead, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.trial.submit(arguments.answer, String::new()).await?;
    Ok("the answer is handed in; call `complete` when nothing is left to do".to_owned())
}
