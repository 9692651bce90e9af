//! `hone bench`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArguments {}

/// Runs the command.
pub async fn run(_: BenchArguments, _: Context) -> Outcome {
    Err(Failure::refused("bench: not there yet"))
}
