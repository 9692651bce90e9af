//! One agent at work: it asks the model, carries out its call, shows it the result, and so on.
//!
//! [`steps`] is that loop, [`reply`] gets one whole reply of the model, [`calls`] carries calls out,
//! [`room`] keeps the context in shape. Agents that work in other ways have [`thought`] and
//! [`committee`].

mod calls;
mod committee;
mod reply;
mod room;
mod steps;
mod thought;

use crate::agents::{Agent, Way};
use crate::markup::Block;
use crate::model::inbox::Cancel;
use crate::trial::{Trial, TrialEnd};
use futures_util::future::LocalBoxFuture;
use hone_protocol::{EventKind, NodeId};
use std::rc::Rc;

/// How an agent ended, with its value or the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// The value, or the reason when there is none.
    pub value: String,
}

/// How an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The job is done.
    Complete,
    /// It returned a value.
    Returned,
    /// It gave up.
    GaveUp,
    /// An overseer ended it.
    Cancelled,
    /// It used up its steps.
    StepLimit,
    /// The time of the job was up.
    TimeLimit,
    /// The money of the job was spent.
    CostLimit,
    /// The model did not make calls as it should.
    ProtocolError,
    /// The gateway failed.
    GatewayError,
}

impl How {
    /// Returns the word for it in events.
    pub fn word(self) -> &'static str {
        match self {
            How::Complete => "complete",
            How::Returned => "returned",
            How::GaveUp => "early_exit",
            How::Cancelled => "cancelled",
            How::StepLimit => "iteration_limit",
            How::TimeLimit => "time_limit",
            How::CostLimit => "cost_limit",
            How::ProtocolError => "protocol_error",
            How::GatewayError => "gateway_error",
        }
    }

    /// Tells whether the agent did what it was asked.
    pub fn is_success(self) -> bool {
        matches!(self, How::Complete | How::Returned)
    }
}

/// Runs an agent to its end. `arguments` are what it was called with.
pub fn run(
    trial: Rc<Trial>,
    id: NodeId,
    agent: &'static Agent,
    arguments: &[(String, String)],
) -> LocalBoxFuture<'static, Result<Ended, TrialEnd>> {
    let task = task(arguments);
    let paths = arguments.iter().filter(|(name, _)| name == "paths");
    let paths: Vec<String> = paths.flat_map(|(_, list)| list.lines()).map(str::to_owned).collect();
    let arguments = arguments.to_vec();
    Box::pin(async move {
        let text = task.clone().unwrap_or_else(|| trial.job.statement.clone());
        let started = EventKind::AgentStarted { agent: agent.name.to_owned(), task: text };
        trial.events.emit(&id, started);
        let cancelled = trial.inbox.enter(&id);
        let mut presence = Presence { trial: trial.clone(), id: id.clone(), gone: false };

        let work = async {
            match agent.way {
                Way::Steps { kits, most } => {
                    let mut steps = steps::Steps::new(trial.clone(), id.clone(), agent, kits, task);
                    steps.open(&paths);
                    steps.run(most).await
                }
                Way::Thought => {
                    let mut steps = steps::Steps::new(trial.clone(), id.clone(), agent, &[], task);
                    steps.open(&paths);
                    steps.think().await
                }
                Way::Committee { members } => {
                    committee::advise(&trial, &id, members, &arguments).await
                }
            }
        };
        let outcome = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            () = tokio::time::sleep_until(trial.deadline().into()) => Some(Err(TrialEnd::TimeIsUp)),
            outcome = work => Some(outcome),
        };
        // Dropping the work has ended what ran below it.
        match outcome {
            Some(outcome) => {
                presence.end(&outcome);
                outcome
            }
            None => {
                let cancel = trial.inbox.cancel_of(&id);
                presence.cancelled(cancel.as_ref());
                let value = cancel.map_or_else(String::new, |cancel| cancel.reason);
                Ok(Ended { how: How::Cancelled, value })
            }
        }
    })
}

/// Writes the arguments of a sub-agent as its task.
fn task(arguments: &[(String, String)]) -> Option<String> {
    let blocks = arguments.iter().map(|(name, value)| Block::new(name).argument(value));
    let text = blocks.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

/// An agent's entry among those at work. When it goes without having ended, something above it was
/// ended.
struct Presence {
    trial: Rc<Trial>,
    id: NodeId,
    gone: bool,
}

impl Presence {
    fn end(&mut self, outcome: &Result<Ended, TrialEnd>) {
        let (how, result) = match outcome {
            Ok(ended) => (ended.how, ended.value.clone()),
            Err(end) => (end.how(), crate::trial::explain(end)),
        };
        if let Err(end) = outcome {
            let text = crate::trial::explain(end);
            self.trial.events.emit(&self.id, EventKind::Error { text });
        }
        self.leave(how, result);
    }

    fn cancelled(&mut self, cancel: Option<&Cancel>) {
        if let Some(cancel) = cancel {
            let received = EventKind::CancelReceived { message: cancel.message };
            self.trial.events.emit(&self.id, received);
        }
        let reason = cancel.map_or("an agent above it ended", |cancel| cancel.reason.as_str());
        self.leave(How::Cancelled, reason.to_owned());
    }

    fn leave(&mut self, how: How, result: String) {
        let finished = EventKind::AgentFinished { how: how.word().to_owned(), result };
        self.trial.events.emit(&self.id, finished);
        self.trial.inbox.leave(&self.id);
        self.gone = true;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if !self.gone {
            let cancel = self.trial.inbox.cancel_of(&self.id);
            self.cancelled(cancel.as_ref());
        }
    }
}
