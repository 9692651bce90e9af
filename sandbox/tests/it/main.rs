//! Tests that cross modules of this crate: real files, real cargo, real sandboxes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod child;
mod conformance;
mod executors;
mod image;
mod pantry;
mod registry;
