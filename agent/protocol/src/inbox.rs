//! The inbox: what an overseer or a person says to a running agent.

use crate::NodeId;
use serde::{Deserialize, Serialize};

/// The reply to `GET /v1/inbox?after=N`: every message with an id above N. The harness holds the
/// request open for some seconds while there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inbox {
    /// Messages in order of their ids.
    pub messages: Vec<Message>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The number of the message in its trial, counted from 1.
    pub id: u64,
    /// The node that it is for.
    pub node: NodeId,
    /// What kind of message it is.
    #[serde(flatten)]
    pub kind: MessageKind,
}

/// What a message asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageKind {
    /// Advice, put into the node's dialogue at its next step.
    Nudge { text: String },
    /// The node ends, with all nodes below it; its parent is told the reason.
    Cancel { reason: String },
    /// A person says something.
    Human { text: String },
}
