//! The loop of a run: it goes on from wherever the ledger and the draft say that the run stands.

use super::binaries::{Binaries, BinaryError};
use super::change::{self, ChangeKind};
use super::choice::{self, ChoiceError};
use super::draft::{Draft, DraftFolder, Judgement};
use super::edit::{EditOrder, edit};
use super::evaluation::{self, Measure, Subject};
use super::gate::{self, Candidate, GateError, Passage, Spent};
use super::statement;
use super::view::{ArchiveView, ViewError};
use crate::harness::Harness;
use crate::progress::{Progress, RunEvent};
use crate::settings::JobLimits;
use crate::trial::ending::Ended;
use crate::trial::job::{JobError, Program};
use crate::trial::trace;
use hone_archive::record::{Change, Child, ChildVerdict, Iteration, Log};
use hone_archive::{AgentNumber, Archive, ArchiveError, ConditionsId, NanoUsd, Record};
use hone_protocol::Role;
use hone_sandbox::SandboxError;
use std::path::Path;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// The most bytes of a log that the ledger holds; the whole log lies among the traces.
const LOG_TAIL: usize = 4_000;

/// How often an editor's job is tried again when infrastructure failed it.
const EDIT_TRIES: u32 = 3;

/// What a run works with.
pub struct Run<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// The harness.
    pub harness: &'a Harness,
    /// The archive.
    pub archive: &'a Archive,
    /// The programs of versions.
    pub binaries: &'a Binaries,
    /// What agents are measured on.
    pub measures: &'a [Measure],
    /// Under which conditions.
    pub conditions: ConditionsId,
    /// Ends the run as soon as what is under way is done.
    pub drain: &'a CancellationToken,
    /// Who is told.
    pub progress: &'a Progress,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All iterations are done.
    Done,
    /// It was told to stop.
    Stopped,
    /// Its money is spent.
    OutOfBudget,
    /// Infrastructure failed too often; a person has to look.
    Infrastructure(String),
}

