//! The call graph of a trial, as its events tell it: nodes, their calls, the files they changed.
//!
//! The state is bounded, whatever the agent sends: it keeps the newest calls of a node and the
//! newest lines of the trial, and cuts every text.

use crate::fingerprint::{Fingerprint, cut, telling_lines};
use crate::quote::{line, quoted};
use hone_protocol::{Event, EventKind, NodeId};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

/// Calls of a node that are kept. Ten times the longest window of a detector.
const CALLS_KEPT: usize = 160;
/// Lines that are kept for the view; more never fit into it.
const LINES_KEPT: usize = 400;
/// Nodes that are kept apart; events of further ones count for the root.
const NODES_KEPT: usize = 1_000;
/// Inputs that a node is remembered by. Past it, old inputs count as seen.
const INPUTS_KEPT: usize = 20_000;

/// The graph.
#[derive(Clone, Debug)]
pub struct CallGraph {
    calls_kept: usize,
    nodes: BTreeMap<NodeId, Node>,
    lines: VecDeque<Line>,
    changed: BTreeMap<String, u64>,
    events: u64,
    last_event: Duration,
    edits: u64,
}

/// One agent of the trial.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name of its definition.
    pub agent: String,
    /// When it began.
    pub started: Duration,
    /// When and how it ended.
    pub finished: Option<(Duration, String)>,
    /// When its last event came.
    pub last_event: Duration,
    /// Its newest calls, oldest first.
    pub calls: VecDeque<Call>,
    /// All its calls, those of its sub-agents not counted.
    pub calls_made: u64,
    /// Results that were not ok.
    pub errors: u64,
    /// Files that it changed, once per change.
    pub edits: u64,
    /// Calls that it had not made before.
    pub new_inputs: u64,
    inputs: HashSet<Fingerprint>,
    results: HashSet<Fingerprint>,
    calls_kept: usize,
}

/// One call of a node: of a tool, or of a sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The event that announced it.
    pub seq: u64,
    /// The node's own number of the call.
    pub number: u64,
    /// When it was made.
    pub at: Duration,
    /// The tool, or `agent NAME`.
    pub tool: String,
    /// What it was given, cut.
    pub summary: String,
    /// The command line, where it runs one, cut.
    pub command: String,
    /// What it was given.
    pub input: Fingerprint,
    /// Whether the node never made this call before.
    pub new_input: bool,
    /// Files changed by it or right after it.
    pub edits: u64,
    /// How it came back.
    pub outcome: Option<CallOutcome>,
}

/// How a call came back.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    /// When it came back.
    pub at: Duration,
    /// What came back.
    pub result: Fingerprint,
    /// Whether the node never saw this result before.
    pub new_result: bool,
    /// The error, where it is one, with its telling lines.
    pub error: Option<(Fingerprint, String)>,
}

/// What a node and all below it have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Calls.
    pub calls: u64,
    /// Changes of files.
    pub edits: u64,
    /// Calls that their node had not made before.
    pub new_inputs: u64,
}

/// One event as a line of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The event's number.
    pub seq: u64,
    /// The line without its line feed.
    pub text: String,
}

impl Node {
    fn new(agent: &str, at: Duration, calls_kept: usize) -> Self {
        Node {
            agent: cut(agent, 60).to_owned(),
            started: at,
            finished: None,
            last_event: at,
            calls: VecDeque::new(),
            calls_made: 0,
            errors: 0,
            edits: 0,
            new_inputs: 0,
            inputs: HashSet::new(),
            results: HashSet::new(),
            calls_kept,
        }
    }

    /// Returns the calls that came back, newest first.
    pub fn finished_calls(&self) -> impl Iterator<Item = (&Call, &CallOutcome)> {
        self.calls.iter().rev().filter_map(|call| Some((call, call.outcome.as_ref()?)))
    }

    /// Returns the newest call, when it has not come back.
    pub fn open_call(&self) -> Option<&Call> {
        self.calls.back().filter(|call| call.outcome.is_none())
    }

    fn call(&mut self, seq: u64, at: Duration, number: u64, tool: String, input: Fingerprint) {
        let new_input = self.inputs.len() < INPUTS_KEPT && self.inputs.insert(input);
        self.new_inputs += u64::from(new_input);
        if self.calls.len() >= self.calls_kept {
            self.calls.pop_front();
        }
        self.calls.push_back(Call {
            seq,
            number,
            at,
            tool,
            summary: String::new(),
            command: String::new(),
            input,
            new_input,
            edits: 0,
            outcome: None,
        });
        self.calls_made += 1;
    }

