//! What the records add up to, kept up to date record by record.
//!
//! The state is a pure function of the ledger: it can be thrown away at any time. It holds what lists, choices
//! and explanations need (about 50 bytes a trial), not the records themselves.

mod cell;
mod index;
mod line;
mod summary;

pub(crate) use cell::AgentTrials;
pub use cell::Cell;
pub(crate) use index::{load, save};
pub(crate) use line::{Line, TrialHead};
pub(crate) use summary::PlannedSuite;
pub use summary::{AgentSummary, Eligibility, Estimate, SuiteSummary, TrialCounts};

use crate::identity::{AgentNumber, ConditionsId, Digest, NanoUsd};
use crate::ledger::Damage;
use crate::record::{
    Child, ChildVerdict, Conditions, Entry, Iteration, Record, SuitePlan, Version,
};
use crate::utility::UtilitySettings;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Where a record stands: its unit of the ledger and its line there, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The segment or journal.
    pub unit: u64,
    /// The record in it.
    pub line: usize,
}

/// An iteration's choice and outcome in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationHead {
    /// The run.
    pub run: String,
    /// The iteration, counted from 1.
    pub iteration: u32,
    /// The version that was edited.
    pub base: AgentNumber,
    /// The version that edited.
    pub editor: AgentNumber,
    /// The policy that chose the base.
    pub policy: String,
    /// Where the whole record stands.
    pub position: Position,
}

/// What became of a child, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildHead {
    /// The run.
    pub run: String,
    /// The iteration.
    pub iteration: u32,
    /// The version that it became.
    pub agent: Option<AgentNumber>,
    /// How it was judged.
    pub verdict: ChildVerdict,
    /// Why.
    pub reason: String,
    /// What making it cost.
    pub cost: NanoUsd,
    /// Seconds that making it took.
    pub seconds: f64,
}

/// A suite that results exist for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownSuite {
    /// Its name.
    pub name: String,
    /// Its digest: another digest is another suite.
    pub digest: Digest,
    /// The problems seen so far; cells hold places in this list.
    pub problems: IndexSet<String>,
}

/// The sum of all records.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The versions by number.
    pub versions: BTreeMap<AgentNumber, Version>,
    /// The iterations, in the order of the ledger.
    pub iterations: Vec<IterationHead>,
    /// The judged children, in the order of the ledger.
    pub children: Vec<ChildHead>,
    /// What agents are measured on, from the newest start of a run of this archive.
    pub plan: Vec<SuitePlan>,
    /// Conditions by their identity.
    pub conditions: HashMap<ConditionsId, Conditions>,
    /// The names of the runs, oldest first.
    pub runs: IndexSet<String>,
    /// Those of them that came by a merge; their plans do not count here.
    pub merged_runs: IndexSet<String>,
    /// The suites that results exist for.
    pub suites: Vec<KnownSuite>,
    /// How many audit logs there are.
    pub audits: u64,
    /// How many records were read.
    pub records: u64,
    /// What could not be read.
    pub damage: Vec<Damage>,
    pub(crate) trials: BTreeMap<AgentNumber, AgentTrials>,
    suite_places: HashMap<(String, Digest), u16>,
}

impl State {
    /// Adds a record.
    pub fn apply(&mut self, entry: &Entry, position: Position) {
        self.records += 1;
        match &entry.record {
            Record::RunStarted(started) => {
                self.runs.insert(started.run.clone());
                if self.plan.is_empty() || !self.merged_runs.contains(&started.run) {
                    self.plan.clone_from(&started.suites);
                }
            }
            Record::RunEnded(_) => {}
            Record::Conditions(stated) => {
                self.conditions.insert(stated.conditions, stated.content.clone());
            }
            Record::Version(version) => {
                self.versions.insert(version.agent, version.clone());
            }
            Record::Iteration(iteration) => self.add_iteration(iteration, position),
            Record::Child(child) => self.add_child(child),
            Record::Trial(trial) => self.add_trial(&TrialHead::of(trial)),
            Record::Audit(_) => self.audits += 1,
            Record::Merged(merged) => self.merged_runs.extend(merged.runs.iter().cloned()),
        }
    }

    fn add_iteration(&mut self, iteration: &Iteration, position: Position) {
        self.iterations.push(IterationHead {
            run: iteration.run.clone(),
            iteration: iteration.iteration,
            base: iteration.base,
            editor: iteration.editor,
            policy: iteration.base_policy.clone(),
            position,
        });
    }

