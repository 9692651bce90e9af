//! The door of a trial: a unix socket for its agent, and a handle for the harness.

mod events;
mod inbox;
mod routes;
mod server;

pub use inbox::{Delivered, InboxSender};

use crate::gateway::Shared;
use crate::line::{CallError, Line, LineSpec, StopReason};
use crate::meter::MeterReading;
use crate::tape::TapeError;
use events::EventLog;
use futures::future::BoxFuture;
use hone_protocol::{Answer, Event, Job, NodeId};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::DropGuard;

/// Holds up a model call of an agent.
///
/// A rehearsal waits here for its overseer, so that an intervention comes at the same step each time.
pub type Pace = Arc<dyn Fn(Held) -> BoxFuture<'static, ()> + Send + Sync>;

/// A model call that is held up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The number of the newest event that was taken; all events before the call are, where the agent
    /// says which one was the newest.
    pub event: u64,
    /// The node that asks, where the agent says so.
    pub node: Option<NodeId>,
}

/// What a trial's door is opened with.
#[derive(Clone)]
pub struct TrialSpec {
    /// Who calls, and what it may cost.
    pub line: LineSpec,
    /// The job that the agent is given.
    pub job: Job,
    /// Where the socket is made. Its path must be shorter than 108 bytes.
    pub socket: PathBuf,
    /// The alias that answers for a model name which is none, for agents that are not ours and
    /// ask for a model by its real name. `None` refuses such names.
    pub other_models: Option<String>,
    /// What each model call waits for before it is taken up.
    pub pace: Option<Pace>,
}

/// A door could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The socket could not be made.
    #[error("make the socket {}", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The recording could not be made or read.
    #[error(transparent)]
    Tape(#[from] TapeError),
}

/// What is left of a trial's door.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialReport {
    /// The meter.
    pub reading: MeterReading,
    /// The last answer.
    pub answer: Option<Answer>,
    /// Why its calls could not succeed any more.
    pub stopped: Option<StopReason>,
    /// The last call that failed, and how.
    pub last_problem: Option<CallError>,
    /// The recording.
    pub recording: Option<PathBuf>,
    /// Why the recording is missing or incomplete, when it should be there.
    pub recording_error: Option<String>,
    /// Whether an agent ever asked for its job.
    pub connected: bool,
    /// The number of events that were taken.
    pub events: u64,
}

/// What the server and the handle share.
pub(crate) struct Door {
    line: Arc<Line>,
    job: Job,
    other_models: Option<String>,
    pace: Option<Pace>,
    events: EventLog,
    inbox: Arc<inbox::Post>,
    answer: Mutex<Option<Answer>>,
    connected: watch::Sender<bool>,
    /// Turns to take in a body.
    bodies: Semaphore,
}

/// The harness's handle on a trial's door. Dropping it closes the door at once.
pub struct TrialDoor {
    door: Arc<Door>,
    socket: PathBuf,
    server: tokio::task::JoinHandle<()>,
    _guard: DropGuard,
}

/// Events that may wait for the harness; an agent that reports more has to wait too.
const EVENTS: usize = 1024;

/// Bodies that are taken in at one time.
const BODIES: usize = 2;

impl TrialDoor {
    pub(crate) fn open(
        shared: Arc<Shared>,
        spec: TrialSpec,
    ) -> Result<(Self, mpsc::Receiver<Event>), DoorError> {
        let listener = server::listen(&spec.socket)
            .map_err(|source| DoorError::Socket { path: spec.socket.clone(), source })?;
        let line = Line::open(shared, spec.line).inspect_err(|_| {
            // The socket was made just above, and nobody knows of it yet.
            let _ = fs_err::remove_file(&spec.socket);
        })?;
        let (sender, receiver) = mpsc::channel(EVENTS);
        let cancel = line.cancel.clone();
        let door = Arc::new(Door {
            line,
            job: spec.job,
            other_models: spec.other_models,
            pace: spec.pace,
            events: EventLog::new(sender),
            inbox: Arc::new(inbox::Post::default()),
            answer: Mutex::new(None),
            connected: watch::Sender::new(false),
            bodies: Semaphore::new(BODIES),
        });
        let server = tokio::spawn(server::serve(
            listener,
            routes::router(Arc::clone(&door)),
            cancel.clone(),
            spec.socket.clone(),
        ));
        let door = TrialDoor { door, socket: spec.socket, server, _guard: cancel.drop_guard() };
        Ok((door, receiver))
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns what may be said to the agent with, also from other tasks.
    pub fn inbox(&self) -> InboxSender {
        InboxSender::new(Arc::clone(&self.door.inbox))
    }

    /// Returns what the meter shows.
    pub fn reading(&self) -> MeterReading {
        self.door.line.reading()
    }

    /// Returns the meter, also for other tasks.
    pub fn meter(&self) -> TrialMeter {
        TrialMeter { line: Arc::clone(&self.door.line) }
    }

    /// Returns the last answer.
    pub fn answer(&self) -> Option<Answer> {
        self.door.answer()
    }

    /// Follows why no call of the trial can succeed any more; the harness may then end it.
    pub fn stopped(&self) -> watch::Receiver<Option<StopReason>> {
        self.door.line.stopped()
    }

    /// Follows whether an agent has asked for its job.
    pub fn connected(&self) -> watch::Receiver<bool> {
        self.door.connected.subscribe()
    }

    /// Closes the door: cuts off calls in flight, bills and records them, ends every connection
    /// and removes the socket.
    pub async fn close(self) -> TrialReport {
        let left = self.door.line.close().await;
        if let Err(error) = self.server.await {
            tracing::warn!(socket = %self.socket.display(), "the door's server failed: {error}");
        }
        let door = &self.door;
        let events = door.events.taken().await;
        TrialReport {
            reading: left.reading,
            answer: door.answer(),
            stopped: door.line.stopped().borrow().clone(),
            last_problem: door.line.last_problem(),
            recording: left.tape,
            recording_error: left.tape_error,
            connected: *door.connected.borrow(),
            events,
        }
    }
}

/// A view of a trial's meter.
#[derive(Clone)]
pub struct TrialMeter {
    line: Arc<Line>,
}

impl TrialMeter {
    /// Returns what the meter shows.
    pub fn reading(&self) -> MeterReading {
        self.line.reading()
    }
}

impl Door {
    fn answer(&self) -> Option<Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the alias that a model name stands for.
    fn alias(&self, asked: &str) -> Result<String, CallError> {
        if self.job.models.iter().any(|known| known == asked) {
            return Ok(asked.to_owned());
        }
        self.other_models.clone().ok_or_else(|| CallError::UnknownModel {
            asked: asked.to_owned(),
            known: self.job.models.clone(),
        })
    }
}
