//! `regenerate_context`: shows the files and the directory anew.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Writes the beginning of your context anew: the open files and the directory as they are now, in
/// place of everything that was shown of files since. Closed files leave it. For when diffs have
/// become hard to follow; it costs as much as reading everything once more.
#[derive(Deserialize, JsonSchema)]
struct Arguments {}

pub(super) fn tool() -> Tool {
    Tool::new("regenerate_context", Kit::Everyone, run)
}

async fn run(_: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.regenerate = true;
    Ok("the files and the directory are shown at the beginning, unless they were so already"
        .to_owned())
}
