//! The improvement loop: choose, edit, build, judge, measure, record, repeat.
//!
//! | file | what it does |
//! |---|---|
//! | [`run`] | the loop of a run, its resume and its end |
//! | [`choice`] | which version edits which, and rescue from editors that fail |
//! | [`view`] | the read-only view of the archive that an editor is given |
//! | [`statement`] | what an editor is told |
//! | [`edit`] | the improvement job and repairs |
//! | [`change`] | what kind of change it is, before anything is built |
//! | [`gate`] | what a child must be able to do before it is measured |
//! | [`draft`] | an iteration's work on disk, until its child is recorded |
//! | [`evaluation`] | the trials of an agent, side by side |
//! | [`binaries`] | the programs of versions |

pub mod binaries;
pub mod change;
pub mod choice;
pub mod draft;
pub mod edit;
pub mod evaluation;
pub mod gate;
pub mod run;
pub mod statement;
pub mod view;
