//! A stage for the stand-in: it plays the agent's part as the agent does, with its files in memory.

use crate::completion::{ChatMessage, ChatRequest, FinishReason};
use crate::rehearsal::block::{next_block, write_block};
use crate::rehearsal::{Answer, answer};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The tools of the seed agent that a coder is offered, with their arguments.
pub const SEED_TOOLS: [(&str, &[&str]); 8] = [
    ("open_files", &["paths"]),
    ("close_files", &["paths"]),
    ("overwrite_file", &["path", "content"]),
    ("view_directory", &["path", "depth"]),
    ("search_text", &["pattern", "path", "regex", "context"]),
    ("execute_command", &["command", "timeout"]),
    ("calculate", &["expression"]),
    ("return_result", &["result"]),
];

const STOP: [&str; 2] = ["</TOOL_CALL>", "</AGENT_CALL>"];

/// One agent node with its files and its dialogue.
pub struct Stage {
    pub files: BTreeMap<String, String>,
    pub tools: Vec<(String, Vec<String>)>,
    pub subagents: Vec<(String, Vec<String>)>,
    pub agent: String,
    pub role: String,
    pub statement: String,
    pub open: Vec<String>,
    pub seed: u64,
    /// What `find_definition` prints for a name.
    pub definitions: BTreeMap<String, String>,
    /// What a sub-agent returns, and whether it succeeded.
    pub subagent_result: (bool, String),
    pub dialogue: Vec<ChatMessage>,
    pub calls: Vec<(String, BTreeMap<String, String>)>,
    pub replies: Vec<Answer>,
    /// A notice that is put into each message to the model from now on.
    pub notice: Option<String>,
    cut: bool,
}

impl Stage {
    pub fn coder(role: &str, statement: &str, files: &[(&str, &str)]) -> Stage {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Stage {
            files: files.iter().map(|(p, c)| ((*p).to_owned(), (*c).to_owned())).collect(),
            tools: SEED_TOOLS
                .iter()
                .map(|(name, args)| ((*name).to_owned(), owned(args)))
                .collect(),
            subagents: Vec::new(),
            agent: "coder".to_owned(),
            role: role.to_owned(),
            statement: statement.to_owned(),
            open: Vec::new(),
            seed: 0,
            definitions: BTreeMap::new(),
            subagent_result: (true, String::new()),
            dialogue: Vec::new(),
            calls: Vec::new(),
            replies: Vec::new(),
            notice: None,
            cut: false,
        }
    }

    pub fn main(role: &str, statement: &str) -> Stage {
        let mut stage = Stage::coder(role, statement, &[]);
        stage.agent = "main".to_owned();
        stage.tools.retain(|(name, _)| name != "return_result");
        stage.tools.push(("submit_answer".to_owned(), vec!["answer".to_owned()]));
        stage.tools.push(("complete".to_owned(), vec!["summary".to_owned()]));
        stage.subagents.push(("coder".to_owned(), vec!["task".to_owned(), "paths".to_owned()]));
        stage
    }

    pub fn with_tool(mut self, name: &str, arguments: &[&str]) -> Stage {
        let arguments = arguments.iter().map(|name| (*name).to_owned()).collect();
        self.tools.push((name.to_owned(), arguments));
        self
    }

    pub fn with_seed(mut self, seed: u64) -> Stage {
        self.seed = seed;
        self
    }

    /// The request as it stands now.
    pub fn request(&self) -> ChatRequest {
        let mut system = format!("<AGENT name=\"{}\">\nYou work.\n</AGENT>\n<TOOLS>\n", self.agent);
        let list = |system: &mut String, tag: &str, items: &[(String, Vec<String>)]| {
            for (name, arguments) in items {
                let _ = write!(system, "<{tag} name=\"{name}\">\nDoes {name}.\n");
                for argument in arguments {
                    let _ = writeln!(
                        system,
                        "<ARG name=\"{argument}\" type=\"string\" required=\"true\">It.</ARG>"
                    );
                }
                let _ = writeln!(system, "</{tag}>");
            }
        };
        list(&mut system, "TOOL", &self.tools);
        system.push_str("</TOOLS>\n<SUBAGENTS>\n");
        list(&mut system, "SUBAGENT", &self.subagents);
        system.push_str("</SUBAGENTS>\n<CALL_RULE>One call.</CALL_RULE>");

        let problem = write_block("PROBLEM", &self.statement, &[]);
        let mut core = problem.replacen("<PROBLEM", &format!("<PROBLEM role=\"{}\"", self.role), 1);
        core.push_str("\n<TASK>Do it.</TASK>\n<OPEN_FILES>\n");
        for path in &self.open {
            core.push_str(&self.shown(path));
        }
        core.push_str("</OPEN_FILES>\n<DIRECTORY path=\".\">\nsrc\n</DIRECTORY>");

        let mut messages = vec![ChatMessage::system(system), ChatMessage::user(core)];
        messages.extend(self.dialogue.iter().cloned());
        // A reply that was cut by a stop text is gone on with without stop texts.
        let stop = match self.cut {
            true => Vec::new(),
            false => STOP.iter().map(|s| (*s).to_owned()).collect(),
        };
        ChatRequest { stop, ..ChatRequest::new("main", messages) }
    }

