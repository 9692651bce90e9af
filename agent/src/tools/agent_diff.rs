//! `agent_diff`: what changed in the source from one version to another.

use super::{Desk, Kit, Tool, ToolError};
use crate::context::files;
use crate::process::Capture;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Shows the difference between the sources of two agents of the archive.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The number of the older agent.
    from: u64,
    /// The number of the newer agent.
    to: u64,
    /// A file or directory of the source to look at; all of it when left out.
    path: Option<String>,
}

/// About 8,000 tokens; a path shows the rest.
const CAP: usize = 32 * 1024;

pub(super) fn tool() -> Tool {
    Tool::new("agent_diff", Kit::Archive, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let archive = desk.archive()?;
    let from = archive.source(arguments.from).map_err(ToolError::refused)?;
    let to = archive.source(arguments.to).map_err(ToolError::refused)?;
    let within = arguments.path.as_deref().unwrap_or_default().trim().trim_end_matches('/');
    let is_within = |path: &str| {
        let rest = path.strip_prefix(within);
        within.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let nothing = String::new();
    let mut diffs = Vec::new();
    for path in from.keys().chain(to.keys()).collect::<BTreeSet<_>>() {
        let (before, after) =
            (from.get(path).unwrap_or(&nothing), to.get(path).unwrap_or(&nothing));
        if is_within(path) && before != after {
            diffs.push(files::diff(path, before, after));
        }
    }
    match diffs.len() {
        0 => Ok("there is no difference".to_owned()),
        count => Ok(format!("{count} files differ\n{}", Capture::cut(&diffs.concat(), CAP))),
    }
}
