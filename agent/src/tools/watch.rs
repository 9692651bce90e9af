//! `watch`: shows the output of a command at every step.

use super::{Desk, Kit, Tool, ToolError};
use crate::context::memory::WATCH_CAP;
use schemars::JsonSchema;
use serde::Deserialize;

/// Watches a command: it is run before every step, and its newest output stands at the end of what
/// you see. For quick commands that change nothing, such as a test or `git status --short`.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command, for `bash -c`; it is ended after 10 seconds.
    command: String,
    /// How many bytes of its output are shown, from its beginning and its end; 1024 when left out.
    cap: Option<usize>,
}

/// More would not be a glance.
const LARGEST_CAP: usize = 16 * 1024;

pub(super) fn tool() -> Tool {
    Tool::new("watch", Kit::Change, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let cap = arguments.cap.unwrap_or(WATCH_CAP).min(LARGEST_CAP);
    let id = desk.memory.watch(arguments.command, cap).map_err(ToolError::Refused)?;
    Ok(format!("watched as {id}; `forget` ends it"))
}
