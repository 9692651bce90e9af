//! Trials: one agent in a sandbox, on one job, under watch.
//!
//! | module | what it owns |
//! |---|---|
//! | [`watching`] | the overseer of a trial, between the gateway and the archive |

pub mod watching;
