//! The rules of intervening, enforced by code and not by prompt.
//!
//! * A nudge needs a node that exists and runs, and keeps within the rates.
//! * A cancel needs an earlier nudge that reached the node or one above it, and time to act on it.
//!   Only a grave integrity hit needs none.
//! * A cancel that the judge wants also needs evidence that is not the judge's own: a detector that
//!   still fires, or many old calls since the nudge with nothing changed. So a judge that lies, or was
//!   talked into something by the agent's text, cannot end a healthy trial.

use crate::audit::InterventionKind;
use crate::detectors::{Hit, NudgeState, Proposal};
use crate::graph::{CallGraph, Done};
use crate::settings::Rules;
use hone_protocol::NodeId;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Why an intervention is not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// There is no such node.
    UnknownNode,
    /// The node has finished.
    FinishedNode,
    /// The node, or one above it, is being cancelled.
    AlreadyCancelled,
    /// Too many nudges within a minute.
    TooManyNudges,
    /// The last nudge to this node is too fresh, or did not arrive yet.
    NudgedJustNow,
    /// A cancel needs an earlier nudge.
    NoNudgeBefore,
    /// The earlier nudge has not reached the node.
    NudgeNotDelivered,
    /// The node had too little time to act on the nudge.
    NudgeTooFresh,
    /// Nothing but the judge's word speaks for the cancel.
    NoEvidence,
}

impl Refusal {
    /// Returns the rule in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Refusal::UnknownNode => "there is no such node",
            Refusal::FinishedNode => "the node has finished",
            Refusal::AlreadyCancelled => "the node is being cancelled already",
            Refusal::TooManyNudges => "too many nudges within a minute",
            Refusal::NudgedJustNow => "the last nudge to this node is too fresh",
            Refusal::NoNudgeBefore => "no nudge came before the cancel",
            Refusal::NudgeNotDelivered => "the nudge has not reached the node",
            Refusal::NudgeTooFresh => "the node had too little time to act on the nudge",
            Refusal::NoEvidence => "nothing but the judge's word speaks for the cancel",
        }
    }
}

/// What was sent before, as far as the rules care.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Its number.
    pub id: u64,
    /// What it is.
    pub kind: InterventionKind,
    /// The node that it went to.
    pub node: NodeId,
    /// When it was decided.
    pub at: Duration,
    /// The message's id, once it is known.
    pub message: Option<u64>,
    /// When it arrived, with the calls and file changes within the node by then.
    pub delivered: Option<Delivery>,
    /// Whether it never got out.
    pub failed: bool,
    /// What it said.
    pub text: String,
}

/// The moment that a message arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When.
    pub at: Duration,
    /// What the node and all below it had done by then.
    pub done: Done,
}

/// What is wished for.
#[derive(Clone, Copy, Debug)]
pub struct Wished<'a> {
    /// What it is.
    pub kind: InterventionKind,
    /// The node that it is for.
    pub node: &'a NodeId,
    /// The detector's hit, where a detector wishes it.
    pub hit: Option<&'a Hit>,
}

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Time since the trial's start.
    pub at: Duration,
    /// The call graph.
    pub graph: &'a CallGraph,
    /// What was sent before, oldest first.
    pub sent: &'a [Sent],
    /// Hits whose patterns go on.
    pub standing: &'a [&'a Hit],
    /// The rules' numbers.
    pub rules: &'a Rules,
}

