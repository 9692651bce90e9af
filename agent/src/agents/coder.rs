//! `coder`: reads and changes code, and checks what it did.

use super::{Agent, Way};
use crate::tools::{Argument, Kit};

pub(super) const AGENT: Agent = Agent {
    name: "coder",
    about: "Works on files: reads code, changes it, runs commands, finds things in a repository. \
            Returns what it did or found.",
    prompt: include_str!("coder.md"),
    model: "main",
    way: Way::Steps {
        kits: &[Kit::Everyone, Kit::Report, Kit::Look, Kit::Change, Kit::Think],
        most: 100,
    },
    arguments: || {
        vec![
            Argument::text(
                "task",
                "What is to be done, understandable on its own, and how to check it.",
            ),
            Argument::list("paths", "Files to open for it, one a line."),
        ]
    },
    roles: Agent::EVERY_ROLE,
    subagents: &["reasoner"],
};
