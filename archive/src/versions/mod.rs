//! Versions in git: trees from directories and back, commits, refs, differences.
//!
//! These are plain functions of a repository; numbers and the ledger's records of versions are the
//! business of [`crate::Archive`].

mod clone;
mod commit;
mod difference;
mod tree;

pub use difference::{Difference, FileChange};
pub use tree::TreeError;

pub(crate) use clone::{clone_into, copy_commit};
pub(crate) use commit::{clear_stale_lock, commit, reference_name, set_reference, signature};
pub(crate) use difference::between;
pub(crate) use tree::{write_directory, write_tree};
