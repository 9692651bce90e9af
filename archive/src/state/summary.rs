//! An agent's results in numbers, each with its uncertainty.

use super::{Cell, State};
use crate::identity::{AgentNumber, NanoUsd};
use crate::record::{ChildVerdict, SuitePlan, Version};
use crate::statistics::{NORMAL_95, clustered};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A mean with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95 % interval; none for fewer than two problems.
    pub half_width: Option<f64>,
    /// How many problems it rests on.
    pub n: usize,
}

/// An agent's results in one suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteSummary {
    /// The suite.
    pub suite: String,
    /// The mean score over problems.
    pub score: Option<Estimate>,
    /// The mean utility over problems.
    pub utility: Option<Estimate>,
    /// Trials with a score.
    pub scored: usize,
    /// Trials of the plan without a score.
    pub missing: usize,
}

/// How an agent's trials ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrialCounts {
    /// Trials that the plan asks for.
    pub planned: usize,
    /// Trials of the plan with a score.
    pub scored: usize,
    /// Trials of the plan without one.
    pub missing: usize,
    /// Records of trials, repeats included.
    pub recorded: usize,
    /// Trials of the plan by verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
}

/// Whether an agent can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "eligible", rename_all = "snake_case")]
pub enum Eligibility {
    /// It can be a base and an editor.
    Yes,
    /// It did not pass the gate.
    Rejected,
    /// Results are missing.
    Incomplete {
        /// How many trials have no score.
        missing: usize,
    },
}

/// An agent in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentSummary {
    /// Its number.
    pub agent: AgentNumber,
    /// Its bases.
    pub parents: Vec<AgentNumber>,
    /// Who edited it.
    pub editor: Option<AgentNumber>,
    /// The gate's verdict.
    pub verdict: ChildVerdict,
    /// What changed.
    pub description: String,
    /// The iteration that made it.
    pub iteration: Option<u32>,
    /// Accepted versions that have it as a base.
    pub children: usize,
    /// The mean utility over suites.
    pub utility: Option<Estimate>,
    /// Its suites, in the order of the plan.
    pub suites: Vec<SuiteSummary>,
    /// The mean cost of a scored trial.
    pub mean_cost: Option<NanoUsd>,
    /// The mean seconds of a scored trial.
    pub mean_seconds: Option<f64>,
    /// The mean tokens of a scored trial.
    pub mean_tokens: Option<f64>,
    /// What its trials cost, repeats included.
    pub trials_cost: NanoUsd,
    /// What making it cost.
    pub editing_cost: NanoUsd,
    /// Seconds that making it took.
    pub editing_seconds: f64,
    /// How its trials ended.
    pub trials: TrialCounts,
    /// Whether it can be chosen.
    #[serde(flatten)]
    pub eligibility: Eligibility,
}

/// The plan with places in place of names.
pub(crate) struct PlannedSuite {
    pub suite: String,
    /// None while there is no result in it.
    pub place: Option<u16>,
    /// By place in the suite's list of problems: the place in the plan.
    pub order: Vec<Option<u32>>,
    pub problems: usize,
    pub epochs: u32,
}

impl PlannedSuite {
    fn new(state: &State, plan: &SuitePlan) -> Self {
        let place = state.find_suite(&plan.suite, plan.digest);
        let known = place.map(|place| &state.suites[usize::from(place)].problems);
        let mut order = vec![None; known.map_or(0, |known| known.len())];
        for (index, problem) in plan.problems.iter().enumerate() {
            if let Some(seen) = known.and_then(|known| known.get_index_of(problem)) {
                order[seen] = Some(index as u32);
            }
        }
        PlannedSuite {
            suite: plan.suite.clone(),
            place,
            order,
            problems: plan.problems.len(),
            epochs: plan.epochs.max(1),
        }
    }

    /// Returns the cells that belong to the plan.
    pub fn cells<'a>(&'a self, cells: &'a [Cell]) -> impl Iterator<Item = (u32, &'a Cell)> {
        let (start, end) = match self.place {
            Some(place) => (
                cells.partition_point(|cell| cell.suite < place),
                cells.partition_point(|cell| cell.suite <= place),
            ),
            None => (0, 0),
        };
        cells[start..end].iter().filter(|cell| cell.epoch < self.epochs).filter_map(|cell| {
            self.order.get(cell.problem as usize).copied().flatten().map(|order| (order, cell))
        })
    }
}

/// Computes a mean over problems of the means over epochs, with the standard error clustered by problem.
/// `values` come with their problems, equal ones together.
fn estimate(values: &[(u32, f64)]) -> Option<(Estimate, Option<f64>)> {
    let clusters: Vec<&[(u32, f64)]> = values.chunk_by(|a, b| a.0 == b.0).collect();
    if clusters.is_empty() {
        return None;
    }
    let of = |cluster: &[(u32, f64)]| {
        cluster.iter().map(|(_, value)| value).sum::<f64>() / cluster.len() as f64
    };
    let mean = clusters.iter().map(|cluster| of(cluster)).sum::<f64>() / clusters.len() as f64;
    let error = clustered(clusters.iter().map(|cluster| cluster.iter().map(|(_, value)| *value)))
        .map(|clustered| clustered.standard_error)
        .filter(|_| clusters.len() > 1);
    let estimate =
        Estimate { mean, half_width: error.map(|error| NORMAL_95 * error), n: clusters.len() };
    Some((estimate, error))
}

