//! One job from start to end, and what all its agents share.

use crate::agents;
use crate::model::{Events, Gateway, GatewayError, Inbox, Usage};
use crate::node::{self, Ended, How};
use crate::process::Shell;
use crate::tools::{self, Tool};
use crate::workspace::Workspace;
use hone_protocol::{Answer, Job, NodeId, PROTOCOL_VERSION};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What all agents of a job share.
pub struct Trial {
    /// The job.
    pub job: Job,
    /// The connection to the harness.
    pub gateway: Gateway,
    /// The account of what happens.
    pub events: Events,
    /// What an overseer or a person says.
    pub inbox: Inbox,
    /// The files to work on.
    pub workspace: Workspace,
    /// What runs commands.
    pub shell: Shell,
    /// Every tool.
    pub tools: Vec<Tool>,
    started: Instant,
    usd: Cell<f64>,
    calls: Cell<u64>,
    answer: RefCell<Option<String>>,
}

/// Why a job ends before its main agent is done.
#[derive(Debug, thiserror::Error)]
pub enum TrialEnd {
    /// The model did not keep to the way in which calls are made.
    #[error("{0} replies in a row held no call that could be carried out; the last problem: {1}")]
    Protocol(u32, String),
    /// The time of the job is up.
    #[error("the time of the job is up")]
    TimeIsUp,
    /// The money of the job is spent.
    #[error("the job has spent what it may spend: {0}")]
    Spent(String),
    /// The gateway could not be reached or failed.
    #[error("the gateway failed")]
    Gateway(#[from] GatewayError),
}

impl TrialEnd {
    /// Returns how the agents end that are at work.
    pub fn how(&self) -> How {
        match self {
            TrialEnd::Protocol(..) => How::ProtocolError,
            TrialEnd::TimeIsUp => How::TimeLimit,
            TrialEnd::Spent(_) => How::CostLimit,
            TrialEnd::Gateway(_) => How::GatewayError,
        }
    }
}

/// Why the agent's program fails.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The runtime could not be started.
    #[error("failed to start")]
    Start(#[from] std::io::Error),
    /// There is no job to be had.
    #[error("failed to get the job")]
    Job(#[source] GatewayError),
    /// The harness speaks a newer protocol.
    #[error("the job is written for protocol {0}, this agent speaks {PROTOCOL_VERSION}")]
    Protocol(u32),
    /// The job ended before it was done.
    #[error("the job ended early")]
    Ended(#[from] TrialEnd),
}

/// Writes an error with its causes.
pub fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

/// Gets the job over the socket and works on it. `supervisor` is the path of this program.
pub fn run(socket: &Path, supervisor: PathBuf) -> Result<(), TrialError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(work(socket, supervisor));
    // A search on another thread must not hold up the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

async fn work(socket: &Path, supervisor: PathBuf) -> Result<(), TrialError> {
    let gateway = Gateway::new(socket).map_err(TrialError::Job)?;
    let job = gateway.job().await.map_err(TrialError::Job)?;
    if job.protocol > PROTOCOL_VERSION {
        return Err(TrialError::Protocol(job.protocol));
    }
    let trial = Rc::new(Trial::new(job, gateway, Shell::new(supervisor)));
    tokio::select! {
        outcome = finish(&trial) => outcome,
        () = trial.events.deliver(&trial.gateway) => Ok(()),
        () = trial.inbox.poll(&trial.gateway) => Ok(()),
    }
}

async fn finish(trial: &Rc<Trial>) -> Result<(), TrialError> {
    let ended = node::run(trial.clone(), NodeId::root(), agents::root(), &[]).await;
    let outcome = match ended {
        Ok(Ended { how: How::Complete, value }) => {
            // The answer stays; the summary for people is new.
            let answer = trial.answer.borrow().clone().unwrap_or_default();
            trial.submit(answer, value).await
        }
        Ok(_) => Ok(()),
        Err(end) => Err(end),
    };
    trial.events.flush().await;
    outcome.map_err(TrialError::from)
}

impl Trial {
    /// Prepares to work on a job.
    pub fn new(job: Job, gateway: Gateway, shell: Shell) -> Self {
        let workspace = Workspace::new(&job.workdir, job.archive.as_ref().map(PathBuf::from));
        Trial {
            job,
            gateway,
            events: Events::default(),
            inbox: Inbox::default(),
            workspace,
            shell,
            tools: tools::all(),
            started: Instant::now(),
            usd: Cell::new(0.0),
            calls: Cell::new(0),
            answer: RefCell::new(None),
        }
    }

    /// Hands in an answer.
    pub async fn submit(&self, answer: String, summary: String) -> Result<(), TrialEnd> {
        self.gateway.answer(&Answer { answer: answer.clone(), summary }).await?;
        *self.answer.borrow_mut() = Some(answer);
        Ok(())
    }

    /// Returns the time since the job began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the moment at which the time of the job is up.
    pub fn deadline(&self) -> Instant {
        // A limit that no clock can hold is no limit within a year.
        let year = Duration::from_secs(365 * 24 * 3600);
        let limit = Duration::try_from_secs_f64(self.job.limits.seconds).unwrap_or(year).min(year);
        self.started + limit
    }

    /// Returns the US dollars that were spent, as far as the gateway tells.
    pub fn usd(&self) -> f64 {
        self.usd.get()
    }

    /// Adds what a reply took.
    pub fn count(&self, usage: &Usage) {
        self.usd.set(self.usd.get() + usage.cost.unwrap_or_default());
    }

    /// Returns a number for the next call of a tool.
    pub fn next_call(&self) -> u64 {
        self.calls.set(self.calls.get() + 1);
        self.calls.get()
    }

    /// Returns the alias of a model, or the first one there is when the job does not name it.
    pub fn alias<'a>(&'a self, wanted: &'a str) -> &'a str {
        let aliases = &self.job.models;
        let known = aliases.is_empty() || aliases.iter().any(|alias| alias == wanted);
        if known { wanted } else { aliases.first().map_or(wanted, String::as_str) }
    }
}
