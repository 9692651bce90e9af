//! From a status map to the verdict on an instance, and its official `report.json`.

use super::infra::Fault;
use super::json::{PyString, write_string};
use super::json_layout::{Layout, Writer};
use super::labels::{EvalType, Labels};
use super::log::{LogError, LogReading, read_log};
use super::prediction::{ModelPatch, Prediction};
use super::python_text::read_text;
use super::status::{Status, StatusMap};

/// Says how far an instance is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Every test counts as a success.
    Full,
    /// Some of the failing tests were repaired and nothing broke.
    Partial,
    /// Anything else.
    No,
}

/// Holds the labels of one list, split by how their tests ended, in the dataset's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestOutcomes<'a> {
    /// Tests that count as successes.
    pub success: Vec<&'a PyString>,
    /// Tests that count as failures.
    pub failure: Vec<&'a PyString>,
}

impl TestOutcomes<'_> {
    /// Gives the share of successes; an empty list counts as a full one.
    pub fn ratio(&self) -> f64 {
        match self.success.len() + self.failure.len() {
            0 => 1.0,
            total => self.success.len() as f64 / total as f64,
        }
    }
}

/// Is the verdict on one instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<'a> {
    /// The prediction holds no patch.
    NoPatch,
    /// The log is no valid account of a test run.
    Ungraded {
        /// What the environment may have done, advisory.
        fault: Option<Fault>,
    },
    /// The tests were read.
    Graded {
        /// FAIL_TO_PASS.
        fail_to_pass: TestOutcomes<'a>,
        /// PASS_TO_PASS.
        pass_to_pass: TestOutcomes<'a>,
    },
}

impl<'a> Outcome<'a> {
    /// Gives the labels that count as failures.
    pub(super) fn failures(&self) -> impl Iterator<Item = &'a PyString> {
        let lists = match self {
            Outcome::Graded { fail_to_pass, pass_to_pass } => {
                [&fail_to_pass.failure[..], &pass_to_pass.failure[..]]
            }
            Outcome::NoPatch | Outcome::Ungraded { .. } => [&[][..], &[][..]],
        };
        lists.into_iter().flatten().copied()
    }
}

/// Is the report on one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<'a> {
    /// The prediction's `instance_id`.
    pub instance_id: &'a PyString,
    /// The verdict.
    pub outcome: Outcome<'a>,
}

/// Says why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GradeError {
    /// The prediction has no `model_patch`.
    #[error("the prediction has no `model_patch`")]
    NoModelPatch,
    /// The log is no UTF-8, which the official harness never writes.
    #[error("the log is not UTF-8: {0}")]
    NotUtf8(#[from] std::str::Utf8Error),
    /// The log has no verdict.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Grades one log (the bytes of `test_output.txt`).
pub fn grade<'a>(
    labels: &'a Labels,
    prediction: &'a Prediction,
    log: &[u8],
) -> Result<Report<'a>, GradeError> {
    if let Some(report) = grade_without_log(prediction)? {
        return Ok(report);
    }
    let log = read_text(log)?;
    let outcome = match read_log(&log, labels.parser)? {
        LogReading::Ungraded => Outcome::Ungraded { fault: Fault::find(&log) },
        LogReading::Graded(map) => graded(labels, &map),
    };
    Ok(Report { instance_id: &prediction.instance_id, outcome })
}

/// Gives the report that needs no log: the one on a prediction without a patch.
pub fn grade_without_log(prediction: &Prediction) -> Result<Option<Report<'_>>, GradeError> {
    match prediction.patch {
        ModelPatch::Missing => Err(GradeError::NoModelPatch),
        ModelPatch::Null => {
            Ok(Some(Report { instance_id: &prediction.instance_id, outcome: Outcome::NoPatch }))
        }
        ModelPatch::Text(_) | ModelPatch::Other(_) => Ok(None),
    }
}

