//! The output of sympy's own runner, `bin/test --verbose`.

use std::borrow::Cow;

use super::super::python_text::{strip, tokens};
use super::super::status::{Status, StatusMap};

/// Reads headings of failures first, then one line per test.
pub fn read(log: &str) -> StatusMap<'_> {
    let mut map = StatusMap::default();
    headings(log, &mut map);
    for line in log.split('\n') {
        let line = strip(line);
        if !line.starts_with("test_") {
            continue;
        }
        let status = match line {
            _ if line.ends_with(" E") => Status::Error,
            _ if line.ends_with(" F") => Status::Failed,
            _ if line.ends_with(" ok") => Status::Passed,
            _ => continue,
        };
        if let Some(test) = tokens(line).next() {
            map.insert(Cow::Borrowed(test), status);
        }
    }
    map
}

/// Finds what `(_*) (.*)\.py:(.*) (_*)` finds.
///
/// The underscores may be missing, so a line matches where `.py:` stands between two spaces. The first space opens
/// the match and the last one closes it, hence one match a line; of several `.py:` the last one that a space
/// follows splits it, but either way the key is the text between the two spaces.
fn headings<'a>(log: &'a str, map: &mut StatusMap<'a>) {
    let mut from = 0;
    for found in memchr::memmem::find_iter(log.as_bytes(), ".py:") {
        if found < from {
            continue;
        }
        let start = log[..found].rfind('\n').map_or(0, |at| at + 1);
        let end = log[found..].find('\n').map_or(log.len(), |at| found + at);
        from = end;
        let line = &log[start..end];
        let (Some(open), Some(close)) = (line.find(' '), line.rfind(' ')) else {
            continue;
        };
        if open < close && line[open + 1..close].contains(".py:") {
            map.insert(Cow::Borrowed(&line[open + 1..close]), Status::Failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swe::status::status_map_json;
    use pretty_assertions::assert_eq;

    #[test]
    fn headings_come_first_and_span_from_the_first_space_to_the_last() {
        assert_eq!(
            status_map_json(&read(
                "test_a ok\n__ a.py:b __ c.py:d __\n.py: x \n  y.py:\n z.py:1 \n test_b  x F\ntest_c\tok\n"
            )),
            r#"{"a.py:b __ c.py:d": "FAILED", "z.py:1": "FAILED", "test_a": "PASSED", "test_b": "FAILED"}"#
        );
    }
}
