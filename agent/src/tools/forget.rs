//! `forget`: takes entries out of the working memory.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Forgets results and watched commands that are not needed any more. Their text leaves your
/// context for good. Name several at once: each call costs as much as the text that stays.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The ids, one a line, such as `r3` or `w1`.
    ids: Vec<String>,
}

pub(super) fn tool() -> Tool {
    Tool::new("forget", Kit::Everyone, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    if arguments.ids.is_empty() {
        return Err(ToolError::refused("name at least one id"));
    }
    desk.memory.forget(&arguments.ids).map_err(ToolError::Refused)?;
    Ok(format!("forgot {}", arguments.ids.join(", ")))
}
