//! What the ledger holds: one enum of records, told apart by their `type`.
//!
//! A record is written once and never changed. Fields may be added with a default; a field is never
//! renamed and never changes its meaning (then [`FORMAT`] would have to break).

mod audit;
mod child;
mod run;
mod trial;

pub use audit::{Audit, AuditEntry};
pub use child::{Change, Child, ChildVerdict, Log, Version};
pub use run::{Conditions, Iteration, Merged, Reason, RunEnded, RunStarted, Stated, SuitePlan};
pub use trial::{Outcome, Trial, Usage};

use crate::identity::RecordId;
use serde::{Deserialize, Serialize};

/// The version of the ledger's format: a reader of `breaking` N reads every `additive`.
pub const FORMAT: Format = Format { breaking: 1, additive: 0 };

/// A version of a file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// A reader must know this number.
    pub breaking: u32,
    /// A reader may ignore what a higher number added.
    pub additive: u32,
}

/// One record of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // trials, the largest, are also by far the most frequent
pub enum Record {
    /// A run began, or went on after a stop.
    RunStarted(RunStarted),
    /// A run came to its end.
    RunEnded(RunEnded),
    /// The conditions that trials name by their id.
    Conditions(Stated),
    /// A version was added to the archive. The archive writes it itself.
    Version(Version),
    /// An iteration chose its editor and its base.
    Iteration(Iteration),
    /// An iteration's child was judged.
    Child(Child),
    /// A trial ended.
    Trial(Trial),
    /// What the overseer saw and did in a trial.
    Audit(Audit),
    /// Records of another archive were taken in.
    Merged(Merged),
}

/// A record with its identity, as it stands in the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The identity, which a merge keeps.
    pub id: RecordId,
    /// What is recorded.
    #[serde(flatten)]
    pub record: Record,
}