impl Facts<'_> {
    /// Returns the newest nudge that reached a node or one above it.
    pub fn nudge_state(&self, node: &NodeId) -> Option<NudgeState> {
        nudge_state(self.graph, self.sent, node)
    }

    /// Tells whether an intervention may go out.
    ///
    /// # Errors
    /// The rule that forbids it.
    pub fn allow(&self, wish: &Wished<'_>) -> Result<(), Refusal> {
        let node = self.graph.node(wish.node).ok_or(Refusal::UnknownNode)?;
        if node.finished.is_some()
            && (wish.kind == InterventionKind::Nudge || self.graph.is_over(wish.node))
        {
            return Err(Refusal::FinishedNode);
        }
        let cancelled = self.sent.iter().any(|sent| {
            sent.kind == InterventionKind::Cancel && !sent.failed && wish.node.is_within(&sent.node)
        });
        if cancelled {
            return Err(Refusal::AlreadyCancelled);
        }
        match wish.kind {
            InterventionKind::Nudge => self.allow_nudge(wish.node),
            InterventionKind::Cancel => self.allow_cancel(wish),
        }
    }

    fn nudges(&self) -> impl DoubleEndedIterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.kind == InterventionKind::Nudge && !sent.failed)
    }

    fn allow_nudge(&self, node: &NodeId) -> Result<(), Refusal> {
        let age = |sent: &Sent| (self.at - sent.at).as_secs_f64();
        let recent = self.nudges().filter(|sent| age(sent) < 60.0).count();
        if recent >= self.rules.nudges_per_minute as usize {
            return Err(Refusal::TooManyNudges);
        }
        let last = self.nudges().rev().find(|sent| sent.node == *node);
        if last.is_some_and(|sent| age(sent) < self.rules.nudge_pause_seconds) {
            return Err(Refusal::NudgedJustNow);
        }
        Ok(())
    }

    fn allow_cancel(&self, wish: &Wished<'_>) -> Result<(), Refusal> {
        let grave =
            |hit: &Hit| hit.grave && hit.detector.is_integrity() && hit.node.is_within(wish.node);
        if wish.hit.is_some_and(grave) || self.standing.iter().any(|hit| grave(hit)) {
            return Ok(());
        }
        let Some(nudge) = self.nudge_state(wish.node) else {
            let on_its_way = self.nudges().any(|sent| wish.node.is_within(&sent.node));
            return Err(if on_its_way {
                Refusal::NudgeNotDelivered
            } else {
                Refusal::NoNudgeBefore
            });
        };
        let waited = (self.at - nudge.delivered).as_secs_f64();
        if nudge.calls_since < self.rules.patience_calls && waited < self.rules.patience_seconds {
            return Err(Refusal::NudgeTooFresh);
        }
        let seen = self
            .standing
            .iter()
            .any(|hit| hit.proposes >= Proposal::Nudge && hit.node.is_within(wish.node));
        let stagnant = self.is_stagnant(wish.node);
        if seen || stagnant { Ok(()) } else { Err(Refusal::NoEvidence) }
    }

    /// Tells whether many calls since the last nudge that arrived changed no file and were mostly
    /// calls that had been made before.
    fn is_stagnant(&self, node: &NodeId) -> bool {
        let arrived = self.nudges().rev().find_map(|sent| {
            node.is_within(&sent.node).then_some(())?;
            Some((sent, sent.delivered?))
        });
        arrived.is_some_and(|(sent, delivery)| {
            let now = self.graph.done_within(&sent.node);
            let calls = now.calls.saturating_sub(delivery.done.calls);
            let new_inputs = now.new_inputs.saturating_sub(delivery.done.new_inputs);
            calls >= self.rules.judge_alone_calls
                && now.edits == delivery.done.edits
                && new_inputs * 3 <= calls
        })
    }
}

/// Returns the newest nudge that reached a node or one above it.
pub fn nudge_state(graph: &CallGraph, sent: &[Sent], node: &NodeId) -> Option<NudgeState> {
    sent.iter()
        .rev()
        .filter(|sent| sent.kind == InterventionKind::Nudge && node.is_within(&sent.node))
        .find_map(|sent| {
            let delivery = sent.delivered?;
            let calls_since =
                graph.done_within(&sent.node).calls.saturating_sub(delivery.done.calls);
            Some(NudgeState { delivered: delivery.at, calls_since })
        })
}
