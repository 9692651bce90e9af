//! The line of one trial or desk: its accounts, its meter, its tape, and the calls on it.

use crate::call::Call;
use crate::completion::{ChatRequest, Completion};
use crate::error::{Problem, ProviderError};
use crate::gateway::Shared;
use crate::meter::{Meter, MeterReading};
use crate::money::NanoUsd;
use crate::provider::ReplyPart;
use crate::purse::{Account, Capped, SpendRole};
use crate::replay::Replay;
use crate::stand_in::PrefixCache;
use crate::tape::{Exchange, TapeError, TapeWriter};
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Who makes calls, and what they may cost.
#[derive(Clone, Debug)]
pub struct LineSpec {
    /// The name of the trial or desk; unique in the run, and the same when the run is replayed.
    pub id: String,
    /// What the work is for.
    pub role: SpendRole,
    /// The agent of the archive that it is counted for.
    pub agent: Option<u64>,
    /// The iteration that it is counted for.
    pub iteration: Option<u64>,
    /// The most that it may cost.
    pub cap: Option<NanoUsd>,
    /// The most calls that it may make.
    pub most_calls: Option<u64>,
    /// The most tokens that a prompt may have, by estimate.
    pub context_tokens: Option<u64>,
}

impl LineSpec {
    /// Makes a spec without limits.
    pub fn new(id: impl Into<String>, role: SpendRole) -> Self {
        LineSpec {
            id: id.into(),
            role,
            agent: None,
            iteration: None,
            cap: None,
            most_calls: None,
            context_tokens: None,
        }
    }
}

/// A call came to nothing, or broke off.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// There is no such alias.
    #[error("the model `{asked}` does not exist; there are {}", known.join(", "))]
    UnknownModel {
        /// What was asked for.
        asked: String,
        /// What may be.
        known: Vec<String>,
    },
    /// A cap is reached.
    #[error(transparent)]
    Capped(Capped),
    /// The trial has made all calls that it may make.
    #[error("the limit of {limit} model calls is reached")]
    TooManyCalls {
        /// The limit.
        limit: u64,
    },
    /// The prompt is longer than the trial allows.
    #[error("the prompt has about {tokens} tokens, and the limit is {limit}")]
    ContextTooLong {
        /// The estimate.
        tokens: u64,
        /// The limit.
        limit: u64,
    },
    /// The provider failed.
    #[error(transparent)]
    Provider(ProviderError),
    /// The trial is over.
    #[error("the trial is over")]
    Closed,
}

/// Why no call of a trial can succeed any more.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// A cap is reached.
    Capped(Capped),
    /// All calls were made.
    TooManyCalls {
        /// The limit.
        limit: u64,
    },
    /// The provider is of no use: bad key, no credit, or down for longer than one would wait.
    Provider(ProviderError),
}

/// A piece of a reply on its way to the caller; a whole reply ends with its usage.
pub(crate) type Delivery = Result<ReplyPart, CallError>;

/// Pieces under way to a caller that is slow to read.
const DELIVERIES: usize = 64;

/// What is left of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LineReport {
    pub reading: MeterReading,
    pub tape: Option<PathBuf>,
    pub tape_error: Option<String>,
}

pub(crate) struct Line {
    pub shared: Arc<Shared>,
    pub spec: LineSpec,
    pub accounts: Vec<Account>,
    pub meter: Meter,
    pub prefixes: PrefixCache,
    pub replay: Option<Replay>,
    pub cancel: CancellationToken,
    tape: Mutex<Tape>,
    calls: AtomicU64,
    stop: watch::Sender<Option<StopReason>>,
    last_problem: Mutex<Option<CallError>>,
    tasks: TaskTracker,
}

/// The tape, or why there is none.
#[derive(Default)]
struct Tape {
    writer: Option<TapeWriter>,
    error: Option<String>,
}

impl Line {
    pub fn open(shared: Arc<Shared>, spec: LineSpec) -> Result<Arc<Self>, TapeError> {
        let replay = match &shared.replay {
            Some(directory) => Some(Replay::load(directory, &spec.id)?),
            None => None,
        };
        let writer = match &shared.record {
            Some(directory) => Some(TapeWriter::create(directory, &spec.id)?),
            None => None,
        };
        if spec.cap.is_some() {
            shared.purse.set_cap(Account::Trial(spec.id.clone()), spec.cap);
        }
        let accounts = spec.role.accounts(&spec.id, spec.agent, spec.iteration);
        Ok(Arc::new(Line {
            shared,
            accounts,
            spec,
            meter: Meter::default(),
            prefixes: PrefixCache::default(),
            replay,
            cancel: CancellationToken::new(),
            tape: Mutex::new(Tape { writer, error: None }),
            calls: AtomicU64::new(0),
            stop: watch::Sender::new(None),
            last_problem: Mutex::new(None),
            tasks: TaskTracker::new(),
        }))
    }

