//! `close_files`: takes files from the model's view.

use super::{Desk, Kit, Tool, ToolError};
use hone_protocol::EventKind;
use schemars::JsonSchema;
use serde::Deserialize;

/// Closes open files. They are no longer shown once the context is written anew.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The paths of the files, one a line.
    paths: Vec<String>,
}

pub(super) fn tool() -> Tool {
    Tool::new("close_files", Kit::Look, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let mut closed = Vec::new();
    let mut not_open = Vec::new();
    for path in arguments.paths {
        let shown = desk.trial.workspace.shown(&path);
        if desk.files.close(&shown) {
            desk.emit(EventKind::FileClosed { path: shown.clone() });
            closed.push(shown);
        } else {
            not_open.push(shown);
        }
    }
    if !not_open.is_empty() {
        let open = desk.files.paths().collect::<Vec<_>>().join(", ");
        let problem = format!("not open: {}; the open files are: {open}", not_open.join(", "));
        return Err(ToolError::Refused(problem));
    }
    Ok(format!("closed {}", closed.join(", ")))
}
