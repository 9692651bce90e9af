//! The overseer's integration tests: recorded trials, a scripted judge, an agent that obeys or not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod corpus;
mod interventions;
mod judging;
mod logs;
mod properties;
mod stage;
mod viewing;
