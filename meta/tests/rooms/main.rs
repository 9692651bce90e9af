//! Scoring in the sandboxes of runs: the corpus of honest work and of tricks that `benchmarks` keeps, on each executor.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // In a test, a panic is the report.
#![allow(clippy::duplicate_mod)] // The same corpus runs once for each executor.

mod dockerfile;
mod executor;
mod on_bubblewrap;
mod on_docker;
