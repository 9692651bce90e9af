//! Scores: how good detectors and judge were, against labels.

use crate::audit::{Entry, InterventionKind, Record, carried_out};
use crate::calibration::{Calibration, Outcome, calibration};
use crate::decisions::Decision;
use crate::detectors::DetectorId;
use crate::labels::{Label, LabelError, Observed, SUCCESS, Truth, check_labels, labels};
use crate::tape::TapeLine;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// One trial with everything that it is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The audit log.
    pub records: &'a [Record],
    /// The decisions.
    pub decisions: &'a [Decision],
    /// Their labels.
    pub labels: &'a [Label],
    /// What happened.
    pub truth: &'a Truth,
    /// The trial's score, where it has one.
    pub score: Option<f64>,
}

/// One trial as it lies on disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialLog {
    /// The audit log.
    pub records: Vec<Record>,
    /// The decisions.
    pub decisions: Vec<Decision>,
    /// The tape.
    pub tape: Vec<TapeLine>,
    /// The trial's score, where it has one.
    pub score: Option<f64>,
    /// Labels by people; they stand above those that follow from outcomes.
    pub people: Vec<Label>,
}

/// Labels trials by their outcomes and scores them; returns the labels of each trial too.
///
/// # Errors
/// Where a person's label does not fit its decision.
pub fn score_logs(logs: &[TrialLog]) -> Result<(Scores, Vec<Vec<Label>>), LabelError> {
    let mut truths = Vec::new();
    let mut all = Vec::new();
    for log in logs {
        let truth = Truth::of(&log.tape, &log.records);
        let mut labels = labels(&log.decisions, &truth, log.score);
        labels.retain(|label| log.people.iter().all(|other| other.decision != label.decision));
        labels.extend(log.people.iter().cloned());
        check_labels(&labels, &log.decisions, &truth)?;
        truths.push(truth);
        all.push(labels);
    }
    let trials: Vec<Judged<'_>> = logs
        .iter()
        .zip(&truths)
        .zip(&all)
        .map(|((log, truth), labels)| Judged {
            records: &log.records,
            decisions: &log.decisions,
            labels,
            truth,
            score: log.score,
        })
        .collect();
    Ok((score(&trials), all))
}

/// Hits and misses. Of repeated reports of one detector on one node the first counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Fired, and rightly.
    pub right: u64,
    /// Fired, and wrongly.
    pub wrong: u64,
    /// Did not fire, and should have.
    pub missed: u64,
    /// Did not fire, and rightly.
    pub rightly_quiet: u64,
    /// Nobody can know, since the overseer interfered.
    pub censored: u64,
    /// Has no label.
    pub unlabelled: u64,
    /// `right` over all that fired with a label; none where there is nothing to divide by.
    pub precision: Option<f64>,
    /// `right` over all that should have fired.
    pub recall: Option<f64>,
}

/// How good the overseer was over some trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// How many trials there are.
    pub trials: usize,
    /// Trials that ended well, or, unscored, had no loop; cancelled ones are not among them.
    pub healthy_trials: usize,
    /// Nudges and cancels per healthy trial.
    pub false_alarms_per_healthy_trial: Option<f64>,
    /// Each detector's hits and misses.
    pub detectors: BTreeMap<DetectorId, Tally>,
    /// The judge's, in the question whether a node loops.
    pub judge: Tally,
    /// Seconds from the first call of a loop to the nudge, of all nudged loops, ascending.
    pub seconds_to_nudge: Vec<f64>,
    /// How many trials were cancelled as a whole.
    pub cancelled_trials: usize,
    /// How many nodes were cancelled, the roots of cancelled trials included.
    #[serde(default)]
    pub cancelled_nodes: usize,
    /// What cancels saved at the most, in nano-dollars.
    pub saved_at_most_nano_usd: u64,
    /// What cancels saved at the agents' pace, in nano-dollars.
    pub saved_at_pace_nano_usd: u64,
    /// What the judge cost, in nano-dollars.
    pub cost_nano_usd: u64,
    /// How the judge's probabilities fit what happened.
    pub calibration: Option<Calibration>,
}

