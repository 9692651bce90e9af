//! Pacing: a rehearsal waits for its overseer, so that an intervention comes at the same step each time.
//!
//! The stand-in answers within milliseconds, and the overseer acts beside it; without this, how far a
//! looping agent gets would depend on the machine. A call is held until the overseer has taken in the
//! events before it, and done what follows from them. A call of a node that was cancelled meanwhile is
//! held until its agent hangs up, so that it is never begun and never billed.

use hone_gateway::{Held, Pace};
use hone_overseer::Gate;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The longest that a call is held: longer than an agent may take to obey a cancel, after which its
/// trial is stopped from outside.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pace of a rehearsal. Its [`Pacing::pace`] goes to the door before there is a watch.
#[derive(Clone, Debug, Default)]
pub struct Pacing(Arc<OnceLock<Gate>>);

impl Pacing {
    /// Returns what the door holds model calls with. It lets all pass until there is a watch.
    pub fn pace(&self) -> Pace {
        let slot = Arc::clone(&self.0);
        Arc::new(move |call| {
            let slot = Arc::clone(&slot);
            Box::pin(async move {
                if let Some(gate) = slot.get() {
                    hold(gate, call).await;
                }
            })
        })
    }

    /// Follows a watch from now on; the first one stays.
    pub(super) fn follow(&self, gate: Gate) {
        let _ = self.0.set(gate);
    }
}

async fn hold(gate: &Gate, call: Held) {
    gate.settled(call.event, PATIENCE).await;
    if call.node.is_some_and(|node| gate.is_cancelled(&node)) {
        gate.over(PATIENCE).await;
    }
}
