//! `hone run`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone run`.
#[derive(Debug, clap::Args)]
pub struct RunArguments {}

/// Runs the command.
pub async fn run(_: RunArguments, _: Context) -> Outcome {
    Err(Failure::refused("run: not there yet"))
}
