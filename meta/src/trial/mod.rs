//! One agent at one job: from a work directory to a record.
//!
//! | file | what it does |
//! |---|---|
//! | [`job`] | runs an agent's program in a sandbox behind a door of the gateway, watched |
//! | [`ending`] | says how a job ended, from what was measured and what the agent told |
//! | [`problem`] | a job on a benchmark's problem: sets up, runs, collects, scores |
//! | [`trace`] | the event log of a job as a file |
//! | [`watching`] | puts the overseer on a job |

pub mod ending;
pub mod job;
pub mod problem;
pub mod trace;
pub mod watching;
