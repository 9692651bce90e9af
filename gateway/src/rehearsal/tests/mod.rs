//! The stand-in on a stage.

mod solving;
mod stage;
