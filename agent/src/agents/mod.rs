//! Who there is: one agent, one file, and a prompt beside it.
//!
//! To add an agent, write its file and its prompt (the README has a template), name the file in the
//! list of modules and the agent in [`ALL`], and name it in [`Agent::subagents`] of the agents that
//! may call it.

mod agent;

mod archive_explorer;
mod coder;
mod committee;
mod main;
mod problem_solver;
mod reasoner;
mod reviewers;

pub use agent::{Agent, Way};

use hone_protocol::Role;

/// Every agent, in the order in which models are told of them. The first one gets the job.
pub const ALL: &[Agent] = &[
    main::AGENT,
    coder::AGENT,
    problem_solver::AGENT,
    reasoner::AGENT,
    archive_explorer::AGENT,
    committee::AGENT,
    reviewers::EVIDENCE,
    reviewers::SIMPLICITY,
    reviewers::RISK,
    reviewers::AMBITION,
];

/// Returns the agent that gets the job.
pub fn root() -> &'static Agent {
    &ALL[0]
}

/// Lists the agents that `agent` may call in a job.
pub fn subagents(agent: &Agent, role: Role) -> impl Iterator<Item = &'static Agent> {
    ALL.iter().filter(move |below| agent.subagents.contains(&below.name) && below.serves(role))
}

/// Returns the agent with a name.
pub fn named(name: &str) -> Option<&'static Agent> {
    ALL.iter().find(|agent| agent.name == name)
}