pub(super) fn graded<'a>(labels: &'a Labels, map: &StatusMap<'_>) -> Outcome<'a> {
    let split = |tests: &'a [PyString], skipped_counts: bool| {
        let mut outcomes = TestOutcomes::default();
        for test in tests {
            match succeeded(test, map, labels.eval_type, skipped_counts) {
                Some(true) => outcomes.success.push(test),
                Some(false) => outcomes.failure.push(test),
                None => {}
            }
        }
        outcomes
    };
    Outcome::Graded {
        fail_to_pass: split(&labels.fail_to_pass, false),
        pass_to_pass: split(&labels.pass_to_pass, true),
    }
}

/// Says whether a test counts as success or failure; a junk status counts as neither.
fn succeeded(
    test: &PyString,
    map: &StatusMap<'_>,
    eval_type: EvalType,
    skipped_counts: bool,
) -> Option<bool> {
    if eval_type == EvalType::FailOnly {
        let status = test.as_str().and_then(|test| map.get(test));
        return Some(status != Some(&Status::Failed));
    }
    match resolve(test, map) {
        None => Some(false),
        Some(Status::Passed | Status::ExpectedFailure) => Some(true),
        Some(Status::Failed | Status::Error) => Some(false),
        Some(Status::Skipped) => Some(skipped_counts),
        Some(Status::Other(_)) => None,
    }
}

/// Finds a test's status; an id that was cut inside a parameter takes the keys that begin with it, if they agree.
fn resolve<'m>(test: &PyString, map: &'m StatusMap<'_>) -> Option<&'m Status<'m>> {
    // An id with lone surrogates cannot stand in a log, which is valid UTF-8.
    let test = test.as_str()?;
    if let Some(status) = map.get(test) {
        return Some(status);
    }
    let count = |c: u8| test.bytes().filter(|b| *b == c).count();
    if count(b'[') <= count(b']') {
        return None;
    }
    let mut candidates =
        map.iter().filter(|(key, _)| key.starts_with(test)).map(|(_, status)| status);
    let first = candidates.next()?;
    candidates.all(|status| status.passes() == first.passes()).then_some(first)
}

