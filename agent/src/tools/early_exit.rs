//! `early_exit`: ends an agent that cannot go on.

use super::{Desk, Finish, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Gives up. Only for when the work cannot be done, or going on would make things worse.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Why, and what was found out until now.
    reason: String,
}

pub(super) fn tool() -> Tool {
    Tool::new("early_exit", Kit::Everyone, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.finish = Some(Finish::GiveUp(arguments.reason));
    Ok("ended".to_owned())
}
