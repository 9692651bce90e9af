//! Policies: which version is edited next, and by whom.
//!
//! A policy is a pure function of the candidates and a seed. It gives every candidate a weight and names one;
//! [`Choice::reasons`] is the table that led there.
//!
//! | policy | what it does | source |
//! |---|---|---|
//! | `best` | the highest value, the earliest on ties | SICA, arXiv 2504.15228 |
//! | `latest` | the newest | |
//! | `random` | all alike | |
//! | `sica` | the newest within the interval of the best | SICA's code |
//! | `dgm` | sigmoid of the score, less with each child | Darwin Gödel Machine, arXiv 2505.22954 |
//! | `hyperagents` | sigmoid around the best three, fading with children | HyperAgents' code |
//! | `shinka` | sigmoid around the median in units of spread | ShinkaEvolve, arXiv 2509.19349 |
//! | `pareto` | how many problems it is (joint) best on | GEPA, arXiv 2507.19457 |
//! | `hgm` | Thompson sampling on what its whole clade achieved | Huxley-Gödel Machine, arXiv 2510.21614 |

mod candidate;
mod clade;
mod extreme;
mod weighted;

pub use candidate::Candidate;

use crate::identity::AgentNumber;
use crate::record::Reason;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A way to choose among candidates.
pub trait Policy: Send + Sync {
    /// Returns the policy's name.
    fn name(&self) -> &'static str;

    /// Tells whether it looks at the utility or at the score.
    fn measure(&self) -> Measure;

    /// Chooses among candidates in the order of the archive. None when there are none.
    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice>;
}

/// The number that a policy looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Utility: score, cost and time. The paper's choice.
    Utility,
    /// The score alone, for policies whose formula was made for success rates.
    Score,
}

/// A choice with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The candidate that was chosen.
    pub agent: AgentNumber,
    /// A line for each candidate, in the order of the archive.
    pub reasons: Vec<Reason>,
}

impl Choice {
    /// Returns the lines that carry most weight, at most `limit`, the chosen one always among them.
    ///
    /// The ledger keeps these: a table of every candidate in every iteration would outgrow all results. The
    /// whole table can be computed again from the data.
    pub fn condensed(&self, limit: usize) -> Vec<Reason> {
        let mut order: Vec<usize> = (0..self.reasons.len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&self.reasons[*a], &self.reasons[*b]);
            let first = (b.agent == self.agent).cmp(&(a.agent == self.agent));
            first
                .then(b.weight.total_cmp(&a.weight))
                .then(b.value.total_cmp(&a.value))
                .then(a.agent.cmp(&b.agent))
        });
        order.truncate(limit);
        order.sort_unstable();
        order.into_iter().map(|index| self.reasons[index].clone()).collect()
    }
}

/// The policies that can be named.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // described in the module's table
pub enum PolicyName {
    #[default]
    Best,
    Latest,
    Random,
    Sica,
    Dgm,
    Hyperagents,
    Shinka,
    Pareto,
    Hgm,
}

impl PolicyName {
    /// Every policy.
    pub const ALL: [PolicyName; 9] = [
        PolicyName::Best,
        PolicyName::Latest,
        PolicyName::Random,
        PolicyName::Sica,
        PolicyName::Dgm,
        PolicyName::Hyperagents,
        PolicyName::Shinka,
        PolicyName::Pareto,
        PolicyName::Hgm,
    ];

    /// Returns the policy.
    pub fn policy(self) -> &'static dyn Policy {
        match self {
            PolicyName::Best => &extreme::Best,
            PolicyName::Latest => &extreme::Latest,
            PolicyName::Random => &extreme::Random,
            PolicyName::Sica => &extreme::Sica,
            PolicyName::Dgm => &weighted::Dgm,
            PolicyName::Hyperagents => &weighted::Hyperagents,
            PolicyName::Shinka => &weighted::Shinka,
            PolicyName::Pareto => &weighted::Pareto,
            PolicyName::Hgm => &clade::Hgm,
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy().name())
    }
}

/// Text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "find policy {0:?}: the policies are best, latest, random, sica, dgm, hyperagents, shinka, pareto and hgm"
)]
pub struct NoPolicy(pub String);

impl FromStr for PolicyName {
    type Err = NoPolicy;

    fn from_str(text: &str) -> Result<Self, NoPolicy> {
        let found = Self::ALL.into_iter().find(|name| name.policy().name() == text);
        found.ok_or_else(|| NoPolicy(text.to_owned()))
    }
}
