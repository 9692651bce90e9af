//! JSON exactly as Python's `json` module reads and writes it.
//!
//! The official harness is Python, and its answers depend on what Python calls valid: strings may hold lone
//! surrogates, `NaN` is a number, the last of two equal keys wins. Output is ASCII, as `json.dumps` makes it.

use std::borrow::Cow;
use std::fmt;

/// How deep arrays and objects may nest; Python gives up near a thousand.
const DEPTH_LIMIT: usize = 900;

/// Holds a Python string: Unicode text in which lone surrogates may occur, kept as WTF-8.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PyString(Vec<u8>);

impl PyString {
    /// Gives the text, or nothing where a lone surrogate occurs.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Gives the text for people to read, lone surrogates replaced.
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Gives the WTF-8 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Says whether the string has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push_code_point(&mut self, code: u32) {
        if let Some(c) = char::from_u32(code) {
            self.0.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            self.0.extend_from_slice(&[
                0xE0 | (code >> 12) as u8,
                0x80 | (code >> 6 & 0x3F) as u8,
                0x80 | (code & 0x3F) as u8,
            ]);
        }
    }
}

impl From<&str> for PyString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for PyString {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl fmt::Debug for PyString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

impl fmt::Display for PyString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// Is one JSON value as Python holds it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string.
    String(PyString),
    /// An array.
    Array(Vec<Value>),
    /// An object; of two equal keys the last one counts.
    Object(Vec<(PyString, Value)>),
}

impl Value {
    /// Gives the member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members
                .iter()
                .rev()
                .find(|(name, _)| name.as_bytes() == key.as_bytes())
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// Gives the string, or nothing where the value is no string.
    pub fn as_string(&self) -> Option<&PyString> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Says what Python's `bool()` says of the value.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(b) => *b,
            Value::Number(n) => n.parse::<f64>().is_ok_and(|n| n != 0.0),
            Value::String(s) => !s.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
        }
    }

    /// Names the kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// Appends the value on one line.
    pub fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(n) => out.push_str(n),
            Value::String(s) => write_string(out, s.as_bytes()),
            Value::Array(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    item.write(out);
                }
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (n, (name, value)) in members.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    write_string(out, name.as_bytes());
                    out.push_str(": ");
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Appends WTF-8 text as an ASCII JSON string, as `json.dumps` does.
pub fn write_string(out: &mut String, wtf8: &[u8]) {
    out.push('"');
    let mut rest = wtf8;
    while !rest.is_empty() {
        let plain = rest
            .iter()
            .position(|b| !matches!(b, b' '..=b'~') || matches!(b, b'"' | b'\\'))
            .unwrap_or(rest.len());
        if let Ok(text) = std::str::from_utf8(&rest[..plain]) {
            out.push_str(text);
        }
        rest = &rest[plain..];
        let Some((code, length)) = first_code_point(rest) else {
            break;
        };
        rest = &rest[length..];
        match code {
            0x22 => out.push_str("\\\""),
            0x5C => out.push_str("\\\\"),
            0x0A => out.push_str("\\n"),
            0x0D => out.push_str("\\r"),
            0x09 => out.push_str("\\t"),
            0x0C => out.push_str("\\f"),
            0x08 => out.push_str("\\b"),
            0x1_0000.. => {
                let high = 0xD800 + ((code - 0x1_0000) >> 10);
                let low = 0xDC00 + ((code - 0x1_0000) & 0x3FF);
                out.push_str(&format!("\\u{high:04x}\\u{low:04x}"));
            }
            _ => out.push_str(&format!("\\u{code:04x}")),
        }
    }
    out.push('"');
}

/// Reads the first code point of WTF-8 text and its length in bytes; a stray byte stands for itself.
fn first_code_point(bytes: &[u8]) -> Option<(u32, usize)> {
    let first = u32::from(*bytes.first()?);
    let tail = |n: usize| {
        bytes.get(1..=n)?.iter().try_fold(0u32, |code, b| match b & 0xC0 {
            0x80 => Some(code << 6 | u32::from(b & 0x3F)),
            _ => None,
        })
    };
    let read = match first {
        0xC2..=0xDF => tail(1).map(|t| ((first & 0x1F) << 6 | t, 2)),
        0xE0..=0xEF => {
            tail(2).map(|t| ((first & 0x0F) << 12 | t, 3)).filter(|(code, _)| *code >= 0x800)
        }
        0xF0..=0xF4 => tail(3)
            .map(|t| ((first & 0x07) << 18 | t, 4))
            .filter(|(code, _)| (0x1_0000..=0x10_FFFF).contains(code)),
        _ => None,
    };
    Some(read.unwrap_or((first, 1)))
}

/// Says why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {what} at byte {at}")]
pub struct JsonError {
    /// What is wrong.
    pub what: &'static str,
    /// The offset in bytes.
    pub at: usize,
}

