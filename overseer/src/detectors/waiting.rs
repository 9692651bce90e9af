//! Detectors that watch the clock: a command that waits, silence, a parent that never wakes.

use super::{DetectorId, Finding, Proposal, Scene};
use crate::detectors::integrity::shell;
use crate::graph::Node;
use hone_protocol::NodeId;

/// Returns what has taken too long.
pub fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = scene
        .graph
        .nodes()
        .filter(|(_, node)| node.finished.is_none())
        .flat_map(|(id, node)| [open_call(scene, id, node), unreturned(scene, id, node)])
        .flatten()
        .collect();
    found.extend(silence(scene));
    found
}

fn open_call(scene: &Scene<'_>, id: &NodeId, node: &Node) -> Option<Finding> {
    let thresholds = &scene.settings.thresholds;
    let call = node.open_call().filter(|call| !call.tool.starts_with("agent "))?;
    let seconds = (scene.at - call.at).as_secs_f64();
    let interactive = shell::reads_input(&call.command);
    let (threshold, proposes) = if interactive {
        (thresholds.waiting_seconds, Proposal::Nudge)
    } else {
        (thresholds.long_call_seconds, Proposal::Note)
    };
    (seconds >= threshold).then(|| Finding {
        detector: DetectorId::WaitingCommand,
        node: id.clone(),
        count: seconds as u64,
        threshold: threshold as u64,
        proposes,
        evidence: if interactive {
            format!("a command that probably waits for input: {} {}", call.tool, call.summary)
        } else {
            format!("a call that has not come back: {} {}", call.tool, call.summary)
        },
        events: vec![call.seq],
    })
}

fn unreturned(scene: &Scene<'_>, id: &NodeId, node: &Node) -> Option<Finding> {
    let threshold = scene.settings.thresholds.unreturned_seconds;
    let mut last = None;
    for (child_id, child) in scene.graph.children(id) {
        let (at, _) = child.finished.as_ref()?;
        last = last.max(Some((*at, child_id)));
    }
    let (at, child) = last?;
    if node.last_event > at || scene.reading.open_calls > 0 {
        return None;
    }
    let seconds = (scene.at - at).as_secs_f64();
    (seconds >= threshold).then(|| Finding {
        detector: DetectorId::Unreturned,
        node: id.clone(),
        count: seconds as u64,
        threshold: threshold as u64,
        proposes: if seconds >= threshold * 2.0 { Proposal::Nudge } else { Proposal::Note },
        evidence: format!("sub-agent {child} finished, and {id} has done nothing since"),
        events: Vec::new(),
    })
}

fn silence(scene: &Scene<'_>) -> Option<Finding> {
    let threshold = scene.settings.thresholds.silence_seconds;
    let since = scene.graph.last_event().max(scene.history.last_call());
    let seconds = (scene.at - since).as_secs_f64();
    let working = scene.reading.open_calls > 0 || scene.graph.nodes().any(|(_, node)| busy(node));
    (seconds >= threshold && !working).then(|| Finding {
        detector: DetectorId::Silence,
        node: scene.graph.busiest(),
        count: seconds as u64,
        threshold: threshold as u64,
        proposes: if seconds >= threshold * 2.0 { Proposal::Nudge } else { Proposal::Note },
        evidence: "neither an event nor a model call".to_owned(),
        events: Vec::new(),
    })
}

/// Tells whether a node waits for a tool; a sub-agent is busy by its own calls.
fn busy(node: &Node) -> bool {
    node.finished.is_none() && node.open_call().is_some_and(|call| !call.tool.starts_with("agent "))
}
