//! The corpus of recorded trials: every trouble is found in time, and health is left alone.
//!
//! The files under `tests/corpus/` are what counts; `HONE_BLESS=1` writes them anew from the builder.

mod builder;
mod trials;

use builder::Case;
pub use builder::Expect;
use hone_overseer::audit::{Entry, from_lines, to_lines};
use hone_overseer::replay::replay;
use hone_overseer::settings::GuardedPaths;
use hone_overseer::tape::{Input, TapeLine};
use hone_overseer::{Brief, NoJudge, Record, Settings};
use hone_protocol::{EventKind, NodeId};
use pretty_assertions::assert_eq;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Reads all recorded trials.
pub fn load() -> Vec<(Case, Vec<TapeLine>)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            let (head, tape) = text.split_once('\n').unwrap();
            (serde_json::from_str(head).unwrap(), from_lines(tape).unwrap())
        })
        .collect()
}

pub fn settings() -> Settings {
    Settings {
        paths: GuardedPaths {
            graders: vec!["tests/hidden".to_owned()],
            protected: vec!["protocol".to_owned()],
            ..GuardedPaths::default()
        },
        ..Settings::default()
    }
}

#[test]
fn the_recorded_trials_are_those_of_the_builder() {
    let built = trials::all();
    for (case, tape) in &built {
        let text = format!("{}\n{}", serde_json::to_string(case).unwrap(), to_lines(tape).unwrap());
        let file = folder().join(format!("{}.jsonl", case.name));
        if std::env::var_os("HONE_BLESS").is_some() {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let recorded = std::fs::read_to_string(&file).unwrap();
        assert!(recorded == text, "{} differs from what the builder makes", file.display());
    }
    assert_eq!(load().len(), built.len());
}

#[tokio::test]
async fn trouble_is_found_within_ten_calls_and_health_gets_notes_at_most() {
    let trials = load();
    assert!(trials.len() >= 30, "only {} recorded trials", trials.len());
    let mut complaints = Vec::new();
    for (case, tape) in &trials {
        let brief = Brief { trial: case.name.clone(), ..Brief::default() };
        let replayed = replay(brief, settings(), tape, &NoJudge).await;
        if let Some(complaint) = complaint(case, tape, &replayed.records) {
            complaints.push(format!("{}: {complaint}", case.name));
        }
    }
    assert_eq!(complaints, Vec::<String>::new());
    println!("judged {} recorded trials", trials.len());
}

/// Returns what is wrong with what the overseer made of a trial.
fn complaint(case: &Case, tape: &[TapeLine], records: &[Record]) -> Option<String> {
    let interventions: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Intervention(made) => Some((record.event, made)),
            _ => None,
        })
        .collect();
    match &case.expect {
        Expect::Healthy => interventions.first().map(|(event, made)| {
            format!("{} at event {event}: {}", made.kind.as_str(), made.reason)
        }),
        Expect::Sick { detector, node, proposes, begins } => {
            let found = records.iter().find_map(|record| match &record.entry {
                Entry::Detector { hit }
                    if hit.detector.as_str() == detector
                        && hit.node.0 == *node
                        && (hit.proposes.as_str() == proposes
                            || hit.proposes.as_str() == "cancel") =>
                {
                    Some(record.event)
                }
                _ => None,
            });
            let Some(found) = found else {
                return Some(format!("{detector} was not found"));
            };
            let calls = calls_between(tape, &NodeId(node.clone()), *begins, found);
            if calls > 10 {
                return Some(format!("found after {calls} calls"));
            }
            // What shows by time alone is found after the last event before it.
            if let Some((event, made)) = interventions.iter().find(|(event, _)| event + 1 < *begins)
            {
                return Some(format!("acted at event {event}, before it began: {}", made.reason));
            }
            interventions.is_empty().then(|| "nothing was done".to_owned())
        }
    }
}

/// Counts the calls of a node from event `from` to event `to`, tools and sub-agents alike.
fn calls_between(tape: &[TapeLine], node: &NodeId, from: u64, to: u64) -> usize {
    tape.iter()
        .filter_map(|line| match &line.input {
            Input::Event { event } if (from..=to).contains(&event.seq) => Some(event),
            _ => None,
        })
        .filter(|event| match &event.kind {
            EventKind::ToolCall { .. } => event.node == *node,
            EventKind::AgentStarted { .. } => event.node != *node && event.node.is_within(node),
            _ => false,
        })
        .count()
}
