//! JSON as models and agents really send it: with halves of surrogate pairs.

use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Reads JSON; a `\u` escape that is half of a surrogate pair reads as U+FFFD.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(&mend(text))
}

/// Replaces escapes that are half of a surrogate pair, which `serde_json` refuses.
fn mend(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut mended = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(bytes, at) {
            Some(0xd800..=0xdbff) if matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => {
                at += 12;
            }
            Some(0xd800..=0xdfff) => {
                mended.push_str(&text[copied..at]);
                mended.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // Another escape: its second byte must not be taken for the start of one.
            _ => at += 2,
        }
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// Reads the code unit of a `\uXXXX` escape that starts at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    if !escape.starts_with(b"\\u") || !escape[2..].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let text: String =
            read(r#""a\ud83d b\ude00 \ud83d\ude00 \\ud83d \ud83d\ud83d\ude00""#).unwrap();
        assert_eq!(text, "a\u{fffd} b\u{fffd} 😀 \\ud83d \u{fffd}😀");
    }

    #[test]
    fn text_next_to_an_escape_keeps_its_bytes() {
        let text: String = read(r#""é\ud800é😀\n\ud8""#).unwrap_or_else(|_| "refused".into());
        assert_eq!(text, "refused");
        let text: String = read(r#""é\ud800é😀\n""#).unwrap();
        assert_eq!(text, "é\u{fffd}é😀\n");
    }
}
