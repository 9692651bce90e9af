//! `committee`: four reviewers advise on a proposal, side by side.

use super::{Agent, Way};
use crate::tools::Argument;
use hone_protocol::Role;

pub(super) const AGENT: Agent = Agent {
    name: "committee",
    about: "Four reviewers with different minds advise on a proposal to improve the agent, before it is \
            built. Returns what each of them says.",
    prompt: "",
    model: "reasoner",
    way: Way::Committee {
        members: &[
            "reviewer_evidence",
            "reviewer_simplicity",
            "reviewer_risk",
            "reviewer_ambition",
        ],
    },
    arguments: || {
        vec![
            Argument::text(
                "proposal",
                "The proposal: cause, change, expected result, what it may break.",
            ),
            Argument::list("paths", "Files of the source that it is about, one a line."),
        ]
    },
    roles: &[Role::Improve],
    subagents: &[],
};
