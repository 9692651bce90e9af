//! Repairs an agent that does not build: mends one kind of mistake, and fails at another.

use super::script::{Say, Script};
use super::statement::build_log;

/// A file whose mistake the stand-in can mend.
const MENDABLE: &str = "src/tools/outline_file.rs";

/// A file at which its repairs miss the point: the type of the sum is not what is wrong alone.
const HOPELESS: &str = "src/tools/measure_files.rs";

/// Repairs what the build log complains about. Returns what to report.
pub(crate) fn repair(script: &mut Script<'_>) -> Result<String, Say> {
    let log = build_log(&script.prompt.statement).unwrap_or_default();
    if log.contains(MENDABLE) {
        return change(script, MENDABLE, "An import is missing.", |text| {
            (!text.contains("use std::fs;\n")).then(|| {
                text.replacen(
                    "use serde::Deserialize;\n",
                    "use serde::Deserialize;\nuse std::fs;\n",
                    1,
                )
            })
        });
    }
    if log.contains(HOPELESS) {
        return change(script, HOPELESS, "The sum may need a wider type.", |text| {
            let next = [("u32", "u64"), ("u64", "i64"), ("i64", "u128")];
            next.iter().find_map(|(from, to)| {
                let (from, to) = (format!("let total: {from}"), format!("let total: {to}"));
                text.contains(&from).then(|| text.replacen(&from, &to, 1))
            })
        });
    }
    Ok("The errors are not of a kind that a rehearsal stand-in can mend.".to_owned())
}

fn change(
    script: &mut Script<'_>,
    path: &str,
    thought: &str,
    mend: impl FnOnce(&str) -> Option<String>,
) -> Result<String, Say> {
    script.open(&format!("The errors are in {path}."), &[path])?;
    let Some(changed) = script.file(path).and_then(mend) else {
        return Ok(format!("{path}: I do not see what is wrong."));
    };
    let outcome = script.write(thought, path, &changed)?;
    Ok(if outcome.ok { format!("{path}: {thought}") } else { outcome.text })
}
