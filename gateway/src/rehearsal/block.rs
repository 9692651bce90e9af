//! Blocks: `<TAG attribute="value">VALUE</TAG>`, as the agent writes them and expects them.
//!
//! A value is verbatim. One newline directly after the opening tag does not belong to it; a value
//! that holds its own closing tag stands in a fence, `<TAG fence="K">VALUE</TAG fence="K">`, where
//! `K` is a word that makes the closing text unique.

/// A block that was found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// The tag's name.
    pub tag: &'a str,
    /// The attributes in their order as they are written, the fence left out.
    pub attributes: Vec<(&'a str, &'a str)>,
    /// The value, exactly.
    pub value: &'a str,
    /// Where the block ends in the text that it was found in.
    pub end: usize,
}

impl<'a> Block<'a> {
    /// Returns an attribute's value; only `&` and `"` are escaped in it.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let (_, value) = self.attributes.iter().find(|(key, _)| *key == name)?;
        Some(value.replace("&quot;", "\"").replace("&amp;", "&"))
    }
}

/// Finds the first block with one of the `tags` that starts at or after byte `from`. Text inside
/// the value of an earlier block is the business of the caller, who goes on at [`Block::end`].
pub(crate) fn next_block<'a>(text: &'a str, from: usize, tags: &[&str]) -> Option<Block<'a>> {
    let mut at = from;
    while let Some(offset) = text.get(at..)?.find('<') {
        let start = at + offset;
        if let Some(block) = block_at(text, start, tags) {
            return Some(block);
        }
        at = start + 1;
    }
    None
}

/// Lists the blocks with one of the `tags` that stand side by side in a text.
pub(crate) fn blocks<'a>(text: &'a str, tags: &[&str]) -> Vec<Block<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(block) = next_block(text, at, tags) {
        at = block.end;
        found.push(block);
    }
    found
}

/// Reads the block that starts at byte `start`, where a `<` stands.
fn block_at<'a>(text: &'a str, start: usize, tags: &[&str]) -> Option<Block<'a>> {
    let rest = text.get(start + 1..)?;
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let tag = rest.get(..length)?;
    if !tags.contains(&tag) {
        return None;
    }
    let mut attributes = Vec::new();
    let mut fence = None;
    let mut head = rest.get(length..)?;
    loop {
        head = head.trim_start_matches(' ');
        if let Some(body) = head.strip_prefix('>') {
            head = body;
            break;
        }
        let equals = head.find("=\"")?;
        let name = head.get(..equals)?;
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        let after = head.get(equals + 2..)?;
        let quote = after.find('"')?;
        let value = after.get(..quote)?;
        if name == "fence" {
            fence = Some(value);
        } else {
            attributes.push((name, value));
        }
        head = after.get(quote + 1..)?;
    }
    let closing = match fence {
        Some(word) => format!("</{tag} fence=\"{word}\">"),
        None => format!("</{tag}>"),
    };
    let length = head.find(&closing)?;
    let value = head.get(..length)?;
    let end = text.len() - head.len() + length + closing.len();
    Some(Block { tag, attributes, value: without_first_newline(value), end })
}

/// Drops the one newline that may follow an opening tag.
fn without_first_newline(value: &str) -> &str {
    value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value)
}

/// Writes a block so that reading gives back `value` exactly. The value is fenced when it holds
/// its own closing tag or one of the texts in `avoid`.
pub(crate) fn write_block(tag: &str, value: &str, avoid: &[&str]) -> String {
    let closing = format!("</{tag}>");
    let looks_like_cdata = value.trim_start().starts_with("<![CDATA[");
    let newline = if value.contains('\n') { "\n" } else { "" };
    if !looks_like_cdata
        && !value.contains(&closing)
        && !avoid.iter().any(|text| value.contains(text))
    {
        return format!("<{tag}>{newline}{value}{closing}");
    }
    let mut word = "x".to_owned();
    while value.contains(&format!("</{tag} fence=\"{word}\">")) {
        word.push('x');
    }
    format!("<{tag} fence=\"{word}\">{newline}{value}</{tag} fence=\"{word}\">")
}

#[cfg(test)]
mod tests {
    use super::{blocks, next_block, write_block};
    use proptest::prelude::*;

    #[test]
    fn a_block_gives_its_attributes_and_its_verbatim_value() {
        let text = "see <FILE path=\"a/b &quot;c&amp;.py\" lines=\"2\">\nx = 1\r\n\n</FILE> end";
        let block = next_block(text, 0, &["FILE"]).unwrap();
        assert_eq!(block.attribute("path"), Some("a/b \"c&.py".to_owned()));
        assert_eq!(block.attribute("lines").as_deref(), Some("2"));
        assert_eq!(block.value, "x = 1\r\n\n");
        assert_eq!(&text[block.end..], " end");
    }

    #[test]
    fn a_fenced_value_may_hold_its_own_closing_tag() {
        let text =
            "<FILE path=\"p\" fence=\"k\">a</FILE>b</FILE fence=\"k\"><FILE path=\"q\">c</FILE>";
        let found: Vec<_> = blocks(text, &["FILE"]).into_iter().map(|b| b.value).collect();
        assert_eq!(found, ["a</FILE>b", "c"]);
    }

    #[test]
    fn text_that_only_looks_like_a_block_is_passed_over() {
        let text = "<FILE> open, <FILES>x</FILES>, if a <FILE and b, <TASK>t</TASK>";
        let found: Vec<_> = blocks(text, &["TASK"]).into_iter().map(|b| b.value).collect();
        assert_eq!(found, ["t"]);
        assert_eq!(next_block(text, 0, &["FILE"]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_exactly(
            value in "(\r\n|\n|[a-z<>/\"= é]|</A>|</A fence=\"x\">|</TOOL_CALL>|<!\\[CDATA\\[|\\]\\]>){0,12}"
        ) {
            let text = format!("before {} after", write_block("A", &value, &["</TOOL_CALL>"]));
            let block = next_block(&text, 0, &["A"]).unwrap();
            prop_assert_eq!(block.value, value);
            prop_assert_eq!(&text[block.end..], " after");
        }
    }
}
