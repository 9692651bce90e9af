//! Detectors for loops: a node that does the same things and learns nothing.

use super::{DetectorId, Finding, Proposal, Scene};
use crate::fingerprint::Fingerprint;
use crate::graph::{Call, CallOutcome, Node};
use hone_protocol::NodeId;
use std::collections::HashMap;

/// A cycle at the end of a node's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// How many calls it has.
    pub period: usize,
    /// How many of the newest calls belong to it.
    pub calls: usize,
}

impl Cycle {
    /// Returns how many full rounds there are.
    pub fn rounds(self) -> usize {
        self.calls / self.period
    }
}

/// Returns the loops that a node is in after a call came back.
pub fn findings(scene: &Scene<'_>, id: &NodeId) -> Vec<Finding> {
    let Some(node) = scene.graph.node(id) else { return Vec::new() };
    let found =
        [cycle_finding(scene, id, node), same_error(scene, id, node), no_progress(scene, id, node)];
    found.into_iter().flatten().collect()
}

/// Finds the shortest cycle at the end of a list whose newest item is first.
///
/// A cycle of one item needs `repeats` items, a longer one `rounds` full rounds.
pub fn find_cycle<K: PartialEq>(
    newest_first: &[K],
    repeats: usize,
    rounds: usize,
    longest: usize,
) -> Option<Cycle> {
    (1..=longest).find_map(|period| {
        let equal = newest_first
            .iter()
            .zip(newest_first.iter().skip(period))
            .take_while(|(newer, older)| newer == older)
            .count();
        let calls = equal + period;
        let needed = if period == 1 { repeats } else { rounds * period };
        // Two rounds of one call are not a cycle of two.
        let own = (1..period).all(|shorter| {
            period % shorter != 0
                || newest_first
                    .iter()
                    .take(period)
                    .zip(newest_first.iter().skip(shorter))
                    .any(|(newer, older)| newer != older)
        });
        (own && equal > 0 && calls >= needed.max(2)).then_some(Cycle { period, calls })
    })
}

fn cycle_finding(scene: &Scene<'_>, id: &NodeId, node: &Node) -> Option<Finding> {
    let thresholds = &scene.settings.thresholds;
    let calls: Vec<(&Call, &CallOutcome)> = node.finished_calls().collect();
    let keys: Vec<(Fingerprint, Fingerprint)> =
        calls.iter().map(|(call, outcome)| (call.input, outcome.result)).collect();
    let repeats = usize::try_from(thresholds.exact_repeat).unwrap_or(usize::MAX);
    let rounds = usize::try_from(thresholds.alternation_rounds).unwrap_or(usize::MAX);
    let cycle = find_cycle(&keys, repeats, rounds, thresholds.longest_cycle)?;
    let mut one_round: Vec<String> = calls[..cycle.period]
        .iter()
        .map(|(call, _)| format!("{} {}", call.tool, call.summary))
        .collect();
    one_round.reverse();
    let evidence = if cycle.period == 1 {
        format!("{} equal calls with equal results: {}", cycle.calls, one_round[0])
    } else {
        format!(
            "{} rounds of {} calls with equal results: {}",
            cycle.rounds(),
            cycle.period,
            one_round.join(" · ")
        )
    };
    let (detector, threshold) = if cycle.period == 1 {
        (DetectorId::ExactRepeat, thresholds.exact_repeat)
    } else {
        (DetectorId::Alternation, thresholds.alternation_rounds * cycle.period as u64)
    };
    Some(Finding {
        detector,
        node: id.clone(),
        count: cycle.calls as u64,
        threshold,
        proposes: Proposal::Nudge,
        evidence,
        events: oldest_first(calls[..cycle.calls].iter().map(|(call, _)| call.seq)),
    })
}

fn same_error(scene: &Scene<'_>, id: &NodeId, node: &Node) -> Option<Finding> {
    let thresholds = &scene.settings.thresholds;
    let mut groups: HashMap<Fingerprint, Vec<(&Call, &str)>> = HashMap::new();
    let window = node.finished_calls().take(thresholds.same_error_window);
    for (call, outcome) in window {
        if let Some((error, text)) = &outcome.error {
            groups.entry(*error).or_default().push((call, text));
        }
    }
    // The newest error decides: an old one that was overcome is no longer a pattern.
    let newest = node.finished_calls().find_map(|(_, outcome)| outcome.error.as_ref())?;
    let group = groups.get(&newest.0)?;
    let count = group.len() as u64;
    (count >= thresholds.same_error).then(|| Finding {
        detector: DetectorId::SameError,
        node: id.clone(),
        count,
        threshold: thresholds.same_error,
        proposes: Proposal::Nudge,
        evidence: format!(
            "{count} of the last {} calls failed alike: {}",
            thresholds.same_error_window, newest.1
        ),
        events: oldest_first(group.iter().map(|(call, _)| call.seq)),
    })
}

fn no_progress(scene: &Scene<'_>, id: &NodeId, node: &Node) -> Option<Finding> {
    let threshold = scene.settings.thresholds.no_progress;
    let idle: Vec<(&Call, &CallOutcome)> =
        node.finished_calls().take_while(|(call, _)| !call.new_input && call.edits == 0).collect();
    let count = idle.len() as u64;
    if count < threshold {
        return None;
    }
    // Asking the same question and getting new answers is waiting for something; that is healthy.
    let new_results = idle.iter().filter(|(_, outcome)| outcome.new_result).count();
    let proposes = if new_results * 4 > idle.len() { Proposal::Note } else { Proposal::Nudge };
    Some(Finding {
        detector: DetectorId::NoProgress,
        node: id.clone(),
        count,
        threshold,
        proposes,
        evidence: format!(
            "{count} calls in a row with no new input and no changed file, {new_results} of them \
             with a new result"
        ),
        events: oldest_first(idle.iter().map(|(call, _)| call.seq)),
    })
}

fn oldest_first(newest_first: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut events: Vec<u64> = newest_first.take(40).collect();
    events.reverse();
    events
}

#[cfg(test)]
mod tests {
    use super::{Cycle, find_cycle};

    #[test]
    fn the_shortest_cycle_is_found() {
        assert_eq!(find_cycle(&[1, 1, 1, 1], 4, 3, 4), Some(Cycle { period: 1, calls: 4 }));
        assert_eq!(
            find_cycle(&[1, 2, 1, 2, 1, 2, 9], 4, 3, 4),
            Some(Cycle { period: 2, calls: 6 })
        );
        let three = [1, 2, 3, 1, 2, 3, 1, 2, 3];
        assert_eq!(find_cycle(&three, 4, 3, 4), Some(Cycle { period: 3, calls: 9 }));
    }

    #[test]
    fn a_cycle_that_was_left_is_none() {
        assert_eq!(find_cycle(&[9, 1, 1, 1, 1, 1], 4, 3, 4), None);
        assert_eq!(find_cycle(&[1, 1, 1], 4, 3, 4), None);
        assert_eq!(find_cycle::<u8>(&[], 4, 3, 4), None);
    }

    #[test]
    fn one_call_again_and_again_is_no_cycle_of_two() {
        assert_eq!(find_cycle(&[1; 12], 100, 3, 4), None);
    }

    #[test]
    fn a_threshold_of_nothing_still_needs_a_repeat() {
        assert_eq!(find_cycle(&[1], 0, 0, 4), None);
    }
}
