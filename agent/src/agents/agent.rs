//! What makes an agent.

use crate::tools::{Argument, Kit};
use hone_protocol::Role;

/// An agent, as it is defined.
pub struct Agent {
    /// The name that other agents call.
    pub name: &'static str,
    /// What it is for, for the agents that may call it.
    pub about: &'static str,
    /// Its prompt.
    pub prompt: &'static str,
    /// The alias of the model that it thinks with.
    pub model: &'static str,
    /// How it works.
    pub way: Way,
    /// The arguments that it is called with.
    pub arguments: fn() -> Vec<Argument>,
    /// The roles of jobs in which there is such an agent.
    pub roles: &'static [Role],
    /// The agents that it may call.
    pub subagents: &'static [&'static str],
}

/// How an agent works.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// In steps, each with a call, with these kits of tools and at most so many steps.
    Steps { kits: &'static [Kit], most: u32 },
    /// By one completion without tools, whose text is the value.
    Thought,
    /// By asking other agents the same, side by side; their values together are the value.
    Committee { members: &'static [&'static str] },
}

impl Agent {
    /// Every role of a job.
    pub const EVERY_ROLE: &'static [Role] = &[Role::Solve, Role::Improve, Role::Repair];

    /// Tells whether there is such an agent in jobs of a role.
    pub fn serves(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}
