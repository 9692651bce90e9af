//! Detectors: deterministic, cheap, each with an id, a threshold and evidence.
//!
//! A detector is a function of the [`Scene`] that returns [`Finding`]s. [`Detectors`] turns them into
//! [`Hit`]s: it decides when a finding is reported (once, then each time its count doubles, and
//! again when it goes on after a nudge), and when a hit that proposed a nudge proposes a cancel.
//!
//! | file | detectors |
//! |---|---|
//! | [`repeats`] | `exact_repeat`, `alternation`, `same_error`, `no_progress` |
//! | [`spending`] | `spend_runaway`, `unreported_calls`, `node_storm` |
//! | [`waiting`] | `waiting_command`, `silence`, `unreturned` |
//! | [`integrity`] | `grader_write`, `outside_read`, `git_history`, `success_marker`, `protected_write` |

pub mod integrity;
pub mod repeats;
pub mod spending;
pub mod waiting;

use crate::graph::CallGraph;
use crate::meter::Reading;
use crate::settings::Settings;
use hone_protocol::{Event, EventKind, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Calls after a delivered nudge within which the same pattern counts as a relapse; a later one is
/// nudged anew.
const RELAPSE_CALLS: u64 = 40;

/// The name of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetectorId {
    /// The same call with the same result in a row.
    ExactRepeat,
    /// A cycle of a few calls.
    Alternation,
    /// The same error again and again.
    SameError,
    /// Neither a new input nor a changed file.
    NoProgress,
    /// Tokens or cost run away.
    SpendRunaway,
    /// Model calls with no event.
    UnreportedCalls,
    /// Too many sub-agents.
    NodeStorm,
    /// A command that waits for input, or never ends.
    WaitingCommand,
    /// Nothing happens.
    Silence,
    /// A finished node that never returned to its parent.
    Unreturned,
    /// Writing to tests or graders.
    GraderWrite,
    /// Reading outside the work directory.
    OutsideRead,
    /// Looking for git history.
    GitHistory,
    /// Printing what a grader takes for success.
    SuccessMarker,
    /// Touching a protected path.
    ProtectedWrite,
}

impl DetectorId {
    /// All detectors.
    pub const ALL: [DetectorId; 15] = [
        DetectorId::ExactRepeat,
        DetectorId::Alternation,
        DetectorId::SameError,
        DetectorId::NoProgress,
        DetectorId::SpendRunaway,
        DetectorId::UnreportedCalls,
        DetectorId::NodeStorm,
        DetectorId::WaitingCommand,
        DetectorId::Silence,
        DetectorId::Unreturned,
        DetectorId::GraderWrite,
        DetectorId::OutsideRead,
        DetectorId::GitHistory,
        DetectorId::SuccessMarker,
        DetectorId::ProtectedWrite,
    ];

    /// Returns the name as it stands in records.
    pub fn as_str(self) -> &'static str {
        match self {
            DetectorId::ExactRepeat => "exact_repeat",
            DetectorId::Alternation => "alternation",
            DetectorId::SameError => "same_error",
            DetectorId::NoProgress => "no_progress",
            DetectorId::SpendRunaway => "spend_runaway",
            DetectorId::UnreportedCalls => "unreported_calls",
            DetectorId::NodeStorm => "node_storm",
            DetectorId::WaitingCommand => "waiting_command",
            DetectorId::Silence => "silence",
            DetectorId::Unreturned => "unreturned",
            DetectorId::GraderWrite => "grader_write",
            DetectorId::OutsideRead => "outside_read",
            DetectorId::GitHistory => "git_history",
            DetectorId::SuccessMarker => "success_marker",
            DetectorId::ProtectedWrite => "protected_write",
        }
    }

    /// Tells whether it watches for cheating; the others watch for being stuck.
    pub fn is_integrity(self) -> bool {
        match self {
            DetectorId::GraderWrite
            | DetectorId::OutsideRead
            | DetectorId::GitHistory
            | DetectorId::SuccessMarker
            | DetectorId::ProtectedWrite => true,
            DetectorId::ExactRepeat
            | DetectorId::Alternation
            | DetectorId::SameError
            | DetectorId::NoProgress
            | DetectorId::SpendRunaway
            | DetectorId::UnreportedCalls
            | DetectorId::NodeStorm
            | DetectorId::WaitingCommand
            | DetectorId::Silence
            | DetectorId::Unreturned => false,
        }
    }

    /// Tells whether it watches for a loop.
    pub fn is_loop(self) -> bool {
        matches!(
            self,
            DetectorId::ExactRepeat
                | DetectorId::Alternation
                | DetectorId::SameError
                | DetectorId::NoProgress
        )
    }

    /// Tells whether it watches the clock, so that its finding ends with the node's next event.
    fn is_timed(self) -> bool {
        matches!(self, DetectorId::WaitingCommand | DetectorId::Silence | DetectorId::Unreturned)
    }

    /// Tells whether it watches the meter.
    fn is_metered(self) -> bool {
        matches!(self, DetectorId::SpendRunaway | DetectorId::UnreportedCalls)
    }
}