    fn come_back(&mut self, at: Duration, number: u64, ok: bool, output: &str) {
        let result = Fingerprint::of_result(ok, output);
        let new_result = self.results.len() < INPUTS_KEPT && self.results.insert(result);
        let failed =
            !ok || output.strip_prefix("exit code ").is_some_and(|rest| !rest.starts_with('0'));
        self.errors += u64::from(failed);
        let error = failed
            .then(|| (Fingerprint::of_error(output), cut(&telling_lines(output), 200).to_owned()));
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.number == number) {
            call.outcome = Some(CallOutcome { at, result, new_result, error });
        }
    }
}

impl Default for CallGraph {
    fn default() -> Self {
        CallGraph::keeping(CALLS_KEPT)
    }
}

impl CallGraph {
    /// Returns an empty graph that keeps so many calls of each node.
    pub fn keeping(calls_kept: usize) -> Self {
        CallGraph {
            calls_kept,
            nodes: BTreeMap::new(),
            lines: VecDeque::new(),
            changed: BTreeMap::new(),
            events: 0,
            last_event: Duration::ZERO,
            edits: 0,
        }
    }

    /// Takes in one event that came at `at` since the trial's start.
    pub fn apply(&mut self, at: Duration, event: &Event, text_characters: usize) {
        self.events += 1;
        self.last_event = at;
        let id = self.place(&event.node, at);
        self.push_line(event, at, text_characters);
        if let EventKind::AgentStarted { agent, task } = &event.kind {
            self.start(&id, agent, task, event.seq, at);
        }
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.last_event = at;
        match &event.kind {
            EventKind::AgentFinished { how, result } => {
                node.finished = Some((at, cut(how, 60).to_owned()));
                self.return_to_parent(&id, how, result, at);
            }
            EventKind::ToolCall { call, tool, arguments } => {
                let input = Fingerprint::of_call(tool, arguments);
                node.call(event.seq, at, *call, cut(tool, 60).to_owned(), input);
                if let Some(made) = node.calls.back_mut() {
                    made.summary = summary(arguments);
                    made.command = command(tool, arguments)
                        .map_or_else(String::new, |text| cut(text, 300).to_owned());
                }
            }
            EventKind::ToolResult { call, ok, output } => {
                node.come_back(at, *call, *ok, output);
            }
            EventKind::FileEdited { path, .. } => {
                node.edits += 1;
                if let Some(call) = node.calls.back_mut() {
                    call.edits += 1;
                }
                self.edits += 1;
                if self.changed.len() < 500 || self.changed.contains_key(path) {
                    *self.changed.entry(cut(path, 200).to_owned()).or_default() += 1;
                }
            }
            EventKind::AgentStarted { .. }
            | EventKind::AssistantMessage { .. }
            | EventKind::Reasoning { .. }
            | EventKind::FileOpened { .. }
            | EventKind::FileClosed { .. }
            | EventKind::PromptUpdated { .. }
            | EventKind::Warning { .. }
            | EventKind::Error { .. }
            | EventKind::NudgeReceived { .. }
            | EventKind::CancelReceived { .. }
            | EventKind::Budget { .. } => {}
        }
    }

    /// Returns the node that an event of `id` counts for, and makes it where it is new.
    fn place(&mut self, id: &NodeId, at: Duration) -> NodeId {
        let proper = id.0.len() <= 60
            && id.is_within(&NodeId::root())
            && id
                .0
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        let known = self.nodes.contains_key(id);
        let id = if known || (proper && self.nodes.len() < NODES_KEPT) {
            id.clone()
        } else {
            NodeId::root()
        };
        self.nodes.entry(id.clone()).or_insert_with(|| Node::new("?", at, self.calls_kept));
        id
    }

