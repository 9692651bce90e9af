//! Tests of the archive through its public face, on real repositories.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests, not tests themselves
mod conformance;
mod crash;
mod fixture;
mod ledger;
mod merge;
mod verify;
mod versions;
