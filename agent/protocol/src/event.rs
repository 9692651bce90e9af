//! Events: the agent's own account of what it does. They are shown and watched, and never trusted
//! for a number.

use crate::NodeId;
use serde::{Deserialize, Serialize};

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The number of the event in its trial, counted from 1 without gaps.
    pub seq: u64,
    /// Milliseconds since the Unix epoch, by the agent's clock.
    pub time: u64,
    /// The node that the event is about.
    pub node: NodeId,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// A node began; `agent` is its definition's name.
    AgentStarted { agent: String, task: String },
    /// A node ended with a value; `how` is for example `complete`, `cancelled`, `iteration_limit`,
    /// `protocol_error`.
    AgentFinished { how: String, result: String },
    /// The model's text of one completion, without its call.
    AssistantMessage { text: String },
    /// The model's reasoning, where the provider shows it.
    Reasoning { text: String },
    /// A tool is about to run.
    ToolCall { call: u64, tool: String, arguments: serde_json::Map<String, serde_json::Value> },
    /// A tool came back; `call` is the number of its [`EventKind::ToolCall`].
    ToolResult { call: u64, ok: bool, output: String },
    /// A file was put before the model.
    FileOpened { path: String },
    /// A file was changed by a tool.
    FileEdited { path: String, diff: String },
    /// A file was taken from the model's view.
    FileClosed { path: String },
    /// The standing part of the prompt was written anew.
    PromptUpdated { tokens: u64 },
    /// Something odd that does not stop the agent.
    Warning { text: String },
    /// Something that stops a node.
    Error { text: String },
    /// A nudge or a human message reached the node's dialogue.
    NudgeReceived { message: u64 },
    /// A cancel was carried out on the node.
    CancelReceived { message: u64 },
    /// The agent was told how much of its limits is gone.
    Budget { used_percent: f64, limit: String },
}

/// The body of `POST /v1/events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventBatch {
    /// Events in order of their numbers.
    pub events: Vec<Event>,
}

/// The reply to `POST /v1/events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventReceipt {
    /// The highest number up to which nothing is missing. An event at or below it that arrives
    /// again is dropped.
    pub seq: u64,
}
