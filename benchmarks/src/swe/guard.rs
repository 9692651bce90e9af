//! Objections to a log that its own code may have written: what a trial asks beyond the official verdict.
//!
//! The official grader believes what a log says, and the code under test writes to that log. In a trial an agent has
//! reason to abuse this, so a resolved verdict stands only where the log has the form that the harness and an honest
//! runner give it. The objections never turn an unresolved verdict into a resolved one.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::grade::graded;
use super::labels::Labels;
use super::parse::LogParser;
use super::python_text::read_text;
use super::status::Status;

/// Says what is wrong with a log that claims success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    /// A marker of the harness stands where the harness did not write it.
    #[error("the marker `{0}` stands in the log where the harness did not write it")]
    Marker(&'static str),
    /// A test that counts as a success has a failure in the log.
    #[error("the log reports {0} as failed, too")]
    Contradiction(String),
    /// No result stands between the markers.
    #[error("no test result stands between the harness's markers")]
    NoResults,
    /// The runner's own closing line is missing behind the results.
    #[error("the runner's closing line is missing: the run ended early")]
    NoClosingLine,
    /// A success is not in the summary that the runner writes at its end.
    #[error("{0} is no success in the runner's own summary")]
    NotInSummary(String),
    /// More tests are reported as passed than the runner counted.
    #[error("the log reports {reported} tests as passed, the runner counted {counted}")]
    Count {
        /// Tests with a passing line.
        reported: usize,
        /// The runner's own number.
        counted: usize,
    },
}

const START: &str = ">>>>> Start Test Output";
const END: &str = ">>>>> End Test Output";
const EXIT: &str = ">>>>> Test Exit Code:";

/// Looks for an objection to a log whose official verdict is "resolved".
///
/// `from_harness` says that the log comes from `eval.sh` as this harness runs it, with its exit code.
pub fn objection(labels: &Labels, log: &[u8], from_harness: bool) -> Option<Objection> {
    let log = read_text(log).ok()?;
    let (start, end) = match markers(&log, from_harness) {
        Ok(place) => place,
        Err(objection) => return Some(objection),
    };
    let slice = &log[start..end];
    if labels.parser.read(slice).is_ok_and(|map| map.is_empty()) {
        return Some(Objection::NoResults);
    }
    contradiction(labels, slice).or_else(|| closing(labels, slice))
}

/// Finds the piece between the markers, each of which must stand once, in its place.
fn markers(log: &str, from_harness: bool) -> Result<(usize, usize), Objection> {
    let once = |marker: &'static str| {
        let mut places = log.match_indices(marker).map(|(at, _)| at);
        match (places.next(), places.next()) {
            (Some(at), None) => Ok(at),
            _ => Err(Objection::Marker(marker)),
        }
    };
    let (start, end) = (once(START)?, once(END)?);
    if start > end {
        return Err(Objection::Marker(END));
    }
    let exits: Vec<usize> = log.match_indices(EXIT).map(|(at, _)| at).collect();
    // The shell's trace shows the line once, the command prints it once.
    let expected = if from_harness { exits.len() == 2 } else { exits.len() <= 2 };
    if !expected || exits.iter().any(|at| *at < end) {
        return Err(Objection::Marker(EXIT));
    }
    Ok((start + START.len(), end))
}

/// Finds a label that has a failing line. Each line is read on its own, so that a later line hides nothing.
fn contradiction(labels: &Labels, slice: &str) -> Option<Objection> {
    let tests: HashSet<&str> = labels
        .fail_to_pass
        .iter()
        .chain(&labels.pass_to_pass)
        .filter_map(|test| test.as_str())
        .collect();
    slice.split('\n').find_map(|line| {
        let map = labels.parser.read(line).ok()?;
        map.into_iter()
            .find(|(test, status)| {
                // `[100%]` is a label of two instances, and no test.
                matches!(status, Status::Failed | Status::Error)
                    && tests.contains(test.as_ref())
                    && !test.starts_with('[')
            })
            .map(|(test, _)| Objection::Contradiction(test.into_owned()))
    })
}

/// Checks how the runner ends: its closing line, and what that line or the summary before it says.
fn closing(labels: &Labels, slice: &str) -> Option<Objection> {
    static DJANGO: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^Ran ([0-9]+) tests? in [0-9.]+s$").ok());
    static SYMPY: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^[= ]*tests finished: ([0-9]+) passed").ok());
    let (line, passed) = match labels.parser {
        LogParser::Django => (&DJANGO, " ... ok"),
        LogParser::Sympy => (&SYMPY, " ok"),
        LogParser::Pytest
        | LogParser::PytestOptions
        | LogParser::PytestV2
        | LogParser::Matplotlib
        | LogParser::Seaborn => return pytest_closing(labels, slice),
    };
    let Some(found) = line.as_ref()?.captures_iter(slice).last() else {
        return Some(Objection::NoClosingLine);
    };
    let counted: usize = found.get(1)?.as_str().parse().ok()?;
    let reported = slice.lines().filter(|line| line.trim_end().ends_with(passed)).count();
    (reported > counted).then_some(Objection::Count { reported, counted })
}

/// Checks that each success stands in pytest's summary, between its heading and the closing line.
///
/// What code under test prints comes before the one or behind the other.
fn pytest_closing(labels: &Labels, slice: &str) -> Option<Objection> {
    static CLOSING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let outcomes = "passed|failed|errors?|skipped|xfailed|xpassed|no tests ran";
        let colours = r"(?:\x1b\[[0-9;]*m)*";
        Regex::new(&format!(r"(?m)^{colours}=+ .*(?:{outcomes}).* in [0-9.:]+ ?s.*=+")).ok()
    });
    static HEADING: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?m)^[^\n]{0,9}=+ short test summary info =+").ok());
    let Some(closing) = CLOSING.as_ref()?.find_iter(slice).last() else {
        return Some(Objection::NoClosingLine);
    };
    let before = &slice[..closing.start()];
    // Old versions have no summary of passed tests; their progress lines are all there is.
    let heading = HEADING.as_ref()?.find_iter(before).last()?;
    let summary = labels.parser.read(&before[heading.end()..]).ok()?;
    let report = graded(labels, &summary);
    let missing = report.failures().find(|test| !test.as_bytes().starts_with(b"["))?;
    Some(Objection::NotInSummary(missing.to_string()))
}
