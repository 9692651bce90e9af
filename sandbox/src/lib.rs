//! Sandboxes for code that a model wrote.
//!
//! This crate owns executors, the supervisor, images, the pantry and the reaper. It knows nothing of agents,
//! models or benchmarks.
//!
//! | module | what it owns |
//! |---|---|
//! | [`contract`] | what a sandbox is asked and what it answers |
//! | [`capture`] | output of bounded size |
//! | [`pantry`] | crates that an agent may use, beside the toolchain |
//! | [`image`] | images that are made, pulled and evicted |
//! | [`child`] | builds and tests agents in sandboxes |

pub mod capture;
pub mod child;
pub mod contract;
pub mod image;
pub mod pantry;

pub use capture::Captured;
pub use child::{Base, BaseError, BuildRequest, Built, ChildBuilder, Target, Tested, Workshop};
pub use contract::{
    Access, Command, CommandOutcome, Ending, Executor, Limits, Mount, Root, Sandbox, SandboxError,
    SandboxSpec, SharedExecutor,
};
pub use pantry::{Crate, Pantry, PantryError};
