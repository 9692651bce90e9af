//! The four readings of pytest's output.

use std::borrow::Cow;

use super::super::python_text::{decimal, rejoined, strip, tokens};
use super::super::status::{Status, StatusMap};

/// The words that open a line of pytest's short summary. XPASS is not among them.
const WORDS: [&str; 5] = ["FAILED", "PASSED", "SKIPPED", "ERROR", "XFAIL"];

type Entry<'a> = (Cow<'a, str>, Status<'a>);

fn opens_with_status(line: &str) -> bool {
    matches!(line.as_bytes().first(), Some(b'F' | b'P' | b'S' | b'E' | b'X'))
        && WORDS.iter().any(|word| line.starts_with(word))
}

fn closes_with_status(line: &str) -> bool {
    matches!(line.as_bytes().last(), Some(b'D' | b'R' | b'L'))
        && WORDS.iter().any(|word| line.ends_with(word))
}

/// Says whether the line is `SKIPPED [3] file:line: reason`, whose second token is a count and no test.
fn is_skip_count(word: &str, name: &str) -> bool {
    word == "SKIPPED"
        && name
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|count| !count.is_empty() && count.chars().all(|c| decimal(c).is_some()))
}

/// Detaches an entry from a line that was rewritten before it was read.
fn detached<'a>(entry: Option<Entry<'_>>) -> Option<Entry<'a>> {
    entry.map(|(test, status)| (Cow::Owned(test.into_owned()), status.into_owned()))
}

/// Reads a line that opens with a status: the first token is the status, the second the test.
fn summary_line(line: &str) -> Option<Entry<'_>> {
    if line.starts_with("FAILED") && line.contains(" - ") {
        return detached(first_two(&line.replace(" - ", " ")));
    }
    first_two(line)
}

fn first_two(line: &str) -> Option<Entry<'_>> {
    let mut words = tokens(line);
    let (word, test) = (words.next()?, words.next()?);
    (!is_skip_count(word, test)).then(|| (Cow::Borrowed(test), Status::from_word(word)))
}

/// Reads the short summary of `pytest -rA`.
pub fn short_summary(log: &str) -> StatusMap<'_> {
    log.split('\n').filter(|line| opens_with_status(line)).filter_map(summary_line).collect()
}

/// Reads the short summary and shortens parameters that are absolute paths to their last part.
pub fn with_options(log: &str) -> StatusMap<'_> {
    log.split('\n')
        .filter(|line| opens_with_status(line))
        .filter_map(summary_line)
        .map(|(test, status)| (shortened_option(test), status))
        .collect()
}

/// Rewrites `name[option]tail` as the expression `(.*?)\[(.*)\]` splits it.
fn shortened_option(test: Cow<'_, str>) -> Cow<'_, str> {
    let Some(open) = test.find('[') else {
        return test;
    };
    let Some(close) = test.rfind(']').filter(|close| *close > open) else {
        return test;
    };
    let (name, option) = (&test[..open], &test[open + 1..close]);
    let is_path = option.starts_with('/') && !option.starts_with("//") && !option.contains('*');
    let option = match option.rfind('/') {
        Some(slash) if is_path => &option[slash..],
        _ if close + 1 == test.len() => return test,
        _ => option,
    };
    Cow::Owned(format!("{name}[{option}]"))
}

/// Reads the short summary with matplotlib's mouse buttons replaced by their numbers.
pub fn with_mouse_buttons(log: &str) -> StatusMap<'_> {
    // The replacement cannot change how a line opens, so it is only made where a line is read.
    log.split('\n')
        .filter(|line| opens_with_status(line))
        .filter_map(|line| {
            if !line.contains("MouseButton.") {
                return summary_line(line);
            }
            let line = line.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3");
            detached(summary_line(&line))
        })
        .collect()
}