    fn add_child(&mut self, child: &Child) {
        self.children.push(ChildHead {
            run: child.run.clone(),
            iteration: child.iteration,
            agent: child.agent,
            verdict: child.verdict,
            reason: child.reason.clone(),
            cost: child.cost,
            seconds: child.seconds,
        });
    }

    /// Adds a line of the ledger.
    pub(crate) fn apply_line(&mut self, line: Line, position: Position) {
        match line {
            Line::Trial(trial) => {
                self.records += 1;
                self.add_trial(&trial);
            }
            Line::Other(entry) => self.apply(&entry, position),
        }
    }

    fn add_trial(&mut self, trial: &TrialHead<'_>) {
        let settings = self.utility_settings(trial.conditions);
        let place = self.suite_place(&trial.suite, trial.suite_digest);
        let problem = match self.suites[usize::from(place)].problems.get_index_of(&*trial.problem) {
            Some(problem) => problem,
            None => {
                let problem = trial.problem.clone().into_owned();
                self.suites[usize::from(place)].problems.insert_full(problem).0
            }
        };
        let cell = Cell::new(trial, place, problem as u32, &settings);
        self.trials.entry(trial.agent).or_default().add(cell);
    }

    /// Returns the utility's settings under some conditions; the defaults where they were never stated.
    pub fn utility_settings(&self, conditions: ConditionsId) -> UtilitySettings {
        self.conditions.get(&conditions).map_or_else(UtilitySettings::default, |it| it.utility)
    }

    fn suite_place(&mut self, name: &str, digest: Digest) -> u16 {
        if let Some(last) = self.suites.len().checked_sub(1) {
            // Results come in long stretches of one suite; this saves building a key for each.
            let (same, place) = (&self.suites[last], last as u16);
            if same.name == name && same.digest == digest {
                return place;
            }
        }
        let key = (name.to_owned(), digest);
        if let Some(place) = self.suite_places.get(&key) {
            return *place;
        }
        let place = self.suites.len() as u16;
        self.suites.push(KnownSuite { name: name.to_owned(), digest, problems: IndexSet::new() });
        self.suite_places.insert(key, place);
        place
    }

    /// Finds a suite's place by name and digest.
    pub(crate) fn find_suite(&self, name: &str, digest: Digest) -> Option<u16> {
        self.suites
            .iter()
            .position(|suite| suite.name == name && suite.digest == digest)
            .map(|place| place as u16)
    }

    /// Returns the version that an iteration made, if its commit was reached before a stop.
    pub fn version_of(&self, run: &str, iteration: u32) -> Option<&Version> {
        self.versions.values().rev().find(|version| {
            version.change.run.as_deref() == Some(run)
                && version.change.iteration == Some(iteration)
        })
    }

    /// Returns the judged child of an iteration.
    pub fn child_of(&self, run: &str, iteration: u32) -> Option<&ChildHead> {
        self.children.iter().rev().find(|child| child.run == run && child.iteration == iteration)
    }

    /// Returns an iteration's choice.
    pub fn iteration(&self, run: &str, iteration: u32) -> Option<&IterationHead> {
        self.iterations.iter().rev().find(|head| head.run == run && head.iteration == iteration)
    }

    /// Tells how a trial ended, if it did: what a resumed run need not repeat.
    pub fn trial(
        &self,
        agent: AgentNumber,
        suite: &str,
        digest: Digest,
        problem: &str,
        epoch: u32,
    ) -> Option<&Cell> {
        let place = self.find_suite(suite, digest)?;
        let problem = self.suites[usize::from(place)].problems.get_index_of(problem)? as u32;
        self.trials.get(&agent)?.find(place, problem, epoch)
    }

    /// Returns an agent's results in the order of suite, problem and epoch.
    pub fn cells(&self, agent: AgentNumber) -> &[Cell] {
        self.trials.get(&agent).map_or(&[], |trials| &trials.cells)
    }

    /// Returns everything that was spent: trials, repeats and editing.
    pub fn spent(&self) -> NanoUsd {
        let trials = self.trials.values().map(|trials| trials.spent);
        trials.chain(self.children.iter().map(|child| child.cost)).sum()
    }

    /// Returns what agents are measured on: the plan of the newest run, or everything that was ever run.
    pub fn plan_or_seen(&self) -> Vec<SuitePlan> {
        if !self.plan.is_empty() {
            return self.plan.clone();
        }
        let seen = self.suites.iter().map(|suite| SuitePlan {
            suite: suite.name.clone(),
            digest: suite.digest,
            problems: suite.problems.iter().cloned().collect(),
            epochs: 1,
        });
        seen.collect()
    }
}
