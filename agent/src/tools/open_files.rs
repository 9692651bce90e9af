//! `open_files`: puts files before the model.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Opens text files and shows their contents. A file has to be open before it is changed; what
/// changes in an open file is shown as a diff.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The paths of the files, one a line.
    paths: Vec<String>,
}

pub(super) fn tool() -> Tool {
    Tool::new("open_files", Kit::Look, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let mut lines = Vec::new();
    let mut opened = false;
    for path in &arguments.paths {
        match desk.open(path) {
            Ok(line) => {
                opened = true;
                lines.push(line);
            }
            Err(problem) => lines.push(format!("{path} was not opened: {problem}")),
        }
    }
    match lines.join("\n") {
        text if opened => Ok(text),
        text if text.is_empty() => Err(ToolError::refused("name at least one path")),
        text => Err(ToolError::refused(text)),
    }
}