/// Reads summary lines, or lines that end with a status as old pytest printed them, and keeps spaces in ids.
pub fn with_whole_ids(log: &str) -> StatusMap<'_> {
    log.split('\n')
        .filter_map(|line| match cleaned(line) {
            Cow::Borrowed(line) => whole_id_line(line),
            Cow::Owned(line) => detached(whole_id_line(&line)),
        })
        .collect()
}

fn whole_id_line(line: &str) -> Option<Entry<'_>> {
    if opens_with_status(line) {
        let line = match line.starts_with("FAILED") {
            true => line.split_once(" - ").map_or(line, |(id, _)| id),
            false => line,
        };
        let mut words = tokens(line);
        let (word, first) = (words.next()?, words.next()?);
        if is_skip_count(word, first) {
            return None;
        }
        // The line opens with the status word, so the rest begins right behind it.
        return Some((rejoined(&line[word.len()..]), Status::from_word(word)));
    }
    if closes_with_status(line) {
        let word = tokens(line).last()?;
        let before = strip(&line[..line.len() - word.len()]);
        return (!before.is_empty()).then(|| (rejoined(before), Status::from_word(word)));
    }
    None
}

/// Removes `[<digits>m`, then the characters U+0001 to U+001F, wherever they stand.
fn cleaned(line: &str) -> Cow<'_, str> {
    let is_control = |b: u8| b.wrapping_sub(1) < 0x1F;
    let line = without_colours(line);
    if !line.bytes().fold(false, |any, b| any | is_control(b)) {
        return line;
    }
    Cow::Owned(line.chars().filter(|c| !('\u{1}'..='\u{1f}').contains(c)).collect())
}

fn without_colours(line: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut from = 0;
    for open in memchr::memchr_iter(b'[', line.as_bytes()) {
        let inside = &line[open + 1..];
        let rest = inside.trim_start_matches(|c| decimal(c).is_some());
        if rest.len() < inside.len() && rest.starts_with('m') {
            out.push_str(&line[from..open]);
            from = line.len() - rest.len() + 1;
        }
    }
    if from == 0 {
        return Cow::Borrowed(line);
    }
    out.push_str(&line[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swe::status::status_map_json;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_later_line_overwrites_but_keeps_the_first_place() {
        assert_eq!(
            status_map_json(&short_summary("PASSED a\nFAILED b - x\nFAILED a - y\n")),
            r#"{"a": "FAILED", "b": "FAILED"}"#
        );
    }

    #[test]
    fn dashes_of_a_failed_line_are_replaced_without_overlap() {
        assert_eq!(
            status_map_json(&short_summary("FAILED - - x\nFAILED - x")),
            r#"{"-": "FAILED", "x": "FAILED"}"#
        );
    }

    #[test]
    fn options_that_are_paths_keep_their_last_part() {
        let read = |id: &str| shortened_option(Cow::Borrowed(id)).into_owned();
        assert_eq!(
            [
                "a[/tmp/x]",
                "a[//tmp/x]",
                "a[/tmp/*]",
                "a[b/c]d",
                "a]b[c",
                "a[b]c]d",
                "[/x]",
                "a[/x[y/z]",
            ]
            .map(read),
            ["a[/x]", "a[//tmp/x]", "a[/tmp/*]", "a[b/c]", "a]b[c", "a[b]c]", "[/x]", "a[/z]",]
        );
    }

    #[test]
    fn colours_go_before_control_characters() {
        assert_eq!(cleaned("a[\u{1}3m[31mb\tc\u{0}"), "a[3mbc\u{0}");
        assert_eq!(cleaned("[[1m2mx"), "[2mx");
    }

    #[test]
    fn whole_ids_are_read_at_either_end_of_a_line() {
        assert_eq!(
            status_map_json(&with_whole_ids(
                "PASSED a[x  y]\nb c FAILED\nFAILED d[p q] - E\nSKIPPED [2] z\n PASSED\nPASSED\nxFAILED"
            )),
            r#"{"a[x y]": "PASSED", "b c": "FAILED", "d[p q]": "FAILED"}"#
        );
    }
}
