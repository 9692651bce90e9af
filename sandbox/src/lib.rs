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
//! | [`docker`], [`bubblewrap`], [`unconfined`] | the executors |
//! | [`choice`] | which of them is used |
//! | [`labels`], [`reaper`] | how leftovers are known and removed |
//! | [`probe`] | what the machine offers |
//!
//! Below them `link` speaks with the supervisor (`sandbox/supervisor`), `quarters` are the private files of a sandbox,
//! `host_root` is what it sees of the host, `cgroup` and `disk` limit it.

pub mod bubblewrap;
pub mod capture;
mod cgroup;
pub mod child;
pub mod choice;
pub mod contract;
mod disk;
pub mod docker;
#[path = "../supervisor/src/files.rs"]
mod files;
mod host_root;
pub mod image;
pub mod labels;
mod link;
mod owner;
pub mod pantry;
pub mod probe;
mod quarters;
pub mod reaper;
pub mod unconfined;
#[path = "../supervisor/src/wire.rs"]
#[allow(dead_code, reason = "the supervisor uses the rest")]
mod wire;

pub use capture::Captured;
pub use child::{Base, BaseError, BuildRequest, Built, ChildBuilder, Target, Tested, Workshop};
pub use choice::{Choice, choose};
pub use contract::{
    Access, Command, CommandOutcome, Ending, Executor, Limits, Mount, Root, Sandbox, SandboxError,
    SandboxSpec, SharedExecutor,
};
pub use owner::Owner;
pub use pantry::{Crate, Pantry, PantryError};
pub use probe::{Probe, probe};
pub use reaper::{Sweep, Swept, sweep};
