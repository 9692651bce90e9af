//! The stand-in on a stage.

mod building;
mod improving;
mod solving;
mod stage;
