//! `archive_explorer`: finds out what earlier versions can and cannot do.

use super::{Agent, Way};
use crate::tools::{Argument, Kit};
use hone_protocol::Role;

pub(super) const AGENT: Agent = Agent {
    name: "archive_explorer",
    about: "Looks into the archive of agents: which problems fail and why, what works, what was tried \
            before and what came of it. Returns its findings with numbers.",
    prompt: include_str!("archive_explorer.md"),
    model: "main",
    way: Way::Steps {
        kits: &[Kit::Everyone, Kit::Report, Kit::Look, Kit::Think, Kit::Archive],
        most: 60,
    },
    arguments: || {
        vec![Argument::text("task", "What is to be found out, and which agents it is about.")]
    },
    roles: &[Role::Improve],
    subagents: &["reasoner"],
};