    /// Starts a call, which goes on by itself: a caller that goes away does not hide its cost.
    pub fn start(self: &Arc<Self>, request: ChatRequest, asked: Bytes) -> mpsc::Receiver<Delivery> {
        let (sender, receiver) = mpsc::channel(DELIVERIES);
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let line = Arc::clone(self);
        self.tasks.spawn(async move {
            let _open = line.meter.open();
            let error = Call::new(&line, number, request, asked, &sender).run().await.err();
            if let Some(error) = error {
                line.note(&error);
                // A caller that went away does not hear of it.
                let _ = sender.send(Err(error)).await;
            }
        });
        receiver
    }

    pub async fn complete(self: &Arc<Self>, request: ChatRequest) -> Result<Completion, CallError> {
        let asked = serde_json::to_vec(&request).map(Bytes::from).unwrap_or_default();
        collect(&mut self.start(request, asked)).await
    }

    /// Returns the limit on calls, when this call is above it.
    pub fn too_many(&self, number: u64) -> Option<u64> {
        self.spec.most_calls.filter(|limit| number > *limit)
    }

    pub fn reading(&self) -> MeterReading {
        self.meter.reading()
    }

    pub fn stopped(&self) -> watch::Receiver<Option<StopReason>> {
        self.stop.subscribe()
    }

    pub fn last_problem(&self) -> Option<CallError> {
        self.last_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, error: &CallError) {
        *self.last_problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        let reason = match error {
            CallError::Capped(capped) => StopReason::Capped(capped.clone()),
            CallError::TooManyCalls { limit } => StopReason::TooManyCalls { limit: *limit },
            CallError::Provider(error) if stops(&error.problem) => {
                StopReason::Provider(error.clone())
            }
            CallError::Provider(_)
            | CallError::UnknownModel { .. }
            | CallError::ContextTooLong { .. }
            | CallError::Closed => return,
        };
        // The first reason is the one that counts.
        self.stop.send_if_modified(|stop| {
            let first = stop.is_none();
            if first {
                *stop = Some(reason);
            }
            first
        });
    }

    /// Records an exchange; a tape that cannot be written is noted, and the trial goes on.
    pub async fn record(self: &Arc<Self>, exchange: Exchange) {
        if self.shared.record.is_none() {
            return;
        }
        let line = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || {
            let exchange = line.without_keys(exchange);
            let mut tape = line.tape.lock().unwrap_or_else(PoisonError::into_inner);
            let error = match &mut tape.writer {
                Some(writer) => writer.add(&exchange).err(),
                None => None,
            };
            if let Some(error) = error {
                tracing::warn!(
                    door = line.spec.id,
                    "{error}: {:?}",
                    std::error::Error::source(&error)
                );
                tape.error = Some(error.to_string());
                tape.writer = None;
            }
        });
        if let Err(error) = written.await {
            tracing::warn!(door = self.spec.id, "the recording failed: {error}");
        }
    }

    /// Blots out keys that a provider or an agent put into the bytes.
    fn without_keys(&self, mut exchange: Exchange) -> Exchange {
        for run in [&mut exchange.asked, &mut exchange.sent, &mut exchange.reply] {
            if let Some(clean) = self.shared.keys.blot_bytes(run) {
                *run = Bytes::from(clean);
            }
        }
        exchange
    }

    /// Cuts off what is in flight, waits until it is billed and recorded, and ends the tape.
    pub async fn close(&self) -> LineReport {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let tape = {
            let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tape)
        };
        let finished =
            tokio::task::spawn_blocking(move || tape.writer.map(TapeWriter::finish).transpose());
        let (path, mut tape_error) = match finished.await {
            Ok(Ok(path)) => (path, tape.error),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(error) => (None, Some(error.to_string())),
        };
        if path.is_none() && self.shared.record.is_some() {
            tape_error.get_or_insert_with(|| "the recording was closed before".to_owned());
        }
        self.shared.purse.close(&Account::Trial(self.spec.id.clone()));
        LineReport { reading: self.reading(), tape: path, tape_error }
    }
}

/// Tells whether a problem means that no call of the trial can succeed.
fn stops(problem: &Problem) -> bool {
    use crate::error::Severity;
    match problem.severity() {
        Severity::Passing | Severity::Outage | Severity::Settings => true,
        Severity::Request => false,
    }
}

/// Collects a reply.
pub(crate) async fn collect(
    deliveries: &mut mpsc::Receiver<Delivery>,
) -> Result<Completion, CallError> {
    let mut completion = Completion::default();
    while let Some(delivery) = deliveries.recv().await {
        completion.take(&delivery?);
    }
    // Usage is the last that is told; without it, the call's task did not come to its end.
    if completion.usage.is_none() {
        return Err(CallError::Closed);
    }
    Ok(completion)
}
