//! SWE-bench: rows, predictions, trials, and grading that agrees with the official harness (5.0.2) case by case.
//!
//! Grading is pure. In reading order:
//! * `python_text`, `json`: text and JSON as Python sees them;
//! * `parse`, `status`: a runner's output becomes a map from test to status;
//! * `log`: the gates that a log has to pass; `labels`, `grade`: the verdict and `report.json`;
//! * `batch`, `summary`: many logs, whole runs; `prediction`, `dataset`: what is graded;
//! * `command`: what the command line calls.
//!
//! Around it, what runs something:
//! * `row`, `import`: rows become suites; `kind`: a trial from statement to score;
//! * `history`: the one root commit that an agent sees, and its patch; `patch`: what of it counts;
//! * `evaluate`, `eval_script`: a fresh container, the patch, the tests; `guard`: what speaks against a log;
//! * `score`, `folder`: anybody's predictions, the official files.

pub mod batch;
pub mod command;
pub mod dataset;
pub mod eval_script;
pub mod evaluate;
pub mod folder;
pub mod grade;
pub mod guard;
pub mod history;
pub mod import;
pub mod infra;
pub mod json;
mod json_layout;
pub mod kind;
pub mod labels;
pub mod log;
pub mod parse;
pub mod patch;
pub mod prediction;
pub mod python_text;
pub mod row;
pub mod score;
pub mod status;
pub mod summary;
