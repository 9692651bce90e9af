//! `hone clean`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone clean`.
#[derive(Debug, clap::Args)]
pub struct CleanArguments {}

/// Runs the command.
pub async fn run(_: CleanArguments, _: Context) -> Outcome {
    Err(Failure::refused("clean: not there yet"))
}
