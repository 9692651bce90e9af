//! The tape: everything that reached the overseer of one trial, in order and with its times.
//!
//! The overseer's [`Desk`](crate::desk::Desk) is a function of its tape. So a log can be checked against
//! it, and a recorded trial can be judged again with other settings.

use crate::judge::{JudgeError, Reply, TokenOdds};
use crate::meter::Reading;
use hone_protocol::Event;
use serde::{Deserialize, Serialize};

/// One thing that reached the overseer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TapeLine {
    /// Milliseconds since the trial's start, by the harness's clock.
    pub at_ms: u64,
    /// What it was.
    #[serde(flatten)]
    pub input: Input,
}

/// What reached the overseer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// An event of the agent.
    Event {
        /// The event.
        event: Event,
    },
    /// A reading of the meter that differs from the one before.
    Reading {
        /// The reading.
        reading: Reading,
    },
    /// Time went by.
    Tick,
    /// The judge answered, or did not.
    Replied {
        /// The look.
        look: u64,
        /// The number of the question in the look, from 0.
        question: u32,
        /// What came.
        #[serde(flatten)]
        answer: Answer,
    },
    /// An intervention went out, or did not.
    Sent {
        /// Its number.
        intervention: u64,
        /// The message's id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<u64>,
        /// Why it did not get out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The trial ended.
    Ended,
}

/// What came of a question to the judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// A reply.
    Reply {
        /// The text.
        text: String,
        /// The model that answered.
        model: String,
        /// What it cost, in nano-dollars.
        cost_nano_usd: u64,
        /// Log-probabilities of the tokens, where there are any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tokens: Vec<TokenOdds>,
    },
    /// Nothing in time.
    TimedOut,
    /// No money.
    Unaffordable,
    /// No model.
    NoModel {
        /// Why.
        reason: String,
    },
    /// The call failed.
    Failed {
        /// Why.
        reason: String,
    },
}

impl From<Result<Reply, JudgeError>> for Answer {
    fn from(result: Result<Reply, JudgeError>) -> Self {
        match result {
            Ok(Reply { text, model, cost_nano_usd, tokens }) => {
                Answer::Reply { text, model, cost_nano_usd, tokens }
            }
            Err(JudgeError::Unaffordable) => Answer::Unaffordable,
            Err(JudgeError::NoModel(reason)) => Answer::NoModel { reason },
            Err(JudgeError::Failed(reason)) => Answer::Failed { reason },
        }
    }
}
