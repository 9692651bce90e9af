//! Builds recorded trials: events, meter readings and their times.

use hone_overseer::Reading;
use hone_overseer::tape::{Input, TapeLine};
use hone_protocol::{Event, EventKind, NodeId};
use serde::{Deserialize, Serialize};

/// What the overseer should make of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "expect", rename_all = "snake_case")]
pub enum Expect {
    /// No more than notes.
    Healthy,
    /// A detector that proposes at least a nudge, within ten calls after the event that begins it.
    Sick {
        /// The detector.
        detector: String,
        /// The node.
        node: String,
        /// The least proposal.
        proposes: String,
        /// The event with which it begins.
        begins: u64,
    },
}

/// The first line of a recorded trial's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    pub name: String,
    #[serde(flatten)]
    pub expect: Expect,
}

/// A trial in the making.
pub struct Builder {
    name: &'static str,
    tape: Vec<TapeLine>,
    at_ms: u64,
    seq: u64,
    call: u64,
    reading: Reading,
    sick: Option<Expect>,
}

impl Builder {
    pub fn new(name: &'static str) -> Self {
        let mut builder = Builder {
            name,
            tape: Vec::new(),
            at_ms: 0,
            seq: 0,
            call: 0,
            reading: Reading {
                cost_limit_nano_usd: 1_000_000_000,
                seconds_limit: 3_600.0,
                ..Reading::default()
            },
            sick: None,
        };
        builder.start("0", "main", "solve it");
        builder
    }

    /// Says what is wrong from the next event on.
    pub fn begins(&mut self, detector: &str, node: &str, proposes: &str) {
        self.sick = Some(Expect::Sick {
            detector: detector.to_owned(),
            node: node.to_owned(),
            proposes: proposes.to_owned(),
            begins: self.seq + 1,
        });
    }

    pub fn wait(&mut self, seconds: f64) {
        self.at_ms += (seconds * 1e3) as u64;
    }

    fn push(&mut self, input: Input) {
        self.tape.push(TapeLine { at_ms: self.at_ms, input });
    }

    pub fn event(&mut self, node: &str, kind: EventKind) {
        self.seq += 1;
        let (seq, time) = (self.seq, 1_700_000_000_000 + self.at_ms);
        let event = Event { seq, time, node: NodeId(node.to_owned()), kind };
        self.push(Input::Event { event });
    }

    pub fn start(&mut self, node: &str, agent: &str, task: &str) {
        let kind = EventKind::AgentStarted { agent: agent.to_owned(), task: task.to_owned() };
        self.event(node, kind);
    }

    pub fn finish(&mut self, node: &str, result: &str) {
        let (how, result) = ("complete".to_owned(), result.to_owned());
        self.event(node, EventKind::AgentFinished { how, result });
    }

    /// One model call: two seconds, some tokens, a tenth of a cent.
    pub fn think(&mut self) {
        self.model_call(2.0, 300, 1_000_000);
    }

    pub fn model_call(&mut self, seconds: f64, output_tokens: u64, cost_nano_usd: u64) {
        self.reading.open_calls = 1;
        let reading = self.reading;
        self.push(Input::Reading { reading });
        self.wait(seconds);
        self.reading.open_calls = 0;
        self.reading.calls += 1;
        self.reading.prompt_tokens += 4_000;
        self.reading.output_tokens += output_tokens;
        self.reading.cost_nano_usd += cost_nano_usd;
        self.reading.seconds = self.at_ms as f64 / 1e3;
        let reading = self.reading;
        self.push(Input::Reading { reading });
    }

    /// Announces a call.
    pub fn ask(&mut self, node: &str, tool: &str, name: &str, argument: &str) {
        self.call += 1;
        let mut arguments = serde_json::Map::new();
        arguments.insert(name.to_owned(), argument.into());
        self.event(node, EventKind::ToolCall { call: self.call, tool: tool.to_owned(), arguments });
    }

    /// Lets the last call come back.
    pub fn answer(&mut self, node: &str, ok: bool, output: &str) {
        let output = output.to_owned();
        self.event(node, EventKind::ToolResult { call: self.call, ok, output });
    }

    /// A thought, and a command that takes a while.
    pub fn run(&mut self, node: &str, command: &str, seconds: f64, ok: bool, output: &str) {
        self.think();
        self.ask(node, "execute_command", "command", command);
        self.wait(seconds);
        self.answer(node, ok, output);
    }

    /// A thought and a search.
    pub fn search(&mut self, node: &str, pattern: &str, output: &str) {
        self.think();
        self.ask(node, "search_text", "pattern", pattern);
        self.wait(0.1);
        self.answer(node, true, output);
    }

    /// A thought and a change of a file.
    pub fn edit(&mut self, node: &str, path: &str, content: &str) {
        self.think();
        self.call += 1;
        let mut arguments = serde_json::Map::new();
        arguments.insert("path".to_owned(), path.into());
        arguments.insert("content".to_owned(), content.into());
        let tool = "overwrite_file".to_owned();
        self.event(node, EventKind::ToolCall { call: self.call, tool, arguments });
        let diff = format!("+{content}");
        self.event(node, EventKind::FileEdited { path: path.to_owned(), diff });
        self.answer(node, true, "written");
    }

    /// Ends the trial.
    pub fn end(mut self) -> (Case, Vec<TapeLine>) {
        self.push(Input::Ended);
        let expect = self.sick.unwrap_or(Expect::Healthy);
        (Case { name: self.name.to_owned(), expect }, self.tape)
    }
}
