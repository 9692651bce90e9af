//! Blocks in statements: `<TAG path="…">VALUE</TAG>`, read back byte for byte.
//!
//! The newline after the opening tag is not part of the value, which then runs verbatim to the closing tag. A value
//! that holds the closing tag is fenced: `<TAG … fence="K">VALUE</TAG fence="K">`, with a word K that makes the closing
//! text unique.

/// Writes a block. `path` must be free of quotes and line breaks, see [`fits_attribute`].
pub(crate) fn write(tag: &str, path: &str, value: &str) -> String {
    let plain = format!("</{tag}>");
    if !value.contains(&plain) {
        return format!("<{tag} path=\"{path}\">\n{value}{plain}");
    }
    let mut number = 1;
    loop {
        let close = format!("</{tag} fence=\"k{number}\">");
        if !value.contains(&close) {
            return format!("<{tag} path=\"{path}\" fence=\"k{number}\">\n{value}{close}");
        }
        number += 1;
    }
}

/// Tells whether a path can stand in an attribute and between backticks.
pub(crate) fn fits_attribute(path: &str) -> bool {
    !path.contains(['"', '`', '<', '>', '&']) && !path.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn a_value_that_holds_the_closing_tag_is_fenced() {
        assert_eq!(write("T", "a", "x\n"), "<T path=\"a\">\nx\n</T>");
        assert_eq!(write("T", "a", "</T>"), "<T path=\"a\" fence=\"k1\">\n</T></T fence=\"k1\">");
        let twice = "</T></T fence=\"k1\">";
        assert!(write("T", "a", twice).ends_with("</T fence=\"k2\">"));
    }
}