/// Reads one JSON value that fills the whole text.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_space();
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.error("more text after the value"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, what: &'static str) -> JsonError {
        JsonError { what, at: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > DEPTH_LIMIT {
            return Err(self.error("nested too deep"));
        }
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            _ if self.take("null") => Ok(Value::Null),
            _ if self.take("true") => Ok(Value::Bool(true)),
            _ if self.take("false") => Ok(Value::Bool(false)),
            _ => self.number(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take("]") {
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_space();
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take("]") {
                return Ok(Value::Array(items));
            }
            if !self.take(",") {
                return Err(self.error("a comma or a bracket is missing"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.take("}") {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.error("a name in double quotes is missing"));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.take(":") {
                return Err(self.error("a colon is missing"));
            }
            self.skip_space();
            members.push((name, self.value(depth + 1)?));
            self.skip_space();
            if self.take("}") {
                return Ok(Value::Object(members));
            }
            if !self.take(",") {
                return Err(self.error("a comma or a brace is missing"));
            }
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        for word in ["NaN", "Infinity", "-Infinity"] {
            if self.take(word) {
                return Ok(Value::Number(word.to_owned()));
            }
        }
        let start = self.at;
        self.take("-");
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => {
                self.at = start;
                return Err(self.error("a value is missing"));
            }
        }
        let whole = self.at;
        if self.take(".") {
            let dot = self.at;
            self.digits();
            if self.at == dot {
                self.at = whole;
            }
        }
        let mantissa = self.at;
        if self.take("e") || self.take("E") {
            let _signed = self.take("+") || self.take("-");
            let exponent = self.at;
            self.digits();
            if self.at == exponent {
                self.at = mantissa;
            }
        }
        Ok(Value::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<PyString, JsonError> {
        self.at += 1;
        let mut out = PyString::default();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest
                .iter()
                .position(|b| matches!(b, b'"' | b'\\' | 0x00..=0x1F | 0x80..))
                .unwrap_or(rest.len());
            out.0.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => return Err(self.error("a string does not end")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(0x80..) => {
                    let rest = &self.text[self.at..];
                    match first_code_point(rest) {
                        Some((_, length)) if length > 1 => {
                            out.0.extend_from_slice(&rest[..length]);
                            self.at += length;
                        }
                        _ => return Err(self.error("bytes that are not UTF-8")),
                    }
                }
                Some(_) => return Err(self.error("a control character in a string")),
            }
        }
    }

    fn escape(&mut self, out: &mut PyString) -> Result<(), JsonError> {
        let plain = match self.text.get(self.at + 1) {
            Some(b'u') => {
                let mut code = self.hex(self.at + 2)?;
                self.at += 6;
                if (0xD800..0xDC00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    let low = self.hex(self.at + 2)?;
                    if (0xDC00..0xE000).contains(&low) {
                        code = 0x1_0000 + ((code - 0xD800) << 10 | (low - 0xDC00));
                        self.at += 6;
                    }
                }
                out.push_code_point(code);
                return Ok(());
            }
            Some(c @ (b'"' | b'\\' | b'/')) => *c,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            _ => return Err(self.error("an unknown escape")),
        };
        out.0.push(plain);
        self.at += 2;
        Ok(())
    }

    fn hex(&self, from: usize) -> Result<u32, JsonError> {
        self.text
            .get(from..from + 4)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.error("an escape without four hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn round(text: &str) -> Result<String, JsonError> {
        parse(text.as_bytes()).map(|value| {
            let mut out = String::new();
            value.write(&mut out);
            out
        })
    }

    #[test]
    fn writes_what_python_dumps_writes() {
        assert_eq!(
            round("{\"a\":[1,-0.5e3,NaN,null,true],\"é\u{7f}\":\"\\ud83d\\ude00 \\ud800 \\/\"}"),
            Ok(r#"{"a": [1, -0.5e3, NaN, null, true], "\u00e9\u007f": "\ud83d\ude00 \ud800 /"}"#
                .to_owned())
        );
    }

    #[test]
    fn lone_surrogates_in_raw_bytes_are_kept() {
        let value = parse(b"\"\xED\xA0\x80\"").unwrap();
        let mut out = String::new();
        value.write(&mut out);
        assert_eq!(out, r#""\ud800""#);
        assert_eq!(value.as_string().unwrap().as_str(), None);
    }

    #[test]
    fn refuses_what_python_refuses() {
        for text in [
            "",
            " ",
            "01",
            "1.",
            "[1,]",
            "{\"a\":1,}",
            "\"\n\"",
            "'a'",
            "\u{feff}1",
            "\"\\x\"",
            "\"\\u12g4\"",
            "{a:1}",
            "[1 2]",
            "\"abc",
            "nul",
            "-",
            "{} x",
        ] {
            assert!(round(text).is_err(), "{text:?}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let value = parse(b"{\"a\": 1, \"a\": 2}").unwrap();
        assert_eq!(value.get("a"), Some(&Value::Number("2".into())));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        assert!(round(&"[".repeat(100_000)).is_err());
    }
}
