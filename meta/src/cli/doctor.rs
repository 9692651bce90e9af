//! `hone doctor`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArguments {}

/// Runs the command.
pub async fn run(_: DoctorArguments, _: Context) -> Outcome {
    Err(Failure::refused("doctor: not there yet"))
}
