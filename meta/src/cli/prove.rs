//! `hone prove`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone prove`.
#[derive(Debug, clap::Args)]
pub struct ProveArguments {}

/// Runs the command.
pub async fn run(_: ProveArguments, _: Context) -> Outcome {
    Err(Failure::refused("prove: not there yet"))
}
