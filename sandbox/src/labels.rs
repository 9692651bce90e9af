//! The labels by which containers, networks and volumes of Hone are known.

use crate::owner::{Life, Owner, Process};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

/// The run that it belongs to.
pub const RUN: &str = "dev.hone.run";
/// The process that made it: boot, namespace of processes, number and start.
pub const OWNER: &str = "dev.hone.owner";
/// When it may be removed whoever made it.
pub const EXPIRES: &str = "dev.hone.expires";
/// What it is for.
pub const PURPOSE: &str = "dev.hone.purpose";

/// Longer than any trial or build. Only what belongs to a process that cannot be looked at lives that long.
const LIFE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Returns the labels of something that this process makes.
pub(crate) fn of(owner: &Owner, process: &Process, purpose: &str) -> HashMap<String, String> {
    let expires = Timestamp::now().checked_add(LIFE).unwrap_or(Timestamp::MAX);
    [
        (RUN, owner.run.clone()),
        (OWNER, process.to_string()),
        (EXPIRES, expires.to_string()),
        (PURPOSE, purpose.to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// Tells whether something with these labels is a leftover: its owner is dead, or cannot be looked at and its time is up.
pub(crate) fn is_left(labels: &HashMap<String, String>, now: Timestamp) -> bool {
    let Some(owner) = labels.get(OWNER).and_then(|owner| owner.parse::<Process>().ok()) else {
        return false;
    };
    let expires = labels.get(EXPIRES).and_then(|time| time.parse::<Timestamp>().ok());
    match owner.life() {
        Life::Dead => true,
        Life::Alive => false,
        Life::Unknown => expires.is_some_and(|time| time < now),
    }
}
