//! The open files of an agent: what it was shown of them last.

use crate::markup::Block;
use similar::TextDiff;
use std::time::Duration;

/// Longer comparisons settle for a coarser diff.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// The files that are open, in the order in which they were opened.
#[derive(Clone, Debug, Default)]
pub struct Files {
    open: Vec<(String, String)>,
}

/// Something about a file that the model is shown in the dialogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A whole file.
    File { path: String, content: String },
    /// What changed in a file.
    Diff { path: String, diff: String },
    /// A remark about a file.
    Remark(String),
}

impl Shown {
    /// Writes it as a block.
    pub fn to_block(&self) -> String {
        match self {
            Shown::File { path, content } => file_block(path, content),
            Shown::Diff { path, diff } => Block::new("FILE_DIFF").with("path", path).around(diff),
            Shown::Remark(text) => Block::new("NOTICE").with("kind", "warning").around(text),
        }
    }
}

impl Files {
    /// Notes that the model has seen a file.
    pub fn see(&mut self, path: &str, content: String) {
        match self.open.iter_mut().find(|(open, _)| open == path) {
            Some((_, seen)) => *seen = content,
            None => self.open.push((path.to_owned(), content)),
        }
    }

    /// Returns what was seen of an open file.
    pub fn seen(&self, path: &str) -> Option<&str> {
        self.open.iter().find(|(open, _)| open == path).map(|(_, content)| content.as_str())
    }

    /// Closes a file; tells whether it was open.
    pub fn close(&mut self, path: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|(open, _)| open != path);
        self.open.len() < before
    }

    /// Lists the paths of the open files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|(path, _)| path.as_str())
    }

    /// Writes all open files as blocks.
    pub fn to_blocks(&self) -> String {
        let blocks = self.open.iter().map(|(path, content)| file_block(path, content));
        blocks.collect::<Vec<_>>().join("\n")
    }
}

fn file_block(path: &str, content: &str) -> String {
    Block::new("FILE").with("path", path).around(content)
}

/// Compares two versions of a file.
pub fn diff(path: &str, before: &str, after: &str) -> String {
    TextDiff::configure()
        .timeout(DIFF_TIME)
        .diff_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}
