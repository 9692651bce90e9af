//! Replays: a recorded trial checked against its log, or judged again with other settings.

use crate::audit::{Author, Entry, LookOutcome, Record, Verdict};
use crate::decisions::Decision;
use crate::desk::{Act, Brief, Desk};
use crate::judge::Judge;
use crate::settings::{Mode, Settings};
use crate::tape::{Answer, Input, TapeLine};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Why a log cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The log does not begin with the record that opens it.
    #[error("the audit log does not begin with its `opened` record")]
    NotOpened,
    /// The log was not made from this tape.
    #[error("record {record} of the audit log does not follow from the tape")]
    Differs {
        /// The first record that differs.
        record: u64,
    },
}

/// What a replay came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// How the overseer left the trial, or would have.
    pub verdict: Verdict,
    /// The audit log.
    pub records: Vec<Record>,
    /// The decisions.
    pub decisions: Vec<Decision>,
}

/// Returns brief and settings of a recorded watch.
///
/// # Errors
/// Where the log has no beginning.
pub fn opening(records: &[Record]) -> Result<(Brief, Settings), ReplayError> {
    match records.first().map(|record| &record.entry) {
        Some(Entry::Opened { trial, role, statement, settings, .. }) => {
            let brief =
                Brief { trial: trial.clone(), role: role.clone(), statement: statement.clone() };
            Ok((brief, (**settings).clone()))
        }
        _ => Err(ReplayError::NotOpened),
    }
}

/// Checks that a log, its verdict included, follows from its tape.
///
/// # Errors
/// The first record that does not follow.
pub fn verify(records: &[Record], tape: &[TapeLine]) -> Result<Verdict, ReplayError> {
    let (brief, settings) = opening(records)?;
    let mut desk = Desk::open(brief, settings);
    for line in tape {
        desk.feed(line);
        desk.take_acts();
    }
    let made = desk.records();
    let differs = made.iter().zip(records).find(|(made, recorded)| made != recorded);
    if let Some((made, _)) = differs {
        return Err(ReplayError::Differs { record: made.record });
    }
    if made.len() != records.len() {
        let record = made.len().min(records.len()) as u64 + 1;
        return Err(ReplayError::Differs { record });
    }
    Ok(desk.verdict().clone())
}

/// Judges a recorded trial again. Nothing is sent: what would have been is recorded as in the shadow.
///
/// The agent's events stay what they were, so from the first intervention on, of then or of now, this
/// tells what the overseer would have thought, not what the agent would have done.
pub async fn replay(
    brief: Brief,
    settings: Settings,
    tape: &[TapeLine],
    judge: &dyn Judge,
) -> Replayed {
    let limit = Duration::try_from_secs_f64(settings.judge.timeout_seconds).unwrap_or_default();
    let mut desk = Desk::open(brief, Settings { mode: Mode::Shadow, ..settings });
    for line in tape {
        let at = Duration::from_millis(line.at_ms);
        while let Some(due) = desk.deadline().filter(|due| *due < at) {
            let at_ms = u64::try_from(due.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
            feed(&mut desk, at_ms, Input::Tick, judge, limit).await;
            if desk.deadline() == Some(due) {
                break;
            }
        }
        match &line.input {
            // What the judge said and what was sent belongs to the overseer of then.
            Input::Replied { .. } | Input::Sent { .. } | Input::Tick => {}
            input => feed(&mut desk, line.at_ms, input.clone(), judge, limit).await,
        }
    }
    if !tape.iter().any(|line| line.input == Input::Ended) {
        let at_ms = tape.last().map_or(0, |line| line.at_ms);
        feed(&mut desk, at_ms, Input::Ended, judge, limit).await;
    }
    let would = desk.records().iter().find_map(|record| match &record.entry {
        Entry::Intervention(made)
            if made.kind == crate::audit::InterventionKind::Cancel
                && made.node == hone_protocol::NodeId::root() =>
        {
            Some(Verdict::Cancelled { reason: made.reason.clone(), forced: false })
        }
        _ => None,
    });
    let (records, decisions) = desk.into_logs();
    Replayed { verdict: would.unwrap_or(Verdict::LetRun), records, decisions }
}

async fn feed(desk: &mut Desk, at_ms: u64, input: Input, judge: &dyn Judge, limit: Duration) {
    let mut inputs = vec![input];
    while let Some(input) = inputs.pop() {
        desk.feed(&TapeLine { at_ms, input });
        for act in desk.take_acts() {
            match act {
                Act::Ask { look, question, prompt } => {
                    let answer = match tokio::time::timeout(limit, judge.ask(prompt)).await {
                        Ok(result) => Answer::from(result),
                        Err(_) => Answer::TimedOut,
                    };
                    inputs.push(Input::Replied { look, question, answer });
                }
                // In the shadow nothing is sent.
                Act::Send { .. } | Act::ForceStop { .. } => {}
            }
        }
    }
}

/// Something that the overseer found or did, in a form that two logs can be compared by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// What it is, such as `nudge 0.1` or `detector same_error 0`.
    pub what: String,
    /// When, in milliseconds since the trial's start.
    pub at_ms: u64,
    /// The newest event by then.
    pub event: u64,
    /// Why, in words.
    pub why: String,
}

