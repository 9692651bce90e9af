//! Draws the tree of a directory.

use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::path::Path;

/// What of a tree is shown.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Levels.
    pub depth: usize,
    /// Whether hidden and ignored files are shown.
    pub hidden: bool,
    /// Entries of one directory; the rest is counted.
    pub collapse: usize,
    /// Lines in all; the rest is counted.
    pub lines: usize,
}

impl Default for View {
    fn default() -> Self {
        View { depth: 3, hidden: false, collapse: 50, lines: 400 }
    }
}

/// A directory with what is in it; files have no entries.
#[derive(Debug, Default)]
pub struct Tree {
    entries: BTreeMap<String, Tree>,
    is_directory: bool,
    view: View,
}

impl Tree {
    /// Reads a directory.
    pub fn read(root: &Path, view: &View) -> Self {
        let mut tree = Tree { is_directory: true, view: *view, ..Tree::default() };
        let mut walk = WalkBuilder::new(root);
        // Only what lies in the directory decides, so that a job looks the same everywhere.
        walk.max_depth(Some(view.depth)).require_git(false).parents(false).git_global(false);
        if view.hidden {
            walk.standard_filters(false).filter_entry(|entry| entry.file_name() != ".git");
        }
        // What cannot be read is not shown.
        for entry in walk.build().flatten().skip(1) {
            let Ok(path) = entry.path().strip_prefix(root) else { continue };
            let mut place = &mut tree;
            for name in path {
                place = place.entries.entry(name.to_string_lossy().into_owned()).or_default();
            }
            place.is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        }
        tree
    }

    /// Draws it: a name a line, indented by two spaces a level; directories end with `/`.
    pub fn to_text(&self) -> String {
        let mut lines = Vec::new();
        self.draw(0, self.view.collapse, &mut lines);
        if lines.len() > self.view.lines {
            let left_out = lines.len() - self.view.lines;
            lines.truncate(self.view.lines);
            lines.push(format!("[… {left_out} more lines left out; look into a directory …]"));
        }
        if lines.is_empty() { "(empty)".to_owned() } else { lines.join("\n") }
    }

    fn draw(&self, level: usize, collapse: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(level);
        for (name, entry) in self.entries.iter().take(collapse) {
            let slash = if entry.is_directory { "/" } else { "" };
            lines.push(format!("{indent}{name}{slash}"));
            entry.draw(level + 1, collapse, lines);
        }
        if let Some(more) = self.entries.len().checked_sub(collapse).filter(|more| *more > 0) {
            lines.push(format!("{indent}[… {more} more entries …]"));
        }
    }
}
