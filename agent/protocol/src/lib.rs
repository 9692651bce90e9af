//! Wire types between an agent and the harness.
//!
//! An agent gets one unix socket (its path stands in [`SOCKET_VARIABLE`]) and speaks HTTP/1.1 over
//! it. Besides the calls below there is `POST /v1/chat/completions`, which is the OpenAI protocol
//! and therefore has no types here.
//!
//! | call | body → reply | file |
//! |---|---|---|
//! | `GET /v1/job` | → [`Job`] | [`job`] |
//! | `POST /v1/events` | [`EventBatch`] → [`EventReceipt`] | [`event`] |
//! | `GET /v1/inbox?after=N` | → [`Inbox`] (long poll) | [`inbox`] |
//! | `POST /v1/answer` | [`Answer`] → `{}` | [`job`] |
//!
//! In the `usage` of a completion the harness may add `cost`: what the completion took, in US
//! dollars. The agent adds it up to know how much of its limit is gone. A completion that a cap
//! forbids is refused with status 402. The header [`NODE_HEADER`] of a completion names the node
//! that asks, and [`EVENT_HEADER`] the newest event before it.
//!
//! This crate is protected: the loop rejects a child that changes it.

pub mod event;
pub mod inbox;
pub mod job;

pub use event::{Event, EventBatch, EventKind, EventReceipt};
pub use inbox::{Inbox, Message, MessageKind};
pub use job::{Answer, Job, Limits, Role};

use serde::{Deserialize, Serialize};

/// The protocol version that this crate describes; a job names the version it was written for.
pub const PROTOCOL_VERSION: u32 = 1;

/// The environment variable that holds the path of the gateway socket.
pub const SOCKET_VARIABLE: &str = "HONE_SOCKET";

/// The header of a completion that names the node that asks.
pub const NODE_HEADER: &str = "x-hone-node";

/// The header of a completion that tells the number of the newest event that came before it. Events
/// travel beside completions; a rehearsal waits for them here, so that it is the same each time.
pub const EVENT_HEADER: &str = "x-hone-event";

/// Names a node of the call graph: the root agent is `0`, its second sub-agent `0.2`, and so on.
///
/// The text form says who descends from whom, so that a cancel can be matched without the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub String);

impl NodeId {
    /// Returns the node of the agent that got the job.
    pub fn root() -> Self {
        NodeId("0".to_owned())
    }

    /// Returns the node of this node's `number`-th sub-agent, counted from 1.
    pub fn child(&self, number: u32) -> Self {
        NodeId(format!("{}.{number}", self.0))
    }

    /// Tells whether this node is `ancestor` or stands below it.
    pub fn is_within(&self, ancestor: &NodeId) -> bool {
        self.0 == ancestor.0
            || self.0.strip_prefix(&ancestor.0).is_some_and(|rest| rest.starts_with('.'))
    }
}

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeId;

    #[test]
    fn a_node_is_within_its_ancestors_and_itself_only() {
        let root = NodeId::root();
        let twelve = root.child(12);
        assert!(twelve.is_within(&root));
        assert!(twelve.is_within(&twelve));
        assert!(twelve.child(1).is_within(&twelve));
        assert!(!twelve.is_within(&root.child(1)));
        assert!(!root.is_within(&twelve));
    }
}