/// How two logs of one trial differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "difference", rename_all = "snake_case")]
pub enum Difference {
    /// Only the first log has it.
    Gone {
        /// What.
        mark: Mark,
    },
    /// Only the second log has it.
    New {
        /// What.
        mark: Mark,
    },
    /// Both have it, after other events.
    Moved {
        /// In the first.
        from: Mark,
        /// In the second.
        to: Mark,
    },
    /// The verdicts differ.
    Verdict {
        /// Of the first.
        from: Verdict,
        /// Of the second.
        to: Verdict,
    },
}

/// Returns what one log has and the other has not, in the order of time.
pub fn differences(
    (first, first_verdict): (&[Record], &Verdict),
    (second, second_verdict): (&[Record], &Verdict),
) -> Vec<Difference> {
    let before = marks(first);
    let mut after: Vec<Option<Mark>> = marks(second).into_iter().map(Some).collect();
    let mut found: Vec<(u64, Difference)> = Vec::new();
    for mark in before {
        let twin = after
            .iter_mut()
            .find(|other| other.as_ref().is_some_and(|other| other.what == mark.what))
            .and_then(Option::take);
        match twin {
            Some(twin) if twin.event == mark.event => {}
            Some(to) => found.push((mark.at_ms, Difference::Moved { from: mark, to })),
            None => found.push((mark.at_ms, Difference::Gone { mark })),
        }
    }
    found.extend(after.into_iter().flatten().map(|mark| (mark.at_ms, Difference::New { mark })));
    found.sort_by_key(|(at_ms, _)| *at_ms);
    let mut differences: Vec<Difference> = found.into_iter().map(|(_, found)| found).collect();
    if kind(first_verdict) != kind(second_verdict) {
        differences
            .push(Difference::Verdict { from: first_verdict.clone(), to: second_verdict.clone() });
    }
    differences
}

/// Renders differences, one a line.
pub fn render_differences(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "no differences\n".to_owned();
    }
    let time = |mark: &Mark| format!("{:.1}s, event {}", mark.at_ms as f64 / 1e3, mark.event);
    differences
        .iter()
        .map(|difference| match difference {
            Difference::Gone { mark } => {
                format!("- {} ({}): {}\n", mark.what, time(mark), mark.why)
            }
            Difference::New { mark } => format!("+ {} ({}): {}\n", mark.what, time(mark), mark.why),
            Difference::Moved { from, to } => {
                format!("~ {} ({} → {}): {}\n", from.what, time(from), time(to), to.why)
            }
            Difference::Verdict { from, to } => {
                format!("~ verdict ({} → {})\n", kind(from), kind(to))
            }
        })
        .collect()
}

fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::LetRun => "let run",
        Verdict::Cancelled { .. } => "cancelled",
    }
}

fn marks(records: &[Record]) -> Vec<Mark> {
    let mark = |record: &Record, what: String, why: String| Mark {
        what,
        at_ms: record.at_ms,
        event: record.event,
        why,
    };
    records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Detector { hit } => Some(mark(
                record,
                format!(
                    "detector {} {} proposes {}",
                    hit.detector,
                    hit.node,
                    hit.proposes.as_str()
                ),
                hit.evidence.clone(),
            )),
            Entry::Intervention(made) => Some(mark(
                record,
                format!("{} {}", made.kind.as_str(), made.node),
                made.reason.clone(),
            )),
            Entry::Refused { kind, node, rule, by, .. } => Some(mark(
                record,
                format!("refused {} {node}", kind.as_str()),
                format!("{}: {}", author(by), rule.as_str()),
            )),
            Entry::Look(look) => match &look.outcome {
                LookOutcome::Judged { judgement, .. } if judgement.looping => Some(mark(
                    record,
                    format!("judged looping {}", judgement.node),
                    look.why.clone(),
                )),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

fn author(author: &Author) -> String {
    match author {
        Author::Judge { look } => format!("the judge at look {look}"),
        Author::Detector { id } => format!("detector {id}"),
    }
}
