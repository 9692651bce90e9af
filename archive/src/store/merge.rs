//! Taking the records and versions of another archive in.
//!
//! Records keep their identity and versions their commit, so that what was taken in before is not taken in
//! again. A version keeps its number and a run its name, unless another one here has it.

use super::{Archive, ArchiveError, with_ids};
use crate::identity::{AgentNumber, CommitId, RecordId};
use crate::ledger::LedgerError;
use crate::record::{Entry, Iteration, Merged, Reason, Record};
use crate::state::State;
use crate::verify::Thoroughness;
use crate::versions;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Records that are written at once: as many as make a segment.
const BATCH: usize = 512;

/// What a merge took in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Merge {
    /// Records that were new.
    pub records: usize,
    /// Versions that were new, by the numbers that they have here.
    pub versions: Vec<AgentNumber>,
    /// Versions whose number changed: the other archive's number and ours.
    pub renumbered: BTreeMap<AgentNumber, AgentNumber>,
    /// Runs whose name changed: the other archive's name and ours.
    pub renamed: BTreeMap<String, String>,
}

impl Archive {
    /// Takes in everything that another archive holds and this one does not. The other one must verify, and
    /// have a version in common with this one. `from` says in the ledger where it lay. After a crash the same
    /// merge goes on where it was.
    pub fn merge(
        &self,
        other: &Archive,
        from: &str,
        now: Timestamp,
    ) -> Result<Merge, ArchiveError> {
        let report = other.verify(None, Thoroughness::default())?;
        if let Some(fault) = report.faults.first() {
            let (count, first) = (report.faults.len(), fault.to_string());
            return Err(ArchiveError::Unsound { from: from.to_owned(), count, first });
        }
        let theirs = other.records()?;
        let their_state = other.read(State::clone)?;
        let mut guard = self.lock();
        guard.exclusively(|inner| {
            inner.refresh()?;
            let mut known = Known::default();
            inner.ledger.units_from(1, |unit| {
                unit.lines
                    .unwrap_or_default()
                    .iter()
                    .filter_map(|line| serde_json::from_str::<Entry>(line).ok())
                    .for_each(|entry| known.add(&entry));
            })?;
            let numbers = numbers(&inner.state, &their_state)
                .ok_or_else(|| ArchiveError::Unrelated { from: from.to_owned() })?;
            let names = known.names(&theirs, &inner.state);
            let fresh: Vec<&Entry> =
                theirs.iter().filter(|it| known.is_new(it, &inner.state)).collect();
            let mut merge = Merge::default();
            let theirs = other.lock();
            for version in their_state.versions.values() {
                let agent = numbers[&version.agent];
                if !inner.state.versions.contains_key(&agent) {
                    versions::copy_commit(
                        &theirs.ledger.repository,
                        &inner.ledger.repository,
                        version.commit,
                    )
                    .map_err(ArchiveError::git("copy a version of the other archive"))?;
                    merge.versions.push(agent);
                }
            }
            drop(theirs);
            merge.records = fresh.len();
            merge.renumbered =
                numbers.iter().filter(|(a, b)| a != b).map(|(a, b)| (*a, *b)).collect();
            merge.renamed =
                names.iter().filter(|(a, b)| a != b).map(|(a, b)| (a.clone(), b.clone())).collect();
            if !fresh.is_empty() {
                let mut lines =
                    vec![announcement(&merge, &fresh, &names, &inner.state, from, now)?];
                let map = Map { numbers: &numbers, names: &names };
                for entry in fresh {
                    let record = map.record(entry.record.clone());
                    lines.push(serde_json::to_string(&Entry { id: entry.id, record })?);
                }
                for batch in lines.chunks(BATCH) {
                    let file = inner.ledger.write_locked(batch)?;
                    let place = inner.ledger.directory();
                    file.sync_data().map_err(|source| LedgerError::file(place, source))?;
                }
                inner.ledger.rotate()?;
            }
            // Also those that an earlier merge was stopped before.
            for version in their_state.versions.values() {
                let agent = numbers[&version.agent];
                version
                    .commit
                    .oid()
                    .and_then(|it| versions::set_reference(&inner.ledger.repository, agent, it))
                    .map_err(super::versions::unreadable(agent, "ref"))?;
            }
            Ok(merge)
        })
    }
}

/// Writes the record that stands before what was taken in.
fn announcement(
    merge: &Merge,
    fresh: &[&Entry],
    names: &BTreeMap<String, String>,
    ours: &State,
    from: &str,
    now: Timestamp,
) -> Result<String, ArchiveError> {
    let merged = Merged {
        from: from.to_owned(),
        time: now,
        records: fresh.len() as u64,
        renumbered: merge.renumbered.iter().map(|(a, b)| (*a, *b)).collect(),
        renamed: merge.renamed.clone(),
        runs: names.values().filter(|name| !ours.runs.contains(*name)).cloned().collect(),
        iterations: fresh
            .iter()
            .filter(|entry| matches!(entry.record, Record::Iteration(_)))
            .map(|entry| entry.id)
            .collect(),
    };
    Ok(with_ids(&[Record::Merged(merged)])?.1.remove(0))
}

