//! The watch: one task per trial around a [`Desk`].
//!
//! It receives events, reads the meter, asks the judge and sends interventions, each of the latter in
//! a task of its own under a deadline. So neither a judge nor an inbox that hangs or panics can hold
//! it up, and it never holds up the trial: the trial only ever puts events into a channel.

use crate::audit::{AuditSink, LogError, Record, Verdict, to_lines};
use crate::decisions::Decision;
use crate::desk::{Act, Brief, Desk};
use crate::interventions::{InterventionError, Interventions};
use crate::judge::Judge;
use crate::meter::Meter;
use crate::settings::Settings;
use crate::tape::{Answer, Input, TapeLine};
use hone_protocol::{Event, NodeId};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long the harness may take to put a message into an inbox.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between readings of the meter while no event comes.
const METER_STEP: Duration = Duration::from_secs(1);

/// Where events come from. Both kinds of tokio's channels are sources.
pub trait EventSource: Send + 'static {
    /// Waits for the next event; nothing means that the trial ended. Must be safe to cancel.
    fn next(&mut self) -> impl Future<Output = Option<Event>> + Send;
}

impl EventSource for mpsc::Receiver<Event> {
    async fn next(&mut self) -> Option<Event> {
        self.recv().await
    }
}

impl EventSource for mpsc::UnboundedReceiver<Event> {
    async fn next(&mut self) -> Option<Event> {
        self.recv().await
    }
}

/// What a watch works with.
pub struct Post<S> {
    /// What is known of the trial before it starts.
    pub brief: Brief,
    /// All settings.
    pub settings: Settings,
    /// The trial's events; their end is the trial's end.
    pub events: S,
    /// The trial's meter.
    pub meter: Arc<dyn Meter>,
    /// Who is asked.
    pub judge: Arc<dyn Judge>,
    /// The way to the agent.
    pub interventions: Arc<dyn Interventions>,
    /// Takes records as they are made.
    pub sink: Box<dyn AuditSink>,
    /// Ends the watch, as if the trial had ended.
    pub cancelled: CancellationToken,
}

impl<S: std::fmt::Debug> std::fmt::Debug for Post<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("brief", &self.brief).finish_non_exhaustive()
    }
}

/// Everything that a watch leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// How the overseer left the trial.
    pub verdict: Verdict,
    /// The audit log.
    pub records: Vec<Record>,
    /// The rows of `decisions.jsonl`.
    pub decisions: Vec<Decision>,
    /// Everything that reached the overseer, for a replay.
    pub tape: Vec<TapeLine>,
    /// What the judge cost, in nano-dollars.
    pub cost_nano_usd: u64,
}

impl Watched {
    /// Returns the files of a trial's watch, by their names: `audit.jsonl`, `decisions.jsonl` and
    /// `tape.jsonl`.
    ///
    /// # Errors
    /// Where something cannot be written as JSON.
    pub fn files(&self) -> Result<[(&'static str, String); 3], LogError> {
        Ok([
            ("audit.jsonl", to_lines(&self.records)?),
            ("decisions.jsonl", to_lines(&self.decisions)?),
            ("tape.jsonl", to_lines(&self.tape)?),
        ])
    }
}

/// How far a watch has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The number of the newest event that was taken in.
    pub event: u64,
    /// Whether neither the judge nor an inbox is being waited for.
    pub idle: bool,
    /// The nodes that were sent a cancel.
    pub cancelled: Vec<NodeId>,
    /// Whether the watch is over.
    pub over: bool,
}

/// A watch under way.
#[derive(Debug)]
pub struct Watching {
    task: tokio::task::JoinHandle<Watched>,
    gate: Gate,
}

/// Tells others how far a watch has come.
#[derive(Clone, Debug)]
pub struct Gate(watch::Receiver<Standing>);

impl Gate {
    /// Waits until the watch has taken in event `event`, asked what it wanted to ask and sent what it
    /// wanted to send, or until `at_most` is over. Returns whether it came so far.
    ///
    /// For rehearsals alone, where it makes the moment of an intervention reproducible.
    pub async fn settled(&self, event: u64, at_most: Duration) -> bool {
        self.reaches(at_most, |now| now.idle && now.event >= event).await
    }

    /// Waits until the watch is over, or until `at_most` is. Returns whether it is over.
    pub async fn over(&self, at_most: Duration) -> bool {
        self.reaches(at_most, |_| false).await
    }

    /// Tells whether a node, or one above it, was sent a cancel.
    pub fn is_cancelled(&self, node: &NodeId) -> bool {
        self.0.borrow().cancelled.iter().any(|cancelled| node.is_within(cancelled))
    }

    async fn reaches(&self, at_most: Duration, far: impl Fn(&Standing) -> bool) -> bool {
        let mut standing = self.0.clone();
        let reached = standing.wait_for(|now| now.over || far(now));
        matches!(tokio::time::timeout(at_most, reached).await, Ok(Ok(_)))
    }
}

impl Watching {
    /// Returns a gate on this watch.
    pub fn gate(&self) -> Gate {
        self.gate.clone()
    }

    /// Waits for the trial's end.
    ///
    /// # Errors
    /// Where the watch panicked; the trial is none the worse for it.
    pub async fn join(self) -> Result<Watched, WatchError> {
        self.task.await.map_err(|error| WatchError(error.to_string()))
    }
}

/// The watch broke down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the overseer broke down: {0}")]
pub struct WatchError(pub String);

/// Starts to watch a trial.
pub fn watch<S: EventSource>(post: Post<S>) -> Watching {
    let (told, gate) = watch::channel(Standing { idle: true, ..Standing::default() });
    let task = tokio::spawn(Watchman::new(post, told).run());
    Watching { task, gate: Gate(gate) }
}

