//! Runs an agent's program at one job: in a sandbox, behind a door of the gateway, watched by the overseer.

use super::ending::{Ended, Measured, judge};
use super::trace::{self, TRACE_VERSION, TraceEnd, TraceHead};
use super::watching::{self, Achieved, Guarded, Pacing, Stop, Subject, WatchOrder};
use crate::harness::Harness;
use crate::settings::JobLimits;
use hone_archive::record::Audit;
use hone_archive::{AgentNumber, Digest};
use hone_gateway::{Alias, LineSpec, NanoUsd, SpendRole, StopReason, TrialReport, TrialSpec};
use hone_protocol::{Answer, Event, Job, Limits, PROTOCOL_VERSION, Role, SOCKET_VARIABLE};
use hone_sandbox::{Command, Ending, Mount, Sandbox, SandboxError, SandboxSpec};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Where the door's directory is put.
const DOOR: &str = "/run/hone";
/// The name of the socket in it.
const SOCKET: &str = "door";
/// Where an agent's program is put.
const PROGRAM: &str = "/hone/agent";
/// How often the clock is looked at.
const STEP: Duration = Duration::from_millis(50);
/// How long an agent may go on after no call of it can succeed any more.
const GRACE: Duration = Duration::from_secs(10);
/// Above the watchdog's limit, for the case that the harness itself hangs.
const SLACK: Duration = Duration::from_secs(24 * 3600);
/// Bytes of events that a trace keeps.
const TRACE_BYTES: usize = 64 << 20;
/// Bytes of an agent's output that are kept.
const LOG_BYTES: usize = 64 << 10;

/// What works on a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A static binary of an agent, on the host.
    Agent(PathBuf),
    /// A command of the sandbox that speaks one of the gateway's dialects.
    Command(String),
}

/// A job.
#[derive(Debug)]
pub struct JobOrder {
    /// Its id; unique in the run, and the same when the run is replayed.
    pub id: String,
    /// What kind of work it is.
    pub role: Role,
    /// Whose money it spends.
    pub spend: SpendRole,
    /// Who works.
    pub agent: AgentNumber,
    /// The iteration that it belongs to.
    pub iteration: Option<u32>,
    /// What is run.
    pub program: Program,
    /// What the agent is told.
    pub statement: String,
    /// What it may use.
    pub limits: JobLimits,
    /// The sandbox, without what a job adds.
    pub sandbox: SandboxSpec,
    /// Where the view of the archive is, for jobs that improve an agent.
    pub archive: Option<String>,
    /// A script that is run before the agent starts.
    pub prepare: Option<String>,
}

/// What is left of a job. The sandbox still stands, with no process of the agent in it.
pub struct JobDone {
    /// How it ended.
    pub ended: Ended,
    /// Why, in words; may be empty.
    pub reason: String,
    /// What was handed in.
    pub answer: Option<Answer>,
    /// What the door saw.
    pub report: TrialReport,
    /// Seconds by the clock that the utility uses.
    pub seconds: f64,
    /// Seconds on the wall.
    pub wall_seconds: f64,
    /// The digest of the trace.
    pub trace: Digest,
    /// What the overseer did.
    pub audit: Option<Audit>,
    /// Why the overseer cancelled a part of the agent; that part is to blame when nothing was achieved.
    pub cancelled_node: Option<String>,
    /// The sandbox.
    pub sandbox: Box<dyn Sandbox>,
}