/// Gives every version of the other archive a number here. None where they have no version in common.
fn numbers(ours: &State, theirs: &State) -> Option<BTreeMap<AgentNumber, AgentNumber>> {
    let by_commit: HashMap<CommitId, AgentNumber> =
        ours.versions.values().map(|version| (version.commit, version.agent)).collect();
    let highest = ours.versions.keys().chain(theirs.versions.keys()).max()?;
    let mut next = highest.0;
    let (mut numbers, mut common) = (BTreeMap::new(), false);
    for version in theirs.versions.values() {
        let agent = match by_commit.get(&version.commit) {
            Some(agent) => {
                common = true;
                *agent
            }
            None if !ours.versions.contains_key(&version.agent) => version.agent,
            None => {
                next += 1;
                AgentNumber(next)
            }
        };
        numbers.insert(version.agent, agent);
    }
    common.then_some(numbers)
}

/// What an archive holds already.
#[derive(Default)]
struct Known {
    ids: HashSet<RecordId>,
    /// The name of a run by any record of its start.
    starts: HashMap<RecordId, String>,
    iterations: HashMap<(String, u32), RecordId>,
}

impl Known {
    fn add(&mut self, entry: &Entry) {
        self.ids.insert(entry.id);
        match &entry.record {
            Record::RunStarted(started) => {
                self.starts.insert(entry.id, started.run.clone());
            }
            Record::Iteration(it) => {
                self.iterations.insert((it.run.clone(), it.iteration), entry.id);
            }
            _ => {}
        }
    }

    fn is_new(&self, entry: &Entry, ours: &State) -> bool {
        // Both may have written these down on their own: the same content is the same thing.
        let stated = match &entry.record {
            Record::Conditions(stated) => ours.conditions.contains_key(&stated.conditions),
            Record::Version(it) => ours.versions.values().any(|our| our.commit == it.commit),
            _ => false,
        };
        !stated && !self.ids.contains(&entry.id)
    }

    /// Gives every run of the other archive a name here.
    fn names(&self, theirs: &[Entry], ours: &State) -> BTreeMap<String, String> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut clashing = HashSet::new();
        for entry in theirs {
            match &entry.record {
                Record::RunStarted(started) => {
                    // A run that began here too is the same run, by the name that it has here.
                    let here = self.starts.get(&entry.id);
                    if let Some(here) = here {
                        names.insert(started.run.clone(), here.clone());
                    } else if !names.contains_key(&started.run) {
                        names.insert(started.run.clone(), started.run.clone());
                        if ours.runs.contains(&started.run) {
                            clashing.insert(started.run.clone());
                        }
                    }
                }
                // Both went on with the same run: the other's part is a run of its own.
                Record::Iteration(it) => {
                    let here = names.get(&it.run).unwrap_or(&it.run);
                    let key = (here.clone(), it.iteration);
                    if self.iterations.get(&key).is_some_and(|id| *id != entry.id) {
                        clashing.insert(it.run.clone());
                    }
                }
                _ => {}
            }
        }
        for name in clashing {
            let mut number = 2;
            let taken = |name: &String| ours.runs.contains(name) || names.contains_key(name);
            while taken(&format!("{name}-{number}")) {
                number += 1;
            }
            names.insert(name.clone(), format!("{name}-{number}"));
        }
        names
    }
}

struct Map<'a> {
    numbers: &'a BTreeMap<AgentNumber, AgentNumber>,
    names: &'a BTreeMap<String, String>,
}

impl Map<'_> {
    fn agent(&self, agent: &mut AgentNumber) {
        if let Some(here) = self.numbers.get(agent) {
            *agent = *here;
        }
    }

    fn run(&self, run: &mut String) {
        if let Some(here) = self.names.get(run) {
            run.clone_from(here);
        }
    }

    fn reasons(&self, reasons: &mut [Reason]) {
        reasons.iter_mut().for_each(|reason| self.agent(&mut reason.agent));
    }

    fn iteration(&self, it: &mut Iteration) {
        self.run(&mut it.run);
        self.agent(&mut it.base);
        self.agent(&mut it.editor);
        self.reasons(&mut it.reasons);
        self.reasons(&mut it.editor_reasons);
    }

    fn record(&self, mut record: Record) -> Record {
        match &mut record {
            Record::RunStarted(it) => self.run(&mut it.run),
            Record::RunEnded(it) => self.run(&mut it.run),
            Record::Conditions(_) => {}
            Record::Version(it) => {
                self.agent(&mut it.agent);
                it.parents.iter_mut().for_each(|parent| self.agent(parent));
                it.change.editor.iter_mut().for_each(|editor| self.agent(editor));
                it.change.run.iter_mut().for_each(|run| self.run(run));
            }
            Record::Iteration(it) => self.iteration(it),
            Record::Child(it) => {
                self.run(&mut it.run);
                it.agent.iter_mut().for_each(|agent| self.agent(agent));
            }
            Record::Trial(it) => {
                self.run(&mut it.run);
                self.agent(&mut it.agent);
            }
            Record::Audit(it) => {
                self.run(&mut it.run);
                self.agent(&mut it.agent);
            }
            Record::Merged(it) => {
                it.renumbered.iter_mut().for_each(|(_, agent)| self.agent(agent));
                it.renamed.values_mut().for_each(|run| self.run(run));
                it.runs.iter_mut().for_each(|run| self.run(run));
            }
        }
        record
    }
}
