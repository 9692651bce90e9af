//! Tests that cross modules of this crate: real files, real cargo, real sandboxes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod pantry;