impl State {
    pub(crate) fn planned(&self) -> Vec<PlannedSuite> {
        self.plan_or_seen().iter().map(|plan| PlannedSuite::new(self, plan)).collect()
    }

    /// Counts each version's accepted children.
    pub(crate) fn accepted_children(&self) -> HashMap<AgentNumber, usize> {
        let mut counts = HashMap::new();
        let accepted = |version: &&Version| version.change.verdict == ChildVerdict::Accepted;
        for version in self.versions.values().filter(accepted) {
            for parent in &version.parents {
                *counts.entry(*parent).or_default() += 1;
            }
        }
        counts
    }

    /// Summarises every agent, in order of their numbers.
    pub fn summaries(&self) -> Vec<AgentSummary> {
        let (planned, children) = (self.planned(), self.accepted_children());
        let mut making = HashMap::new();
        for child in &self.children {
            if let Some(agent) = child.agent {
                making.insert(agent, (child.cost, child.seconds));
            }
        }
        let summary = |version| {
            let mut summary = self.summarize(version, &planned);
            summary.children = children.get(&version.agent).copied().unwrap_or(0);
            if let Some((cost, seconds)) = making.get(&version.agent) {
                summary.editing_cost = *cost;
                summary.editing_seconds = *seconds;
            }
            summary
        };
        self.versions.values().map(summary).collect()
    }

    fn summarize(&self, version: &Version, planned: &[PlannedSuite]) -> AgentSummary {
        let cells = self.cells(version.agent);
        let mut trials = TrialCounts::default();
        let (mut cost, mut seconds, mut tokens) = (0, 0.0, 0.0);
        let (mut suites, mut utilities, mut variance) = (Vec::new(), Vec::new(), Some(0.0));
        for plan in planned {
            let (mut scores, mut values) = (Vec::new(), Vec::new());
            for (_, cell) in plan.cells(cells) {
                *trials.verdicts.entry(cell.outcome.name()).or_default() += 1;
                let (Some(score), Some(utility)) = (cell.outcome.score(), cell.utility) else {
                    continue;
                };
                scores.push((cell.problem, score));
                values.push((cell.problem, utility));
                cost += cell.cost.0;
                seconds += cell.seconds;
                tokens += cell.tokens as f64;
            }
            let wanted = plan.problems * plan.epochs as usize;
            let missing = wanted.saturating_sub(scores.len());
            trials.planned += wanted;
            trials.scored += scores.len();
            trials.missing += missing;
            let utility = estimate(&values);
            if let Some((estimate, error)) = utility {
                utilities.push(estimate);
                variance = variance.zip(error).map(|(sum, error)| sum + error * error);
            }
            suites.push(SuiteSummary {
                suite: plan.suite.clone(),
                score: estimate(&scores).map(|(estimate, _)| estimate),
                utility: utility.map(|(estimate, _)| estimate),
                scored: scores.len(),
                missing,
            });
        }
        let count = utilities.len() as f64;
        let utility = (!utilities.is_empty()).then(|| Estimate {
            mean: utilities.iter().map(|suite| suite.mean).sum::<f64>() / count,
            half_width: variance.map(|variance| NORMAL_95 * variance.sqrt() / count),
            n: utilities.iter().map(|suite| suite.n).sum(),
        });
        let all = self.trials.get(&version.agent);
        trials.recorded = all.map_or(0, |all| all.recorded as usize);
        let eligibility = if version.change.verdict != ChildVerdict::Accepted {
            Eligibility::Rejected
        } else if trials.missing > 0 || trials.planned == 0 {
            Eligibility::Incomplete { missing: trials.missing }
        } else {
            Eligibility::Yes
        };
        let scored = trials.scored as f64;
        let any = trials.scored > 0;
        AgentSummary {
            agent: version.agent,
            parents: version.parents.clone(),
            editor: version.change.editor,
            verdict: version.change.verdict,
            description: version.change.description.clone(),
            iteration: version.change.iteration,
            children: 0,
            utility,
            suites,
            mean_cost: any.then(|| NanoUsd((cost as f64 / scored).round() as u64)),
            mean_seconds: any.then(|| seconds / scored),
            mean_tokens: any.then(|| tokens / scored),
            trials_cost: all.map_or(NanoUsd(0), |all| all.spent),
            editing_cost: NanoUsd(0),
            editing_seconds: 0.0,
            trials,
            eligibility,
        }
    }
}
