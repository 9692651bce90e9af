//! Text as Python sees it: white space, tokens, decimal digits, universal newlines.

use std::borrow::Cow;

/// Says what `str.isspace` says; Rust's own notion lacks U+001C to U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Splits like `str.split()`.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|token| !token.is_empty())
}

/// Trims like `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Gives the text's tokens joined by one space each, borrowed where they stand so already.
pub fn rejoined(text: &str) -> Cow<'_, str> {
    let text = strip(text);
    let mut after_space = false;
    for c in text.chars() {
        let space = is_space(c);
        if space && (after_space || c != ' ') {
            return Cow::Owned(tokens(text).collect::<Vec<_>>().join(" "));
        }
        after_space = space;
    }
    Cow::Borrowed(text)
}

/// Reads bytes as a file opened in text mode: strict UTF-8, and CR and CRLF become LF.
pub fn read_text(bytes: &[u8]) -> Result<Cow<'_, str>, std::str::Utf8Error> {
    let text = std::str::from_utf8(bytes)?;
    if memchr::memchr(b'\r', bytes).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in memchr::memchr_iter(b'\r', bytes) {
        out.push_str(&text[from..at]);
        from = at + 1;
        if bytes.get(from) != Some(&b'\n') {
            out.push('\n');
        }
    }
    out.push_str(&text[from..]);
    Ok(Cow::Owned(out))
}

/// The zero of each block of ten decimal digits in Unicode 14 (general category Nd), as `\d` and `int` know them.
const ZEROS: [u32; 66] = [
    0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6,
    0x0D66, 0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80,
    0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
    0xFF10, 0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0,
    0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0,
    0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
];

/// Gives the value of a decimal digit of any script.
pub fn decimal(c: char) -> Option<u32> {
    let code = c as u32;
    if code < 0x80 {
        return c.to_digit(10);
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    (code - zero < 10).then_some(code - zero)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn tokens_split_on_every_python_space_and_on_nothing_else() {
        assert_eq!(
            tokens("\u{1f}a\u{1c}b\u{85}c\u{a0}d\u{2003}e\u{200b}f\u{0}g\u{b}h ")
                .collect::<Vec<_>>(),
            ["a", "b", "c", "d", "e\u{200b}f\u{0}g", "h"]
        );
    }

    #[test]
    fn every_kind_of_line_end_becomes_a_line_feed() {
        assert_eq!(read_text(b"a\r\nb\rc\r\r\nd\n\re\r").unwrap(), "a\nb\nc\n\nd\n\ne\n");
        assert!(read_text(b"\xff").is_err());
        assert!(read_text(b"\xED\xA0\x80").is_err());
    }

    #[test]
    fn digits_of_other_scripts_have_their_value() {
        assert_eq!(
            ['7', '\u{663}', '\u{1D7FF}', '\u{664}', '\u{b2}', 'x'].map(decimal),
            [Some(7), Some(3), Some(9), Some(4), None, None]
        );
    }

    #[test]
    fn tokens_are_joined_by_single_spaces() {
        assert_eq!(rejoined(" a  b\tc "), "a b c");
        assert!(matches!(rejoined(" a b "), Cow::Borrowed("a b")));
    }
}
