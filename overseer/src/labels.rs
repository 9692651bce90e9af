//! Labels: what turned out to be right, from outcomes alone.
//!
//! A label comes from what happened after a decision (the loop rule over the next ten calls), from the
//! trial's score, or from a person. It never comes from the decision itself, nor from another one. Where
//! the overseer interfered with the outcome, by a cancel or by a nudge that may have helped, the label
//! is censored: nobody knows what would have happened.

use crate::audit::{Entry, InterventionKind, Record};
use crate::decisions::Decision;
use crate::detectors::DetectorId;
use crate::detectors::repeats::find_cycle;
use crate::fingerprint::Fingerprint;
use crate::graph::CallGraph;
use crate::settings::Mode;
use crate::tape::{Input, TapeLine};
use hone_protocol::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Calls that the loop rule looks at.
pub const WINDOW: usize = 10;
/// Calls of a window that must bring nothing new for a loop.
const IDLE: usize = 8;
/// Calls of a window that must fail alike for a loop.
const ALIKE: usize = 4;
/// From which score on a trial counts as a success.
pub const SUCCESS: f64 = 0.5;

/// One row of `labels.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The decision.
    pub decision: String,
    /// What was observed.
    #[serde(flatten)]
    pub observed: Observed,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
}

/// What was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "observed", rename_all = "snake_case")]
pub enum Observed {
    /// An option turned out to be right.
    Option {
        /// Its id.
        option: String,
    },
    /// Nobody can know.
    Censored {
        /// Why.
        why: Censoring,
    },
}

/// Why nobody can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Censoring {
    /// The overseer ended the node or the trial.
    Cancelled,
    /// The overseer nudged the node, and it may have helped.
    Nudged,
}

/// Where a label comes from. Decisions are not in this list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum Origin {
    /// The loop rule over the calls after the decision.
    LoopRule {
        /// The first event that was looked at.
        from_event: u64,
        /// The last event that was looked at.
        to_event: u64,
    },
    /// The trial's score.
    Score {
        /// The score.
        score: f64,
    },
    /// A person.
    Person {
        /// Who.
        name: String,
    },
}

/// What is wrong with labels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// There is no such decision.
    #[error("a label names the decision {decision}, which does not exist")]
    NoDecision {
        /// The decision.
        decision: String,
    },
    /// The option is none of the decision's.
    #[error("decision {decision} has no option `{option}`")]
    NoOption {
        /// The decision.
        decision: String,
        /// The option.
        option: String,
    },
    /// The evidence is not later than the decision.
    #[error("the label of decision {decision} rests on nothing that came after it")]
    NoOutcome {
        /// The decision.
        decision: String,
    },
    /// A cancelled trial was labelled by its own end.
    #[error("decision {decision} belongs to a cancelled trial and is not censored")]
    NotCensored {
        /// The decision.
        decision: String,
    },
}

/// One call, as the loop rule sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fact {
    seq: u64,
    at_ms: u64,
    key: (Fingerprint, Option<Fingerprint>),
    /// The node made this call and got this result before.
    idle: bool,
    error: Option<Fingerprint>,
}

/// The kind of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// One call.
    Repeat,
    /// A cycle of two to four.
    Cycle,
    /// One error.
    Error,
    /// Old calls in no order.
    Wandering,
}

/// What really happened in a trial, by its tape.
#[derive(Clone, Debug)]
pub struct Truth {
    facts: BTreeMap<NodeId, Vec<Fact>>,
    finished: HashSet<NodeId>,
    cancels: Vec<NodeId>,
    nudges: Vec<(NodeId, u64)>,
}

