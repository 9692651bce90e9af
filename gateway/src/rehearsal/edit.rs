//! Makes a file equal to a target that stands in the statement.

use super::script::{Say, Script};
use super::statement::Edit;

/// Opens the file and writes it: as a whole, or by small replacements where a tool for them is
/// offered. Returns what to report.
pub(crate) fn solve(script: &mut Script<'_>, edit: &Edit) -> Result<String, Say> {
    script.open(&format!("I will look at {} first.", edit.path), &[&edit.path])?;
    if script.file(&edit.path) == Some(edit.target.as_str()) {
        return Ok(format!("{} equals the target already.", edit.path));
    }
    let outcome = script.write("Now I make it equal to the target.", &edit.path, &edit.target)?;
    if outcome.ok {
        return Ok(format!("{} now equals the target.", edit.path));
    }
    Ok(format!("{} could not be written: {}", edit.path, outcome.text))
}
