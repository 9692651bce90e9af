//! The story of a trial's audit log: what happened when and why, for people and for programs.

use crate::audit::{Author, Entry, LookOutcome, Record, Verdict};
use crate::settings::Mode;
use serde::{Deserialize, Serialize};

/// What part of a log is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Cancels, with what became of them.
    pub cancels: bool,
    /// Nudges, with what became of them.
    pub nudges: bool,
    /// Notes and judgements.
    pub notes: bool,
    /// What the detectors saw.
    pub detectors: bool,
}

impl Filter {
    /// Tells whether nothing is chosen, which means everything.
    pub fn is_open(&self) -> bool {
        *self == Filter::default()
    }

    fn lets(&self, part: Part) -> bool {
        self.is_open()
            || match part {
                Part::Cancel => self.cancels,
                Part::Nudge => self.nudges,
                Part::Note => self.notes,
                Part::Detector => self.detectors,
                Part::Frame => false,
            }
    }
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The begin and the end.
    Frame,
    /// A look, or a note.
    Note,
    /// A detector.
    Detector,
    /// A nudge.
    Nudge,
    /// A cancel.
    Cancel,
}

/// One line of the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The trial.
    pub trial: String,
    /// Milliseconds since the trial's start.
    pub at_ms: u64,
    /// The newest event by then; the trace has it under this number.
    pub event: u64,
    /// The record that the line tells.
    pub record: u64,
    /// What it is about.
    pub part: Part,
    /// The node, where it is about one.
    pub node: Option<String>,
    /// What happened.
    pub text: String,
}

/// Tells a log as lines.
pub fn story(records: &[Record], filter: Filter) -> Vec<Line> {
    let trial = match records.first().map(|record| &record.entry) {
        Some(Entry::Opened { trial, .. }) => trial.clone(),
        _ => String::new(),
    };
    records
        .iter()
        .filter_map(|record| {
            let (part, node, text) = tell(record, records)?;
            filter.lets(part).then(|| Line {
                trial: trial.clone(),
                at_ms: record.at_ms,
                event: record.event,
                record: record.record,
                part,
                node,
                text,
            })
        })
        .collect()
}

/// Renders lines for people: time, event, text.
pub fn render_story(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut trial = None;
    for line in lines {
        if trial != Some(&line.trial) {
            trial = Some(&line.trial);
            text.push_str(&format!("trial {}\n", line.trial));
        }
        text.push_str(&render_line(line));
    }
    text
}

/// Renders lines of one trial without its name.
pub fn render_lines(lines: &[Line]) -> String {
    lines.iter().map(render_line).collect()
}

fn render_line(line: &Line) -> String {
    let time = format!("{:.1}s", line.at_ms as f64 / 1e3);
    format!("{time:>9}  #{:<5} {}\n", line.event, line.text)
}

