//! `problem_solver`: works out answers to questions.

use super::{Agent, Way};
use crate::tools::{Argument, Kit};

pub(super) const AGENT: Agent = Agent {
    name: "problem_solver",
    about: "Works out the answer to a question: in mathematics, in logic, or about the files here. \
            Changes nothing that stays. Returns the answer and how sure it is.",
    prompt: include_str!("problem_solver.md"),
    model: "main",
    way: Way::Steps {
        kits: &[Kit::Everyone, Kit::Report, Kit::Look, Kit::Change, Kit::Think],
        most: 60,
    },
    arguments: || {
        vec![
            Argument::text(
                "task",
                "The question, understandable on its own, and the form of the answer.",
            ),
            Argument::list("paths", "Files to open for it, one a line."),
        ]
    },
    roles: Agent::EVERY_ROLE,
    subagents: &["reasoner"],
};