impl Truth {
    /// Reads what happened from a trial's tape, and from its log what the overseer did to it.
    pub fn of(tape: &[TapeLine], records: &[Record]) -> Truth {
        let mut graph = CallGraph::keeping(usize::MAX);
        for line in tape {
            if let Input::Event { event } = &line.input {
                graph.apply(Duration::from_millis(line.at_ms), event, 0);
            }
        }
        let mut facts = BTreeMap::new();
        let mut finished = HashSet::new();
        for (id, node) in graph.nodes() {
            let mut seen = HashSet::new();
            let of_node = node
                .calls
                .iter()
                .map(|call| {
                    let result = call.outcome.as_ref().map(|outcome| outcome.result);
                    let key = (call.input, result);
                    let error = call.outcome.as_ref().and_then(|o| o.error.as_ref()).map(|e| e.0);
                    let at_ms = u64::try_from(call.at.as_millis()).unwrap_or(u64::MAX);
                    Fact { seq: call.seq, at_ms, key, idle: !seen.insert(key), error }
                })
                .collect();
            facts.insert(id.clone(), of_node);
            if node.finished.is_some() {
                finished.insert(id.clone());
            }
        }
        let mut cancels = Vec::new();
        let mut sent = BTreeMap::new();
        let mut nudges = Vec::new();
        for record in records {
            match &record.entry {
                Entry::Intervention(made) if made.mode == Mode::On => match made.kind {
                    InterventionKind::Cancel => cancels.push(made.node.clone()),
                    InterventionKind::Nudge => {
                        sent.insert(made.intervention, made.node.clone());
                    }
                },
                Entry::Delivered { intervention, receipt } => {
                    if let Some(node) = sent.get(intervention) {
                        nudges.push((node.clone(), *receipt));
                    }
                }
                _ => {}
            }
        }
        Truth { facts, finished, cancels, nudges }
    }

