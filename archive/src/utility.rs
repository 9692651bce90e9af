//! The utility of a trial (arXiv 2504.15228, section 3).

use crate::identity::NanoUsd;
use crate::record::Outcome;
use serde::{Deserialize, Serialize};

/// Weights, caps and penalty of the utility.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtilitySettings {
    /// The weight of the score.
    pub score_weight: f64,
    /// The weight of what was saved of the cost cap.
    pub cost_weight: f64,
    /// The weight of what was saved of the time cap.
    pub time_weight: f64,
    /// US dollars at which nothing is left of the cost part.
    pub cost_cap_usd: f64,
    /// Seconds at which nothing is left of the time part.
    pub time_cap_seconds: f64,
    /// The share that running out of time takes away.
    pub timeout_penalty: f64,
}

impl Default for UtilitySettings {
    fn default() -> Self {
        UtilitySettings {
            score_weight: 0.5,
            cost_weight: 0.25,
            time_weight: 0.25,
            cost_cap_usd: 10.0,
            time_cap_seconds: 300.0,
            timeout_penalty: 0.5,
        }
    }
}

impl UtilitySettings {
    /// Computes the utility of one trial:
    /// `w_s·score + w_c·(1 − min(1, cost/cap)) + w_t·(1 − min(1, time/cap))`, times `1 − penalty` if it timed out.
    pub fn of_trial(&self, score: f64, cost_usd: f64, seconds: f64, timed_out: bool) -> f64 {
        let cost = 1.0 - (cost_usd / self.cost_cap_usd).min(1.0);
        let time = 1.0 - (seconds / self.time_cap_seconds).min(1.0);
        let utility = self.score_weight * score + self.cost_weight * cost + self.time_weight * time;
        if timed_out { utility * (1.0 - self.timeout_penalty) } else { utility }
    }

    /// Computes the utility of an outcome; none where it was not scored.
    pub fn of_outcome(&self, outcome: &Outcome, cost: NanoUsd, seconds: f64) -> Option<f64> {
        outcome.score().map(|score| self.of_trial(score, cost.usd(), seconds, outcome.timed_out()))
    }
}
