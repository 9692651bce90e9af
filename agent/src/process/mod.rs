//! Commands, and the end of everything that they start.
//!
//! A command runs under a supervisor: this same binary, started with [`SUPERVISE`]. All processes
//! that the command leaves behind become children of the supervisor, whatever sessions and groups
//! they make, so it can end them all. It does so when the command ends, when its time is up, and
//! when the agent goes away or loses interest.
//!
//! [`shell`] is the agent's side, [`supervisor`] the other, [`capture`] keeps the ends of an output
//! that is too long.

pub mod capture;
pub mod shell;
pub mod supervisor;

pub use capture::Capture;
pub use shell::{Outcome, Shell, ShellError};
pub use supervisor::{Ending, SUPERVISE};
