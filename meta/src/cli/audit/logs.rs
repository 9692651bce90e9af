//! The overseer's logs of a run, out of its ledger.

use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::home::RunFolder;
use crate::trial::watching::filing;
use hone_archive::record::{Audit, ChildVerdict, Trial};
use hone_archive::{Archive, Record};
use hone_overseer::audit::Entry;
use std::collections::HashMap;

/// The log of one trial or one improvement job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Log {
    /// The trial's id.
    pub trial: String,
    /// The record of the ledger.
    pub audit: Audit,
    /// The overseer's own records.
    pub records: Vec<hone_overseer::Record>,
    /// How the trial ended; none for an improvement job.
    pub ended: Option<Trial>,
    /// What became of the child, for an improvement job.
    pub child: Option<ChildVerdict>,
}

impl Log {
    /// Tells whether a text names this trial: its id, or a part of it.
    pub fn is_named(&self, text: &str) -> bool {
        self.trial.contains(text)
    }

    /// Returns the trial's score, where it has one.
    pub fn score(&self) -> Option<f64> {
        self.ended.as_ref()?.outcome.score()
    }
}

/// Reads the logs of a run, in the order in which the trials ended.
pub(super) fn read(folder: &RunFolder) -> Outcome<Vec<Log>> {
    let archive = Archive::open_read_only(&folder.archive()).or_fail(FailureKind::Refused)?;
    let mut trials: HashMap<_, Trial> = HashMap::new();
    let mut children = HashMap::new();
    let mut logs: Vec<Log> = Vec::new();
    let mut failed = None;
    archive
        .for_each_record(|entry| match entry.record {
            Record::Trial(trial) => {
                let key = (trial.agent, trial.suite.clone(), trial.problem.clone(), trial.epoch);
                trials.insert(key, trial);
            }
            Record::Audit(audit) => {
                // A trial is recorded right before its audit; an improvement job has none.
                let key = (audit.agent, audit.suite.clone(), audit.problem.clone(), audit.epoch);
                let ended = trials.get(&key).cloned();
                match filing::records(&audit) {
                    Ok(records) => {
                        let trial = trial_of(&audit, &records);
                        logs.push(Log { trial, audit, records, ended, child: None });
                    }
                    Err(error) => {
                        failed.get_or_insert(error);
                    }
                }
            }
            Record::Child(child) => {
                children.insert((child.run, child.iteration), child.verdict);
            }
            _ => {}
        })
        .or_fail(FailureKind::Refused)?;
    // A child is judged after the jobs that made it.
    for log in &mut logs {
        let key = log.audit.iteration.map(|iteration| (log.audit.run.clone(), iteration));
        log.child = key.and_then(|key| children.get(&key).cloned());
    }
    match failed {
        Some(error) => Err(Failure::new(FailureKind::Refused, error)
            .context(format!("read the overseer's logs of the run {}", folder.name()))
            .hint("The run was made by a newer version of Hone, or its archive is damaged.")),
        None => Ok(logs),
    }
}

/// Reads the logs whose trials a text names. It is an error where there are none.
pub(super) fn read_named(folder: &RunFolder, text: &str) -> Outcome<Vec<Log>> {
    let all = read(folder)?;
    let known: Vec<&str> = all.iter().map(|log| log.trial.as_str()).collect();
    let failure = Failure::usage(format!("find the trial {text} in the run {}", folder.name()));
    let failure = match known.as_slice() {
        [] => failure.hint("No trial of this run was watched."),
        known => {
            let shown = known.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            let more = if known.len() > 8 { ", …" } else { "" };
            failure.hint(format!(
                "A part of a trial's name is enough. There are {} trials: {shown}{more}.",
                known.len()
            ))
        }
    };
    let named: Vec<Log> = all.into_iter().filter(|log| log.is_named(text)).collect();
    if named.is_empty() { Err(failure) } else { Ok(named) }
}

/// Returns a trial's id, or what stands for it where the log has no beginning.
fn trial_of(audit: &Audit, records: &[hone_overseer::Record]) -> String {
    match records.first().map(|record| &record.entry) {
        Some(Entry::Opened { trial, .. }) => trial.clone(),
        _ => format!("agent-{}/{}/{}/{}", audit.agent, audit.suite, audit.problem, audit.epoch),
    }
}
