//! What stands in a request of the agent: what is offered, what is to be done, and the dialogue so
//! far.

use super::block::{Block, blocks, next_block};
use crate::completion::{ChatRequest, ChatRole};
use std::collections::BTreeMap;

/// A request, read the way a model reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    /// The tools offered, each with its argument names.
    pub tools: BTreeMap<String, Vec<String>>,
    /// The sub-agents offered, each with its argument names.
    pub subagents: BTreeMap<String, Vec<String>>,
    /// `solve`, `improve` or `repair`.
    pub role: String,
    /// The statement of the problem, verbatim.
    pub statement: String,
    /// What a parent agent asked for.
    pub task: Option<String>,
    /// The files that the first message shows.
    pub files: BTreeMap<String, String>,
    /// The finished exchanges, oldest first.
    pub turns: Vec<Turn>,
    /// What the model has said since the last result, where it was cut in the middle of a call.
    pub unfinished: String,
}

/// One reply of the model and what came back for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The model's text with its call.
    pub said: String,
    /// Whether the call succeeded.
    pub ok: bool,
    /// What the call returned.
    pub result: String,
    /// Files that were shown with the result.
    pub files: Vec<(String, String)>,
    /// Notices that came with it, such as nudges: kind and text.
    pub notices: Vec<(String, String)>,
}

const RESULTS: [&str; 2] = ["TOOL_RESULT", "AGENT_RESULT"];
const DIALOGUE: [&str; 5] = ["TOOL_RESULT", "AGENT_RESULT", "FILE", "FILE_DIFF", "NOTICE"];

impl Prompt {
    /// Reads a request. Returns `None` when it is not one that the agent writes.
    pub(crate) fn read(request: &ChatRequest) -> Option<Prompt> {
        let mut messages = request.messages.iter();
        let system = messages.next().filter(|m| m.role == ChatRole::System)?.text();
        let agent = next_block(&system, 0, &["AGENT"])?;
        let mut prompt = Prompt {
            tools: offered(&system, agent.end, "TOOLS", "TOOL"),
            subagents: offered(&system, agent.end, "SUBAGENTS", "SUBAGENT"),
            ..Prompt::default()
        };
        prompt.read_core(&messages.next().filter(|m| m.role == ChatRole::User)?.text())?;

        let mut turn = Turn::default();
        for message in messages {
            if message.role == ChatRole::Assistant {
                turn.said.push_str(&message.text());
            } else if prompt.read_reply(&mut turn, &message.text()) {
                prompt.turns.push(std::mem::take(&mut turn));
            }
        }
        prompt.unfinished = turn.said;
        Some(prompt)
    }

    fn read_core(&mut self, text: &str) -> Option<()> {
        let problem = next_block(text, 0, &["PROBLEM"])?;
        self.role = problem.attribute("role").unwrap_or_else(|| "solve".to_owned());
        self.statement = problem.value.to_owned();
        let mut at = problem.end;
        // The list of open files has no block of its own here: its closing tag could stand in one
        // of the files, whose values are passed over as wholes.
        while let Some(block) = next_block(text, at, &["TASK", "FILE", "DIRECTORY"]) {
            at = block.end;
            match block.tag {
                "TASK" => self.task = Some(block.value.to_owned()),
                "FILE" => self.show(&block),
                _ => {}
            }
        }
        Some(())
    }

    fn show(&mut self, file: &Block<'_>) {
        if let Some(path) = file.attribute("path") {
            self.files.insert(path, file.value.to_owned());
        }
    }

    /// Reads a message to the model into `turn`; tells whether it finishes the turn.
    fn read_reply(&mut self, turn: &mut Turn, text: &str) -> bool {
        let mut finished = false;
        for block in blocks(text, &DIALOGUE) {
            match block.tag {
                "FILE" => {
                    if let Some(path) = block.attribute("path") {
                        turn.files.push((path, block.value.to_owned()));
                    }
                }
                "NOTICE" => turn
                    .notices
                    .push((block.attribute("kind").unwrap_or_default(), block.value.to_owned())),
                tag if RESULTS.contains(&tag) => {
                    finished = true;
                    turn.ok = block.attribute("ok").as_deref() != Some("false");
                    turn.result = block.value.to_owned();
                }
                _ => {}
            }
        }
        finished
    }

    /// Tells whether a tool with this name is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.contains_key(tool)
    }
}

/// Reads the names under a list of tools or sub-agents, with their arguments.
fn offered(text: &str, from: usize, list: &str, item: &str) -> BTreeMap<String, Vec<String>> {
    let Some(list) = next_block(text, from, &[list]) else { return BTreeMap::new() };
    let named = |block: &Block<'_>| block.attribute("name");
    blocks(list.value, &[item])
        .iter()
        .filter_map(|entry| {
            let arguments = blocks(entry.value, &["ARG"]).iter().filter_map(named).collect();
            Some((named(entry)?, arguments))
        })
        .collect()
}