/// Scores trials.
pub fn score(trials: &[Judged<'_>]) -> Scores {
    let mut scores = Scores {
        trials: trials.len(),
        healthy_trials: 0,
        false_alarms_per_healthy_trial: None,
        detectors: DetectorId::ALL.into_iter().map(|id| (id, Tally::default())).collect(),
        judge: Tally::default(),
        seconds_to_nudge: Vec::new(),
        cancelled_trials: 0,
        cancelled_nodes: 0,
        saved_at_most_nano_usd: 0,
        saved_at_pace_nano_usd: 0,
        cost_nano_usd: 0,
        calibration: None,
    };
    let mut alarms = 0;
    let mut outcomes = Vec::new();
    for trial in trials {
        if is_healthy(trial) {
            scores.healthy_trials += 1;
            alarms += interventions(trial.records, None);
        }
        tally(trial, &mut scores, &mut outcomes);
        scores.seconds_to_nudge.extend(seconds_to_nudge(trial));
        scores.cancelled_nodes += carried_out(trial.records, InterventionKind::Cancel).count();
        for record in trial.records {
            if let Entry::Closed {
                verdict,
                cost_nano_usd,
                saved_at_most_nano_usd,
                saved_at_pace_nano_usd,
                ..
            } = &record.entry
            {
                let cancelled = *verdict != crate::audit::Verdict::LetRun;
                scores.cancelled_trials += usize::from(cancelled);
                scores.cost_nano_usd += cost_nano_usd;
                scores.saved_at_most_nano_usd += saved_at_most_nano_usd.unwrap_or(0);
                scores.saved_at_pace_nano_usd += saved_at_pace_nano_usd.unwrap_or(0);
            }
        }
    }
    scores.seconds_to_nudge.sort_by(f64::total_cmp);
    if scores.healthy_trials > 0 {
        scores.false_alarms_per_healthy_trial = Some(alarms as f64 / scores.healthy_trials as f64);
    }
    for tally in scores.detectors.values_mut().chain([&mut scores.judge]) {
        tally.precision = share(tally.right, tally.right + tally.wrong);
        tally.recall = share(tally.right, tally.right + tally.missed);
    }
    scores.calibration = calibration(&outcomes);
    scores
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn is_healthy(trial: &Judged<'_>) -> bool {
    if trial.truth.is_cancelled(&hone_protocol::NodeId::root()) {
        return false;
    }
    match trial.score {
        Some(score) => score >= SUCCESS,
        None => trial.truth.loops().is_empty(),
    }
}

fn interventions(records: &[Record], kind: Option<InterventionKind>) -> u64 {
    records
        .iter()
        .filter(|record| match &record.entry {
            Entry::Intervention(made) => kind.is_none_or(|kind| made.kind == kind),
            _ => false,
        })
        .count() as u64
}

fn tally(trial: &Judged<'_>, scores: &mut Scores, outcomes: &mut Vec<Outcome>) {
    let labels: BTreeMap<&str, &Observed> =
        trial.labels.iter().map(|label| (label.decision.as_str(), &label.observed)).collect();
    let mut counted = BTreeSet::new();
    for decision in trial.decisions {
        let observed = labels.get(decision.id.as_str()).copied();
        let point = decision.point.point.as_str();
        let of_judge = point.starts_with("overseer.");
        if let (true, Some(Observed::Option { option })) = (of_judge, observed) {
            outcomes.extend(outcome(decision, option));
        }
        let (tally, positive) = if point == "overseer.looping" {
            (&mut scores.judge, "looping")
        } else {
            let id = DetectorId::ALL
                .into_iter()
                .find(|id| point.strip_prefix("detector.") == Some(id.as_str()));
            let Some(tally) = id.and_then(|id| scores.detectors.get_mut(&id)) else { continue };
            if !counted.insert((point, &decision.node, decision.chosen == "fires")) {
                continue;
            }
            (tally, "fires")
        };
        match observed {
            None => tally.unlabelled += 1,
            Some(Observed::Censored { .. }) => tally.censored += 1,
            Some(Observed::Option { option }) => {
                let place = match (decision.chosen == positive, option == positive) {
                    (true, true) => &mut tally.right,
                    (true, false) => &mut tally.wrong,
                    (false, true) => &mut tally.missed,
                    (false, false) => &mut tally.rightly_quiet,
                };
                *place += 1;
            }
        }
    }
}

fn outcome(decision: &Decision, observed: &str) -> Option<Outcome> {
    let place = |id: &str| decision.point.options.iter().position(|option| option.id == id);
    let probability = |id: &str| decision.probabilities.get(place(id)?).copied();
    Some(Outcome {
        p_observed: probability(observed)?,
        confidence: probability(&decision.chosen)?,
        correct: decision.chosen == observed,
    })
}

/// Measures, for each nudge about a loop, the time since the loop's first call.
fn seconds_to_nudge(trial: &Judged<'_>) -> Vec<f64> {
    let mut last_loop = BTreeMap::new();
    let mut seconds = Vec::new();
    for record in trial.records {
        match &record.entry {
            Entry::Detector { hit } if hit.detector.is_loop() => {
                if let Some(first) = hit.events.first() {
                    last_loop.insert(hit.node.clone(), *first);
                }
            }
            Entry::Intervention(made) if made.kind == InterventionKind::Nudge => {
                let began = last_loop
                    .iter()
                    .find(|(node, _)| node.is_within(&made.node))
                    .and_then(|(_, first)| trial.truth.call_time(*first));
                seconds.extend(began.map(|ms| record.at_ms.saturating_sub(ms) as f64 / 1e3));
            }
            _ => {}
        }
    }
    seconds
}

/// Renders scores for people.
pub fn render_scores(scores: &Scores) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |v| format!("{v:.2}"));
    let dollars = |nano: u64| nano as f64 / 1e9;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} trials, {} healthy; {} trials and {} nodes cancelled; {} false alarms per healthy trial",
        scores.trials,
        scores.healthy_trials,
        scores.cancelled_trials,
        scores.cancelled_nodes,
        number(scores.false_alarms_per_healthy_trial)
    );
    let _ = writeln!(
        text,
        "{:<18} {:>5} {:>5} {:>6} {:>5} {:>8} {:>10} {:>9} {:>6}",
        "", "right", "wrong", "missed", "quiet", "censored", "unlabelled", "precision", "recall"
    );
    let named = scores.detectors.iter().map(|(id, tally)| (id.as_str(), tally));
    for (name, tally) in named.chain([("judge (looping)", &scores.judge)]) {
        let _ = writeln!(
            text,
            "{name:<18} {:>5} {:>5} {:>6} {:>5} {:>8} {:>10} {:>9} {:>6}",
            tally.right,
            tally.wrong,
            tally.missed,
            tally.rightly_quiet,
            tally.censored,
            tally.unlabelled,
            number(tally.precision),
            number(tally.recall)
        );
    }
    let median = scores.seconds_to_nudge.get(scores.seconds_to_nudge.len() / 2).copied();
    let _ = writeln!(
        text,
        "loop start to nudge: {} s in the median of {}",
        number(median),
        scores.seconds_to_nudge.len()
    );
    let _ = writeln!(
        text,
        "cancels saved at most ${:.4}, ${:.4} at the agents' pace; the judge cost ${:.4}",
        dollars(scores.saved_at_most_nano_usd),
        dollars(scores.saved_at_pace_nano_usd),
        dollars(scores.cost_nano_usd)
    );
    let _ = match scores.calibration {
        Some(fit) => writeln!(
            text,
            "judge: NLL {:.4}, ECE {:.4}, accuracy {:.4} over {} labelled decisions",
            fit.nll, fit.ece, fit.accuracy, fit.count
        ),
        None => writeln!(text, "judge: no labelled decisions"),
    };
    text
}
