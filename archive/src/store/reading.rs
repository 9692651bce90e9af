//! Reading an archive: records, the state, explanations.

use super::{Archive, ArchiveError, Inner};
use crate::identity::AgentNumber;
use crate::ledger::{Damage, Ledger, LedgerError, Segments, Tip};
use crate::policy::{Choice, PolicyName};
use crate::record::{Child, Entry, Iteration, Record};
use crate::state::{self, AgentSummary, IterationHead, Line, Position, State};
use git2::Repository;
use serde::Serialize;

/// The file of the stored state, beside the journals.
pub(crate) const INDEX: &str = "index";
/// Segments after which a newer index is stored: reading them again takes some milliseconds.
const STORE_AFTER: u64 = 8;
/// Segments from which reading is shared between two threads.
const PARALLEL_FROM: u64 = 64;

/// Why an iteration chose as it did, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The choice, with the candidates that carried most weight.
    pub iteration: Iteration,
    /// The child, once it was judged.
    pub child: Option<Child>,
}

impl Archive {
    /// Reads from the state, brought up to date.
    pub fn read<T>(&self, reader: impl FnOnce(&State) -> T) -> Result<T, ArchiveError> {
        let mut inner = self.lock();
        inner.refresh()?;
        Ok(reader(&inner.state))
    }

    /// Summarises every agent, in order of their numbers.
    pub fn summaries(&self) -> Result<Vec<AgentSummary>, ArchiveError> {
        self.read(State::summaries)
    }

    /// Lets a policy choose among the eligible versions but some. None when none is left.
    pub fn choose(
        &self,
        policy: PolicyName,
        seed: u64,
        without: &[AgentNumber],
    ) -> Result<Option<Choice>, ArchiveError> {
        self.read(|state| state.choose(policy, seed, without))
    }

    /// Reads every record, in order. What cannot be read is left out and stands in [`Archive::damage`].
    pub fn records(&self) -> Result<Vec<Entry>, ArchiveError> {
        let mut entries = Vec::new();
        self.for_each_record(|entry| entries.push(entry))?;
        Ok(entries)
    }

    /// Reads every record, in order, without holding all of them.
    pub fn for_each_record(&self, mut visit: impl FnMut(Entry)) -> Result<(), ArchiveError> {
        self.lock().ledger.units_from(1, |unit| {
            for line in unit.lines.unwrap_or_default() {
                if let Ok(entry) = serde_json::from_str(&line) {
                    visit(entry);
                }
            }
        })?;
        Ok(())
    }

    /// Explains an iteration of a run (the newest run where none is named).
    pub fn explain(&self, run: Option<&str>, iteration: u32) -> Result<Explanation, ArchiveError> {
        let mut inner = self.lock();
        inner.refresh()?;
        let unknown =
            || ArchiveError::UnknownIteration { iteration, count: inner.state.iterations.len() };
        let head = match run {
            Some(run) => inner.state.iteration(run, iteration),
            None => inner.state.iterations.iter().rev().find(|head| head.iteration == iteration),
        };
        let head: IterationHead = head.ok_or_else(unknown)?.clone();
        let unknown = unknown();
        let Some(Record::Iteration(found)) = inner.record_at(head.position)? else {
            return Err(unknown);
        };
        // The child is recorded soon after the choice.
        let mut child = None;
        let judged = inner.state.child_of(&head.run, iteration).is_some();
        for unit in head.position.unit.. {
            let Some(lines) = inner.unit(unit)?.filter(|_| judged && child.is_none()) else {
                break;
            };
            for line in lines {
                let entry = serde_json::from_str::<Entry>(&line).map(|entry| entry.record);
                if let Ok(Record::Child(found)) = entry
                    && found.run == head.run
                    && found.iteration == iteration
                {
                    child = Some(found);
                }
            }
        }
        Ok(Explanation { iteration: found, child })
    }
}

impl State {
    /// Lets a policy choose among the eligible versions but some. None when none is left.
    pub fn choose(&self, policy: PolicyName, seed: u64, without: &[AgentNumber]) -> Option<Choice> {
        let policy = policy.policy();
        let mut candidates = self.candidates(policy.measure());
        candidates.retain(|candidate| !without.contains(&candidate.agent));
        policy.choose(&candidates, seed)
    }
}

impl Inner {
    /// Reads what was appended since the last call, by this process or another.
    pub(crate) fn refresh(&mut self) -> Result<(), ArchiveError> {
        let (tip, _) = self.ledger.tip()?;
        if self.next.unit == 0 {
            self.start(tip);
        }
        if let Some(tip) = tip
            && self.next.line == 0
            && (tip.unit + 1).saturating_sub(self.next.unit) >= PARALLEL_FROM
        {
            self.read_in_parallel(tip)?;
        }
        let mut reader = Reader {
            state: std::mem::take(&mut self.state),
            next: self.next,
            unstored: self.unstored,
        };
        let (ledger, mut stored) = (&self.ledger, false);
        let result = ledger.units_from(reader.next.unit, |unit| {
            if !unit.committed && !stored {
                stored = true;
                reader.store(ledger, tip);
            }
            reader.apply(unit.number, unit.committed, unit.lines);
        });
        if !stored {
            reader.store(ledger, tip);
        }
        (self.state, self.next, self.unstored) = (reader.state, reader.next, reader.unstored);
        Ok(result?)
    }

