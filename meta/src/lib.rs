//! The improvement loop, and the `hone` command line.
//!
//! This crate puts the others together: it chooses, edits, builds, judges, benchmarks and records, and it talks
//! with people. Nobody imports it but the binary `hone`.
//!
//! | module | what it owns |
//! |---|---|
//! | [`improvement`] | the loop: choose, edit, build, judge, measure, record |
//! | [`trial`] | one agent at one job, under watch |
//! | [`harness`] | what every job of a process works with |
//! | [`session`] | a process that drives a run: its lock, its signals, its parts put together |
//! | [`run_file`], [`suites`], [`seed`] | the resolved configuration; suites by name; the seed agent's source |
//! | [`rooms`] | fresh sandboxes for scoring |
//! | [`settings`] | flags, environment and `hone.toml` become resolved settings |
//! | [`models`], [`providers`] | from settings to a gateway, with keys from the environment; whether providers answer |
//! | [`estimate`] | what a run may cost, and leave to spend it |
//! | [`spending`] | what a run had spent before this process |
//! | [`home`] | where runs, suites and caches lie |
//! | [`leftovers`] | what dead processes left behind |
//! | [`doctor`] | what this machine has and lacks |
//! | [`progress`], [`display`] | what a run tells while it goes on; tables for people |
//! | [`failure`] | how a command ends: kinds of failures, hints, exit codes |
//! | [`cli`] | one file per command |

pub mod cli;
pub mod display;
pub mod doctor;
pub mod estimate;
pub mod failure;
pub mod harness;
pub mod home;
pub mod improvement;
pub mod leftovers;
pub mod models;
pub mod progress;
pub mod providers;
pub mod rooms;
pub mod run_file;
pub mod seed;
pub mod session;
pub mod settings;
pub mod spending;
pub mod suites;
pub mod trial;

/// The version of the harness.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
