//! Suites of problems: what an agent is asked, what it starts from, and what its work is worth.
//!
//! A [`Suite`] is data: a manifest of problems with a digest over everything that scoring depends on, and a
//! store of files. A [`Kind`] is code: it turns a problem into a statement and a work directory, says what to
//! collect when the agent has ended, and scores it. A trial therefore reads:
//!
//! ```text
//! suite::open / builtin  →  kind::of(&suite)  →  statement, environment, set_up(dir)
//!                        →  the agent works   →  collect  →  grade(submission)  →  Scored | ScoreError
//! ```
//!
//! This crate owns formats, generators and scoring. It never runs an agent, never runs code of a package
//! that problems are made from, and reads what an agent left only through [`submission`], which takes no
//! links and nothing without a bound. An error of scoring is no zero: it is a [`ScoreError`], and the trial is
//! unscored.
//!
//! | file | what it owns |
//! |---|---|
//! | [`suite`], [`files`] | the manifest, its digest, the files of problems, their form on disk |
//! | [`split`], [`selection`] | search and held-out problems; subsets |
//! | [`kind`] | the trait of a kind and the list of all kinds |
//! | [`submission`] | what the agent left, read safely; scores |
//! | [`edit`], [`nav`] | the two synthetic kinds and their generators |
//! | [`qa`] | questions with short answers, and the conventions of published sets |
//! | [`code`] | programs against public and hidden tests |
//! | [`tasks`] | folders with a verifier of their own, Harbor's included |
//! | [`room`] | what scoring needs of a fresh sandbox |
//! | [`import`], [`rows`] | importing published sets and task folders; rows of datasets |
//! | [`build`], [`origin`] | building a suite, and where generators get source code: git repositories, published wheels |
//! | [`swe`] | SWE-bench: rows, grading as the official harness grades, trials |
//! | [`builtin`], [`library`] | the small suites that are part of the program; where suites are found by name |

mod block;
pub mod build;
pub mod builtin;
pub mod code;
pub mod digest;
pub mod edit;
pub mod files;
pub mod import;
pub mod kind;
pub mod library;
pub mod nav;
pub mod origin;
pub mod qa;
pub mod room;
pub mod rows;
pub mod selection;
pub mod split;
pub mod submission;
pub mod suite;
pub mod swe;
pub mod tasks;

pub use digest::Digest;
pub use kind::{Collect, Environment, GradingRoom, Kind, ProblemError, Root};
pub use library::Library;
pub use selection::Selection;
pub use split::Split;
pub use submission::{Score, ScoreError, Scored, Submission};
pub use suite::{Manifest, Problem, ProblemId, Source, Suite, SuiteError};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