impl RunEnd {
    /// Returns its name in records.
    pub fn name(&self) -> &'static str {
        match self {
            RunEnd::Done => "done",
            RunEnd::Stopped => "interrupted",
            RunEnd::OutOfBudget => "budget",
            RunEnd::Infrastructure(_) => "infrastructure",
        }
    }
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A version's program could not be had.
    #[error(transparent)]
    Binary(#[from] BinaryError),
    /// Nobody can be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The view of the archive could not be made.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The gate could not be held.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// A job could not be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A file failed.
    #[error("write files of the run")]
    File(#[from] std::io::Error),
}

/// Ends an iteration before its child is recorded.
enum Pause {
    End(RunEnd),
    Error(RunError),
}

impl<E: Into<RunError>> From<E> for Pause {
    fn from(error: E) -> Self {
        match error.into() {
            RunError::Job(JobError::Interrupted(_))
            | RunError::Gate(GateError::Job(JobError::Interrupted(_))) => {
                Pause::End(RunEnd::Stopped)
            }
            RunError::Gate(GateError::OutOfBudget) => Pause::End(RunEnd::OutOfBudget),
            RunError::Gate(GateError::Infrastructure(why)) => {
                Pause::End(RunEnd::Infrastructure(why))
            }
            other => Pause::Error(other),
        }
    }
}

impl Run<'_> {
    /// Drives the run to its end.
    pub async fn drive(&self) -> Result<RunEnd, RunError> {
        match self.all().await {
            Ok(()) => Ok(RunEnd::Done),
            Err(Pause::End(end)) => Ok(end),
            // A build or a sandbox that was cut off by the interruption looks like any failure.
            Err(Pause::Error(_)) if self.harness.interrupted.is_cancelled() => Ok(RunEnd::Stopped),
            Err(Pause::Error(error)) => Err(error),
        }
    }

    async fn all(&self) -> Result<(), Pause> {
        // Agents that a stop left half measured come first.
        let accepted = self.archive.read(|state| {
            let versions = state.versions.values();
            let accepted = versions.filter(|it| it.change.verdict == ChildVerdict::Accepted);
            accepted.map(|version| version.agent).collect::<Vec<_>>()
        })?;
        for agent in accepted {
            self.measure(agent).await?;
        }
        let of = self.harness.settings.iterations;
        for iteration in 1..=of {
            let judged = self
                .archive
                .read(|state| state.child_of(&self.harness.run, iteration).is_some())?;
            if !judged {
                self.iterate(iteration, of).await?;
            }
        }
        Ok(())
    }

    /// Measures an agent as far as the ledger does not hold its results.
    async fn measure(&self, agent: AgentNumber) -> Result<(), Pause> {
        self.go_on()?;
        let program = self.binaries.of(self.harness, self.archive, agent).await?;
        let tree = self.archive.version(agent)?.tree;
        let subject = Subject { agent, tree, program: Program::Agent(program) };
        let ended = evaluation::evaluate(
            self.harness,
            self.archive,
            &subject,
            self.measures,
            self.conditions,
            self.drain,
            self.progress,
        )
        .await?;
        match ended {
            evaluation::Ended::Done => Ok(()),
            evaluation::Ended::Stopped => Err(Pause::End(RunEnd::Stopped)),
            evaluation::Ended::OutOfBudget => Err(Pause::End(RunEnd::OutOfBudget)),
            evaluation::Ended::Infrastructure { failed, of, reason } => {
                let text = format!("{failed} of {of} trials failed by infrastructure: {reason}");
                Err(Pause::End(RunEnd::Infrastructure(text)))
            }
        }
    }

    fn go_on(&self) -> Result<(), Pause> {
        match self.drain.is_cancelled() || self.harness.interrupted.is_cancelled() {
            true => Err(Pause::End(RunEnd::Stopped)),
            false => Ok(()),
        }
    }

    async fn iterate(&self, number: u32, of: u32) -> Result<(), Pause> {
        self.go_on()?;
        let iteration = self.chosen(number)?;
        self.progress.tell(RunEvent::Iteration {
            iteration: number,
            of,
            base: iteration.base.0,
            editor: iteration.editor.0,
            rescue: iteration.rescue.clone(),
        });
        let folder = DraftFolder::of(self.folder, number);
        let mut draft = match folder.read()? {
            Some(draft) => draft,
            None => self.edited(&iteration, &folder).await?,
        };
        if draft.judgement.is_none() {
            self.judged(&iteration, &folder, &mut draft).await?;
        }
        let agent = self.recorded(&iteration, &folder, &draft)?;
        folder.end()?;
        if draft.judgement.as_ref().is_some_and(|it| it.verdict == ChildVerdict::Accepted) {
            self.measure(agent).await?;
        }
        Ok(())
    }

    /// Returns the iteration's choice: the recorded one where there is one.
    fn chosen(&self, number: u32) -> Result<Iteration, Pause> {
        let run = &self.harness.run;
        if self.archive.read(|state| state.iteration(run, number).is_some())? {
            return Ok(self.archive.explain(Some(run), number)?.iteration);
        }
        let chosen = self
            .archive
            .read(|state| choice::choose(state, run, number, &self.harness.settings))??;
        self.archive.append(&Record::Iteration(chosen.clone()))?;
        Ok(chosen)
    }

    /// Lets the editor edit.
    async fn edited(&self, iteration: &Iteration, folder: &DraftFolder) -> Result<Draft, Pause> {
        let number = iteration.iteration;
        self.progress.tell(RunEvent::Step { iteration: number, step: "edit" });
        let started = Instant::now();
        let harness = self.harness;
        let view = ArchiveView::new(harness.work.join("view"), harness.settings.editor_sees);
        view.update(self.archive, &harness.traces)?;
        let summaries = self.archive.summaries()?;
        let program = self.binaries.of(harness, self.archive, iteration.editor).await?;
        let mut tries = 0;
        let (work, done) = loop {
            let work = harness.directory("edit")?;
            let source = work.path().join("source");
            self.archive.checkout(iteration.base, &source)?;
            let again = if tries == 0 { String::new() } else { format!("/again-{tries}") };
            let order = EditOrder {
                id: format!("iteration-{number}/edit{again}"),
                role: Role::Improve,
                editor: iteration.editor,
                iteration: number,
                program: &program,
                statement: statement::improve(iteration.base, &summaries, view.folder().is_some()),
                limits: harness.settings.editor,
                source: &source,
                view: view.folder(),
            };
            let done = edit(harness, self.binaries, order).await?.close().await?;
            match done.ended {
                Ended::OutOfBudget => return Err(Pause::End(RunEnd::OutOfBudget)),
                Ended::Infrastructure if tries + 1 < EDIT_TRIES => tries += 1,
                Ended::Infrastructure => {
                    let text = format!("editing failed {EDIT_TRIES} times: {}", done.reason);
                    return Err(Pause::End(RunEnd::Infrastructure(text)));
                }
                _ => break (work, done),
            }
        };
        if let Some(audit) = done.audit {
            self.archive.append(&Record::Audit(audit))?;
        }
        folder.begin()?;
        std::fs::rename(work.path().join("source"), folder.tree(0))?;
        let draft = Draft {
            editor_ended: done.ended.name().to_owned(),
            editor_reason: done.reason,
            description: self.description(iteration.base, &folder.tree(0), &done.summary)?,
            trace: Some(done.trace),
            cost: done.cost,
            seconds: done.seconds,
            wall_seconds: started.elapsed().as_secs_f64(),
            repairs: 0,
            judgement: None,
        };
        folder.write(&draft)?;
        Ok(draft)
    }

    /// Returns what a child says of itself: the first lines of its description where it wrote one.
    fn description(
        &self,
        base: AgentNumber,
        tree: &Path,
        summary: &str,
    ) -> Result<String, RunError> {
        const NAME: &str = "description.txt";
        let read = |path: &Path| std::fs::read_to_string(path.join(NAME)).unwrap_or_default();
        let own = read(tree);
        let work = self.harness.directory("base")?;
        let source = work.path().join("source");
        self.archive.checkout(base, &source)?;
        if own != read(&source) && !own.trim().is_empty() {
            return Ok(cut(own.trim(), 2000));
        }
        match summary.trim() {
            "" => Ok("(says nothing of its change)".to_owned()),
            summary => Ok(cut(summary, 2000)),
        }
    }

    /// Judges the child: kind of change, build with repairs, gate.
    async fn judged(
        &self,
        iteration: &Iteration,
        folder: &DraftFolder,
        draft: &mut Draft,
    ) -> Result<(), Pause> {
        let started = Instant::now();
        let before = draft.wall_seconds;
        let judgement = self.judgement(iteration, folder, draft).await?;
        draft.wall_seconds = before + started.elapsed().as_secs_f64();
        draft.judgement = Some(judgement);
        folder.write(draft)?;
        Ok(())
    }

    async fn judgement(
        &self,
        iteration: &Iteration,
        folder: &DraftFolder,
        draft: &mut Draft,
    ) -> Result<Judgement, Pause> {
        let number = iteration.iteration;
        let harness = self.harness;
        let verdict = |verdict, reason: String| Judgement { verdict, reason, log: None };
        loop {
            let tree = folder.tree(draft.repairs);
            let difference = self.archive.diff_directory(iteration.base, &tree)?;
            match change::kind(&difference, tree_bytes(&tree)?, &harness.settings.change) {
                ChangeKind::Empty => {
                    let reason = match draft.editor_ended.as_str() {
                        "complete" if draft.editor_reason.is_empty() => {
                            "the editor changed nothing".to_owned()
                        }
                        ended => joined(
                            &format!("the editor changed nothing; its job ended: {ended}"),
                            &draft.editor_reason,
                        ),
                    };
                    return Ok(verdict(ChildVerdict::EmptyChange, reason));
                }
                ChangeKind::Documentation => {
                    let reason = "only documentation changed; the program is that of its base";
                    return Ok(verdict(ChildVerdict::DocumentationOnly, reason.to_owned()));
                }
                ChangeKind::Forbidden(reason) => {
                    return Ok(verdict(ChildVerdict::ForbiddenChange, reason));
                }
                ChangeKind::Program => {}
            }
            self.progress.tell(RunEvent::Step { iteration: number, step: "build" });
            let work = harness.directory("child")?;
            let agent = self.archive.read(|state| next_number(state.versions.keys().last()))?;
            let (purpose, program) = (format!("agent {agent}"), work.path().join("program"));
            let parent = work.path().join("parent");
            self.archive.checkout(iteration.base, &parent)?;
            let base = self.binaries.base(&parent).await?;
            let built = self.binaries.build(harness, &purpose, &tree, &program, &base).await?;
            let made = match built {
                Ok(made) => made,
                Err(_) if harness.interrupted.is_cancelled() => {
                    return Err(Pause::End(RunEnd::Stopped));
                }
                Err(log) if draft.repairs < harness.settings.repair.attempts => {
                    self.repaired(iteration, folder, draft, &log).await?;
                    continue;
                }
                Err(log) => {
                    let reason = first_error(&log);
                    return Ok(self.with_log(verdict(ChildVerdict::NotBuilt, reason), &log)?);
                }
            };
            self.progress.tell(RunEvent::Step { iteration: number, step: "gate" });
            let mut spent = Spent::default();
            let candidate = Candidate { agent, iteration: number, source: &tree, made };
            let passage = gate::hold(harness, self.binaries, candidate, &mut spent).await;
            draft.cost = NanoUsd(draft.cost.0 + spent.cost);
            draft.seconds += spent.seconds;
            return match passage? {
                Passage::Failed { reason, log } => {
                    Ok(self.with_log(verdict(ChildVerdict::FailedGate, reason), &log)?)
                }
                Passage::Passed => Ok(verdict(ChildVerdict::Accepted, String::new())),
            };
        }
    }

    /// Lets the editor repair a child that does not build.
    async fn repaired(
        &self,
        iteration: &Iteration,
        folder: &DraftFolder,
        draft: &mut Draft,
        log: &str,
    ) -> Result<(), Pause> {
        let (number, harness) = (iteration.iteration, self.harness);
        self.progress.tell(RunEvent::Step { iteration: number, step: "repair" });
        let work = harness.directory("repair")?;
        let source = work.path().join("source");
        gate::copy_tree(&folder.tree(draft.repairs), &source)?;
        let program = self.binaries.of(harness, self.archive, iteration.editor).await?;
        let limits = &harness.settings.repair;
        let done = edit(
            harness,
            self.binaries,
            EditOrder {
                id: format!("iteration-{number}/repair-{}", draft.repairs + 1),
                role: Role::Repair,
                editor: iteration.editor,
                iteration: number,
                program: &program,
                statement: statement::repair(log),
                limits: JobLimits {
                    seconds: limits.seconds,
                    usd: limits.usd,
                    ..harness.settings.editor
                },
                source: &source,
                view: None,
            },
        )
        .await?
        .close()
        .await?;
        if let Some(audit) = done.audit {
            self.archive.append(&Record::Audit(audit))?;
        }
        match done.ended {
            Ended::OutOfBudget => return Err(Pause::End(RunEnd::OutOfBudget)),
            Ended::Infrastructure => return Err(Pause::End(RunEnd::Infrastructure(done.reason))),
            _ => {}
        }
        let next = folder.tree(draft.repairs + 1);
        crate::harness::remove_tree(&next)?;
        std::fs::rename(&source, &next)?;
        draft.repairs += 1;
        draft.cost = NanoUsd(draft.cost.0 + done.cost.0);
        draft.seconds += done.seconds;
        folder.write(draft)?;
        Ok(())
    }

    /// Records the child: its version, then its judgement.
    fn recorded(
        &self,
        iteration: &Iteration,
        folder: &DraftFolder,
        draft: &Draft,
    ) -> Result<AgentNumber, Pause> {
        let (run, number) = (&self.harness.run, iteration.iteration);
        let Some(judgement) = &draft.judgement else {
            return Err(std::io::Error::other("the draft has no judgement").into());
        };
        let known = self.archive.read(|state| state.version_of(run, number).map(|it| it.agent))?;
        let agent = match known {
            Some(agent) => agent,
            None => {
                let change = Change {
                    description: draft.description.clone(),
                    editor: Some(iteration.editor),
                    run: Some(run.clone()),
                    iteration: Some(number),
                    verdict: judgement.verdict,
                };
                let (parents, now) = ([iteration.base], jiff::Timestamp::now());
                let version = match judgement.verdict {
                    ChildVerdict::EmptyChange => {
                        self.archive.add_same(iteration.base, &parents, &change, now)?
                    }
                    _ => {
                        let tree = folder.tree(draft.repairs);
                        self.archive.add_version(&tree, &parents, &change, now)?
                    }
                };
                version.agent
            }
        };
        self.archive.append(&Record::Child(Child {
            run: run.clone(),
            iteration: number,
            time: jiff::Timestamp::now(),
            agent: Some(agent),
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            description: draft.description.clone(),
            log: judgement.log.clone(),
            repairs: draft.repairs,
            editor_ended: draft.editor_ended.clone(),
            cost: draft.cost,
            seconds: draft.seconds,
            wall_seconds: draft.wall_seconds,
            trace: draft.trace,
        }))?;
        self.progress.tell(RunEvent::Judged {
            iteration: number,
            agent: agent.0,
            verdict: judgement.verdict.to_string(),
            reason: judgement.reason.clone(),
            description: draft.description.clone(),
        });
        Ok(agent)
    }

    fn with_log(&self, judgement: Judgement, log: &str) -> Result<Judgement, RunError> {
        let tail = statement::tail(log, LOG_TAIL).to_owned();
        let digest = match log.len() > LOG_TAIL {
            true => {
                let bytes = zstd::stream::encode_all(log.as_bytes(), 3)?;
                Some(trace::keep(&self.harness.traces, &bytes, ".log.zst")?)
            }
            false => None,
        };
        Ok(Judgement { log: Some(Log { digest, tail }), ..judgement })
    }
}

fn next_number(last: Option<&AgentNumber>) -> AgentNumber {
    AgentNumber(last.map_or(0, |last| last.0 + 1))
}

fn joined(what: &str, why: &str) -> String {
    if why.is_empty() { what.to_owned() } else { format!("{what}: {why}") }
}

/// Returns the first error of a build log.
fn first_error(log: &str) -> String {
    let line = log.lines().find(|line| line.trim_start().starts_with("error"));
    line.unwrap_or("the build failed").trim().chars().take(300).collect()
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// Returns the bytes of a source tree, build output left out.
fn tree_bytes(tree: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(tree)? {
        let entry = entry?;
        let data = entry.metadata()?;
        if data.is_dir() && entry.file_name() != "target" && entry.file_name() != ".git" {
            bytes += tree_bytes(&entry.path())?;
        } else if data.is_file() {
            bytes += data.len();
        }
    }
    Ok(bytes)
}
