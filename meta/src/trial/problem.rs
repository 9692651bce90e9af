//! A trial: an agent's job on one problem of a suite, scored, as a record.

use super::ending::Ended;
use super::job::{self, JobError, JobOrder, Program};
use crate::harness::Harness;
use crate::rooms::{self, Built, ExecutorRooms};
use hone_archive::record::{Audit, Outcome, Trial, Usage};
use hone_archive::{AgentNumber, ConditionsId, Digest, NanoUsd, TreeId};
use hone_benchmarks::kind::{self, Collect, Environment, Root};
use hone_benchmarks::{GradingRoom, Kind, Problem, ProblemError, ScoreError, Submission, Suite};
use hone_gateway::SpendRole;
use hone_protocol::Role;
use hone_sandbox::{Command, Limits, Mount, Sandbox, SandboxError, SandboxSpec};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a script that collects an agent's work may take.
const COLLECT: Duration = Duration::from_secs(600);

/// One agent on one problem, once.
#[derive(Clone, Debug)]
pub struct TrialOrder {
    /// The agent.
    pub agent: AgentNumber,
    /// Its source.
    pub tree: TreeId,
    /// What is run.
    pub program: Program,
    /// The suite.
    pub suite: Arc<Suite>,
    /// The problem's place in the suite.
    pub problem: usize,
    /// Which repeat this is.
    pub epoch: u32,
    /// Under which conditions.
    pub conditions: ConditionsId,
    /// How often infrastructure failed this trial before.
    pub attempt: u32,
}

impl TrialOrder {
    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.suite.problems()[self.problem]
    }

    /// Returns the trial's id in a run.
    pub fn id(&self) -> String {
        let Self { agent, epoch, attempt, .. } = self;
        let id = format!("agent-{agent}/{}/{}/{epoch}", self.suite.name(), self.problem().id);
        if *attempt == 0 { id } else { format!("{id}/again-{attempt}") }
    }
}

/// A trial's records.
#[derive(Clone, Debug)]
pub struct TrialDone {
    /// The result.
    pub trial: Trial,
    /// What the overseer did.
    pub audit: Option<Audit>,
    /// Reports that the kind of benchmark keeps, such as an official one.
    pub details: serde_json::Value,
    /// Whether the money of the run ended it.
    pub out_of_budget: bool,
}

/// Why a trial failed before or beside the agent.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("make a directory for the trial")]
    File(#[from] std::io::Error),
}

/// Runs a trial. Nothing is returned when the run was interrupted meanwhile.
pub async fn run(harness: &Harness, order: &TrialOrder) -> Option<TrialDone> {
    match attempt(harness, order).await {
        Ok(done) => Some(done),
        Err(TrialError::Job(JobError::Interrupted(_))) => None,
        Err(error) => {
            if harness.interrupted.is_cancelled() {
                return None;
            }
            let reason = chain(&error);
            let outcome = match error {
                TrialError::Problem(_) => Outcome::VerifierError,
                _ => Outcome::InfraError,
            };
            let trial = record(harness, order, outcome, reason);
            Some(TrialDone {
                trial,
                audit: None,
                details: serde_json::Value::Null,
                out_of_budget: false,
            })
        }
    }
}

