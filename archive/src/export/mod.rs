//! The archive for other programs.

mod json;
mod table;

pub use json::{trials_json, versions_json};
pub use table::{trials_csv, versions_csv};

use crate::record::{Record, Trial};
use crate::{Archive, ArchiveError, RecordId};
use std::collections::HashMap;

/// A failure to write a table.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The archive could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The table could not be written.
    #[error("write the table")]
    Csv(#[from] csv::Error),
    /// The file could not be written.
    #[error("write the table")]
    File(#[from] std::io::Error),
}

impl ExportError {
    /// Tells whether nobody reads any more what is written.
    pub fn is_broken_pipe(&self) -> bool {
        let error = match self {
            ExportError::File(error) => Some(error),
            ExportError::Csv(error) => match error.kind() {
                csv::ErrorKind::Io(error) => Some(error),
                _ => None,
            },
            ExportError::Archive(_) => None,
        };
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// Visits every trial's record, repeats included, in the order of the ledger, with its utility. The first
/// failure ends the visits.
fn for_each_trial(
    archive: &Archive,
    mut visit: impl FnMut(RecordId, &Trial, Option<f64>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let (mut result, mut conditions) = (Ok(()), HashMap::new());
    archive.for_each_record(|entry| match &entry.record {
        Record::Conditions(stated) => {
            conditions.insert(stated.conditions, stated.content.utility);
        }
        Record::Trial(trial) if result.is_ok() => {
            let settings = conditions.get(&trial.conditions).copied().unwrap_or_default();
            let utility = settings.of_outcome(&trial.outcome, trial.cost, trial.seconds);
            result = visit(entry.id, trial, utility);
        }
        _ => {}
    })?;
    result
}
