//! `hone simulate`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone simulate`.
#[derive(Debug, clap::Args)]
pub struct SimulateArguments {}

/// Runs the command.
pub async fn run(_: SimulateArguments, _: Context) -> Outcome {
    Err(Failure::refused("simulate: not there yet"))
}
