//! The git store of versions, the ledger of everything that happened, and all that follows from them.
//!
//! This crate owns the repository `archive.git` of a run: what is in it, how it is written so that a crash loses
//! nothing, and the numbers and choices that are functions of its records. It knows nothing of sandboxes and
//! models, runs no agent, and prints nothing.
//!
//! ```text
//! refs/heads/agents/N   the source of version N, its bases as parents        versions
//! refs/heads/ledger     append-only commits of records                       ledger, record
//! hone/                 the journal of what is not yet in a commit, a lock, the index (a cache)
//! ```
//!
//! An [`Archive`] adds versions, appends [`Record`]s (durable when the call returns) and reads the [`State`]:
//! the sum of all records. Summaries, [`policy`] and [`statistics`] are pure functions.
//!
//! | module | what it owns |
//! |---|---|
//! | [`identity`] | numbers, digests, money |
//! | [`record`] | the records of the ledger and their format |
//! | `store` | the [`Archive`] |
//! | `versions`, `ledger`, `objects` | git objects of versions; journal, segments, recovery; what was cut off |
//! | [`state`] | the sum of the records, summaries, the index |
//! | [`utility`], [`statistics`] | formulas |
//! | [`policy`] | which version is edited next |
//! | [`verify`] | everything computed again, and compared |
//! | [`export`] | CSV and JSON |

pub mod export;
pub mod identity;
mod ledger;
mod objects;
pub mod policy;
pub mod record;
pub mod state;
pub mod statistics;
mod store;
pub mod utility;
pub mod verify;
mod versions;

pub use identity::{AgentNumber, CommitId, ConditionsId, Digest, NanoUsd, RecordId, TreeId};
pub use ledger::{Damage, LedgerError};
pub use policy::{Choice, PolicyName};
pub use record::{Entry, Record};
pub use state::{AgentSummary, State};
pub use store::{Archive, ArchiveError, Explanation, Merge, Packed};
pub use utility::UtilitySettings;
pub use verify::{Fault, Thoroughness, Verification};
pub use versions::{Difference, FileChange, TreeError};
