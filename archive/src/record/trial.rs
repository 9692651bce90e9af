//! The record of one agent on one problem, once.

use crate::identity::{AgentNumber, ConditionsId, Digest, NanoUsd, TreeId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The agent.
    pub agent: AgentNumber,
    /// The agent's source, which the result is bound to.
    pub tree: TreeId,
    /// The suite's name.
    pub suite: String,
    /// The suite's digest.
    pub suite_digest: Digest,
    /// The problem's name in the suite.
    pub problem: String,
    /// Which repeat this is, counted from 0.
    pub epoch: u32,
    /// How it ended, with its score where it has one.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Tokens by class.
    pub usage: Usage,
    /// What its model calls cost.
    pub cost: NanoUsd,
    /// Seconds, by the clock that the utility uses.
    pub seconds: f64,
    /// Seconds on the wall.
    pub wall_seconds: f64,
    /// Why it ended so, for people; empty where the verdict says all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The digest of its trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Digest>,
    /// Models, prices, limits and harness, see [`super::Conditions`].
    pub conditions: ConditionsId,
    /// The run that paid for it.
    pub run: String,
    /// When it ended.
    pub time: Timestamp,
}

/// How a trial ended. What was not scored has no score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Outcome {
    /// It ended by itself.
    Scored {
        /// 0 to 1.
        score: f64,
    },
    /// It ran out of time: what had been achieved is scored, and penalised in the utility.
    TimedOut {
        /// 0 to 1.
        score: f64,
    },
    /// It ran out of money.
    CostCapped {
        /// 0 to 1.
        score: f64,
    },
    /// The agent's program died.
    AgentCrashed {
        /// 0 to 1.
        score: f64,
    },
    /// The agent could not keep to the protocol.
    ProtocolError {
        /// 0 to 1.
        score: f64,
    },
    /// The overseer ended it.
    Cancelled {
        /// 0 to 1.
        score: f64,
    },
    /// The machine failed, not the agent: missing data.
    InfraError,
    /// Scoring failed: missing data.
    VerifierError,
}

impl Outcome {
    /// Returns the verdict's name.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Scored { .. } => "scored",
            Outcome::TimedOut { .. } => "timed_out",
            Outcome::CostCapped { .. } => "cost_capped",
            Outcome::AgentCrashed { .. } => "agent_crashed",
            Outcome::ProtocolError { .. } => "protocol_error",
            Outcome::Cancelled { .. } => "cancelled",
            Outcome::InfraError => "infra_error",
            Outcome::VerifierError => "verifier_error",
        }
    }

    /// Returns the score, or none for missing data.
    pub fn score(&self) -> Option<f64> {
        match *self {
            Outcome::Scored { score }
            | Outcome::TimedOut { score }
            | Outcome::CostCapped { score }
            | Outcome::AgentCrashed { score }
            | Outcome::ProtocolError { score }
            | Outcome::Cancelled { score } => Some(score),
            Outcome::InfraError | Outcome::VerifierError => None,
        }
    }

    /// Tells whether the utility takes its penalty for running out of time.
    pub fn timed_out(&self) -> bool {
        matches!(self, Outcome::TimedOut { .. })
    }
}

/// Tokens by class. The classes are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens that were neither read from a cache nor written to one.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// Tokens that the model wrote.
    pub output: u64,
}

impl Usage {
    /// Returns all tokens together.
    pub fn total(&self) -> u64 {
        self.input + self.cache_read + self.cache_write + self.output
    }
}