    /// Returns the kinds of loops that the trial had anywhere.
    pub fn loops(&self) -> Vec<LoopKind> {
        let mut kinds: Vec<LoopKind> = self
            .facts
            .values()
            .flat_map(|facts| facts.windows(WINDOW).filter_map(loop_kind))
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Tells whether the overseer ended a node.
    pub fn is_cancelled(&self, node: &NodeId) -> bool {
        self.cancels.iter().any(|cancelled| node.is_within(cancelled))
    }

    /// Returns when an event of a call came, in milliseconds since the trial's start.
    pub fn call_time(&self, seq: u64) -> Option<u64> {
        self.facts.values().flatten().find(|fact| fact.seq == seq).map(|fact| fact.at_ms)
    }

    /// Applies the loop rule to the ten calls of a node after an event.
    fn after(&self, node: &NodeId, event: u64) -> Option<(Observed, Origin)> {
        let facts = self.facts.get(node)?;
        let next: Vec<Fact> =
            facts.iter().filter(|fact| fact.seq > event).take(WINDOW).copied().collect();
        let origin = Origin::LoopRule { from_event: next.first()?.seq, to_event: next.last()?.seq };
        let option = |looped: bool| {
            let option = if looped { "looping" } else { "not_looping" };
            Observed::Option { option: option.to_owned() }
        };
        if next.len() < WINDOW {
            if self.is_cancelled(node) {
                return Some((Observed::Censored { why: Censoring::Cancelled }, origin));
            }
            // A node that came to its own end in fewer calls was in no loop; one that was cut off by
            // something else tells nothing.
            return self.finished.contains(node).then(|| (option(false), origin));
        }
        let looped = loop_kind(&next).is_some();
        let last = next.last()?.seq;
        let nudged = self
            .nudges
            .iter()
            .any(|(to, receipt)| node.is_within(to) && *receipt > event && *receipt <= last);
        if !looped && nudged {
            return Some((Observed::Censored { why: Censoring::Nudged }, origin));
        }
        Some((option(looped), origin))
    }
}

fn loop_kind(window: &[Fact]) -> Option<LoopKind> {
    let idle = window.iter().filter(|fact| fact.idle).count();
    let alike = window
        .iter()
        .filter_map(|fact| fact.error)
        .map(|error| window.iter().filter(|fact| fact.error == Some(error)).count())
        .max()
        .unwrap_or(0);
    if idle < IDLE {
        return (alike >= ALIKE).then_some(LoopKind::Error);
    }
    let newest_first: Vec<_> = window.iter().rev().map(|fact| fact.key).collect();
    match find_cycle(&newest_first, IDLE, 2, 4) {
        Some(cycle) if cycle.period == 1 => Some(LoopKind::Repeat),
        Some(_) => Some(LoopKind::Cycle),
        None => Some(LoopKind::Wandering),
    }
}

/// Returns the labels that a trial's outcome gives to its decisions.
pub fn labels(decisions: &[Decision], truth: &Truth, score: Option<f64>) -> Vec<Label> {
    decisions.iter().filter_map(|decision| label(decision, truth, score)).collect()
}

fn label(decision: &Decision, truth: &Truth, score: Option<f64>) -> Option<Label> {
    let made = |observed: Observed, origin: Origin| {
        Some(Label { decision: decision.id.clone(), observed, origin })
    };
    let option = |option: &str| Observed::Option { option: option.to_owned() };
    let cancelled = truth.is_cancelled(&NodeId::root());
    let point = decision.point.point.as_str();
    match point {
        "overseer.looping" => {
            let (observed, origin) = truth.after(&decision.node, decision.event)?;
            made(observed, origin)
        }
        "overseer.progress" => {
            let score = score?;
            let origin = Origin::Score { score };
            if cancelled {
                return made(Observed::Censored { why: Censoring::Cancelled }, origin);
            }
            made(option(if score >= SUCCESS { "good" } else { "none" }), origin)
        }
        "overseer.action" => {
            let score = score?;
            let origin = Origin::Score { score };
            if cancelled {
                return made(Observed::Censored { why: Censoring::Cancelled }, origin);
            }
            // A success proves that nothing had to be done; a failure does not prove what would
            // have helped.
            (score >= SUCCESS).then(|| made(option("nothing"), origin))?
        }
        _ => {
            let id = loop_detector(point)?;
            if decision.chosen == "fires" {
                let (observed, origin) = truth.after(&decision.node, decision.event)?;
                let observed = match observed {
                    Observed::Option { option: found } => {
                        option(if found == "looping" { "fires" } else { "quiet" })
                    }
                    censored @ Observed::Censored { .. } => censored,
                };
                return made(observed, origin);
            }
            // Quiet through the whole trial: any loop of its own kind proves it wrong.
            let to_event = truth.facts.values().flatten().map(|fact| fact.seq).max()?;
            let origin = Origin::LoopRule { from_event: 1, to_event };
            let missed = truth.loops().contains(&own_kind(id)?);
            match (missed, truth.cancels.is_empty()) {
                (true, _) => made(option("fires"), origin),
                (false, true) => made(option("quiet"), origin),
                (false, false) => made(Observed::Censored { why: Censoring::Cancelled }, origin),
            }
        }
    }
}

fn loop_detector(point: &str) -> Option<DetectorId> {
    let name = point.strip_prefix("detector.")?;
    DetectorId::ALL.into_iter().find(|id| id.as_str() == name && id.is_loop())
}

fn own_kind(id: DetectorId) -> Option<LoopKind> {
    match id {
        DetectorId::ExactRepeat => Some(LoopKind::Repeat),
        DetectorId::Alternation => Some(LoopKind::Cycle),
        DetectorId::SameError => Some(LoopKind::Error),
        DetectorId::NoProgress => Some(LoopKind::Wandering),
        _ => None,
    }
}

/// Checks labels against their decisions: the option exists, the evidence came later, and nothing of a
/// cancelled node is labelled by how the trial went.
///
/// # Errors
/// The first thing that is wrong.
pub fn check_labels(
    labels: &[Label],
    decisions: &[Decision],
    truth: &Truth,
) -> Result<(), LabelError> {
    let by_id: BTreeMap<&str, &Decision> =
        decisions.iter().map(|decision| (decision.id.as_str(), decision)).collect();
    for label in labels {
        let id = || label.decision.clone();
        let decision = by_id
            .get(label.decision.as_str())
            .ok_or_else(|| LabelError::NoDecision { decision: id() })?;
        if let Observed::Option { option } = &label.observed {
            if !decision.point.options.iter().any(|known| known.id == *option) {
                return Err(LabelError::NoOption { decision: id(), option: option.clone() });
            }
            let by_score = matches!(label.origin, Origin::Score { .. });
            if by_score && truth.is_cancelled(&NodeId::root()) {
                return Err(LabelError::NotCensored { decision: id() });
            }
        }
        match &label.origin {
            Origin::LoopRule { from_event, .. } if *from_event <= decision.event => {
                return Err(LabelError::NoOutcome { decision: id() });
            }
            Origin::LoopRule { .. } | Origin::Score { .. } | Origin::Person { .. } => {}
        }
    }
    Ok(())
}
