//! Verification: everything that can be computed again is, and compared with what stands there.
//!
//! | what | how |
//! |---|---|
//! | chain | each commit of the ledger adds one segment and changes none; noted commits are in the chain |
//! | objects | every commit, tree and file of every version and segment is read, and git checks its name |
//! | journals | every line has its checksum; the second copy of the newest segment is equal to it |
//! | records | no identity twice; results are bound to the source that the agent has; conditions to their content |
//! | summaries | the stored index gives the same numbers as all records read anew |
//! | choices | each policy, given the records before a choice and its seed, chooses the same again |
//! | traces | every file has the digest that it is named by; every one that a record names is there |

mod choices;
mod records;
mod traces;
mod versions;

use crate::state::{Position, State};
use crate::{Archive, ArchiveError};
use records::Records;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// What a fault is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The order of the ledger's commits.
    Chain,
    /// A segment of the ledger.
    Segment,
    /// A journal.
    Journal,
    /// A record.
    Record,
    /// A version's commit, tree or file.
    Version,
    /// A version's ref.
    Reference,
    /// A number that was computed from the records.
    Summary,
    /// A policy's choice.
    Choice,
    /// A trace.
    Trace,
}

/// Something that is not as it was written, or does not follow from what it should follow from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fault {
    /// What it is in.
    pub kind: FaultKind,
    /// What exactly.
    pub what: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, what: impl Into<String>, reason: impl Into<String>) -> Self {
        Fault { kind, what: what.into(), reason: reason.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.reason)
    }
}

/// How thorough a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thoroughness {
    /// The most choices that are made again, spread evenly over all. Each looks at all results before it.
    pub choices: usize,
}

impl Default for Thoroughness {
    /// A thousand choices: seconds, also in an archive of ten thousand versions.
    fn default() -> Self {
        Thoroughness { choices: 1000 }
    }
}

/// What was looked at, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Records that were read.
    pub records: u64,
    /// Versions whose objects were read.
    pub versions: usize,
    /// Trials whose identity was checked.
    pub trials: usize,
    /// Choices that are recorded.
    pub choices: usize,
    /// Choices that were made again.
    pub choices_again: usize,
    /// Choices that came by a merge; they were made again before it.
    pub choices_merged: usize,
    /// Traces whose digest was computed.
    pub traces: usize,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Archive {
    /// Verifies the archive, and the folder of traces where one is given. The error is one of access: whatever
    /// is wrong with the content is among the faults.
    pub fn verify(
        &self,
        traces: Option<&Path>,
        thoroughness: Thoroughness,
    ) -> Result<Verification, ArchiveError> {
        let mut report = Verification::default();
        let mut inner = self.lock();
        inner.refresh()?;
        inner.ledger.examine(&mut report.faults)?;
        let wanted = inner.state.iterations.len().max(1);
        let mut records = Records::new(wanted.div_ceil(thoroughness.choices.max(1)));
        let mut state = State::default();
        inner.ledger.units_from(1, |unit| {
            // What cannot be read was named above.
            for (line, json) in unit.lines.unwrap_or_default().iter().enumerate() {
                let position = Position { unit: unit.number, line };
                records.add(json, position, &mut state, &mut report);
            }
        })?;
        if state.summaries() != inner.state.summaries() {
            report.faults.push(Fault::new(
                FaultKind::Summary,
                "the index",
                "its numbers are not those of the records; delete hone/index in the archive",
            ));
        }
        versions::verify(&inner.ledger.repository, &state, &mut report);
        if let Some(folder) = traces {
            traces::verify(folder, &records.traces, &mut report);
        }
        report.faults.sort();
        report.faults.dedup();
        Ok(report)
    }
}
