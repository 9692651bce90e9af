//! Lines of the ledger as the state needs them.
//!
//! Nearly all lines are trials. Of these only some fields matter here, and reading those alone is several
//! times faster than reading the whole record.

use crate::identity::{AgentNumber, ConditionsId, Digest, NanoUsd};
use crate::record::{Entry, Outcome, Trial, Usage};
use serde::Deserialize;
use std::borrow::Cow;

/// A line of the ledger.
pub(crate) enum Line {
    Trial(TrialHead<'static>),
    Other(Box<Entry>),
}

/// What the state keeps of a trial's record.
pub(crate) struct TrialHead<'a> {
    pub agent: AgentNumber,
    pub suite: Cow<'a, str>,
    pub suite_digest: Digest,
    pub problem: Cow<'a, str>,
    pub epoch: u32,
    pub outcome: Outcome,
    pub tokens: u64,
    pub cost: NanoUsd,
    pub seconds: f64,
    pub conditions: ConditionsId,
}

impl<'a> TrialHead<'a> {
    pub fn of(trial: &'a Trial) -> Self {
        TrialHead {
            agent: trial.agent,
            suite: Cow::Borrowed(&trial.suite),
            suite_digest: trial.suite_digest,
            problem: Cow::Borrowed(&trial.problem),
            epoch: trial.epoch,
            outcome: trial.outcome,
            tokens: trial.usage.total(),
            cost: trial.cost,
            seconds: trial.seconds,
            conditions: trial.conditions,
        }
    }
}

#[derive(Deserialize)]
struct TrialLine<'a> {
    agent: AgentNumber,
    #[serde(borrow)]
    suite: Cow<'a, str>,
    suite_digest: Digest,
    #[serde(borrow)]
    problem: Cow<'a, str>,
    epoch: u32,
    #[serde(borrow)]
    verdict: Cow<'a, str>,
    score: Option<f64>,
    usage: Usage,
    cost: NanoUsd,
    seconds: f64,
    conditions: ConditionsId,
}

impl Line {
    /// Reads a line.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        // The identity stands first and has a fixed length, the type follows: `{"id":"…","type":"trial",`.
        if json.get(32..).is_some_and(|rest| rest.starts_with(",\"type\":\"trial\","))
            && let Ok(line) = serde_json::from_str::<TrialLine<'_>>(json)
            && let Some(outcome) = outcome(&line.verdict, line.score)
        {
            return Ok(Line::Trial(TrialHead {
                agent: line.agent,
                suite: Cow::Owned(line.suite.into_owned()),
                suite_digest: line.suite_digest,
                problem: Cow::Owned(line.problem.into_owned()),
                epoch: line.epoch,
                outcome,
                tokens: line.usage.total(),
                cost: line.cost,
                seconds: line.seconds,
                conditions: line.conditions,
            }));
        }
        Ok(Line::Other(serde_json::from_str(json)?))
    }
}

fn outcome(verdict: &str, score: Option<f64>) -> Option<Outcome> {
    Some(match (verdict, score) {
        ("scored", Some(score)) => Outcome::Scored { score },
        ("timed_out", Some(score)) => Outcome::TimedOut { score },
        ("cost_capped", Some(score)) => Outcome::CostCapped { score },
        ("agent_crashed", Some(score)) => Outcome::AgentCrashed { score },
        ("protocol_error", Some(score)) => Outcome::ProtocolError { score },
        ("cancelled", Some(score)) => Outcome::Cancelled { score },
        ("infra_error", None) => Outcome::InfraError,
        ("verifier_error", None) => Outcome::VerifierError,
        _ => return None,
    })
}
