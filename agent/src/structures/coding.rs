//! `coding`: explore, implement, test, clean up.

use super::{Need, Step, Structure};

/// The way to change code.
pub static CODING: Structure = Structure {
    name: "coding",
    steps: &[
        Step {
            name: "explore",
            ended_by: "explored",
            instructions: include_str!("coding/explore.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "implement",
            ended_by: "implemented",
            instructions: include_str!("coding/implement.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "test",
            ended_by: "tested",
            instructions: include_str!("coding/test.md"),
            needs: Need::Nothing,
        },
        Step {
            name: "clean up",
            ended_by: "cleaned_up",
            instructions: include_str!("coding/clean_up.md"),
            needs: Need::Nothing,
        },
    ],
};
