//! A script plays a worker's side of the dialogue.
//!
//! The stand-in has no memory between requests. A worker is written as straight code that makes
//! one call after another; for each request it runs from its start, takes the results of the
//! calls that the dialogue shows as made already, and stops at the first call that is not made
//! yet: that call is the reply.

use super::block::write_block;
use super::difference::replacements;
use super::prompt::Prompt;
use std::collections::BTreeMap;

/// The reply that a script stops at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Say(pub String);

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether it succeeded.
    pub ok: bool,
    /// Its text.
    pub text: String,
}

/// The tool that replaces a string which occurs once, as the proposal of that name adds it.
pub(crate) const REPLACE: &str = "replace_in_file";

/// Texts that must not stand in a plain argument.
const CALL_SYNTAX: [&str; 8] = [
    "</TOOL_ARGS>",
    "</TOOL_CALL>",
    "</TOOL_NAME>",
    "</AGENT_ARGS>",
    "</AGENT_CALL>",
    "</AGENT_NAME>",
    "<TOOL_CALL>",
    "<AGENT_CALL>",
];

/// A worker's run through the dialogue.
pub(crate) struct Script<'a> {
    /// The request that is answered.
    pub prompt: &'a Prompt,
    /// How often a worker that is stuck has repeated its call.
    pub stuck: u32,
    at: usize,
    files: BTreeMap<String, String>,
}

impl<'a> Script<'a> {
    /// Starts at the first turn of the dialogue.
    pub(crate) fn new(prompt: &'a Prompt) -> Self {
        Script { prompt, stuck: 0, at: 0, files: prompt.files.clone() }
    }

    /// Calls a tool.
    pub(crate) fn tool(
        &mut self,
        thought: &str,
        tool: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Outcome, Say> {
        self.step(call_text(thought, "TOOL", tool, arguments))
    }

    /// Calls a sub-agent.
    pub(crate) fn agent(
        &mut self,
        thought: &str,
        agent: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Outcome, Say> {
        self.step(call_text(thought, "AGENT", agent, arguments))
    }

    /// Makes the call that ends the agent's part.
    pub(crate) fn end(&mut self, thought: &str, tool: &str, argument: (&str, &str)) -> Say {
        Say(call_text(thought, "TOOL", tool, &[argument]))
    }

    /// Takes a call's result from the dialogue, or makes the call.
    ///
    /// The dialogue may hold turns that the script has no use for: a file that the first message
    /// shows as it is by now needs no more of the edits that made it so.
    fn step(&mut self, text: String) -> Result<Outcome, Say> {
        let turns = self.prompt.turns.get(self.at..).unwrap_or_default();
        let made = turns.iter().position(|turn| call_in(&turn.said) == call_in(&text));
        let Some(number) = made else { return Err(Say(text)) };
        for turn in &turns[..=number] {
            for (path, content) in &turn.files {
                self.files.insert(path.clone(), content.clone());
            }
        }
        let turn = &turns[number];
        self.at += number + 1;
        Ok(Outcome { ok: turn.ok, text: turn.result.clone() })
    }

    /// Returns a file's content as far as it was shown or written.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Opens those of the files that are not open; afterwards [`Script::file`] has those that
    /// exist.
    pub(crate) fn open(&mut self, thought: &str, paths: &[&str]) -> Result<(), Say> {
        let closed: Vec<&str> =
            paths.iter().copied().filter(|path| !self.files.contains_key(*path)).collect();
        if !closed.is_empty() {
            self.tool(thought, "open_files", &[("paths", &closed.join("\n"))])?;
        }
        Ok(())
    }

    /// Makes a file's content `content`, with the best tool that is offered.
    pub(crate) fn write(
        &mut self,
        thought: &str,
        path: &str,
        content: &str,
    ) -> Result<Outcome, Say> {
        if self.prompt.offers(REPLACE)
            && let Some(old) = self.files.get(path).cloned()
            && let Some(outcome) = self.replace(thought, path, &old, content)?
        {
            return Ok(outcome);
        }
        let outcome =
            self.tool(thought, "overwrite_file", &[("path", path), ("content", content)])?;
        if outcome.ok {
            self.files.insert(path.to_owned(), content.to_owned());
        }
        Ok(outcome)
    }

    /// Edits by small replacements; `None` when that costs more, or one of them failed.
    fn replace(
        &mut self,
        thought: &str,
        path: &str,
        old: &str,
        content: &str,
    ) -> Result<Option<Outcome>, Say> {
        let Some(steps) = replacements(old, content) else { return Ok(None) };
        let mut last = Outcome { ok: true, text: String::new() };
        let mut text = old.to_owned();
        for step in steps {
            let arguments = [("path", path), ("old", &step.old), ("new", &step.new)];
            last = self.tool(thought, REPLACE, &arguments)?;
            if !last.ok {
                return Ok(None);
            }
            text = text.replacen(&step.old, &step.new, 1);
            self.files.insert(path.to_owned(), text.clone());
        }
        Ok(Some(last))
    }
}

/// Writes a short thought and one call.
fn call_text(thought: &str, kind: &str, name: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("{thought}\n<{kind}_CALL><{kind}_NAME>{name}</{kind}_NAME>");
    text.push_str(&format!("<{kind}_ARGS>"));
    for (argument, value) in arguments {
        text.push_str(&write_block(argument, value, &CALL_SYNTAX));
    }
    text.push_str(&format!("</{kind}_ARGS></{kind}_CALL>"));
    text
}

/// Returns the call in a reply, without the thought before it.
fn call_in(said: &str) -> &str {
    let start = ["<TOOL_CALL><TOOL_NAME>", "<AGENT_CALL><AGENT_NAME>"]
        .iter()
        .filter_map(|tag| said.find(tag))
        .min()
        .unwrap_or(said.len());
    said[start..].trim_end()
}

/// Runs a script to the call that is to be made next. One that has nothing left to do says so.
pub(crate) fn play(
    prompt: &Prompt,
    script: impl FnOnce(&mut Script<'_>) -> Result<(), Say>,
) -> String {
    match script(&mut Script::new(prompt)) {
        Err(Say(text)) => text,
        Ok(()) => "There is nothing left to do.".to_owned(),
    }
}

/// Goes on where a reply was cut: what was said since the last result is the beginning of the same
/// reply, with the stop text put back that ended it.
pub(crate) fn rest_of(reply: &str, unfinished: &str) -> String {
    match reply.strip_prefix(unfinished) {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => reply.to_owned(),
    }
}
