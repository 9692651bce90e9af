//! `hone image`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone image`.
#[derive(Debug, clap::Args)]
pub struct ImageArguments {}

/// Runs the command.
pub async fn run(_: ImageArguments, _: Context) -> Outcome {
    Err(Failure::refused("image: not there yet"))
}
