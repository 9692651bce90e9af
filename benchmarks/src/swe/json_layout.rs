//! Lays JSON out as `json.dumps` does.

use super::json::{PyString, write_string};

/// Writes JSON the way `json.dumps` lays it out, on one line or with an indent of four.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) text: String,
    depth: Option<usize>,
}

/// Says how JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// On one line.
    OneLine,
    /// With an indent of four.
    Indented,
}

impl Writer {
    pub(super) fn new(layout: Layout) -> Self {
        Self { text: String::new(), depth: (layout == Layout::Indented).then_some(0) }
    }

    pub(super) fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.depth = self.depth.map(|depth| depth + 1);
    }

    pub(super) fn close(&mut self, bracket: char) {
        self.depth = self.depth.map(|depth| depth - 1);
        if self.depth.is_some() {
            self.new_line();
        }
        self.text.push(bracket);
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        for _ in 0..self.depth.unwrap_or(0) {
            self.text.push_str("    ");
        }
    }

    fn separate(&mut self, is_first: bool) {
        self.text.push_str(match (is_first, self.depth) {
            (true, _) => "",
            (false, Some(_)) => ",",
            (false, None) => ", ",
        });
        if self.depth.is_some() {
            self.new_line();
        }
    }

    pub(super) fn name(&mut self, name: &[u8], is_first: bool) {
        self.separate(is_first);
        write_string(&mut self.text, name);
        self.text.push_str(": ");
    }

    pub(super) fn flag(&mut self, name: &str, value: bool, is_first: bool) {
        self.name(name.as_bytes(), is_first);
        self.text.push_str(if value { "true" } else { "false" });
    }

    pub(super) fn list(&mut self, items: &[&PyString]) {
        if items.is_empty() {
            self.text.push_str("[]");
            return;
        }
        self.open('[');
        for (n, item) in items.iter().enumerate() {
            self.separate(n == 0);
            write_string(&mut self.text, item.as_bytes());
        }
        self.close(']');
    }
}
