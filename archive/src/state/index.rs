//! The state on disk: a cache beside the ledger, so that reading a large archive does not read every record.
//!
//! It belongs to one commit of the ledger and is used only where that commit is still part of the chain.
//! Deleting it loses nothing. Layout, all numbers little-endian: [`MAGIC`], the digest of the rest, the
//! commit, its unit, the length of a JSON part, the JSON part, then each agent's cells.

use super::{AgentTrials, Cell, ChildHead, IterationHead, KnownSuite, State};
use crate::identity::{AgentNumber, NanoUsd};
use crate::ledger::Damage;
use crate::record::{Outcome, Stated, SuitePlan, Version};
use git2::Oid;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::Path;

/// The last digit changes with the layout; an index of another layout is built anew.
const MAGIC: &[u8; 16] = b"hone-index-0002\n";
const CELL: usize = 2 + 4 + 4 + 1 + 5 * 8;

/// A state that was read from disk.
pub(crate) struct Stored {
    pub commit: Oid,
    pub unit: u64,
    pub state: State,
}

#[derive(Serialize, Deserialize)]
struct Head {
    versions: Vec<Version>,
    iterations: Vec<IterationHead>,
    children: Vec<ChildHead>,
    plan: Vec<SuitePlan>,
    conditions: Vec<Stated>,
    runs: IndexSet<String>,
    merged_runs: IndexSet<String>,
    suites: Vec<KnownSuite>,
    audits: u64,
    records: u64,
    damage: Vec<Damage>,
}

/// Writes the index. It is a cache: the file is replaced as a whole and not forced to disk.
pub(crate) fn save(path: &Path, commit: Oid, unit: u64, state: &State) -> std::io::Result<()> {
    let head = Head {
        versions: state.versions.values().cloned().collect(),
        iterations: state.iterations.clone(),
        children: state.children.clone(),
        plan: state.plan.clone(),
        conditions: state
            .conditions
            .iter()
            .map(|(id, content)| Stated { conditions: *id, content: content.clone() })
            .collect(),
        runs: state.runs.clone(),
        merged_runs: state.merged_runs.clone(),
        suites: state.suites.clone(),
        audits: state.audits,
        records: state.records,
        damage: state.damage.clone(),
    };
    let head = serde_json::to_vec(&head).map_err(std::io::Error::other)?;
    let cells: usize = state.trials.values().map(|trials| trials.cells.len()).sum();
    let mut body = Vec::with_capacity(64 + head.len() + cells * CELL + state.trials.len() * 24);
    body.extend_from_slice(commit.as_bytes());
    body.extend_from_slice(&unit.to_le_bytes());
    body.extend_from_slice(&(head.len() as u64).to_le_bytes());
    body.extend_from_slice(&head);
    for (agent, trials) in &state.trials {
        body.extend_from_slice(&agent.0.to_le_bytes());
        body.extend_from_slice(&trials.recorded.to_le_bytes());
        body.extend_from_slice(&trials.spent.0.to_le_bytes());
        body.extend_from_slice(&(trials.cells.len() as u64).to_le_bytes());
        trials.cells.iter().for_each(|cell| write_cell(cell, &mut body));
    }
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(MAGIC)?;
    file.write_all(blake3::hash(&body).as_bytes())?;
    file.write_all(&body)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads the index; none when there is none, or when it is damaged or of another layout.
pub(crate) fn load(path: &Path) -> Option<Stored> {
    let bytes = fs::read(path).ok()?;
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let digest = take(&mut rest, 32)?;
    if digest != blake3::hash(rest).as_bytes() {
        return None;
    }
    let commit = Oid::from_bytes(take(&mut rest, 20)?).ok()?;
    let unit = number(&mut rest)?;
    let length = number(&mut rest)? as usize;
    let head: Head = serde_json::from_slice(take(&mut rest, length)?).ok()?;
    let mut state = State {
        versions: head.versions.into_iter().map(|version| (version.agent, version)).collect(),
        iterations: head.iterations,
        children: head.children,
        plan: head.plan,
        conditions: head.conditions.into_iter().map(|it| (it.conditions, it.content)).collect(),
        runs: head.runs,
        merged_runs: head.merged_runs,
        audits: head.audits,
        records: head.records,
        damage: head.damage,
        ..State::default()
    };
    for (place, suite) in head.suites.iter().enumerate() {
        state.suite_places.insert((suite.name.clone(), suite.digest), place as u16);
    }
    state.suites = head.suites;
    while !rest.is_empty() {
        let agent = AgentNumber(u32::from_le_bytes(array(&mut rest)?));
        let recorded = u32::from_le_bytes(array(&mut rest)?);
        let spent = NanoUsd(number(&mut rest)?);
        let count = number(&mut rest)? as usize;
        let part = take(&mut rest, count.checked_mul(CELL)?)?;
        let cells = part.chunks_exact(CELL).map(read_cell).collect::<Option<Vec<_>>>()?;
        state.trials.insert(agent, AgentTrials { cells, recorded, spent });
    }
    Some(Stored { commit, unit, state })
}

fn write_cell(cell: &Cell, buffer: &mut Vec<u8>) {
    let outcome = match cell.outcome {
        Outcome::Scored { .. } => 0,
        Outcome::TimedOut { .. } => 1,
        Outcome::CostCapped { .. } => 2,
        Outcome::AgentCrashed { .. } => 3,
        Outcome::ProtocolError { .. } => 4,
        Outcome::Cancelled { .. } => 5,
        Outcome::InfraError => 6,
        Outcome::VerifierError => 7,
    };
    buffer.extend_from_slice(&cell.suite.to_le_bytes());
    buffer.extend_from_slice(&cell.problem.to_le_bytes());
    buffer.extend_from_slice(&cell.epoch.to_le_bytes());
    buffer.push(outcome);
    buffer.extend_from_slice(&cell.outcome.score().unwrap_or(0.0).to_le_bytes());
    buffer.extend_from_slice(&cell.utility.unwrap_or(0.0).to_le_bytes());
    buffer.extend_from_slice(&cell.cost.0.to_le_bytes());
    buffer.extend_from_slice(&cell.seconds.to_le_bytes());
    buffer.extend_from_slice(&cell.tokens.to_le_bytes());
}

fn read_cell(mut bytes: &[u8]) -> Option<Cell> {
    let bytes = &mut bytes;
    let suite = u16::from_le_bytes(array(bytes)?);
    let problem = u32::from_le_bytes(array(bytes)?);
    let epoch = u32::from_le_bytes(array(bytes)?);
    let [outcome] = array(bytes)?;
    let score = f64::from_le_bytes(array(bytes)?);
    let utility = f64::from_le_bytes(array(bytes)?);
    let outcome = match outcome {
        0 => Outcome::Scored { score },
        1 => Outcome::TimedOut { score },
        2 => Outcome::CostCapped { score },
        3 => Outcome::AgentCrashed { score },
        4 => Outcome::ProtocolError { score },
        5 => Outcome::Cancelled { score },
        6 => Outcome::InfraError,
        7 => Outcome::VerifierError,
        _ => return None,
    };
    Some(Cell {
        suite,
        problem,
        epoch,
        outcome,
        utility: outcome.score().map(|_| utility),
        cost: NanoUsd(number(bytes)?),
        seconds: f64::from_le_bytes(array(bytes)?),
        tokens: number(bytes)?,
    })
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (part, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(part)
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take(rest, N)?.try_into().ok()
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    array(rest).map(u64::from_le_bytes)
}
