//! SWE-bench: rows, predictions, trials, and grading that agrees with the official harness (5.0.2) case by case.
//!
//! Grading is pure. In reading order:
//! * `python_text`, `json`: text and JSON as Python sees them;
//! * `parse`, `status`: a runner's output becomes a map from test to status;
//! * `log`: the gates that a log has to pass; `labels`, `grade`: the verdict and `report.json`;
//! * `batch`, `summary`: many logs, whole runs; `prediction`, `dataset`: what is graded;
//! * `command`: what the command line calls.

pub mod batch;
pub mod command;
pub mod dataset;
pub mod eval_script;
pub mod grade;
pub mod import;
pub mod infra;
pub mod json;
mod json_layout;
pub mod labels;
pub mod log;
pub mod parse;
pub mod patch;
pub mod prediction;
pub mod python_text;
pub mod row;
pub mod status;
pub mod summary;
