//! The improvement loop, and the `hone` command line.
//!
//! This crate puts the others together: it chooses, edits, builds, judges, benchmarks and records, and it talks
//! with people. Nobody imports it but the binary `hone`.
//!
//! | module | what it owns |
//! |---|---|
//! | [`failure`] | how a command ends: kinds of failures, hints, exit codes |
//! | [`home`] | where runs, suites and caches lie |
//! | [`settings`] | flags, environment and `hone.toml` become resolved settings |
//! | [`models`] | from settings to a gateway, with keys from the environment |
//! | [`estimate`] | what a run may cost, and leave to spend it |
//! | [`providers`] | whether providers answer, before and during a run |
//! | [`trial`] | one agent on one job, under watch |
//! | [`doctor`] | what this machine has and lacks |
//! | [`cli`] | one file per command |

pub mod cli;
pub mod doctor;
pub mod estimate;
pub mod failure;
pub mod home;
pub mod models;
pub mod providers;
pub mod settings;
pub mod trial;