    /// The tokens that the stand-in has said.
    pub fn said(&self) -> u64 {
        self.replies.iter().filter_map(|reply| reply.completion.usage).map(|u| u.output).sum()
    }

    fn shown(&self, path: &str) -> String {
        let block = write_block("FILE", &self.files[path], &[]);
        block.replacen("<FILE", &format!("<FILE path=\"{path}\""), 1) + "\n"
    }

    /// Lets the stand-in work until it ends its part, for at most `limit` replies. Returns the
    /// name and the arguments of its last call.
    pub fn play(&mut self, limit: usize) -> (String, BTreeMap<String, String>) {
        let mut unfinished = String::new();
        for _ in 0..limit {
            let reply = answer(&self.request(), self.seed);
            self.replies.push(reply.clone());
            let reply = reply.completion;
            let text = format!("{unfinished}{}", reply.text);
            let closing = match &reply.finish {
                FinishReason::StopText(stop) => stop.as_str(),
                _ if self.cut => "",
                _ => panic!("a reply without a call: {}", reply.text),
            };
            self.cut = self.read_call(&format!("{text}{closing}")).is_none();
            if self.cut {
                // The agent puts the stop text back and asks to go on.
                let said = format!("{}{closing}", reply.text);
                unfinished.push_str(&said);
                self.dialogue.push(ChatMessage::assistant(said));
                let notice = "<NOTICE kind=\"limit\">Your reply was cut.</NOTICE>";
                self.dialogue.push(ChatMessage::user(notice));
                continue;
            }
            let (name, arguments) = self.read_call(&format!("{text}{closing}")).unwrap();
            self.dialogue.push(ChatMessage::assistant(format!("{}{closing}", reply.text)));
            unfinished.clear();
            self.calls.push((name.clone(), arguments.clone()));
            if ["return_result", "complete"].contains(&name.as_str()) {
                return (name, arguments);
            }
            let mut result = self.carry_out(&name, &arguments);
            if let Some(notice) = &self.notice {
                let _ = write!(result, "\n<NOTICE kind=\"nudge\" id=\"1\">{notice}</NOTICE>");
            }
            self.dialogue.push(ChatMessage::user(result));
        }
        self.calls.last().cloned().expect("at least one call")
    }

    /// Reads a whole call, the way the agent does.
    fn read_call(&self, text: &str) -> Option<(String, BTreeMap<String, String>)> {
        let kind = if text.contains("<AGENT_CALL><AGENT_NAME>") { "AGENT" } else { "TOOL" };
        let start = text.find(&format!("<{kind}_CALL><{kind}_NAME>"))?;
        let name = next_block(text, start, &[&format!("{kind}_NAME")])?;
        let known = if kind == "AGENT" { &self.subagents } else { &self.tools };
        let (_, arguments) =
            known.iter().find(|(n, _)| *n == name.value).unwrap_or_else(|| panic!("{text}"));
        let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let open = format!("<{kind}_ARGS>");
        let mut at = name.end + text[name.end..].find(&open)? + open.len();
        let end = format!("</{kind}_ARGS></{kind}_CALL>");
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        while text[at..] != end {
            let argument = next_block(text, at, &names)?;
            assert!(text[at..].starts_with(&format!("<{}", argument.tag)), "stray text: {text}");
            values.insert(argument.tag.to_owned(), argument.value.to_owned());
            at = argument.end;
        }
        Some((name.value.to_owned(), values))
    }

    fn carry_out(&mut self, name: &str, arguments: &BTreeMap<String, String>) -> String {
        let result = |ok: bool, text: &str| {
            let block = write_block("TOOL_RESULT", text, &[]);
            block.replacen("<TOOL_RESULT", &format!("<TOOL_RESULT tool=\"{name}\" ok=\"{ok}\""), 1)
        };
        let argument = |name: &str| arguments.get(name).cloned().unwrap_or_default();
        match name {
            "open_files" => {
                let (mut text, mut ok) = (String::new(), true);
                for path in argument("paths").lines() {
                    if self.files.contains_key(path) {
                        self.open.retain(|p| p != path);
                        let _ = write!(text, "\n{}", self.shown(path));
                    } else {
                        ok = false;
                    }
                }
                result(ok, "") + &text
            }
            "overwrite_file" => {
                self.files.insert(argument("path"), argument("content"));
                result(true, "written")
            }
            "replace_in_file" => {
                let file = self.files.get_mut(&argument("path")).unwrap();
                if file.matches(&argument("old")).count() != 1 {
                    return result(false, "old is not unique");
                }
                *file = file.replacen(&argument("old"), &argument("new"), 1);
                result(true, "replaced")
            }
            "search_text" => {
                let mut hits = String::new();
                for (path, text) in &self.files {
                    for (number, line) in text.lines().enumerate() {
                        if line.contains(&argument("pattern")) {
                            let _ = writeln!(hits, "{path}:{}:{line}", number + 1);
                        }
                    }
                }
                result(true, &hits)
            }
            "find_definition" => {
                let found = self.definitions.get(&argument("name")).cloned();
                result(found.is_some(), &found.unwrap_or_default())
            }
            "coder" => {
                let (ok, text) = &self.subagent_result;
                format!("<AGENT_RESULT agent=\"coder\" ok=\"{ok}\">{text}</AGENT_RESULT>")
            }
            _ => result(true, "done"),
        }
    }
}
