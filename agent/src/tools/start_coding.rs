//! `start_coding`: begins the structure for changing code.

use super::{Desk, Kit, Tool, ToolError};
use crate::structures::CODING;
use schemars::JsonSchema;
use serde::Deserialize;

/// Leads you through a change of code step by step: explore, implement, test, clean up. For tasks
/// that are more than a small edit.
#[derive(Deserialize, JsonSchema)]
struct Arguments {}

pub(super) fn tool() -> Tool {
    Tool::new("start_coding", Kit::Change, run)
}

async fn run(_: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.begin(&CODING).map_err(ToolError::Refused)
}
