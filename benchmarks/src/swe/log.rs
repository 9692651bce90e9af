//! From the log of a test run to its status map: the gates that a log has to pass before it counts.

use std::sync::LazyLock;

use regex::Regex;

use super::parse::{LogParser, ParseError};
use super::python_text::{decimal, is_space};
use super::status::{Status, StatusMap};

/// Opens every marker of the official harness.
const MARK: &str = ">>>>> ";
const START: &str = "Start Test Output";
const END: &str = "End Test Output";
const EXIT_CODE: &str = "Test Exit Code:";
/// Any of these, anywhere, makes a log worthless.
const BAD: [&str; 4] = ["Patch Apply Failed", "Reset Failed", "Tests Errored", "Tests Timed Out"];
/// Python refuses to convert integers of more digits.
const DIGIT_LIMIT: usize = 4300;

/// Is what a whole log says.
#[derive(Debug, Clone, PartialEq)]
pub enum LogReading<'a> {
    /// The log is no valid account of a test run; it counts as "patch not applied".
    Ungraded,
    /// The statuses that the log reports; the map is empty where a suite ran and its parser saw no test.
    Graded(StatusMap<'a>),
}

/// Says why a log has no verdict at all; the official grader raises on it and writes no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The parser failed.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The recorded exit code is longer than Python converts.
    #[error("the recorded exit code has {digits} digits")]
    ExitCode {
        /// Its number of digits.
        digits: usize,
    },
}

/// Reads a log whose line ends are LF (see `python_text::read_text`).
pub fn read_log(log: &str, parser: LogParser) -> Result<LogReading<'_>, LogError> {
    let marks = Marks::find(log);
    let (false, Some(start), true) = (marks.bad, marks.starts[0], marks.any_end) else {
        return Ok(LogReading::Ungraded);
    };
    let start = start + MARK.len() + START.len();
    let end = marks.end_between(start, marks.starts[1].unwrap_or(log.len()));
    let mut map = parser.read(&log[start..end])?;
    if map.is_empty() {
        map = parser.read(log)?;
    }
    if map.is_empty() && !a_suite_ran(log) {
        return Ok(LogReading::Ungraded);
    }
    let failed = exit_code_is_failure(log, &marks.exit_codes)?;
    let shows_failure =
        || map.values().any(|status| matches!(status, Status::Failed | Status::Error));
    if failed && !map.is_empty() && !shows_failure() {
        return Ok(LogReading::Ungraded);
    }
    Ok(LogReading::Graded(map))
}

/// Holds where the markers stand in a log.
#[derive(Default)]
struct Marks {
    bad: bool,
    any_end: bool,
    starts: [Option<usize>; 2],
    first_end_behind_start: Option<usize>,
    exit_codes: Vec<usize>,
}

impl Marks {
    fn find(log: &str) -> Self {
        let mut marks = Self::default();
        for at in memchr::memmem::find_iter(log.as_bytes(), MARK) {
            let name = &log[at + MARK.len()..];
            if name.starts_with(START) {
                match marks.starts {
                    [None, _] => marks.starts[0] = Some(at),
                    [_, None] => marks.starts[1] = Some(at),
                    _ => {}
                }
            } else if name.starts_with(END) {
                marks.any_end = true;
                if marks.starts[0].is_some() {
                    marks.first_end_behind_start.get_or_insert(at);
                }
            } else if name.starts_with(EXIT_CODE) {
                marks.exit_codes.push(at + MARK.len() + EXIT_CODE.len());
            } else if BAD.iter().any(|bad| name.starts_with(bad)) {
                marks.bad = true;
                return marks;
            }
        }
        marks
    }

    /// Gives the first end marker of the piece, or the piece's own end.
    fn end_between(&self, start: usize, end: usize) -> usize {
        self.first_end_behind_start.filter(|at| (start..end).contains(at)).unwrap_or(end)
    }
}

/// Says whether the first exit code that can be read is other than 0.
fn exit_code_is_failure(log: &str, places: &[usize]) -> Result<bool, LogError> {
    for place in places {
        let text = log[*place..].trim_start_matches(is_space);
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mut digits, mut nonzero) = (0, false);
        for value in text.chars().map_while(decimal) {
            digits += 1;
            nonzero |= value != 0;
        }
        if digits > DIGIT_LIMIT {
            return Err(LogError::ExitCode { digits });
        }
        if digits > 0 {
            return Ok(nonzero);
        }
    }
    Ok(false)
}

/// Says whether the log shows that a runner executed anything although no test was read.
fn a_suite_ran(log: &str) -> bool {
    // `\s` and `\w` are spelled out since Python's differ from this crate's.
    static RAN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?m)Executed [1-9]\d* of \d+",
            r"|TOTAL: [1-9]\d* (?:SUCCESS|FAILED)",
            r"|[1-9]\d* passing",
            r"|Tests:[\s\x1c-\x1f]+[1-9]\d*",
            r"|Test Suites:[\s\x1c-\x1f]+(?:\d+ [\p{L}\p{N}_]+, )*[1-9]\d* total",
            r"|^# tests [1-9]\d*",
            r"|[1-9]\d* specs?, \d+ failures?",
            r"|': ok$",
        ))
        .ok()
    });
    RAN.as_ref().is_some_and(|ran| ran.is_match(log))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swe::status::status_map_json;
    use pretty_assertions::assert_eq;

    fn read(log: &str) -> String {
        match read_log(log, LogParser::Pytest) {
            Ok(LogReading::Ungraded) => "ungraded".to_owned(),
            Ok(LogReading::Graded(map)) => status_map_json(&map),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_slice_lies_between_the_first_start_and_its_end() {
        assert_eq!(
            read(
                "PASSED z\n>>>>> End Test Output\n>>>>>> Start Test Output\nPASSED a\n>>>>> Start Test Output\n\
                 PASSED b\n>>>>> End Test Output\nPASSED c"
            ),
            r#"{"a": "PASSED"}"#
        );
        assert_eq!(read(">>>>> Start Test Output\nPASSED a\n"), "ungraded");
    }

    #[test]
    fn a_failing_exit_code_needs_a_failure_in_the_log() {
        let log = |code: &str| {
            read(&format!(
                ">>>>> Start Test Output\nPASSED a\n>>>>> End Test Output\n>>>>> Test Exit Code:{code}\n"
            ))
        };
        assert_eq!(log(" 0"), r#"{"a": "PASSED"}"#);
        assert_eq!(log("\u{1c}\n-00"), r#"{"a": "PASSED"}"#);
        assert_eq!(log(" x\n>>>>> Test Exit Code: 1"), "ungraded");
        assert_eq!(log(&"1".repeat(4301)), "the recorded exit code has 4301 digits");
    }

    #[test]
    fn the_evidence_of_a_suite_is_an_expression_that_compiles() {
        let log =
            |line: &str| read(&format!("{line}\n>>>>> Start Test Output\n>>>>> End Test Output"));
        assert_eq!(log("Test Suites: 1 failed, 20 total"), "{}");
        assert_eq!(log("x # tests 3"), "ungraded");
    }
}
