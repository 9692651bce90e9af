//! What a policy sees of a version.

use super::Measure;
use crate::identity::AgentNumber;
use crate::record::Reason;
use crate::state::{Eligibility, PlannedSuite, State};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A version that can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its number.
    pub agent: AgentNumber,
    /// The number that is compared: mean utility over suites, or mean score.
    pub value: f64,
    /// Half the width of the value's 95 % interval.
    pub half_width: Option<f64>,
    /// The same measure per problem, for the same problems in the same order for all candidates.
    pub scores: Vec<f64>,
    /// How many accepted children it has.
    pub children: usize,
    /// Candidates and others that descend from it, itself included, with what they achieved: successes (the
    /// sum of scores) and failures. For clade policies.
    pub clade: (f64, f64),
}

impl Candidate {
    /// Makes a candidate whose value is the plain mean of its scores.
    pub fn of_scores(agent: AgentNumber, scores: Vec<f64>, children: usize) -> Self {
        let sum: f64 = scores.iter().sum();
        let count = scores.len() as f64;
        let value = if scores.is_empty() { 0.0 } else { sum / count };
        Candidate { agent, value, half_width: None, scores, children, clade: (sum, count - sum) }
    }

    pub(super) fn reason(&self, weight: f64) -> Reason {
        Reason {
            agent: self.agent,
            value: self.value,
            half_width: self.half_width,
            weight,
            terms: BTreeMap::new(),
        }
    }
}

impl State {
    /// Lists the versions that can be chosen: accepted and complete.
    pub fn candidates(&self, measure: Measure) -> Vec<Candidate> {
        let planned = self.planned();
        let problems: Vec<usize> = planned.iter().map(|plan| plan.problems).collect();
        let clades = self.clades(&planned);
        let mut candidates = Vec::new();
        for summary in self.summaries() {
            if summary.eligibility != Eligibility::Yes {
                continue;
            }
            let cells = self.cells(summary.agent);
            let mut scores = Vec::with_capacity(problems.iter().sum());
            for plan in &planned {
                let start = scores.len();
                scores.resize(start + plan.problems, 0.0);
                for (order, cell) in plan.cells(cells) {
                    let value = match measure {
                        Measure::Utility => cell.utility,
                        Measure::Score => cell.outcome.score(),
                    };
                    scores[start + order as usize] += value.unwrap_or(0.0) / f64::from(plan.epochs);
                }
            }
            let (value, half_width) = match measure {
                Measure::Utility => {
                    let utility = summary.utility.as_ref();
                    (utility.map(|it| it.mean), utility.and_then(|it| it.half_width))
                }
                Measure::Score => {
                    let scores: Vec<f64> =
                        summary.suites.iter().filter_map(|it| Some(it.score?.mean)).collect();
                    (Some(scores.iter().sum::<f64>() / scores.len() as f64), None)
                }
            };
            candidates.push(Candidate {
                agent: summary.agent,
                value: value.filter(|value| value.is_finite()).unwrap_or(0.0),
                half_width,
                scores,
                children: summary.children,
                clade: clades.get(&summary.agent).copied().unwrap_or_default(),
            });
        }
        candidates
    }

    /// Sums up, for every version, what it and all its descendants achieved on the plan. Held-out problems
    /// are in no plan.
    fn clades(&self, planned: &[PlannedSuite]) -> HashMap<AgentNumber, (f64, f64)> {
        let own = |agent: AgentNumber| {
            let cells = self.cells(agent);
            let of_plan = planned.iter().flat_map(|plan| plan.cells(cells));
            of_plan
                .filter_map(|(_, cell)| cell.outcome.score())
                .fold((0.0, 0.0), |(successes, failures), score| {
                    (successes + score, failures + 1.0 - score)
                })
        };
        let mut clades: HashMap<_, _> =
            self.versions.keys().map(|agent| (*agent, own(*agent))).collect();
        // With one base each, a child has a higher number than its base, so one pass from the newest suffices.
        let single = self.versions.values().all(|version| {
            version.parents.len() <= 1 && version.parents.iter().all(|it| *it < version.agent)
        });
        if single {
            for version in self.versions.values().rev() {
                let sum = clades[&version.agent];
                let parent = version.parents.first();
                if let Some(clade) = parent.and_then(|parent| clades.get_mut(parent)) {
                    clade.0 += sum.0;
                    clade.1 += sum.1;
                }
            }
            return clades;
        }
        // With several bases a version must not count twice for a common ancestor.
        for agent in self.versions.keys() {
            let mut ancestors = HashSet::new();
            let mut open: Vec<_> = self.versions[agent].parents.clone();
            while let Some(ancestor) = open.pop() {
                if ancestors.insert(ancestor) {
                    open.extend(
                        self.versions.get(&ancestor).into_iter().flat_map(|it| &it.parents),
                    );
                }
            }
            let sum = own(*agent);
            for ancestor in ancestors {
                if let Some(clade) = clades.get_mut(&ancestor) {
                    clade.0 += sum.0;
                    clade.1 += sum.1;
                }
            }
        }
        clades
    }
}
