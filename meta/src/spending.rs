//! What a run had spent before this process: a resumed run goes on with what is left of its money.
//!
//! The ledger knows what finished trials cost. Calls of a trial that a crash cut off are known from the recordings
//! alone, which hold every call as soon as it was settled; so the larger of the two sums counts.

use crate::failure::{FailureKind, OrFail, Outcome};
use crate::home::RunFolder;
use crate::models::RECORDINGS;
use hone_archive::Archive;
use hone_gateway::tape::TapeReader;
use hone_gateway::{Account, Gateway, NanoUsd, SpendRole};
use std::collections::BTreeMap;
use std::path::Path;

/// Adds to the purse of a run what it had spent before.
pub fn count(folder: &RunFolder, gateway: &Gateway) -> Outcome {
    let recorded = recorded(&folder.root().join(RECORDINGS));
    for (role, spent) in &recorded {
        gateway.add_spent(Account::Role(*role), NanoUsd(*spent));
    }
    let in_ledger = match folder.archive().exists() {
        true => {
            Archive::open_read_only(&folder.archive())
                .and_then(|archive| archive.read(|state| state.spent()))
                .or_fail(FailureKind::Infrastructure)?
                .0
        }
        false => 0,
    };
    let on_tape: u64 = recorded.values().sum();
    gateway.add_spent(Account::Run, NanoUsd(on_tape.max(in_ledger)));
    Ok(())
}

/// Sums the recordings of a folder by role.
fn recorded(folder: &Path) -> BTreeMap<SpendRole, u64> {
    let mut spent = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // What is no recording, or is cut off before its first line, holds no call.
        let Ok(reader) = TapeReader::open(&entry.path()) else { continue };
        let role = role_of(&reader.head().door);
        let sum = spent.entry(role).or_insert(0);
        for exchange in reader.flatten() {
            let tries: u64 = exchange.head.tries.iter().map(|it| it.cost.0).sum();
            *sum += exchange.head.cost.0 + tries;
        }
    }
    spent
}

/// Returns whose money a door spends, by its id.
fn role_of(door: &str) -> SpendRole {
    if door.ends_with(".overseer") {
        SpendRole::Overseer
    } else if door.starts_with("iteration-") {
        SpendRole::Editor
    } else {
        SpendRole::Benchmark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_tells_whose_money_it_spends() {
        let roles =
            ["iteration-3/edit", "iteration-3/edit.overseer", "agent-0/nav/x/0"].map(role_of);
        assert_eq!(roles, [SpendRole::Editor, SpendRole::Overseer, SpendRole::Benchmark]);
    }
}
