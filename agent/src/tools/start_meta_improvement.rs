//! `start_meta_improvement`: begins the structure for improving an agent.

use super::{Desk, Kit, Tool, ToolError};
use crate::structures::META_IMPROVEMENT;
use schemars::JsonSchema;
use serde::Deserialize;

/// Leads you through one improvement of the agent in the work directory: what fails, what works,
/// one proposal through the committee, implement, test, describe, change log.
#[derive(Deserialize, JsonSchema)]
struct Arguments {}

pub(super) fn tool() -> Tool {
    Tool::new("start_meta_improvement", Kit::Improve, run)
}

async fn run(_: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    desk.begin(&META_IMPROVEMENT).map_err(ToolError::Refused)
}
