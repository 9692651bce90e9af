//! The agents `main` and `coder`: who does what, and how each ends.

use super::edit;
use super::improve;
use super::navigate;
use super::repair;
use super::script::{Say, Script};
use super::statement::{Edit, Navigate};

/// The sub-agent that `main` delegates to.
const CODER: &str = "coder";

/// What the work came to.
struct Work {
    /// The answer, for problems that ask for one.
    answer: Option<String>,
    /// A sentence for people.
    summary: String,
}

/// Plays whichever agent is asked.
pub(crate) fn work(script: &mut Script<'_>, seed: u64) -> Result<(), Say> {
    let may_delegate = script.prompt.subagents.contains_key(CODER);
    let work = if may_delegate { delegate(script)? } else { do_it(script, seed)? };
    finish(script, &work)
}

/// Hands the problem to the coder and takes its result as it is.
fn delegate(script: &mut Script<'_>) -> Result<Work, Say> {
    let edit = Edit::read(&script.prompt.statement);
    let question = Navigate::read(&script.prompt.statement);
    let solving = script.prompt.role == "solve";
    let mut arguments =
        vec![("task", "Solve the problem as it is stated and report what came of it.")];
    if let (true, Some(edit)) = (solving, &edit) {
        arguments.push(("paths", &edit.path));
    }
    let outcome = script.agent("The coder can do this.", CODER, &arguments)?;
    let result = outcome.text.trim().to_owned();
    if !outcome.ok {
        return Ok(Work { answer: None, summary: format!("The coder did not finish: {result}") });
    }
    let wants_answer = solving && edit.is_none() && question.is_some();
    Ok(Work { answer: wants_answer.then(|| result.clone()), summary: result })
}

/// Does the work with the tools at hand.
fn do_it(script: &mut Script<'_>, seed: u64) -> Result<Work, Say> {
    let statement = &script.prompt.statement;
    let summary = match script.prompt.role.as_str() {
        "improve" => improve::improve(script, seed)?,
        "repair" => repair::repair(script)?,
        _ => {
            if let Some(edit) = Edit::read(statement) {
                edit::solve(script, &edit)?
            } else if let Some(question) = Navigate::read(statement) {
                let answer = navigate::solve(script, &question)?;
                return Ok(Work { answer: Some(answer.clone()), summary: answer });
            } else {
                "A rehearsal stand-in knows edit and navigation problems only.".to_owned()
            }
        }
    };
    Ok(Work { answer: None, summary })
}

/// Ends the agent's part with the calls that it is offered for that.
fn finish(script: &mut Script<'_>, work: &Work) -> Result<(), Say> {
    if script.prompt.offers("return_result") {
        let result = work.answer.as_ref().unwrap_or(&work.summary);
        return Err(script.end("That is it.", "return_result", ("result", result)));
    }
    if let Some(answer) = &work.answer {
        script.tool("That is the answer.", "submit_answer", &[("answer", answer)])?;
    }
    Err(script.end("The work is done.", "complete", ("summary", &work.summary)))
}
