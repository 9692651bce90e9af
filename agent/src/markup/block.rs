//! Blocks: `<TAG name="value">VALUE</TAG>`.

use std::fmt::Write as _;

/// A block that is being written.
#[derive(Clone, Debug)]
pub struct Block {
    tag: String,
    attributes: String,
}

impl Block {
    /// Starts a block.
    pub fn new(tag: &str) -> Self {
        Block { tag: tag.to_owned(), attributes: String::new() }
    }

    /// Adds an attribute. Only `&` and `"` are escaped in its value.
    pub fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        let value = value.to_string().replace('&', "&amp;").replace('"', "&quot;");
        // Writing to a string cannot fail.
        let _ = write!(self.attributes, " {name}=\"{value}\"");
        self
    }

    /// Writes the block around a value, with a fence where the value needs one.
    pub fn around(&self, value: &str) -> String {
        self.write(value, value.contains(&format!("</{}>", self.tag)))
    }

    /// Writes the block as an argument of a call.
    pub fn argument(&self, value: &str) -> String {
        let closing = format!("</{}>", self.tag);
        let needs_fence = value.contains(&closing)
            || super::call::CLOSING_TAGS.iter().any(|tag| value.contains(tag))
            || unwrap_cdata(value).is_some();
        self.write(value, needs_fence)
    }

    fn write(&self, value: &str, fenced: bool) -> String {
        let Block { tag, attributes } = self;
        let newline = if value.contains('\n') { "\n" } else { "" };
        if !fenced {
            return format!("<{tag}{attributes}>{newline}{value}</{tag}>");
        }
        let mut fence = "x".to_owned();
        while value.contains(&format!("</{tag} fence=\"{fence}\">")) {
            fence.push('x');
        }
        format!("<{tag}{attributes} fence=\"{fence}\">{newline}{value}</{tag} fence=\"{fence}\">")
    }
}

/// An opening tag that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    /// The name of the tag.
    pub tag: &'a str,
    /// The word of its fence.
    pub fence: Option<&'a str>,
    /// What comes after the tag.
    pub rest: &'a str,
}

impl Opening<'_> {
    /// Returns the text that ends the value.
    pub(super) fn closing(&self) -> String {
        match self.fence {
            Some(fence) => format!("</{} fence=\"{fence}\">", self.tag),
            None => format!("</{}>", self.tag),
        }
    }
}

/// Reads the opening tag with which `text` begins; attributes other than `fence` are passed over.
pub(super) fn opening(text: &str) -> Option<Opening<'_>> {
    let inside = text.strip_prefix('<')?;
    let length = inside.find(|c: char| !is_name(c))?;
    let (tag, mut head) = inside.split_at(length);
    if tag.is_empty() {
        return None;
    }
    let mut fence = None;
    loop {
        head = head.trim_start();
        if let Some(rest) = head.strip_prefix('>') {
            return Some(Opening { tag, fence, rest });
        }
        let (name, value) = head.split_once("=\"")?;
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (value, after) = value.split_once('"')?;
        if name == "fence" {
            fence = Some(value);
        }
        head = after;
    }
}

/// What stood after an opening tag.
pub(super) enum Value<'a> {
    /// The value, and what comes after its closing tag.
    Whole { value: &'a str, rest: &'a str },
    /// The text ended before the closing tag.
    Cut,
}

/// Reads the value that belongs to an opening tag.
pub(super) fn value<'a>(opening: &Opening<'a>) -> Value<'a> {
    match opening.rest.split_once(&opening.closing()) {
        Some((value, rest)) => Value::Whole { value: without_first_newline(value), rest },
        None => Value::Cut,
    }
}

/// Returns what stands in a value that is wholly one CDATA section.
pub(super) fn unwrap_cdata(value: &str) -> Option<&str> {
    value.strip_prefix("<![CDATA[")?.strip_suffix("]]>")
}

fn without_first_newline(value: &str) -> &str {
    value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::Block;

    #[test]
    fn a_value_is_written_verbatim_and_fenced_only_when_it_must_be() {
        let file = Block::new("FILE").with("path", "a \"b\" & c.py");
        assert_eq!(file.around("x"), "<FILE path=\"a &quot;b&quot; &amp; c.py\">x</FILE>");
        assert_eq!(Block::new("FILE").around("a\nb\n"), "<FILE>\na\nb\n</FILE>");
        assert_eq!(
            Block::new("FILE").around("</FILE></FILE fence=\"x\">"),
            "<FILE fence=\"xx\"></FILE></FILE fence=\"x\"></FILE fence=\"xx\">"
        );
        assert_eq!(
            Block::new("content").argument("</TOOL_CALL>"),
            "<content fence=\"x\"></TOOL_CALL></content fence=\"x\">"
        );
    }
}
