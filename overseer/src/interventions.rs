//! The way out: what the overseer can do to a trial. The list is closed.

use futures::future::BoxFuture;
use hone_protocol::{MessageKind, NodeId};

/// Why an intervention did not get out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterventionError {
    /// The trial is over.
    #[error("the trial is over")]
    Over,
    /// Something else.
    #[error("{0}")]
    Failed(String),
}

/// Carries interventions to a trial. Called from a task of its own under a deadline.
pub trait Interventions: Send + Sync {
    /// Puts a nudge or a cancel into the trial's inbox and returns the message's id. Its delivery
    /// comes back as a `nudge_received` or `cancel_received` event.
    fn send(
        &self,
        node: NodeId,
        message: MessageKind,
    ) -> BoxFuture<'static, Result<u64, InterventionError>>;

    /// Stops the trial from outside, by its sandbox, without asking the agent.
    fn force_stop(&self, reason: String) -> BoxFuture<'static, Result<(), InterventionError>>;
}
