//! Tests of the archive through its public face, on real repositories.

mod conformance;
mod fixture;
mod ledger;
mod versions;
