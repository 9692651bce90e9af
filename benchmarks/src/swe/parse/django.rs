//! The output of Django's test runner: unittest with `--verbosity 2`.

use std::borrow::Cow;

use memchr::memmem;

use super::super::python_text::{is_space, strip, tokens};
use super::super::status::{Status, StatusMap};
use super::ParseError;

const VERSION_LINE: &str = "--version is equivalent to version";
const MIGRATION: &str = "Applying sites.0002_alter_domain_unique...test_no_migrations";

/// Reads one line after another, then three kinds of results that other output tore apart.
pub fn read(log: &str) -> Result<StatusMap<'_>, ParseError> {
    let mut map = StatusMap::default();
    let dots = memmem::Finder::new(" ... ");
    let has_version_line = memmem::find(log.as_bytes(), VERSION_LINE.as_bytes()).is_some();
    let mut previous = None;
    for line in log.split('\n') {
        let mut line = strip(line);
        if has_version_line && line.contains(VERSION_LINE) {
            map.insert(Cow::Borrowed(VERSION_LINE), Status::Passed);
        }
        // Every ending below contains the dots, so most lines need no further look.
        if let Some(at) = dots.find(line.as_bytes()) {
            previous = Some(&line[..at]);
            line = passed(line, &mut map);
            if let Some((test, _)) = line.split_once(" ... skipped") {
                map.insert(Cow::Borrowed(test), Status::Skipped);
            }
            ended(line, " ... FAIL", Status::Failed, &mut map);
        }
        heading(line, "FAIL:", Status::Failed, &mut map)?;
        ended(line, " ... ERROR", Status::Error, &mut map);
        heading(line, "ERROR:", Status::Error, &mut map)?;
        if let Some(test) = previous.filter(|_| line.starts_with("ok")) {
            map.insert(Cow::Borrowed(test), Status::Passed);
        }
    }
    torn_results(log, &mut map);
    Ok(map)
}

/// Reads a passed line and gives the line back, without the migration's text that may stand before the test.
fn passed<'a>(line: &'a str, map: &mut StatusMap<'a>) -> &'a str {
    let Some(suffix) =
        [" ... ok", " ... OK", " ...  OK"].into_iter().find(|suffix| line.ends_with(suffix))
    else {
        return line;
    };
    let line = match line.split_once("...") {
        Some((_, rest)) if line.starts_with(MIGRATION) => strip(rest),
        _ => line,
    };
    let test = line.strip_suffix(suffix).unwrap_or(line);
    map.insert(Cow::Borrowed(test), Status::Passed);
    line
}

fn ended<'a>(line: &'a str, ending: &str, status: Status<'a>, map: &mut StatusMap<'a>) {
    if line.ends_with(ending)
        && let Some((test, _)) = line.split_once(ending)
    {
        map.insert(Cow::Borrowed(test), status);
    }
}

fn heading<'a>(
    line: &'a str,
    word: &str,
    status: Status<'a>,
    map: &mut StatusMap<'a>,
) -> Result<(), ParseError> {
    if line.starts_with(word) {
        let test = tokens(line)
            .nth(1)
            .ok_or_else(|| ParseError::BareHeading { heading: line.to_owned() })?;
        map.insert(Cow::Borrowed(test), status);
    }
    Ok(())
}

/// Finds tests whose `ok` stands on its own line behind one of three known outputs.
///
/// The official expressions are `^(.*?)\s\.\.\.\s` + opening + middle + `\nok$`, tried one after the other; each
/// searches on behind its last match.
fn torn_results<'a>(log: &'a str, map: &mut StatusMap<'a>) {
    torn(log, "Testing against Django installed in ", map, |rest| {
        memmem::find_iter(rest.as_bytes(), " silenced).")
            .map(|at| at + " silenced).".len())
            .find_map(|at| Some(at + ok_line(&rest[at..])?))
            .ok_or(rest.len())
    });
    torn(log, "Internal Server Error: /", map, |rest| {
        let line = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        ok_line(&rest[line..])
            .filter(|_| rest[..line].ends_with('/'))
            .map(|end| line + end)
            .ok_or(line)
    });
    let checked = "System check identified no issues (0 silenced)";
    torn(log, checked, map, |rest| ok_line(rest).ok_or(0));
}

/// Gives the length of a line end with a line `ok` behind it, where the text opens so.
fn ok_line(text: &str) -> Option<usize> {
    (text.starts_with("\nok") && matches!(text.as_bytes().get(3), None | Some(b'\n'))).then_some(3)
}

/// Records the test before each `opening` whose continuation matches.
///
/// `end_of` gives the length of the matching continuation, or how far behind the opening no match can begin: a log
/// of many openings must not be searched to its end for each.
fn torn<'a>(
    log: &'a str,
    opening: &str,
    map: &mut StatusMap<'a>,
    end_of: impl Fn(&'a str) -> Result<usize, usize>,
) {
    let mut from = 0;
    for at in memmem::find_iter(log.as_bytes(), opening) {
        if at < from {
            continue;
        }
        let behind = at + opening.len();
        let Some(before) = without_last_space(&log[..at])
            .and_then(|before| before.strip_suffix("..."))
            .and_then(without_last_space)
        else {
            continue;
        };
        match end_of(&log[behind..]) {
            Ok(length) => {
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                map.insert(Cow::Borrowed(&before[start..]), Status::Passed);
                from = behind + length;
            }
            Err(hopeless) => from = behind + hopeless,
        }
    }
}

fn without_last_space(text: &str) -> Option<&str> {
    text.strip_suffix(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swe::status::status_map_json;
    use pretty_assertions::assert_eq;

    fn read_json(log: &str) -> String {
        status_map_json(&read(log).unwrap())
    }

    #[test]
    fn each_ending_is_read_at_its_own_place() {
        assert_eq!(
            read_json("a ... b ... ok\nc ... x ... FAIL\n d ...  OK\ne ... skipped 'y' ... ok\n"),
            r#"{"a ... b": "PASSED", "c ... x": "FAILED", "d": "PASSED", "e ... skipped 'y'": "PASSED", "e": "SKIPPED"}"#
        );
    }

    #[test]
    fn a_heading_without_a_test_is_an_error_as_in_python() {
        assert!(matches!(read("FAIL:x\n"), Err(ParseError::BareHeading { .. })));
        assert_eq!(read_json("ERROR:x y\n"), r#"{"y": "ERROR"}"#);
    }

    #[test]
    fn results_torn_apart_by_output_are_joined() {
        assert_eq!(
            read_json(
                "a\n...\nTesting against Django installed in 'x'\n(0 silenced).\nok\nb ... Internal Server Error: /y/\nok\n\
                 c ... System check identified no issues (0 silenced)\nok\nd ... Internal Server Error: /\nok"
            ),
            r#"{"b": "PASSED", "c": "PASSED", "d": "PASSED", "a": "PASSED"}"#
        );
    }
}
