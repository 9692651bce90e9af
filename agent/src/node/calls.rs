//! Carries out the call of a reply.

use super::steps::Steps;
use super::{Ended, How, run};
use crate::agents::{self, Way};
use crate::context::window::Part;
use crate::markup::{Block, Call, CallKind};
use crate::process::Capture;
use crate::structures::{Course, Progress};
use crate::tools::{Argument, Kind, ToolError, read_arguments};
use crate::trial::TrialEnd;
use futures_util::future::try_join_all;
use hone_protocol::EventKind;

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
        let course = self.desk.course.as_ref();
        if course.is_some_and(|course| course.step_ended_by(&call.name).is_some()) {
            return Ok(self.end_step(&call));
        }
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
        let known = (agent.arguments)();
        for arguments in apart(&known, &call.arguments) {
            if let Err(mistake) = read_arguments(&known, &arguments) {
                return Ok(Some(Missed(format!("{}: {mistake}", agent.name))));
            }
        }
        let calls = apart(&known, &call.arguments);
        let runs = calls.iter().map(|arguments| {
            self.children += 1;
            run(trial.clone(), self.desk.node.child(self.children), agent, arguments)
        });
        let ended = try_join_all(runs.collect::<Vec<_>>()).await?;
        if matches!(agent.way, Way::Committee { .. })
            && ended.iter().all(|ended| ended.how.is_success())
            && let Some(course) = &mut self.desk.course
        {
            course.advise();
        }
        let outcome = together(ended);
        let (ok, text) = split(&outcome);
        let block = Block::new("AGENT_RESULT").with("agent", &call.name).with("ok", ok);
        self.window.tell(Part::result(self.desk.memory.result(), block, text));
        Ok(None)
    }

    /// Ends a step of the structure that the agent is in.
    fn end_step(&mut self, call: &Call) -> Option<Missed> {
        let arguments = match read_arguments(&Course::arguments(), &call.arguments) {
            Ok(arguments) => arguments,
            Err(mistake) => return Some(Missed(format!("{}: {mistake}", call.name))),
        };
        let number = self.desk.trial.next_call();
        let tool = call.name.clone();
        self.desk.emit(EventKind::ToolCall { call: number, tool, arguments });
        let directory = self.desk.trial.workspace.root().to_owned();
        let course = self.desk.course.as_mut()?;
        let outcome = if course.step().ended_by == call.name {
            course.end_step(&directory)
        } else {
            Err(format!("that ends another step; you are here:\n{}", course.words()))
        };
        let outcome = outcome.map(|progress| match progress {
            Progress::Next(words) => words,
            Progress::Done(words) => {
                self.desk.course = None;
                words
            }
        });
        self.result("TOOL_RESULT", "tool", &call.name, number, outcome);
        None
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
        self.window.tell(Part::result(self.desk.memory.result(), block, text));
    }
}

fn split(outcome: &Result<String, String>) -> (bool, &str) {
    match outcome {
        Ok(text) => (true, text),
        Err(text) => (false, text),
    }
}

/// Takes the arguments of a call apart that gives an argument several times: each one is a call of
/// its own, with the rest of the arguments.
fn apart(known: &[Argument], given: &[(String, String)]) -> Vec<Vec<(String, String)>> {
    let is_list =
        |name: &str| known.iter().any(|known| known.name == name && known.kind == Kind::List);
    let times = |name: &str| given.iter().filter(|(other, _)| other == name).count();
    let repeated = given.iter().find(|(name, _)| !is_list(name) && times(name) > 1);
    let Some((repeated, _)) = repeated else { return vec![given.to_vec()] };
    let shared: Vec<_> = given.iter().filter(|(name, _)| name != repeated).cloned().collect();
    let single = given.iter().filter(|(name, _)| name == repeated);
    single.map(|one| [vec![one.clone()], shared.clone()].concat()).collect()
}

/// Puts together what sub-agents returned that worked side by side.
fn together(ended: Vec<Ended>) -> Result<String, String> {
    let mut outcomes = ended.into_iter().map(|ended| match ended.how {
        how if how.is_success() => Ok(ended.value),
        How::Cancelled => Err(format!("it was cancelled: {}", ended.value)),
        How::GaveUp => Err(format!("it gave up: {}", ended.value)),
        _ => Err(ended.value),
    });
    if outcomes.len() == 1
        && let Some(outcome) = outcomes.next()
    {
        return outcome;
    }
    let outcomes: Vec<_> = outcomes.collect();
    let blocks = outcomes.iter().enumerate().map(|(at, outcome)| {
        let (ok, text) = split(outcome);
        Block::new("RESULT").with("call", at + 1).with("ok", ok).around(text)
    });
    let text = blocks.collect::<Vec<_>>().join("\n");
    if outcomes.iter().all(Result::is_ok) { Ok(text) } else { Err(text) }
}
