//! Sandboxes for code that a model wrote.
//!
//! This crate owns executors, the supervisor, images, the pantry and the reaper. It knows nothing of agents,
//! models or benchmarks.
//!
//! | module | what it owns |
//! |---|---|
//! | [`contract`] | what a sandbox is asked and what it answers |
//! | [`capture`] | output of bounded size |

pub mod capture;
pub mod contract;

pub use capture::Captured;
pub use contract::{
    Access, Command, CommandOutcome, Ending, Executor, Limits, Mount, Root, Sandbox, SandboxError,
    SandboxSpec, SharedExecutor,
};