async fn attempt(harness: &Harness, order: &TrialOrder) -> Result<TrialDone, TrialError> {
    let (suite, problem) = (order.suite.as_ref(), order.problem());
    let kind = kind::of(suite).map_err(ProblemError::from)?;
    let mut environment = kind.environment(suite, problem)?;
    let work = harness.directory("trial")?;
    let executor = harness.executor.as_ref();
    let built = rooms::build(executor, suite, &environment.root, work.path()).await?;
    if let Some(built) = &built {
        environment.root = Root::Image(built.image.clone());
    }
    let (files, collected) = (work.path().join("files"), work.path().join("collected"));
    std::fs::create_dir_all(&files)?;
    std::fs::create_dir_all(&collected)?;
    kind.set_up(suite, problem, &files)?;
    if let Root::Image(image) = &environment.root {
        harness.executor.provide(image).await?;
    }
    let sandbox = spec(harness, order, &environment, &files)?;
    let done = job::run(
        harness,
        JobOrder {
            id: order.id(),
            role: Role::Solve,
            spend: SpendRole::Benchmark,
            agent: order.agent,
            iteration: None,
            program: order.program.clone(),
            statement: kind.statement(suite, problem)?,
            limits: harness.settings.trial,
            sandbox,
            archive: None,
            prepare: environment.prepare.clone(),
        },
    )
    .await?;
    let unscored = matches!(done.ended, Ended::Infrastructure | Ended::OutOfBudget);
    let fetched = match unscored {
        true => Ok(()),
        false => {
            let wanted = kind.collect(suite, problem)?;
            fetch(done.sandbox.as_ref(), &environment, &wanted, &collected).await
        }
    };
    // What runs in the sandbox must be gone before its files are read on the host.
    done.sandbox.destroy().await?;
    fetched?;
    let answer = done.answer.as_ref().map(|answer| answer.answer.as_str()).unwrap_or_default();
    let dir = match environment.root {
        Root::Host if !matches!(kind.collect(suite, problem)?, Collect::Script { .. }) => &files,
        _ => &collected,
    };
    let (outcome, why, details) = match unscored {
        true => (Outcome::InfraError, String::new(), serde_json::Value::Null),
        false => {
            let submission = Submission { answer, dir };
            score(harness, kind, order, submission, work.path(), &done.ended, built).await?
        }
    };
    // A cancelled part of the agent is to blame when nothing came of the rest.
    let (outcome, why) = match (outcome, done.cancelled_node) {
        (Outcome::Scored { score: 0.0 }, Some(reason)) => {
            (Outcome::Cancelled { score: 0.0 }, format!("{reason}; {why}"))
        }
        (outcome, _) => (outcome, why),
    };
    let reason = [done.reason.as_str(), why.as_str()];
    let reason: Vec<&str> = reason.into_iter().filter(|part| !part.is_empty()).collect();
    let reading = &done.report.reading;
    let trial = Trial {
        usage: Usage {
            input: reading.usage.input,
            cache_read: reading.usage.cache_read,
            cache_write: reading.usage.cache_write,
            output: reading.usage.output,
        },
        cost: NanoUsd(reading.cost.0),
        seconds: done.seconds,
        wall_seconds: done.wall_seconds,
        trace: Some(done.trace),
        ..record(harness, order, outcome, reason.join("; "))
    };
    let audit = done.audit.map(|audit| Audit {
        suite: suite.name().to_owned(),
        problem: problem.id.0.clone(),
        epoch: order.epoch,
        ..audit
    });
    let out_of_budget = done.ended == Ended::OutOfBudget;
    Ok(TrialDone { trial, audit, details, out_of_budget })
}

fn spec(
    harness: &Harness,
    order: &TrialOrder,
    environment: &Environment,
    files: &Path,
) -> Result<SandboxSpec, ProblemError> {
    let mut spec = SandboxSpec::new(format!("trial {}", order.id()), &environment.workdir);
    spec.environment.clone_from(&environment.variables);
    spec.limits =
        Limits { memory_bytes: harness.settings.trial.memory_mib << 20, ..Limits::default() };
    spec.root = match &environment.root {
        Root::Host => hone_sandbox::Root::Host,
        Root::Image(image) => hone_sandbox::Root::Image(image.clone()),
        Root::Dockerfile(_) => {
            return Err(ProblemError::Missing {
                id: order.problem().id.0.clone(),
                what: "its image has to be built from a Dockerfile first, see `hone image build`"
                    .to_owned(),
            });
        }
    };
    if environment.root == Root::Host {
        spec.mounts.push(Mount::read_write(files, &environment.workdir));
    }
    Ok(spec)
}

