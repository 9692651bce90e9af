//! `reasoner`: one long thought.

use super::{Agent, Way};
use crate::tools::Argument;

pub(super) const AGENT: Agent = Agent {
    name: "reasoner",
    about: "Thinks hard about one question, once, without tools. It sees the problem, the question and \
            the files that you pass, and nothing else. Returns its conclusion.",
    prompt: include_str!("reasoner.md"),
    model: "reasoner",
    way: Way::Thought,
    arguments: || {
        vec![
            Argument::text("question", "The question, with everything that is known about it."),
            Argument::list("paths", "Files to show with it, one a line."),
        ]
    },
    roles: Agent::EVERY_ROLE,
    subagents: &[],
};
