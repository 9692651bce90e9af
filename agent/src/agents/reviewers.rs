//! The reviewers of the committee: four minds, one prompt each.

use super::{Agent, Way};
use crate::tools::Argument;
use hone_protocol::Role;

/// Asks what shows that the cause is real.
pub(super) const EVIDENCE: Agent =
    reviewer("reviewer_evidence", include_str!("reviewers/evidence.md"));

/// Asks for the least change that does it.
pub(super) const SIMPLICITY: Agent =
    reviewer("reviewer_simplicity", include_str!("reviewers/simplicity.md"));

/// Asks what will break.
pub(super) const RISK: Agent = reviewer("reviewer_risk", include_str!("reviewers/risk.md"));

/// Asks whether there is more to be had.
pub(super) const AMBITION: Agent =
    reviewer("reviewer_ambition", include_str!("reviewers/ambition.md"));

const fn reviewer(name: &'static str, prompt: &'static str) -> Agent {
    Agent {
        name,
        about: "Reviews a proposal.",
        prompt,
        model: "reasoner",
        way: Way::Thought,
        arguments: || vec![Argument::text("proposal", "The proposal.")],
        roles: &[Role::Improve],
        subagents: &[],
    }
}
