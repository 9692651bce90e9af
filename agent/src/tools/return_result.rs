//! `return_result`: ends a sub-agent with a value.

use super::{Desk, Finish, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Ends your work and returns its result to the agent that called you. It sees this text and
/// nothing else of what you did.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The result: what was asked for, or what was done and how it was checked.
    result: String,
}

pub(super) fn tool() -> Tool {
    Tool::new("return_result", Kit::Report, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.finish = Some(Finish::Return(arguments.result));
    Ok("returned".to_owned())
}
