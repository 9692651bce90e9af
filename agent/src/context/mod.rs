//! What the model sees.
//!
//! A request consists of the system prompt and the core prompt ([`prompt`]), the dialogue
//! ([`window`]) and, at the very end, the status ([`status`]): what changes from step to step. All
//! before the status is only ever added to, so that a provider's prefix cache can serve it.
//! [`files`] keeps the open files, [`directory`] draws trees, [`limits`] tells the agent how much
//! of its time, money and steps is gone, [`memory`] holds what it may forget and what it watches.

pub mod directory;
pub mod files;
pub mod limits;
pub mod memory;
pub mod prompt;
pub mod status;
pub mod window;

pub use files::{Files, Shown};
pub use limits::Limits;
pub use memory::Memory;
pub use window::Window;
