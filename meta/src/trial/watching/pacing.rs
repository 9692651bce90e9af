//! Pacing: a rehearsal waits for its overseer, so that an intervention comes at the same step each time.
//!
//! The stand-in answers within milliseconds, and the overseer acts beside it; without this, how far a
//! looping agent gets would depend on the machine. A call is held until the overseer is done with the
//! events before it. Once it has intervened, stragglers among the events are waited for, and a cancel is
//! until it is carried out, so that a call of the cancelled node is never begun.

use hone_gateway::Pace;
use hone_overseer::Gate;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The longest that a call is held; a watch that takes longer is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long events may be on their way when the call after them is here already. Only paid once the
/// overseer has intervened.
const STRAGGLERS: Duration = Duration::from_millis(250);

/// How long the agent may take to hang up on behalf of a node that was cancelled.
const HANG_UP: Duration = Duration::from_millis(250);

/// The pace of a rehearsal. Its [`Pacing::pace`] goes to the door before there is a watch.
#[derive(Clone, Debug, Default)]
pub struct Pacing(Arc<OnceLock<Gate>>);

impl Pacing {
    /// Returns what the door holds model calls with. It lets all pass until there is a watch.
    pub fn pace(&self) -> Pace {
        let slot = Arc::clone(&self.0);
        Arc::new(move |events| {
            let slot = Arc::clone(&slot);
            Box::pin(async move {
                if let Some(gate) = slot.get() {
                    hold(gate, events).await;
                }
            })
        })
    }

    /// Follows a watch from now on; the first one stays.
    pub(super) fn follow(&self, gate: Gate) {
        let _ = self.0.set(gate);
    }
}

async fn hold(gate: &Gate, events: u64) {
    gate.settled(events, PATIENCE).await;
    if gate.standing().interventions == 0 {
        return;
    }
    tokio::time::sleep(STRAGGLERS).await;
    gate.settled(events, PATIENCE).await;
    if gate.standing().cancelling {
        // A call of the cancelled node ends here: its agent hangs up, which drops this future.
        gate.cancelled(PATIENCE).await;
        tokio::time::sleep(HANG_UP).await;
    }
}
