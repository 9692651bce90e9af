//! `overwrite_file`: writes a whole file.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Writes a whole file: a new one, or one that is open. Directories are made as needed. The file is
/// open afterwards.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The path of the file.
    path: String,
    /// The whole new content, exactly. What is left out is gone.
    content: String,
}

pub(super) fn tool() -> Tool {
    Tool::new("overwrite_file", Kit::Change, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.write(&arguments.path, &arguments.content).map_err(ToolError::Refused)
}
