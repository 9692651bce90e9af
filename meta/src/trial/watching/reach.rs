//! The overseer's reach: a trial's inbox, and the stop of its command.

use futures::future::BoxFuture;
use hone_gateway::{Delivered, InboxSender};
use hone_overseer::{InterventionError, Interventions};
use hone_protocol::{MessageKind, NodeId};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a message is given to be fetched. The overseer takes a longer wait for a failure.
const FETCH_TIME: Duration = Duration::from_secs(4);

/// Stops a trial's command from outside, and remembers why.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    token: CancellationToken,
    reason: Arc<OnceLock<String>>,
}

impl Stop {
    /// Makes one that is triggered by the given token too, such as that of the whole run.
    pub fn below(parent: &CancellationToken) -> Self {
        Stop { token: parent.child_token(), reason: Arc::default() }
    }

    /// Returns the token that ends the command.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Stops the command.
    pub fn stop(&self, reason: String) {
        // The first reason is the one that counts.
        let _ = self.reason.set(reason);
        self.token.cancel();
    }

    /// Returns why the overseer stopped the command, if it did.
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }
}

/// What the overseer can do to a trial.
pub(super) struct Reach {
    inbox: InboxSender,
    stop: Stop,
}

impl Reach {
    pub fn new(inbox: InboxSender, stop: Stop) -> Self {
        Reach { inbox, stop }
    }
}

impl Interventions for Reach {
    /// Sends a message and waits until the agent has taken it in, as far as it fetches any: so a
    /// rehearsal that waits for the overseer finds the message in the agent's hands.
    fn send(
        &self,
        node: NodeId,
        message: MessageKind,
    ) -> BoxFuture<'static, Result<u64, InterventionError>> {
        let inbox = self.inbox.clone();
        Box::pin(async move {
            let id = inbox.send(node, message);
            // An agent that does not listen gets its message when it does.
            let fetched = inbox.wait(id, Delivered::Acknowledged);
            let _ = tokio::time::timeout(FETCH_TIME, fetched).await;
            Ok(id)
        })
    }

    fn force_stop(&self, reason: String) -> BoxFuture<'static, Result<(), InterventionError>> {
        self.stop.stop(reason);
        Box::pin(std::future::ready(Ok(())))
    }
}