struct Watchman<S> {
    desk: Desk,
    start: Instant,
    events: S,
    meter: Arc<dyn Meter>,
    judge: Arc<dyn Judge>,
    interventions: Arc<dyn Interventions>,
    sink: Option<Box<dyn AuditSink>>,
    cancelled: CancellationToken,
    judge_timeout: Duration,
    tasks: JoinSet<Option<Input>>,
    tape: Vec<TapeLine>,
    read: Option<crate::meter::Reading>,
    written: usize,
    event: u64,
    told: watch::Sender<Standing>,
}

impl<S: EventSource> Watchman<S> {
    fn new(post: Post<S>, told: watch::Sender<Standing>) -> Self {
        let seconds = post.settings.judge.timeout_seconds;
        Watchman {
            desk: Desk::open(post.brief, post.settings),
            start: Instant::now(),
            events: post.events,
            meter: post.meter,
            judge: post.judge,
            interventions: post.interventions,
            sink: Some(post.sink),
            cancelled: post.cancelled,
            judge_timeout: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            tasks: JoinSet::new(),
            tape: Vec::new(),
            read: None,
            written: 0,
            event: 0,
            told,
        }
    }

    async fn run(mut self) -> Watched {
        self.write_out();
        loop {
            let wake = self.wake();
            // Events come first: the newest state is what everything else is judged by.
            tokio::select! {
                biased;
                () = self.cancelled.cancelled() => break,
                event = self.events.next() => match event {
                    Some(event) => {
                        self.read_meter();
                        self.event = self.event.max(event.seq);
                        self.feed(Input::Event { event });
                    }
                    None => break,
                },
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    // A task that panicked was turned into an answer inside of it.
                    if let Ok(Some(input)) = done {
                        self.feed(input);
                    }
                }
                () = tokio::time::sleep_until(wake) => {
                    self.read_meter();
                    self.feed(Input::Tick);
                }
            }
            self.tell(false);
        }
        self.read_meter();
        self.feed(Input::Ended);
        self.tasks.abort_all();
        self.tell(true);
        let verdict = self.desk.verdict().clone();
        let cost_nano_usd = self.desk.spent_nano_usd();
        let (records, decisions) = self.desk.into_logs();
        Watched { verdict, records, decisions, tape: self.tape, cost_nano_usd }
    }

    fn wake(&self) -> Instant {
        let now = Instant::now();
        let step = now + METER_STEP;
        match self.desk.deadline() {
            // A millisecond more than now, so that a deadline that does not move cannot spin.
            Some(at) => (self.start + at).clamp(now + Duration::from_millis(1), step),
            None => now + Duration::from_secs(3_600),
        }
    }

    fn read_meter(&mut self) {
        let reading = self.meter.read();
        if self.read != Some(reading) {
            self.read = Some(reading);
            self.feed(Input::Reading { reading });
        }
    }

    fn feed(&mut self, input: Input) {
        // Rounded up, so that a deadline is reached when its tick comes.
        let at_ms = u64::try_from(self.start.elapsed().as_micros().div_ceil(1_000));
        let line = TapeLine { at_ms: at_ms.unwrap_or(u64::MAX), input };
        self.desk.feed(&line);
        self.tape.push(line);
        for act in self.desk.take_acts() {
            self.start_act(act);
        }
        self.write_out();
    }

    fn start_act(&mut self, act: Act) {
        match act {
            Act::Ask { look, question, prompt } => {
                let (judge, limit) = (self.judge.clone(), self.judge_timeout);
                self.tasks.spawn(async move {
                    // The inner task catches a judge that panics.
                    let asked = tokio::spawn(async move { judge.ask(prompt).await });
                    let stop = asked.abort_handle();
                    let answer = match tokio::time::timeout(limit, asked).await {
                        Ok(Ok(result)) => Answer::from(result),
                        Ok(Err(panic)) => Answer::Failed { reason: panic.to_string() },
                        Err(_) => {
                            stop.abort();
                            Answer::TimedOut
                        }
                    };
                    Some(Input::Replied { look, question, answer })
                });
            }
            Act::Send { intervention, node, message } => {
                let interventions = self.interventions.clone();
                self.tasks.spawn(async move {
                    let sent = tokio::spawn(async move { interventions.send(node, message).await });
                    let result = match tokio::time::timeout(SEND_TIMEOUT, sent).await {
                        Ok(Ok(result)) => result.map_err(|error| error.to_string()),
                        Ok(Err(panic)) => Err(panic.to_string()),
                        Err(_) => Err("the inbox did not answer in time".to_owned()),
                    };
                    let (message, error) = match result {
                        Ok(message) => (Some(message), None),
                        Err(error) => (None, Some(error)),
                    };
                    Some(Input::Sent { intervention, message, error })
                });
            }
            Act::ForceStop { reason } => {
                let interventions = self.interventions.clone();
                // Not one of the watch's own tasks: it must go on when the events end.
                tokio::spawn(async move {
                    match interventions.force_stop(reason).await {
                        Ok(()) | Err(InterventionError::Over) => {}
                        Err(error) => tracing::error!(%error, "cannot stop the trial"),
                    }
                });
            }
        }
    }

    fn write_out(&mut self) {
        for record in &self.desk.records()[self.written..] {
            let Some(sink) = &mut self.sink else { break };
            if let Err(error) = sink.append(record) {
                tracing::warn!(%error, "the audit log cannot be written; its records are kept");
                self.sink = None;
            }
        }
        self.written = self.desk.records().len();
    }

    fn tell(&self, over: bool) {
        self.told.send_replace(Standing {
            event: self.event,
            idle: self.tasks.is_empty(),
            cancelled: self.desk.cancelled_nodes().cloned().collect(),
            over,
        });
    }
}
