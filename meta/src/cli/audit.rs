//! `hone audit`.

use super::Context;
use crate::failure::{Failure, Outcome};

/// The arguments of `hone audit`.
#[derive(Debug, clap::Args)]
pub struct AuditArguments {}

/// Runs the command.
pub async fn run(_: AuditArguments, _: Context) -> Outcome {
    Err(Failure::refused("audit: not there yet"))
}
