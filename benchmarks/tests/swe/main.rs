//! SWE-bench against the official harness's recorded answers, and end to end.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests stop at the first surprise and say what ran"
)]

mod cheating;
mod conformance;
mod engine;
mod image;
mod import;
mod material;
mod trial;
