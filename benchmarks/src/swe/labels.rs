//! What grading needs to know of a dataset row.

use super::json::{self, JsonError, PyString, Value};
use super::parse::LogParser;

/// Says how a test counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalType {
    /// A test has to be seen passing.
    PassAndFail,
    /// A test only has to be not seen failing.
    FailOnly,
}

/// Repositories that are graded `fail_only`, for rows older than the `eval_type` column.
const FAIL_ONLY_REPOSITORIES: [&str; 6] = [
    "chartjs/Chart.js",
    "processing/p5.js",
    "markedjs/marked",
    "bpmn-io/bpmn-js",
    "openlayers/openlayers",
    "eslint/eslint",
];

/// Holds the labels of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// The row's `instance_id`.
    pub instance_id: PyString,
    /// The parser for its logs.
    pub parser: LogParser,
    /// How its tests count.
    pub eval_type: EvalType,
    /// Tests that the reference patch turns from failing to passing.
    pub fail_to_pass: Vec<PyString>,
    /// Tests that pass before and after.
    pub pass_to_pass: Vec<PyString>,
}

/// Says what is wrong with a row's labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The row is no object.
    #[error("a row must be an object, not {kind}")]
    NoObject {
        /// What it is instead.
        kind: &'static str,
    },
    /// A column is missing.
    #[error("column `{column}` is missing")]
    Missing {
        /// The column.
        column: &'static str,
    },
    /// A column holds something else than it should.
    #[error("column `{column}` must be {wanted}, not {kind}")]
    WrongKind {
        /// The column.
        column: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        kind: &'static str,
    },
    /// A column holds text that cannot be used.
    #[error("column `{column}` cannot be used: {what}")]
    Unfit {
        /// The column.
        column: &'static str,
        /// Why.
        what: String,
    },
    /// A test list is a string that is not JSON.
    #[error("column `{column}` is {source}")]
    NotJson {
        /// The column.
        column: &'static str,
        /// What the reader says.
        source: JsonError,
    },
    /// No such parser.
    #[error(
        "no parser reads the logs of `{name}`; the twelve Python repositories of SWE-bench are known"
    )]
    UnknownParser {
        /// The `log_parser`, or the repository where the column is missing.
        name: String,
    },
    /// No such way of counting.
    #[error("eval_type `{name}` is neither pass_and_fail nor fail_only")]
    UnknownEvalType {
        /// The name.
        name: String,
    },
}

impl Labels {
    /// Reads the labels of a row.
    pub fn from_row(row: &Value) -> Result<Self, LabelError> {
        if !matches!(row, Value::Object(_)) {
            return Err(LabelError::NoObject { kind: row.kind() });
        }
        Ok(Self {
            instance_id: string(row, "instance_id")?.clone(),
            parser: parser(row)?,
            eval_type: eval_type(row)?,
            fail_to_pass: tests(row, "FAIL_TO_PASS")?,
            pass_to_pass: tests(row, "PASS_TO_PASS")?,
        })
    }
}

/// Gives a column that must be a string.
pub(super) fn string<'a>(row: &'a Value, column: &'static str) -> Result<&'a PyString, LabelError> {
    let value = row.get(column).ok_or(LabelError::Missing { column })?;
    value.as_string().ok_or(LabelError::WrongKind {
        column,
        wanted: "a string",
        kind: value.kind(),
    })
}

fn parser(row: &Value) -> Result<LogParser, LabelError> {
    let (name, found) = match row.get("log_parser") {
        Some(_) => {
            let name = string(row, "log_parser")?.to_text();
            let found = LogParser::named(&name);
            (name, found)
        }
        None => {
            let repository = string(row, "repo")?.to_text();
            let found = LogParser::of_repository(&repository);
            (repository, found)
        }
    };
    found.ok_or_else(|| LabelError::UnknownParser { name: name.into_owned() })
}

fn eval_type(row: &Value) -> Result<EvalType, LabelError> {
    if row.get("eval_type").is_some() {
        let name = string(row, "eval_type")?.to_text();
        return match name.as_ref() {
            "pass_and_fail" => Ok(EvalType::PassAndFail),
            "fail_only" => Ok(EvalType::FailOnly),
            _ => Err(LabelError::UnknownEvalType { name: name.into_owned() }),
        };
    }
    let repository = row.get("repo").and_then(Value::as_string);
    let fail_only = repository
        .and_then(PyString::as_str)
        .is_some_and(|name| FAIL_ONLY_REPOSITORIES.contains(&name));
    Ok(match fail_only {
        true => EvalType::FailOnly,
        false => EvalType::PassAndFail,
    })
}

/// Reads a test list: an array, or an array inside a string as the dataset publishes it.
fn tests(row: &Value, column: &'static str) -> Result<Vec<PyString>, LabelError> {
    let value = row.get(column).ok_or(LabelError::Missing { column })?;
    let parsed;
    let list = match value {
        Value::String(text) => {
            parsed = json::parse(text.as_bytes())
                .map_err(|source| LabelError::NotJson { column, source })?;
            &parsed
        }
        other => other,
    };
    let wrong = |kind| LabelError::WrongKind { column, wanted: "a list of test names", kind };
    let Value::Array(items) = list else {
        return Err(wrong(list.kind()));
    };
    items
        .iter()
        .map(|item| match item {
            Value::String(test) => Ok(test.clone()),
            other => Err(wrong(other.kind())),
        })
        .collect()
}
