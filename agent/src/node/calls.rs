//! Carries out the call of a reply.

use super::steps::Steps;
use super::{How, run};
use crate::agents::{self, Agent};
use crate::context::window::Part;
use crate::markup::{Block, Call, CallKind};
use crate::process::Capture;
use crate::tools::{Argument, ToolError};
use crate::trial::TrialEnd;
use hone_protocol::EventKind;
use serde_json::{Map, Value};

/// Bytes of an output that an event repeats.
const EVENT_CAP: usize = 32 * 1024;

/// A call that could not be carried out because of how it was made.
pub(super) struct Missed(pub(super) String);

impl Steps {
    /// Carries out a call and adds its result to the dialogue.
    pub(super) async fn call(&mut self, call: Call) -> Result<Option<Missed>, TrialEnd> {
        match call.kind {
            CallKind::Tool => self.call_tool(call).await,
            CallKind::Agent => self.call_agent(call).await,
        }
    }

    async fn call_tool(&mut self, call: Call) -> Result<Option<Missed>, TrialEnd> {
        let trial = self.desk.trial.clone();
        let Some(tool) = self.tools(&trial).find(|tool| tool.name == call.name) else {
            let names: Vec<_> = self.tools(&trial).map(|tool| tool.name).collect();
            let known = names.join(", ");
            return Ok(Some(Missed(format!(
                "there is no tool `{}`; the tools are: {known}",
                call.name
            ))));
        };
        let arguments = match tool.read(&call.arguments) {
            Ok(arguments) => arguments,
            Err(mistake) => return Ok(Some(Missed(format!("{}: {mistake}", call.name)))),
        };
        let number = trial.next_call();
        let event = EventKind::ToolCall {
            call: number,
            tool: call.name.clone(),
            arguments: arguments.clone(),
        };
        self.desk.emit(event);
        let outcome = match tool.run(arguments, &mut self.desk).await {
            Ok(text) => Ok(text),
            Err(ToolError::Refused(text)) => Err(text),
            Err(ToolError::Trial(end)) => return Err(end),
        };
        self.result("TOOL_RESULT", "tool", &call.name, number, outcome);
        Ok(None)
    }

    async fn call_agent(&mut self, call: Call) -> Result<Option<Missed>, TrialEnd> {
        let trial = self.desk.trial.clone();
        let below = || agents::subagents(self.agent, trial.job.role);
        let Some(agent) = below().find(|agent| agent.name == call.name) else {
            let known = below().map(|agent| agent.name).collect::<Vec<_>>().join(", ");
            return Ok(Some(Missed(format!(
                "there is no sub-agent `{}`; they are: {known}",
                call.name
            ))));
        };
        if let Err(problem) = check(agent, &call) {
            return Ok(Some(Missed(problem)));
        }
        self.children += 1;
        let id = self.desk.node.child(self.children);
        let ended = run(trial, id, agent, &call.arguments).await?;
        let outcome = match ended.how {
            how if how.is_success() => Ok(ended.value),
            How::Cancelled => Err(format!("it was cancelled by the overseer: {}", ended.value)),
            How::GaveUp => Err(format!("it gave up: {}", ended.value)),
            _ => Err(ended.value),
        };
        let (ok, text) = split(&outcome);
        let block = Block::new("AGENT_RESULT").with("agent", &call.name).with("ok", ok);
        self.window.tell(Part::Text(block.around(text)));
        Ok(None)
    }

    fn result(
        &mut self,
        tag: &str,
        name: &str,
        value: &str,
        call: u64,
        outcome: Result<String, String>,
    ) {
        let (ok, text) = split(&outcome);
        let output = Capture::cut(text, EVENT_CAP);
        self.desk.emit(EventKind::ToolResult { call, ok, output });
        let block = Block::new(tag).with(name, value).with("ok", ok);
        self.window.tell(Part::Text(block.around(text)));
    }
}

fn split(outcome: &Result<String, String>) -> (bool, &str) {
    match outcome {
        Ok(text) => (true, text),
        Err(text) => (false, text),
    }
}

/// Checks the arguments of a sub-agent by the rules for those of a tool.
fn check(agent: &Agent, call: &Call) -> Result<Map<String, Value>, String> {
    let known: Vec<Argument> = (agent.arguments)();
    crate::tools::read_arguments(&known, &call.arguments)
        .map_err(|mistake| format!("{}: {mistake}", agent.name))
}
