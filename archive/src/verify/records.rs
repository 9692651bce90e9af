//! Records: their identity, and what they are bound to.

use super::{Fault, FaultKind, Verification, choices};
use crate::identity::{Digest, RecordId};
use crate::record::{Entry, Record, Trial};
use crate::state::{Position, State};
use std::collections::{BTreeMap, HashSet};

/// Reads records in order, and keeps what later ones are compared with.
pub(super) struct Records {
    ids: HashSet<RecordId>,
    merged: HashSet<RecordId>,
    /// One choice in so many is made again.
    step: usize,
    /// Traces that records name, with who names them first.
    pub traces: BTreeMap<Digest, String>,
}

impl Records {
    pub fn new(step: usize) -> Self {
        Records { ids: HashSet::new(), merged: HashSet::new(), step, traces: BTreeMap::new() }
    }

    /// Checks a record against those before it, and adds it to the state.
    pub fn add(
        &mut self,
        json: &str,
        position: Position,
        state: &mut State,
        report: &mut Verification,
    ) {
        let place = format!("segment {}, line {}", position.unit, position.line + 1);
        let entry = match serde_json::from_str::<Entry>(json) {
            Ok(entry) => entry,
            Err(error) => {
                let fault = Fault::new(FaultKind::Record, place, error.to_string());
                report.faults.push(fault);
                return;
            }
        };
        report.records += 1;
        let name = format!("{} ({place})", describe(&entry.record));
        let mut complain = |reason: String| {
            report.faults.push(Fault::new(FaultKind::Record, name.clone(), reason));
        };
        if !self.ids.insert(entry.id) {
            complain(format!("its identity {} was used before", entry.id));
        }
        match &entry.record {
            Record::Conditions(stated) if stated.content.id() != stated.conditions => {
                complain(format!("its content has the identity {}", stated.content.id()));
            }
            Record::Trial(trial) => {
                check_trial(trial, state).into_iter().for_each(&mut complain);
                report.trials += 1;
            }
            Record::Version(version) if state.versions.contains_key(&version.agent) => {
                complain("its number was used before".to_owned());
            }
            Record::Child(child)
                if child.agent.is_some_and(|agent| !state.versions.contains_key(&agent)) =>
            {
                complain("it names an agent that the archive does not have".to_owned());
            }
            Record::Merged(merged) => self.merged.extend(merged.iterations.iter().copied()),
            Record::Iteration(iteration) => {
                report.choices += 1;
                if self.merged.contains(&entry.id) {
                    report.choices_merged += 1;
                } else if (report.choices - 1).is_multiple_of(self.step) {
                    choices::verify(iteration, &name, state, report);
                }
            }
            _ => {}
        }
        for (digest, what) in digests(&entry.record) {
            self.traces.entry(digest).or_insert_with(|| format!("the {what} of {name}"));
        }
        state.apply(&entry, position);
    }
}

fn check_trial(trial: &Trial, state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    match state.versions.get(&trial.agent) {
        None => wrong.push("it names an agent that the archive does not have".to_owned()),
        Some(version) if version.tree != trial.tree => {
            wrong.push(format!("it is bound to the source {}, the agent has another", trial.tree));
        }
        Some(_) => {}
    }
    if !state.conditions.contains_key(&trial.conditions) {
        wrong.push(format!("its conditions {} were never stated", trial.conditions));
    }
    if trial.outcome.score().is_some_and(|score| !(0.0..=1.0).contains(&score)) {
        wrong.push("its score is not between 0 and 1".to_owned());
    }
    if !(trial.seconds.is_finite() && trial.seconds >= 0.0) {
        wrong.push("its time is no duration".to_owned());
    }
    wrong
}

/// Names a record in a few words.
fn describe(record: &Record) -> String {
    match record {
        Record::RunStarted(it) => format!("start of {}", it.run),
        Record::RunEnded(it) => format!("end of {}", it.run),
        Record::Conditions(it) => format!("conditions {}", it.conditions),
        Record::Version(it) => format!("version {}", it.agent),
        Record::Iteration(it) => format!("iteration {} of {}", it.iteration, it.run),
        Record::Child(it) => format!("child of iteration {} of {}", it.iteration, it.run),
        Record::Trial(it) => {
            format!(
                "trial of agent {} on {} in {}, epoch {}",
                it.agent, it.problem, it.suite, it.epoch
            )
        }
        Record::Audit(it) => format!("audit log of agent {} {}", it.agent, it.problem),
        Record::Merged(it) => format!("merge of {}", it.from),
    }
}

/// Lists the files beside the ledger that a record names.
fn digests(record: &Record) -> Vec<(Digest, &'static str)> {
    let mut found = Vec::new();
    match record {
        Record::Trial(trial) => found.extend(trial.trace.map(|digest| (digest, "trace"))),
        Record::Child(child) => {
            found.extend(child.trace.map(|digest| (digest, "trace")));
            let log = child.log.as_ref().and_then(|log| log.digest);
            found.extend(log.map(|digest| (digest, "log")));
        }
        Record::Audit(audit) => found.extend(audit.tape.map(|digest| (digest, "tape"))),
        _ => {}
    }
    found
}