/// Writes lines as CSV with a header (RFC 4180).
pub fn to_csv(lines: &[Line]) -> String {
    let quote = |text: &str| {
        if text.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let mut csv = String::from("trial,at_ms,event,record,part,node,text\n");
    for line in lines {
        let part = match line.part {
            Part::Frame => "frame",
            Part::Note => "note",
            Part::Detector => "detector",
            Part::Nudge => "nudge",
            Part::Cancel => "cancel",
        };
        let node = line.node.as_deref().unwrap_or_default();
        csv.push_str(&format!(
            "{},{},{},{},{part},{},{}\n",
            quote(&line.trial),
            line.at_ms,
            line.event,
            line.record,
            quote(node),
            quote(&line.text)
        ));
    }
    csv
}

fn tell(record: &Record, records: &[Record]) -> Option<(Part, Option<String>, String)> {
    let told = match &record.entry {
        Entry::Opened { role, settings, .. } => {
            let mode = match settings.mode {
                Mode::Off => "off: nothing is watched",
                Mode::Shadow => "in the shadow: nothing is sent",
                Mode::On => "on",
            };
            (Part::Frame, None, format!("the watch begins ({role}; overseer {mode})"))
        }
        Entry::Detector { hit } => (
            Part::Detector,
            Some(hit.node.0.clone()),
            format!(
                "detector {} on node {}{}: {} (proposes {}; {} of {}; events {})",
                hit.detector,
                hit.node,
                if hit.after_nudge { ", after a nudge" } else { "" },
                hit.evidence,
                hit.proposes.as_str(),
                hit.count,
                hit.threshold,
                events(&hit.events)
            ),
        ),
        Entry::Look(look) => {
            let outcome = match &look.outcome {
                LookOutcome::Judged { judgement, votes: (agree, of) } => {
                    let progress = match judgement.progress {
                        crate::judgement::Progress::Good => "good",
                        crate::judgement::Progress::Slow => "slow",
                        crate::judgement::Progress::None => "no",
                    };
                    let looping = if judgement.looping { "looping" } else { "not looping" };
                    let votes =
                        if *of > 1 { format!(", {agree} of {of} votes") } else { String::new() };
                    format!("{progress} progress, node {} is {looping}{votes}", judgement.node)
                }
                LookOutcome::Unparsable => "its replies could not be read".to_owned(),
                LookOutcome::TimedOut => "no reply in time".to_owned(),
                LookOutcome::Failed { reason } => format!("it failed: {reason}"),
                LookOutcome::TooLate => "the trial ended before it answered".to_owned(),
            };
            let text = format!(
                "look {} ({}): {outcome} [view {}, {:.1}s, ${:.4}]",
                look.look,
                look.why,
                look.view_digest.get(..8).unwrap_or_default(),
                look.latency_ms as f64 / 1e3,
                look.cost_nano_usd as f64 / 1e9
            );
            (Part::Note, None, text)
        }
        Entry::Note { by, text } => (Part::Note, None, format!("{} notes: {text}", author(by))),
        Entry::JudgeLost { reason } => {
            (Part::Note, None, format!("the judge is not asked any more ({reason}); detectors act"))
        }
        Entry::Intervention(made) => (
            part(made.kind),
            Some(made.node.0.clone()),
            format!(
                "{} {} {} {} because {}; it says: {}",
                author(&made.by),
                if made.mode == Mode::Shadow { "would send a" } else { "sends a" },
                aimed(made.kind),
                made.node,
                made.reason,
                made.text
            ),
        ),
        Entry::Refused { kind, node, by, reason, rule } => (
            part(*kind),
            Some(node.0.clone()),
            format!(
                "{} wants a {} {node} because {reason}; refused: {}",
                author(by),
                aimed(*kind),
                rule.as_str()
            ),
        ),
        Entry::Sent { intervention, message, error } => {
            let (part, node, name) = named(*intervention, records);
            let text = match (message, error) {
                (_, Some(error)) => format!("the {name} did not get out: {error}"),
                (Some(message), None) => format!("the {name} is message {message}"),
                (None, None) => return None,
            };
            (part, node, text)
        }
        Entry::Delivered { intervention, receipt } => {
            let (part, node, name) = named(*intervention, records);
            (part, node, format!("the {name} arrived (event {receipt})"))
        }
        Entry::Aftermath { intervention, calls, went_on, ended } => {
            let (part, node, name) = named(*intervention, records);
            let did = match (calls.len(), went_on) {
                (0, _) => "no further call was made".to_owned(),
                (count, true) => format!("the loop went on in the next {count} calls"),
                (count, false) => format!("the next {count} calls were no loop"),
            };
            let end = if *ended { "; the node ended" } else { "" };
            let first = calls.first().map_or_else(String::new, |call| format!(", first {call}"));
            (part, node, format!("after the {name}: {did}{first}{end}"))
        }
        Entry::ForcedStop { reason, .. } => {
            (Part::Cancel, None, format!("the sandbox ends the trial: {reason}"))
        }
        Entry::Closed { verdict, cost_nano_usd, looks, saved_at_pace_nano_usd, .. } => {
            let how = match verdict {
                Verdict::LetRun => "the trial ended by itself".to_owned(),
                Verdict::Cancelled { reason, forced } => {
                    let by = if *forced { "by the sandbox" } else { "by a cancel" };
                    format!("the trial was ended {by}: {reason}")
                }
            };
            let saved = saved_at_pace_nano_usd.map_or_else(String::new, |nano| {
                format!("; ${:.4} saved at its pace", nano as f64 / 1e9)
            });
            let cost = *cost_nano_usd as f64 / 1e9;
            (Part::Frame, None, format!("{how} ({looks} looks, ${cost:.4}{saved})"))
        }
    };
    Some(told)
}

fn part(kind: crate::audit::InterventionKind) -> Part {
    match kind {
        crate::audit::InterventionKind::Nudge => Part::Nudge,
        crate::audit::InterventionKind::Cancel => Part::Cancel,
    }
}

fn aimed(kind: crate::audit::InterventionKind) -> &'static str {
    match kind {
        crate::audit::InterventionKind::Nudge => "nudge to node",
        crate::audit::InterventionKind::Cancel => "cancel of node",
    }
}

fn named(number: u64, records: &[Record]) -> (Part, Option<String>, String) {
    records
        .iter()
        .find_map(|record| match &record.entry {
            Entry::Intervention(made) if made.intervention == number => Some((
                part(made.kind),
                Some(made.node.0.clone()),
                format!("{} {}", aimed(made.kind), made.node),
            )),
            _ => None,
        })
        .unwrap_or((Part::Note, None, format!("intervention {number}")))
}

fn author(author: &Author) -> String {
    match author {
        Author::Judge { look } => format!("the judge (look {look})"),
        Author::Detector { id } => format!("detector {id}"),
    }
}

fn events(numbers: &[u64]) -> String {
    match numbers {
        [] => "–".to_owned(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}
