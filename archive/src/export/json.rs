//! JSON: one object with a version, one line for each trial or agent.

use super::{ExportError, for_each_trial};
use crate::record::Trial;
use crate::state::AgentSummary;
use crate::{Archive, RecordId};
use serde::Serialize;
use std::io::Write;

/// The version of the exported form: a reader of its first part reads every second part.
const VERSION: &str = "1.0";

#[derive(Serialize)]
struct Row<'a> {
    id: RecordId,
    utility: Option<f64>,
    #[serde(flatten)]
    trial: &'a Trial,
}

/// Writes every trial's record with its utility, repeats included, in the order of the ledger.
pub fn trials_json(archive: &Archive, mut to: impl Write) -> Result<(), ExportError> {
    write!(to, "{{\"version\":\"{VERSION}\",\"trials\":[")?;
    let mut separator = "\n";
    for_each_trial(archive, |id, trial, utility| {
        let line =
            serde_json::to_string(&Row { id, utility, trial }).map_err(std::io::Error::from)?;
        write!(to, "{separator}{line}")?;
        separator = ",\n";
        Ok(())
    })?;
    Ok(to.write_all(b"\n]}\n")?)
}

/// Writes what `hone archive list` shows of each version.
pub fn versions_json(summaries: &[AgentSummary], mut to: impl Write) -> Result<(), ExportError> {
    write!(to, "{{\"version\":\"{VERSION}\",\"versions\":[")?;
    let mut separator = "\n";
    for summary in summaries {
        let line = serde_json::to_string(summary).map_err(std::io::Error::from)?;
        write!(to, "{separator}{line}")?;
        separator = ",\n";
    }
    Ok(to.write_all(b"\n]}\n")?)
}
