//! `hone archive`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone archive`.
#[derive(Debug, clap::Args)]
pub struct ArchiveArguments {}

/// Runs the command.
pub async fn run(_: ArchiveArguments, _: Context) -> Outcome {
    Err(Failure::refused("archive: not there yet"))
}