impl Report<'_> {
    /// Says how far the instance is solved.
    pub fn resolution(&self) -> Resolution {
        let Outcome::Graded { fail_to_pass, pass_to_pass } = &self.outcome else {
            return Resolution::No;
        };
        let (repaired, kept) = (fail_to_pass.ratio(), pass_to_pass.ratio());
        match () {
            () if kept < 1.0 || repaired <= 0.0 => Resolution::No,
            () if repaired < 1.0 => Resolution::Partial,
            () => Resolution::Full,
        }
    }

    /// Says whether the instance counts as resolved.
    pub fn is_resolved(&self) -> bool {
        self.resolution() == Resolution::Full
    }

    /// Writes the official `report.json`: four spaces of indent, ASCII, no line end behind it.
    pub fn to_json(&self) -> String {
        self.write(Layout::Indented)
    }

    /// Writes the report on one line.
    pub fn to_json_line(&self) -> String {
        self.write(Layout::OneLine)
    }

    fn write(&self, layout: Layout) -> String {
        let mut out = Writer::new(layout);
        out.open('{');
        out.name(self.instance_id.as_bytes(), true);
        out.open('{');
        let graded = matches!(self.outcome, Outcome::Graded { .. });
        let none = matches!(self.outcome, Outcome::NoPatch);
        let fault = match &self.outcome {
            Outcome::Ungraded { fault } => *fault,
            _ => None,
        };
        out.flag("patch_is_None", none, true);
        out.flag("patch_exists", !none, false);
        out.flag("patch_successfully_applied", graded, false);
        out.flag("resolved", self.is_resolved(), false);
        let environmental = fault.is_some_and(Fault::is_environmental);
        out.flag("infra_failure", environmental, false);
        if let Some(fault) = fault {
            out.name(b"infra_failure_reason", false);
            write_string(&mut out.text, fault.name().as_bytes());
        }
        if let Outcome::Graded { fail_to_pass, pass_to_pass } = &self.outcome {
            out.name(b"tests_status", false);
            out.open('{');
            let nothing = TestOutcomes::default();
            for (n, (name, outcomes)) in [
                ("FAIL_TO_PASS", fail_to_pass),
                ("PASS_TO_PASS", pass_to_pass),
                ("FAIL_TO_FAIL", &nothing),
                ("PASS_TO_FAIL", &nothing),
            ]
            .into_iter()
            .enumerate()
            {
                out.name(name.as_bytes(), n == 0);
                out.open('{');
                out.name(b"success", true);
                out.list(&outcomes.success);
                out.name(b"failure", false);
                out.list(&outcomes.failure);
                out.close('}');
            }
            out.close('}');
        }
        out.close('}');
        out.close('}');
        out.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swe::parse::LogParser;
    use pretty_assertions::assert_eq;

    fn labels(fail_to_pass: &[&str], pass_to_pass: &[&str]) -> Labels {
        let list = |tests: &[&str]| tests.iter().map(|test| PyString::from(*test)).collect();
        Labels {
            instance_id: "a__a-1".into(),
            parser: LogParser::Pytest,
            eval_type: EvalType::PassAndFail,
            fail_to_pass: list(fail_to_pass),
            pass_to_pass: list(pass_to_pass),
        }
    }

    fn prediction(patch: ModelPatch) -> Prediction {
        Prediction { instance_id: "a__a-1".into(), model: None, patch }
    }

    fn log(lines: &str) -> String {
        format!(">>>>> Start Test Output\n{lines}\n>>>>> End Test Output\n")
    }

    #[test]
    fn a_report_is_laid_out_as_the_official_one() {
        let labels = labels(&["a"], &["b", "é"]);
        let prediction = prediction(ModelPatch::Text("x".into()));
        let log = log("PASSED a\nSKIPPED b");
        let report = grade(&labels, &prediction, log.as_bytes()).unwrap();
        assert_eq!(report.resolution(), Resolution::No);
        assert_eq!(
            report.to_json(),
            r#"{
    "a__a-1": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": false,
        "infra_failure": false,
        "tests_status": {
            "FAIL_TO_PASS": {
                "success": [
                    "a"
                ],
                "failure": []
            },
            "PASS_TO_PASS": {
                "success": [
                    "b"
                ],
                "failure": [
                    "\u00e9"
                ]
            },
            "FAIL_TO_FAIL": {
                "success": [],
                "failure": []
            },
            "PASS_TO_FAIL": {
                "success": [],
                "failure": []
            }
        }
    }
}"#
        );
    }

    #[test]
    fn a_null_patch_is_reported_without_looking_at_the_log() {
        let labels = labels(&["a"], &[]);
        let prediction = prediction(ModelPatch::Null);
        assert_eq!(
            grade(&labels, &prediction, b"\xff").unwrap().to_json_line(),
            r#"{"a__a-1": {"patch_is_None": true, "patch_exists": false, "patch_successfully_applied": false, "resolved": false, "infra_failure": false}}"#
        );
    }

    #[test]
    fn a_junk_status_drops_out_of_the_ratio() {
        let labels = labels(&["a", "b"], &["c"]);
        let prediction = prediction(ModelPatch::Text("x".into()));
        let log = log("PASSED a\nERROR: b\nPASSED c");
        let report = grade(&labels, &prediction, log.as_bytes()).unwrap();
        assert_eq!(report.resolution(), Resolution::Full);
    }

    #[test]
    fn a_cut_id_takes_the_keys_that_begin_with_it_when_they_agree() {
        let labels = labels(&["t[a"], &[]);
        let prediction = prediction(ModelPatch::Text("x".into()));
        for (lines, resolution) in [
            ("PASSED t[ab]\nXFAIL t[ac]", Resolution::Full),
            ("PASSED t[ab]\nFAILED t[ac]", Resolution::No),
            ("PASSED u[ab]", Resolution::No),
        ] {
            let log = log(lines);
            let report = grade(&labels, &prediction, log.as_bytes()).unwrap();
            assert_eq!(report.resolution(), resolution, "{lines}");
        }
    }
}
