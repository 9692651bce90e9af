//! Improves an agent: picks a proposal, makes it, and writes down what and why.

use super::proposals::{self, Fate, Kind, Proposal};
use super::script::{Say, Script};
use super::statement::archive;

const DESCRIPTION: &str = "description.txt";
const CHANGE_LOG: &str = "CHANGELOG.md";

/// Builds as the harness does; quiet, so that only errors are shown.
const BUILD: &str = "cargo build --release --offline --quiet";

/// Seconds that a build may take: with new dependencies it starts from nothing.
const BUILD_SECONDS: &str = "600";

/// Improves the agent in the work directory. Returns what to report.
pub(crate) fn improve(script: &mut Script<'_>, seed: u64) -> Result<String, Say> {
    let tried = archive(&script.prompt.statement);
    let Some(proposal) = proposals::next(&tried, seed) else {
        return again(script);
    };
    if proposal.kind == Kind::Nothing {
        return Ok(format!("{}. {}", proposal.title, proposal.reason));
    }
    make(script, proposal)
}

/// When every proposal was tried: those that help are made once more where the base lacks them.
fn again(script: &mut Script<'_>) -> Result<String, Say> {
    script.open("Which tools does this agent have?", &[proposals::TOOLS])?;
    let tools = script.file(proposals::TOOLS).unwrap_or_default().to_owned();
    let missing = |(_, name): &(Kind, &str)| !proposals::has_tool(&tools, name);
    let helpful = [
        (Kind::ReplaceInFile, super::script::REPLACE),
        (Kind::FindDefinition, super::navigate::FIND),
    ];
    let found = helpful.into_iter().find(missing);
    let proposal = found.and_then(|(kind, _)| proposals::PROPOSALS.iter().find(|p| p.kind == kind));
    match proposal {
        Some(proposal) => make(script, proposal),
        None => Ok("Every proposal of the rehearsal was tried; nothing was changed.".to_owned()),
    }
}

fn make(script: &mut Script<'_>, proposal: &Proposal) -> Result<String, Say> {
    let Proposal { title, reason, .. } = proposal;
    let paths: &[&str] = match proposal.kind {
        Kind::FindDefinition => &[DESCRIPTION, CHANGE_LOG, proposals::TOOLS, "Cargo.toml"],
        Kind::ReplaceInFile | Kind::MeasureFiles | Kind::OutlineFile => {
            &[DESCRIPTION, CHANGE_LOG, proposals::TOOLS]
        }
        _ => &[DESCRIPTION, CHANGE_LOG],
    };
    script.open(&format!("My plan: {title}. {reason} I look at what is there."), paths)?;
    if let Err(problem) = proposals::apply(script, proposal.kind)? {
        return Ok(format!("{title}: could not be done: {problem}"));
    }
    let mut report = (*title).to_owned();
    if proposal.fate == Fate::Better {
        let arguments = [("command", BUILD), ("timeout", BUILD_SECONDS)];
        let built = script.tool("Does it build?", "execute_command", &arguments)?;
        report.push_str(if built.ok { " It builds." } else { " It did not build here." });
    }
    let description = format!("{title}\n\n{reason}\n");
    script.write("I write down what changed.", DESCRIPTION, &description)?;
    let log = script.file(CHANGE_LOG).unwrap_or_default().to_owned();
    let log = proposals::add_entry(&log, title, reason);
    script.write("And in the change log.", CHANGE_LOG, &log)?;
    Ok(report)
}