impl std::fmt::Display for DetectorId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a finding is worth, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proposal {
    /// To be written down.
    Note,
    /// A word to the node.
    Nudge,
    /// The end of the node.
    Cancel,
}

impl Proposal {
    /// Returns the name as it stands in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Proposal::Note => "note",
            Proposal::Nudge => "nudge",
            Proposal::Cancel => "cancel",
        }
    }
}

/// Everything that a detector may look at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Time since the trial's start.
    pub at: Duration,
    /// The call graph.
    pub graph: &'a CallGraph,
    /// The newest reading of the meter.
    pub reading: &'a Reading,
    /// Older readings, and what stood beside them.
    pub history: &'a spending::History,
    /// The settings.
    pub settings: &'a Settings,
}

/// What a detector saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which detector.
    pub detector: DetectorId,
    /// The node it is about.
    pub node: NodeId,
    /// How much of it: repeats, seconds, percent, offences.
    pub count: u64,
    /// From which count on it fires.
    pub threshold: u64,
    /// What it is worth.
    pub proposes: Proposal,
    /// What was seen, for people.
    pub evidence: String,
    /// Numbers of the events that show it.
    pub events: Vec<u64>,
}

/// A finding, seen together with the nudges that went before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Which detector.
    pub detector: DetectorId,
    /// The node it is about.
    pub node: NodeId,
    /// How much of it: repeats, seconds, percent, offences.
    pub count: u64,
    /// From which count on it fires.
    pub threshold: u64,
    /// What it is worth now.
    pub proposes: Proposal,
    /// Whether it went on after a nudge that had reached the node.
    pub after_nudge: bool,
    /// Whether it is grave enough for a cancel with no nudge before it.
    pub grave: bool,
    /// What was seen, for people.
    pub evidence: String,
    /// Numbers of the events that show it.
    pub events: Vec<u64>,
}

/// What is known of the newest nudge that reached a node or one above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NudgeState {
    /// When it was delivered.
    pub delivered: Duration,
    /// Calls that the node and all below it made since.
    pub calls_since: u64,
}

/// Remembers what was reported, and which patterns go on.
#[derive(Clone, Debug, Default)]
pub struct Detectors {
    standing: BTreeMap<(DetectorId, NodeId), Hit>,
    reported: BTreeMap<(DetectorId, NodeId), Reported>,
    offences: BTreeMap<(DetectorId, NodeId), u64>,
}

#[derive(Clone, Copy, Debug)]
struct Reported {
    count: u64,
    proposes: Proposal,
    at: Duration,
}

