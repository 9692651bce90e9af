//! A result in short, and an agent's results.

use super::TrialHead;
use crate::identity::NanoUsd;
use crate::record::Outcome;
use crate::utility::UtilitySettings;

/// A trial's result, without what only its record holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The suite's place in [`super::State::suites`].
    pub suite: u16,
    /// The problem's place in the suite's list.
    pub problem: u32,
    /// The repeat.
    pub epoch: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// The utility, where it was scored.
    pub utility: Option<f64>,
    /// What it cost.
    pub cost: NanoUsd,
    /// Seconds, by the clock of the utility.
    pub seconds: f64,
    /// Tokens of all classes.
    pub tokens: u64,
}

impl Cell {
    pub(super) fn new(
        trial: &TrialHead<'_>,
        suite: u16,
        problem: u32,
        settings: &UtilitySettings,
    ) -> Self {
        let utility = settings.of_outcome(&trial.outcome, trial.cost, trial.seconds);
        Cell {
            suite,
            problem,
            epoch: trial.epoch,
            outcome: trial.outcome,
            utility,
            cost: trial.cost,
            seconds: trial.seconds,
            tokens: trial.tokens,
        }
    }

    pub(super) fn key(&self) -> (u16, u32, u32) {
        (self.suite, self.problem, self.epoch)
    }
}

/// An agent's results, and what was spent on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AgentTrials {
    /// One cell per suite, problem and epoch, in this order.
    pub cells: Vec<Cell>,
    /// Every record of a trial, repeats included.
    pub recorded: u32,
    /// What all of them cost.
    pub spent: NanoUsd,
}

impl AgentTrials {
    /// Adds a result. The first score of a trial stands; only missing data is replaced.
    pub fn add(&mut self, cell: Cell) {
        self.recorded += 1;
        self.spent = [self.spent, cell.cost].into_iter().sum();
        if self.cells.last().is_none_or(|last| last.key() < cell.key()) {
            self.cells.push(cell);
            return;
        }
        match self.cells.binary_search_by_key(&cell.key(), Cell::key) {
            Ok(place) if self.cells[place].utility.is_none() => self.cells[place] = cell,
            Ok(_) => {}
            Err(place) => self.cells.insert(place, cell),
        }
    }

    pub fn find(&self, suite: u16, problem: u32, epoch: u32) -> Option<&Cell> {
        let place = self.cells.binary_search_by_key(&(suite, problem, epoch), Cell::key).ok()?;
        Some(&self.cells[place])
    }
}
