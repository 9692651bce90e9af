//! `main`: gets the job, delegates it, hands in the answer.

use super::{Agent, Way};
use crate::tools::Kit;

pub(super) const AGENT: Agent = Agent {
    name: "main",
    about: "Answers for the whole job.",
    prompt: include_str!("main.md"),
    model: "main",
    way: Way::Steps { kits: &[Kit::Improve, Kit::Everyone, Kit::Lead], most: 100 },
    arguments: Vec::new,
    roles: Agent::EVERY_ROLE,
    subagents: &["coder", "problem_solver", "reasoner", "archive_explorer", "committee"],
};
