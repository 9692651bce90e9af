//! `meta_improvement`: how an agent makes a better version of itself.

use super::{Need, Step, Structure};

/// The way to improve an agent.
pub static META_IMPROVEMENT: Structure = Structure {
    name: "meta_improvement",
    steps: &[
        Step {
            name: "what fails",
            ended_by: "found_what_fails",
            instructions: include_str!("meta_improvement/what_fails.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "what works",
            ended_by: "found_what_works",
            instructions: include_str!("meta_improvement/what_works.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "one proposal",
            ended_by: "proposed",
            instructions: include_str!("meta_improvement/propose.md"),
            needs: Need::Advice,
        },
        Step {
            name: "implement",
            ended_by: "improvement_implemented",
            instructions: include_str!("meta_improvement/implement.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "test",
            ended_by: "improvement_tested",
            instructions: include_str!("meta_improvement/test.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "describe",
            ended_by: "described",
            instructions: include_str!("meta_improvement/describe.md"),
            needs: Need::Changed("description.txt"),
        },
        Step {
            name: "change log",
            ended_by: "logged",
            instructions: include_str!("meta_improvement/change_log.md"),
            needs: Need::Changed("CHANGELOG.md"),
        },
    ],
};