impl Detectors {
    /// Looks after an event; `scene.graph` holds it already. Returns the hits to report.
    pub fn on_event(
        &mut self,
        scene: &Scene<'_>,
        event: &Event,
        nudge: impl Fn(&NodeId) -> Option<NudgeState>,
    ) -> Vec<Hit> {
        let mut findings = integrity::findings(scene, event);
        for finding in &mut findings {
            let count = self.offences.entry((finding.detector, finding.node.clone())).or_default();
            *count += 1;
            finding.count = *count;
        }
        if matches!(event.kind, EventKind::ToolResult { .. } | EventKind::AgentFinished { .. }) {
            let ids: Vec<NodeId> = match &event.kind {
                EventKind::AgentFinished { .. } => {
                    crate::graph::parent_of(&event.node).into_iter().collect()
                }
                _ => vec![event.node.clone()],
            };
            for id in ids {
                self.drop_standing(&id, DetectorId::is_loop);
                findings.extend(repeats::findings(scene, &id));
            }
        }
        self.drop_standing(&event.node, DetectorId::is_timed);
        if let EventKind::AgentStarted { .. } = event.kind {
            findings.extend(spending::storm(scene));
        }
        self.report(scene, findings, nudge)
    }

    /// Looks because time went by, or the meter moved.
    pub fn on_time(
        &mut self,
        scene: &Scene<'_>,
        nudge: impl Fn(&NodeId) -> Option<NudgeState>,
    ) -> Vec<Hit> {
        // Both kinds are found anew each time, so what is not found any more is over.
        self.standing.retain(|(detector, _), _| !detector.is_timed() && !detector.is_metered());
        let mut findings = waiting::findings(scene);
        findings.extend(spending::findings(scene));
        self.report(scene, findings, nudge)
    }

    fn drop_standing(&mut self, node: &NodeId, which: fn(DetectorId) -> bool) {
        self.standing.retain(|(detector, id), _| id != node || !which(*detector));
    }

    /// Forgets everything about finished nodes that does not outlast them.
    pub fn node_finished(&mut self, node: &NodeId) {
        self.standing.retain(|(detector, id), _| id != node || detector.is_integrity());
    }

    fn report(
        &mut self,
        scene: &Scene<'_>,
        findings: Vec<Finding>,
        nudge: impl Fn(&NodeId) -> Option<NudgeState>,
    ) -> Vec<Hit> {
        let rules = &scene.settings.rules;
        let mut hits = Vec::new();
        for finding in findings {
            let key = (finding.detector, finding.node.clone());
            let grave = finding.proposes == Proposal::Cancel;
            let before = self.reported.get(&key).copied();
            let ignored = nudge(&finding.node).is_some_and(|nudge| {
                let patient = nudge.calls_since >= rules.patience_calls
                    || (scene.at - nudge.delivered).as_secs_f64() >= rules.patience_seconds;
                // Only a pattern that was there before the nudge can have been ignored.
                let known = before.is_some_and(|before| before.at <= nudge.delivered);
                patient && known && nudge.calls_since <= RELAPSE_CALLS
            });
            let after_nudge = ignored && finding.proposes >= Proposal::Nudge;
            let proposes = if after_nudge { Proposal::Cancel } else { finding.proposes };
            let hit = Hit {
                detector: finding.detector,
                node: finding.node,
                count: finding.count,
                threshold: finding.threshold,
                proposes,
                after_nudge,
                grave,
                evidence: finding.evidence,
                events: finding.events,
            };
            let news = before.is_none_or(|before| {
                hit.count < before.count
                    || hit.count >= before.count.saturating_mul(2)
                    || proposes > before.proposes
            });
            if news {
                // A pattern's first sight stays its age, so that a later nudge can be measured by it.
                let at =
                    before.filter(|before| hit.count >= before.count).map_or(scene.at, |b| b.at);
                self.reported.insert(key.clone(), Reported { count: hit.count, proposes, at });
                hits.push(hit.clone());
            }
            self.standing.insert(key, hit);
        }
        hits
    }

    /// Returns the hits whose patterns go on, with the most serious first.
    pub fn standing(&self) -> Vec<&Hit> {
        let mut hits: Vec<&Hit> = self.standing.values().collect();
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.proposes));
        hits
    }

    /// Returns the detectors that reported something.
    pub fn fired(&self) -> impl Iterator<Item = DetectorId> {
        self.reported.keys().map(|(detector, _)| *detector)
    }
}