    /// Begins with the stored index, where it fits the ledger.
    fn start(&mut self, tip: Option<Tip>) {
        self.next = Position { unit: 1, line: 0 };
        let Some(tip) = tip else { return };
        let Some(stored) = state::load(&self.ledger.directory().join(INDEX)) else { return };
        if is_ancestor(&self.ledger.repository, tip, stored.commit, stored.unit) {
            self.next = Position { unit: stored.unit + 1, line: 0 };
            self.state = stored.state;
        }
    }

    /// Reads many segments with two more threads, which inflate, check and parse.
    fn read_in_parallel(&mut self, tip: Tip) -> Result<(), ArchiveError> {
        const WORKERS: u64 = 2;
        let path = self.ledger.repository.path().to_owned();
        let first = self.next.unit;
        let mut reader = Reader {
            state: std::mem::take(&mut self.state),
            next: self.next,
            unstored: self.unstored,
        };
        std::thread::scope(|scope| {
            let channels: Vec<_> = (0..WORKERS)
                .map(|worker| {
                    let (sender, receiver) = std::sync::mpsc::sync_channel(8);
                    let path = &path;
                    scope.spawn(move || {
                        let read = |unit| {
                            let repository = Repository::open_bare(path)
                                .map_err(LedgerError::git("open the archive again"))?;
                            let segments = Segments::of(&repository, tip)?;
                            let mut unit = unit;
                            while unit <= tip.unit {
                                let lines = segments.read(unit).map(parse);
                                if sender.send(lines).is_err() {
                                    break;
                                }
                                unit += WORKERS;
                            }
                            Ok(())
                        };
                        if let Err(error) = read(first + worker) {
                            let _ = sender.send(Err(error));
                        }
                    });
                    receiver
                })
                .collect();
            for unit in first..=tip.unit {
                let lines = channels[((unit - first) % WORKERS) as usize].recv();
                let Ok(lines) = lines else { break };
                reader.apply_parsed(unit, true, lines);
            }
        });
        (self.state, self.next, self.unstored) = (reader.state, reader.next, reader.unstored);
        Ok(())
    }

    /// Reads one record.
    fn record_at(&self, position: Position) -> Result<Option<Record>, ArchiveError> {
        let lines = self.unit(position.unit)?.unwrap_or_default();
        let entry = lines.get(position.line).map(|line| serde_json::from_str::<Entry>(line));
        Ok(entry.transpose()?.map(|entry| entry.record))
    }

    /// Reads one unit; none behind the last.
    fn unit(&self, number: u64) -> Result<Option<Vec<String>>, ArchiveError> {
        Ok(self.ledger.unit(number)?)
    }
}

/// Reads units into a state.
struct Reader {
    state: State,
    next: Position,
    unstored: u64,
}

type Parsed = Vec<Result<Line, serde_json::Error>>;

fn parse(lines: Vec<String>) -> Parsed {
    lines.iter().map(|line| Line::parse(line)).collect()
}

impl Reader {
    fn apply(&mut self, unit: u64, committed: bool, lines: Result<Vec<String>, LedgerError>) {
        // What was read before as a journal is the beginning of the segment.
        let skip = if unit == self.next.unit { self.next.line } else { 0 };
        let lines = lines.map(|mut lines| {
            lines.drain(..skip.min(lines.len()));
            parse(lines)
        });
        self.apply_parsed(unit, committed, lines);
    }

    fn apply_parsed(&mut self, unit: u64, committed: bool, lines: Result<Parsed, LedgerError>) {
        let start = if unit == self.next.unit { self.next.line } else { 0 };
        let mut line = start;
        match lines {
            Ok(lines) => {
                for parsed in lines {
                    match parsed {
                        Ok(parsed) => self.state.apply_line(parsed, Position { unit, line }),
                        Err(error) => self.state.damage.push(Damage::StrangeRecord {
                            unit,
                            line: line + 1,
                            reason: error.to_string(),
                        }),
                    }
                    line += 1;
                }
            }
            Err(error) => {
                let reason = std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
                self.state.damage.push(Damage::LostSegment { unit, reason });
            }
        }
        if committed {
            self.next = Position { unit: unit + 1, line: 0 };
            self.unstored += 1;
        } else {
            self.next = Position { unit, line };
        }
    }

    /// Stores the index when it has fallen behind; the state must end with the tip.
    fn store(&mut self, ledger: &Ledger, tip: Option<Tip>) {
        let Some(tip) = tip else { return };
        let at_tip = self.next == Position { unit: tip.unit + 1, line: 0 };
        if at_tip && self.unstored >= STORE_AFTER && self.state.damage.is_empty() {
            self.unstored = 0;
            let path = ledger.directory().join(INDEX);
            // A cache: on a read-only disk reading is slower, and otherwise the same.
            let _ = state::save(&path, tip.commit, tip.unit, &self.state);
        }
    }
}

/// Tells whether a commit is the given unit of the chain that ends with `tip`.
fn is_ancestor(repository: &Repository, tip: Tip, commit: git2::Oid, unit: u64) -> bool {
    let walk = || {
        let mut current = repository.find_commit(tip.commit)?;
        for _ in unit..tip.unit {
            crate::objects::intact(repository, current.parent_id(0)?)?;
            current = current.parent(0)?;
        }
        Ok::<_, git2::Error>(current.id() == commit)
    };
    unit <= tip.unit && walk().unwrap_or(false)
}