    fn start(&mut self, id: &NodeId, agent: &str, task: &str, seq: u64, at: Duration) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.agent = cut(agent, 60).to_owned();
            node.started = at;
        }
        let Some(parent) = parent_of(id).and_then(|parent| self.nodes.get_mut(&parent)) else {
            return;
        };
        let mut arguments = serde_json::Map::new();
        arguments.insert("task".to_owned(), task.into());
        let tool = format!("agent {}", cut(agent, 50));
        let input = Fingerprint::of_call(&tool, &arguments);
        parent.call(seq, at, sub_agent_number(id), tool, input);
        if let Some(made) = parent.calls.back_mut() {
            made.summary = cut(task, 120).to_owned();
        }
    }

    fn return_to_parent(&mut self, id: &NodeId, how: &str, result: &str, at: Duration) {
        let Some(parent) = parent_of(id).and_then(|parent| self.nodes.get_mut(&parent)) else {
            return;
        };
        let ok = matches!(how, "complete" | "returned");
        parent.come_back(at, sub_agent_number(id), ok, result);
    }

    fn push_line(&mut self, event: &Event, at: Duration, characters: usize) {
        if self.lines.len() == LINES_KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(Line { seq: event.seq, text: line(event, at, characters) });
    }

    /// Returns a node.
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Returns all nodes in the order of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeId, &Node)> {
        self.nodes.iter()
    }

    /// Returns how many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns what a node and all below it have done.
    pub fn done_within(&self, top: &NodeId) -> Done {
        let mut done = Done::default();
        for (_, node) in self.nodes.iter().filter(|(id, _)| id.is_within(top)) {
            done.calls += node.calls_made;
            done.edits += node.edits;
            done.new_inputs += node.new_inputs;
        }
        done
    }

    /// Tells whether a node and all below it have finished.
    pub fn is_over(&self, top: &NodeId) -> bool {
        self.nodes
            .iter()
            .filter(|(id, _)| id.is_within(top))
            .all(|(_, node)| node.finished.is_some())
    }

    /// Returns the direct sub-agents of a node.
    pub fn children<'a>(&'a self, id: &'a NodeId) -> impl Iterator<Item = (&'a NodeId, &'a Node)> {
        self.nodes.iter().filter(move |(other, _)| {
            other.0.rsplit_once('.').map(|(parent, _)| parent) == Some(id.0.as_str())
        })
    }

    /// Returns the node whose event came last.
    pub fn busiest(&self) -> NodeId {
        self.nodes
            .iter()
            .filter(|(_, node)| node.finished.is_none())
            .max_by_key(|(_, node)| node.last_event)
            .map_or_else(NodeId::root, |(id, _)| id.clone())
    }

    /// Returns the newest lines, oldest first.
    pub fn lines(&self) -> &VecDeque<Line> {
        &self.lines
    }

    /// Returns the changed files with the number of changes of each.
    pub fn changed(&self) -> &BTreeMap<String, u64> {
        &self.changed
    }

    /// Returns how many events came.
    pub fn event_count(&self) -> u64 {
        self.events
    }

    /// Returns how many changes of files there were.
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// Returns when the last event came.
    pub fn last_event(&self) -> Duration {
        self.last_event
    }
}

/// Returns the parent of a node, by its id.
pub fn parent_of(id: &NodeId) -> Option<NodeId> {
    id.0.rsplit_once('.').map(|(parent, _)| NodeId(parent.to_owned()))
}

/// Numbers the calls of sub-agents apart from the calls of tools, which count from 1.
fn sub_agent_number(id: &NodeId) -> u64 {
    let last = id.0.rsplit('.').next().and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    u64::MAX - u64::from(last)
}

/// Returns the command line that a call runs, where its tool runs commands.
pub fn command<'a>(
    tool: &str,
    arguments: &'a serde_json::Map<String, serde_json::Value>,
) -> Option<&'a str> {
    ["command", "cmd", "script", "code"]
        .iter()
        .find_map(|name| arguments.get(*name))
        .or_else(|| {
            let runs = ["command", "shell", "bash", "execute", "terminal"];
            runs.iter().any(|word| tool.contains(word)).then(|| arguments.values().next())?
        })
        .and_then(serde_json::Value::as_str)
}

fn summary(arguments: &serde_json::Map<String, serde_json::Value>) -> String {
    let mut text = String::new();
    for (name, value) in arguments {
        if !text.is_empty() {
            text.push(' ');
        }
        let value = match value {
            serde_json::Value::String(value) => quoted(value, 60),
            other => quoted(&other.to_string(), 60),
        };
        text.push_str(cut(name, 30));
        text.push('=');
        text.push_str(&value);
        if text.len() > 160 {
            break;
        }
    }
    text
}
