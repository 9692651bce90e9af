//! The stand-in on a stage.

mod improving;
mod solving;
mod stage;