/// A job could not be run. It says nothing about the agent.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The run was interrupted.
    #[error("finish the job {0}: the run was interrupted")]
    Interrupted(String),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The door could not be opened.
    #[error(transparent)]
    Door(#[from] hone_gateway::DoorError),
    /// A file could not be written.
    #[error("write files of the job {job}")]
    File {
        /// The job.
        job: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// What the overseer saw could not be kept.
    #[error(transparent)]
    Filing(#[from] watching::FilingError),
    /// What must be done before the agent starts failed.
    #[error("prepare the sandbox of the job {job}: {what}")]
    Prepare {
        /// The job.
        job: String,
        /// What happened.
        what: String,
    },
}

/// Runs a job.
pub async fn run(harness: &Harness, order: JobOrder) -> Result<JobDone, JobError> {
    let file = |source| JobError::File { job: order.id.clone(), source };
    let interrupted = || JobError::Interrupted(order.id.clone());
    if harness.interrupted.is_cancelled() {
        return Err(interrupted());
    }
    let doors = harness.socket_directory().map_err(file)?;
    let pacing = harness.rehearses().then(Pacing::default);
    let spec = TrialSpec {
        line: line(&order),
        job: job(&order),
        socket: doors.path().join(SOCKET),
        other_models: Some(Alias::MAIN.to_owned()),
        pace: pacing.as_ref().map(Pacing::pace),
    };
    let mut sandbox_spec = order.sandbox.clone();
    sandbox_spec.mounts.push(Mount::read_write(doors.path(), DOOR));
    if let Program::Agent(binary) = &order.program {
        sandbox_spec.mounts.push(Mount::read_only(binary, PROGRAM));
    }
    let created = harness.executor.create(sandbox_spec);
    let sandbox = tokio::select! {
        created = created => created?,
        () = harness.interrupted.cancelled() => return Err(interrupted()),
    };
    if let Some(script) = &order.prepare {
        prepare(sandbox.as_ref(), &order.id, script).await?;
    }
    // The clock starts when the agent can.
    let (door, events) = harness.gateway.open_trial(spec)?;
    let stop = Stop::default();
    let (keep, mut kept) = mpsc::unbounded_channel();
    let watch = watching::start(
        &harness.gateway,
        &door,
        events,
        keep,
        WatchOrder {
            trial: order.id.clone(),
            role: order.role,
            statement: order.statement.clone(),
            settings: harness.settings.overseer.clone(),
            workdir: order.sandbox.workdir.clone(),
            guarded: guarded(&order),
            limits: limits(&order.limits),
            agent: u64::from(order.agent.0),
            iteration: order.iteration.map(u64::from),
            pacing,
            stop: stop.clone(),
        },
    );
    let collected = tokio::spawn(async move {
        let (mut events, mut bytes) = (Vec::<Event>::new(), 0);
        while let Some(event) = kept.recv().await {
            bytes += size(&event);
            if bytes <= TRACE_BYTES {
                events.push(event);
            }
        }
        events
    });

    let kill = CancellationToken::new();
    let limit = Duration::try_from_secs_f64(order.limits.seconds).unwrap_or(SLACK);
    let command = Command {
        argv: match &order.program {
            Program::Agent(_) => vec![PROGRAM.to_owned()],
            Program::Command(command) => {
                vec!["/bin/sh".to_owned(), "-c".to_owned(), command.clone()]
            }
        },
        cwd: None,
        environment: vec![(SOCKET_VARIABLE.to_owned(), format!("{DOOR}/{SOCKET}"))],
        timeout: limit.saturating_add(SLACK),
        output_bytes: LOG_BYTES,
        cancelled: kill.clone(),
    };
    let started = Instant::now();
    let (mut out_of_time, mut stopped_since, mut interrupt) = (false, None, false);
    let outcome = {
        let running = sandbox.run(command);
        tokio::pin!(running);
        loop {
            tokio::select! {
                outcome = &mut running => break outcome,
                () = stop.token().cancelled(), if !kill.is_cancelled() => kill.cancel(),
                () = harness.interrupted.cancelled(), if !interrupt => {
                    interrupt = true;
                    kill.cancel();
                }
                () = tokio::time::sleep(STEP), if !kill.is_cancelled() => {
                    let own = started.elapsed().saturating_sub(door.reading().waiting_time);
                    out_of_time = own >= limit;
                    if hopeless(door.stopped().borrow().as_ref()) {
                        stopped_since.get_or_insert_with(Instant::now);
                    }
                    let overdue = stopped_since.is_some_and(|since| since.elapsed() > GRACE);
                    if out_of_time || overdue {
                        kill.cancel();
                    }
                }
            }
        }
    };
    let elapsed = started.elapsed();
    let report = door.close().await;
    let watched = watch.finish().await;
    let events = collected.await.unwrap_or_default();
    if interrupt {
        return Err(interrupted());
    }
    let outcome = outcome?;
    let log = outcome.stderr.text() + &outcome.stdout.text();
    let cancelled = watched.cancelled(Achieved::Something);
    let measured = Measured {
        ending: &outcome.ending,
        log: &log,
        out_of_time,
        cancelled: cancelled.as_deref(),
        late: elapsed.saturating_sub(report.reading.waiting_time) >= limit.mul_f64(0.9),
        waited: elapsed >= limit.mul_f64(0.9),
    };
    let (ended, reason) = judge(measured, &report, &events);
    let head = TraceHead {
        version: TRACE_VERSION,
        job: order.id.clone(),
        role: order.role,
        agent: order.agent.0,
        statement: order.statement.clone(),
    };
    let end = TraceEnd {
        ended: ended.name().to_owned(),
        reason: reason.clone(),
        answer: report.answer.as_ref().map(|answer| answer.answer.clone()),
        log,
    };
    let trace = trace::write(&harness.traces, &head, &events, &end).map_err(file)?;
    let tape = watched.keep_tape(&harness.traces)?;
    let subject = Subject {
        run: harness.run.clone(),
        iteration: order.iteration,
        agent: order.agent,
        suite: String::new(),
        problem: String::new(),
        epoch: 0,
        time: jiff::Timestamp::now(),
    };
    let seconds = if harness.rehearses() {
        report.reading.model_seconds()
    } else {
        report.reading.trial_seconds(elapsed)
    };
    Ok(JobDone {
        ended,
        reason,
        answer: report.answer.clone(),
        report,
        seconds,
        wall_seconds: elapsed.as_secs_f64(),
        trace,
        audit: watched.audit(subject, tape),
        cancelled_node: watched.cancelled(Achieved::Nothing),
        sandbox,
    })
}

fn line(order: &JobOrder) -> LineSpec {
    LineSpec {
        agent: Some(u64::from(order.agent.0)),
        iteration: order.iteration.map(u64::from),
        cap: Some(NanoUsd::from_usd(order.limits.usd)),
        context_tokens: Some(order.limits.context_tokens),
        ..LineSpec::new(order.id.clone(), order.spend)
    }
}

fn job(order: &JobOrder) -> Job {
    Job {
        protocol: PROTOCOL_VERSION,
        role: order.role,
        statement: order.statement.clone(),
        workdir: order.sandbox.workdir.clone(),
        archive: order.archive.clone(),
        limits: limits(&order.limits),
        models: Alias::OF_AGENTS.map(str::to_owned).to_vec(),
    }
}

fn limits(limits: &JobLimits) -> Limits {
    Limits {
        seconds: limits.seconds,
        usd: limits.usd,
        iterations: limits.iterations,
        context_tokens: limits.context_tokens,
    }
}

/// Returns which paths the overseer guards.
fn guarded(order: &JobOrder) -> Guarded {
    let mut guarded = match order.role {
        Role::Improve | Role::Repair => Guarded::of_improvement(),
        Role::Solve => Guarded::of_benchmark(Vec::new()),
    };
    let mounts = order.sandbox.mounts.iter();
    guarded.readable.extend(mounts.map(|mount| mount.inside.clone()));
    guarded
}

/// Tells whether no call can succeed any more, so that waiting for the agent is in vain.
fn hopeless(stopped: Option<&StopReason>) -> bool {
    stopped.is_some()
}

/// Returns about how many bytes an event takes.
fn size(event: &Event) -> usize {
    use hone_protocol::EventKind::*;
    let text = match &event.kind {
        AgentStarted { agent, task } => agent.len() + task.len(),
        AgentFinished { how, result } => how.len() + result.len(),
        AssistantMessage { text } | Reasoning { text } | Warning { text } | Error { text } => {
            text.len()
        }
        ToolCall { tool, arguments, .. } => {
            tool.len() + arguments.values().map(|value| value.to_string().len()).sum::<usize>()
        }
        ToolResult { output, .. } => output.len(),
        FileEdited { path, diff } => path.len() + diff.len(),
        FileOpened { path } | FileClosed { path } => path.len(),
        PromptUpdated { .. } | NudgeReceived { .. } | CancelReceived { .. } | Budget { .. } => 0,
    };
    text + 64
}

/// How long a script that prepares a sandbox may take.
const PREPARE: Duration = Duration::from_secs(600);

async fn prepare(sandbox: &dyn Sandbox, job: &str, script: &str) -> Result<(), JobError> {
    let outcome = sandbox.run(Command::shell(script, PREPARE)).await?;
    if outcome.ending == Ending::Exited(0) {
        return Ok(());
    }
    let what = format!("{:?}: {}", outcome.ending, outcome.stderr.text().trim());
    Err(JobError::Prepare { job: job.to_owned(), what })
}
