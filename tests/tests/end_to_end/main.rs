//! End-to-end tests: the real program, real sandboxes, a real archive, and models on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used)] // In a test, a panic is the report.

mod archive;
mod bad_input;
mod bench;
mod keys;
mod machine;
mod nonsense_model;
mod rehearsal;
mod swe;
