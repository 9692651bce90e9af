//! Suites from the outside: built, saved, opened, scored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod bubblewrap;
mod build;
mod code;
mod edit;
mod published;
mod sica;
mod tasks;