/// Takes out of a sandbox what scoring needs.
async fn fetch(
    sandbox: &dyn Sandbox,
    environment: &Environment,
    wanted: &Collect,
    to: &Path,
) -> Result<(), SandboxError> {
    let on_host = environment.root == Root::Host;
    match wanted {
        Collect::Answer => Ok(()),
        // The work directory is the host's own.
        Collect::Files(_) | Collect::Workdir if on_host => Ok(()),
        Collect::Workdir => {
            clear(to)?;
            sandbox.copy_out(&environment.workdir, to).await
        }
        Collect::Files(paths) => {
            for path in paths {
                let target = to.join(path);
                if let Some(parent) = target.parent() {
                    make(parent)?;
                }
                match sandbox.copy_out(&format!("{}/{path}", environment.workdir), &target).await {
                    Err(SandboxError::File { source, .. })
                        if source.kind() == std::io::ErrorKind::NotFound => {}
                    other => other?,
                }
            }
            Ok(())
        }
        Collect::Script { script, folder } => {
            let outcome = sandbox.run(Command::shell(script, COLLECT)).await?;
            if !outcome.ending.is_success() {
                return Err(SandboxError::Engine {
                    doing: "collect the agent's work".to_owned(),
                    reason: format!("{:?}: {}", outcome.ending, outcome.stderr.text().trim()),
                });
            }
            clear(to)?;
            sandbox.copy_out(folder, to).await
        }
    }
}

/// Removes an empty directory, so that a copy can take its place.
fn clear(directory: &Path) -> Result<(), SandboxError> {
    std::fs::remove_dir(directory).map_err(|source| SandboxError::File {
        doing: "remove",
        path: directory.to_owned(),
        source,
    })
}

fn make(directory: &Path) -> Result<(), SandboxError> {
    std::fs::create_dir_all(directory).map_err(|source| SandboxError::File {
        doing: "make",
        path: directory.to_owned(),
        source,
    })
}

async fn score(
    harness: &Harness,
    kind: &dyn Kind,
    order: &TrialOrder,
    submission: Submission<'_>,
    work: &Path,
    ended: &Ended,
    built: Option<Built>,
) -> Result<(Outcome, String, serde_json::Value), TrialError> {
    let scratch = work.join("scoring");
    std::fs::create_dir_all(&scratch)?;
    let rooms = ExecutorRooms::new(Arc::clone(&harness.executor)).with_built(built);
    let room = GradingRoom::new(&scratch).with_rooms(&rooms);
    match kind.grade(&order.suite, order.problem(), submission, room).await {
        Ok(scored) => {
            let score = scored.score.get();
            Ok((outcome(ended, score), scored.why, scored.details))
        }
        Err(error @ (ScoreError::Problem(_) | ScoreError::Verifier(_))) => {
            Ok((Outcome::VerifierError, chain(&error), serde_json::Value::Null))
        }
        Err(error @ ScoreError::Infrastructure(_)) => {
            Ok((Outcome::InfraError, chain(&error), serde_json::Value::Null))
        }
    }
}

fn outcome(ended: &Ended, score: f64) -> Outcome {
    match ended {
        Ended::Complete => Outcome::Scored { score },
        Ended::TimedOut => Outcome::TimedOut { score },
        Ended::CostCapped => Outcome::CostCapped { score },
        Ended::Crashed => Outcome::AgentCrashed { score },
        Ended::ProtocolError => Outcome::ProtocolError { score },
        Ended::Cancelled => Outcome::Cancelled { score },
        Ended::OutOfBudget | Ended::Infrastructure => Outcome::InfraError,
    }
}

/// Returns a record without what only a job knows.
fn record(harness: &Harness, order: &TrialOrder, outcome: Outcome, reason: String) -> Trial {
    Trial {
        agent: order.agent,
        tree: order.tree,
        suite: order.suite.name().to_owned(),
        suite_digest: Digest(order.suite.digest().bytes()),
        problem: order.problem().id.0.clone(),
        epoch: order.epoch,
        outcome,
        usage: Usage::default(),
        cost: NanoUsd(0),
        seconds: 0.0,
        wall_seconds: 0.0,
        reason,
        trace: None,
        conditions: order.conditions,
        run: harness.run.clone(),
        time: jiff::Timestamp::now(),
    }
}

/// Writes an error with its causes on a line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = inner.source();
    }
    text
}
