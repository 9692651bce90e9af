//! What a tool has before it: the files, the memory and the trial of the agent that called it.

use crate::context::{Files, Shown};
use crate::trial::Trial;
use hone_protocol::{EventKind, NodeId};
use std::rc::Rc;

/// The desk of one agent.
pub struct Desk {
    /// What all agents of the job share.
    pub trial: Rc<Trial>,
    /// The agent's node in the call graph.
    pub node: NodeId,
    /// The files that are open.
    pub files: Files,
    /// What the model is shown after the result of the call.
    pub shown: Vec<Shown>,
    /// Set by a tool that ends the agent.
    pub finish: Option<Finish>,
}

/// How an agent wants to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The job is done.
    Complete(String),
    /// The value for the agent above.
    Return(String),
    /// The agent cannot go on, for this reason.
    GiveUp(String),
}

impl Desk {
    /// Prepares the desk of a node.
    pub fn new(trial: Rc<Trial>, node: NodeId) -> Self {
        let files = Files::default();
        Desk { trial, node, files, shown: Vec::new(), finish: None }
    }

    /// Notes that something happened.
    pub fn emit(&self, kind: EventKind) {
        self.trial.events.emit(&self.node, kind);
    }
}
