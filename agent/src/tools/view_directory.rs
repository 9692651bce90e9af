//! `view_directory`: the tree of a directory.

use super::{Desk, Kit, Tool, ToolError};
use crate::context::directory::{Tree, View};
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows the tree of a directory. Files that git ignores are left out.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The directory; the work directory when left out.
    path: Option<String>,
    /// How many levels are shown; 3 when left out.
    depth: Option<usize>,
    /// Whether hidden and ignored files are shown too; false when left out.
    hidden: Option<bool>,
    /// How many entries of one directory are shown before the rest is only counted; 50 when left out.
    collapse: Option<usize>,
}

pub(super) fn tool() -> Tool {
    Tool::new("view_directory", Kit::Look, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let path = arguments.path.unwrap_or_else(|| ".".to_owned());
    let root = desk.trial.workspace.readable(path.trim()).map_err(ToolError::Refused)?;
    if !root.is_dir() {
        return Err(ToolError::refused(format!("{path} is not a directory")));
    }
    let standard = View::default();
    let view = View {
        depth: arguments.depth.unwrap_or(standard.depth).max(1),
        hidden: arguments.hidden.unwrap_or(standard.hidden),
        collapse: arguments.collapse.unwrap_or(standard.collapse).max(1),
        ..standard
    };
    Ok(Tree::read(&root, &view).to_text())
}
