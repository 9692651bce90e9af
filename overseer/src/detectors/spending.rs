//! Detectors for spending: tokens, cost and sub-agents that run away. Their numbers come from the
//! gateway's meter, never from the agent.

use super::{DetectorId, Finding, Proposal, Scene};
use crate::meter::Reading;
use hone_protocol::NodeId;
use std::collections::VecDeque;
use std::time::Duration;

/// Readings that are kept; three times the default window.
const READINGS_KEPT: usize = 64;

/// Readings, one per number of finished model calls.
#[derive(Clone, Debug, Default)]
pub struct History {
    readings: VecDeque<(Reading, u64)>,
    calls_at_last_event: u64,
    last_call: Duration,
}

impl History {
    /// Takes in a reading, with the number of file changes at that time.
    pub fn push(&mut self, at: Duration, reading: Reading, edits: u64) {
        if self.readings.back().is_none_or(|(last, _)| last.calls != reading.calls) {
            self.last_call = at;
        }
        if self.readings.back().is_some_and(|(last, _)| last.calls == reading.calls) {
            self.readings.pop_back();
        } else if self.readings.len() == READINGS_KEPT {
            self.readings.pop_front();
        }
        self.readings.push_back((reading, edits));
    }

    /// Returns when the number of finished model calls last moved.
    pub fn last_call(&self) -> Duration {
        self.last_call
    }

    /// Notes that the agent reported something.
    pub fn event(&mut self, calls: u64) {
        self.calls_at_last_event = calls;
    }

    /// Returns the newest reading at or before `back` calls ago.
    fn before(&self, back: u64) -> Option<&(Reading, u64)> {
        let (now, _) = self.readings.back()?;
        let calls = now.calls.checked_sub(back)?;
        self.readings.iter().rev().find(|(reading, _)| reading.calls <= calls)
    }
}

/// Returns what runs away.
pub fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    [cost(scene), long_replies(scene), unreported(scene)].into_iter().flatten().collect()
}

fn cost(scene: &Scene<'_>) -> Option<Finding> {
    let thresholds = &scene.settings.thresholds;
    let limit = scene.reading.cost_limit_nano_usd;
    let (before, edits) = scene.history.before(thresholds.spend_calls)?;
    if limit == 0 {
        return None;
    }
    let spent = scene.reading.cost_nano_usd.saturating_sub(before.cost_nano_usd);
    let percent = spent as f64 / limit as f64 * 100.0;
    if percent < thresholds.spend_percent || scene.graph.edits() != *edits {
        return None;
    }
    // Spending much is for the judge to weigh; spending ever faster is running away.
    let earlier = scene
        .history
        .before(thresholds.spend_calls * 2)
        .map(|(older, _)| before.cost_nano_usd.saturating_sub(older.cost_nano_usd));
    let faster = earlier.is_some_and(|earlier| spent >= earlier.saturating_mul(3));
    Some(Finding {
        detector: DetectorId::SpendRunaway,
        node: scene.graph.busiest(),
        count: percent as u64,
        threshold: thresholds.spend_percent as u64,
        proposes: if faster { Proposal::Nudge } else { Proposal::Note },
        evidence: format!(
            "{percent:.0} % of the cost limit went into the last {} model calls, and no file was \
             changed",
            thresholds.spend_calls
        ),
        events: Vec::new(),
    })
}

fn long_replies(scene: &Scene<'_>) -> Option<Finding> {
    let threshold = scene.settings.thresholds.spend_output_tokens;
    let (one_back, _) = scene.history.before(1)?;
    let calls = scene.reading.calls.saturating_sub(one_back.calls).max(1);
    let tokens = scene.reading.output_tokens.saturating_sub(one_back.output_tokens) / calls;
    if tokens < threshold {
        return None;
    }
    let twice = scene.history.before(2).is_some_and(|(two_back, _)| {
        one_back.output_tokens.saturating_sub(two_back.output_tokens) >= threshold
    });
    Some(Finding {
        detector: DetectorId::SpendRunaway,
        node: scene.graph.busiest(),
        count: tokens,
        threshold,
        proposes: if twice { Proposal::Nudge } else { Proposal::Note },
        evidence: format!("a reply of {tokens} tokens"),
        events: Vec::new(),
    })
}

fn unreported(scene: &Scene<'_>) -> Option<Finding> {
    let threshold = scene.settings.thresholds.unreported_calls;
    let count = scene.reading.calls.saturating_sub(scene.history.calls_at_last_event);
    // An agent that never reports anything is another program; that is allowed.
    let silent = scene.graph.event_count() == 0;
    (count >= threshold).then(|| Finding {
        detector: DetectorId::UnreportedCalls,
        node: scene.graph.busiest(),
        count,
        threshold,
        proposes: if silent { Proposal::Note } else { Proposal::Nudge },
        evidence: format!("{count} model calls since the agent's last event"),
        events: Vec::new(),
    })
}

/// Returns whether there are too many sub-agents.
pub fn storm(scene: &Scene<'_>) -> Option<Finding> {
    let threshold = scene.settings.thresholds.nodes;
    let count = scene.graph.node_count() as u64;
    (count >= threshold).then(|| Finding {
        detector: DetectorId::NodeStorm,
        node: NodeId::root(),
        count,
        threshold,
        proposes: Proposal::Nudge,
        evidence: format!("{count} agents were started in one trial"),
        events: Vec::new(),
    })
}
