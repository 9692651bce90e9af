//! The job that an agent is given, and the answer that it hands in.

use serde::{Deserialize, Serialize};

/// What the agent is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Solve a benchmark problem.
    Solve,
    /// Improve the agent whose source lies in the work directory.
    Improve,
    /// Make a changed agent build again; the statement holds the compiler's errors.
    Repair,
}

/// A job, as `GET /v1/job` returns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The protocol version that the harness speaks, see [`crate::PROTOCOL_VERSION`].
    pub protocol: u32,
    /// What kind of work this is.
    pub role: Role,
    /// The problem in words.
    pub statement: String,
    /// The absolute path of the directory to work in.
    pub workdir: String,
    /// A read-only view of the archive, for jobs that improve an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// What the agent may spend; the harness enforces all of it anyway.
    pub limits: Limits,
    /// The model aliases that chat completions accept.
    pub models: Vec<String>,
}

/// What a job may spend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds from the start of the trial.
    pub seconds: f64,
    /// US dollars for model calls.
    pub usd: f64,
    /// Model calls of one agent node.
    pub iterations: u32,
    /// Tokens that a prompt may have.
    pub context_tokens: u64,
}

/// An answer, as `POST /v1/answer` takes it; the last one before the end counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The answer itself; empty where the work directory is the answer.
    pub answer: String,
    /// What was done, in a sentence or two, for people.
    #[serde(default)]
    pub summary: String,
}
