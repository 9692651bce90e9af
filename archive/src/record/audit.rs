//! The record of what the overseer saw and did.

use crate::identity::{AgentNumber, Digest, NanoUsd};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the overseer saw and did in one trial or one improvement job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// The run.
    pub run: String,
    /// The iteration, for an improvement job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The agent that was watched.
    pub agent: AgentNumber,
    /// The suite; empty for an improvement job.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// The problem; empty for an improvement job.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
    /// The repeat.
    #[serde(default)]
    pub epoch: u32,
    /// What the overseer's own calls cost.
    pub cost: NanoUsd,
    /// Notes, detectors' findings and interventions, in order.
    pub entries: Vec<AuditEntry>,
    /// The digest of the file, beside the traces, that holds everything that reached the overseer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape: Option<Digest>,
    /// When the job ended.
    pub time: Timestamp,
}

/// One line of an audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Seconds since the trial began.
    pub at: f64,
    /// What it is: `note`, `nudge`, `cancel`, `detector`, `verdict`, …
    pub kind: String,
    /// The node of the call graph that it is about.
    pub node: String,
    /// What was seen, said or done.
    pub text: String,
    /// Everything else that the overseer wants kept.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub detail: serde_json::Value,
}
