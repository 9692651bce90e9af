//! Which executor is used.

use crate::bubblewrap::BubblewrapExecutor;
use crate::contract::{SandboxError, SharedExecutor};
use crate::docker::DockerExecutor;
use crate::owner::Owner;
use std::path::Path;
use std::sync::Arc;

/// Which executor is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Docker where an engine answers, else bubblewrap. Never none.
    Auto,
    /// Docker.
    Docker,
    /// Bubblewrap.
    Bubblewrap,
    /// No sandbox at all.
    None,
}

/// Makes an executor for a run. Its private files, and records of images that are pulled, are kept in a state directory.
///
/// # Errors
/// Returns [`SandboxError::Unavailable`] when the machine has none; its text says what to do.
pub async fn choose(
    choice: Choice,
    owner: Owner,
    state: &Path,
) -> Result<SharedExecutor, SandboxError> {
    match choice {
        Choice::Docker => Ok(Arc::new(DockerExecutor::new(owner, state).await?)),
        Choice::Bubblewrap => Ok(Arc::new(BubblewrapExecutor::new(&owner, state).await?)),
        Choice::None => Ok(Arc::new(crate::unconfined::UnconfinedExecutor::new(state)?)),
        Choice::Auto => {
            let docker = match DockerExecutor::new(owner.clone(), state).await {
                Ok(docker) => return Ok(Arc::new(docker)),
                Err(SandboxError::Unavailable { reason, .. }) => reason,
                Err(error) => return Err(error),
            };
            match BubblewrapExecutor::new(&owner, state).await {
                Ok(bubblewrap) => Ok(Arc::new(bubblewrap)),
                Err(SandboxError::Unavailable { reason, .. }) => Err(SandboxError::Unavailable {
                    executor: "docker or bubblewrap",
                    reason: format!(
                        "one of them is needed. Docker: {docker}. Bubblewrap: {reason}"
                    ),
                }),
                Err(error) => Err(error),
            }
        }
    }
}
