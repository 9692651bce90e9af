//! The overseer of a trial: what the gateway has for it, and what the archive keeps of it.
//!
//! ```text
//! door ── events ──► start() ──► copy (the trace)      never waits for the watch
//!                       └──────► hone_overseer::watch  meter, judge, inbox, stop
//! Watch::finish() ──► Watched ──► tape file beside the traces, Audit record in the ledger
//! ```
//!
//! | file | part |
//! |---|---|
//! | `judge` | a judge over a desk of the gateway |
//! | `reach` | the trial's inbox and its stop as the overseer's interventions |
//! | [`pacing`] | rehearsals wait for their overseer, so that it acts at the same step each time |
//! | [`filing`] | the tape file and the audit record, written and read |

pub mod filing;
mod judge;
pub mod pacing;
mod reach;

#[cfg(test)]
pub(crate) mod tests;

pub use filing::{FilingError, Subject};
pub use judge::DeskJudge;
pub use pacing::Pacing;
pub use reach::Stop;

use hone_gateway::{Gateway, LineSpec, NanoUsd, SpendRole, TrialDoor, TrialMeter};
use hone_overseer::audit::{Entry, InterventionKind, Verdict, carried_out};
use hone_overseer::{Brief, Mode, NoJudge, NoSink, Post, Reading, Settings, Watching};
use hone_protocol::{Event, Limits, Role};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long the end of a trial waits for its overseer at most: it only has to write its last records.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The steps in which seconds are read. Every change of a reading is on the tape, and the clock always
/// changes; a quarter is also exact as a decimal.
const CLOCK_STEPS: f64 = 4.0;

/// What a trial's overseer is started with.
#[derive(Clone, Debug)]
pub struct WatchOrder {
    /// The trial's id, which its door has too.
    pub trial: String,
    /// What the trial is for.
    pub role: Role,
    /// The job's statement.
    pub statement: String,
    /// All settings of the overseer.
    pub settings: Settings,
    /// The work directory inside the sandbox.
    pub workdir: String,
    /// Paths that are guarded besides those of the settings.
    pub guarded: Guarded,
    /// The job's limits.
    pub limits: Limits,
    /// The agent that the judge's cost is counted for.
    pub agent: u64,
    /// The iteration that the judge's cost is counted for.
    pub iteration: Option<u64>,
    /// Makes a rehearsal wait for its overseer; its pace was given to the door.
    pub pacing: Option<Pacing>,
    /// Ends the agent's command when it ignores a cancel.
    pub stop: Stop,
}

/// Paths that the agent of a trial must leave alone. Relative ones are relative to the work directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Tests and graders; writing to them is a grave matter.
    pub graders: Vec<String>,
    /// What a change must not touch.
    pub protected: Vec<String>,
    /// Paths outside the work directory that may be read.
    pub readable: Vec<String>,
}

impl Guarded {
    /// Returns what is guarded in a job that improves or repairs an agent.
    pub fn of_improvement() -> Self {
        Guarded { protected: vec!["protocol".to_owned()], ..Guarded::default() }
    }

    /// Returns what is guarded in a benchmark trial with these tests and graders.
    pub fn of_benchmark(graders: Vec<String>) -> Self {
        Guarded { graders, ..Guarded::default() }
    }
}

/// The overseer of a running trial.
pub struct Watch {
    /// None where the overseer is off.
    watching: Option<Watching>,
    judge: Option<DeskJudge>,
    over: CancellationToken,
}

/// Starts the overseer of a trial. Each event goes to `copy` first, whatever becomes of the overseer.
///
/// It always starts: where the judge's desk cannot be opened, the detectors rule alone. Must be called
/// within a tokio runtime.
pub fn start(
    gateway: &Gateway,
    door: &TrialDoor,
    mut events: mpsc::Receiver<Event>,
    copy: mpsc::UnboundedSender<Event>,
    order: WatchOrder,
) -> Watch {
    let over = CancellationToken::new();
    let off = order.settings.mode == Mode::Off;
    let (to_watch, watched) = mpsc::unbounded_channel();
    // A task of its own, so that neither a slow trace nor a broken watch holds up the door.
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if !off {
                // A watch that ended early misses the rest; the trace does not.
                let _ = to_watch.send(event.clone());
            }
            let _ = copy.send(event);
        }
    });
    if off {
        return Watch { watching: None, judge: None, over };
    }
    let judge = open_judge(gateway, &order);
    let asked: Arc<dyn hone_overseer::Judge> = match &judge {
        Some(judge) => Arc::new(judge.clone()),
        None => Arc::new(NoJudge),
    };
    let settings = settings(order.settings, &order.workdir, &order.guarded);
    let watching = hone_overseer::watch(Post {
        brief: Brief {
            trial: order.trial,
            role: role_name(order.role).to_owned(),
            statement: order.statement,
        },
        settings,
        events: watched,
        meter: Arc::new(meter(door.meter(), order.limits)),
        judge: asked,
        interventions: Arc::new(reach::Reach::new(door.inbox(), order.stop)),
        sink: Box::new(NoSink),
        cancelled: over.clone(),
    });
    if let Some(pacing) = &order.pacing {
        pacing.follow(watching.gate());
    }
    Watch { watching: Some(watching), judge, over }
}

fn open_judge(gateway: &Gateway, order: &WatchOrder) -> Option<DeskJudge> {
    let spec = LineSpec {
        agent: Some(order.agent),
        iteration: order.iteration,
        cap: Some(NanoUsd(order.settings.judge.cap_nano_usd)),
        ..LineSpec::new(format!("{}.overseer", order.trial), SpendRole::Overseer)
    };
    DeskJudge::open(gateway, spec)
        .inspect_err(|error| {
            tracing::warn!(trial = order.trial, "the overseer has no judge: {error}");
        })
        .ok()
}

/// Adds a trial's own guarded paths to the settings.
fn settings(mut settings: Settings, workdir: &str, guarded: &Guarded) -> Settings {
    settings.paths.work_directory = workdir.to_owned();
    settings.paths.graders.extend(guarded.graders.iter().cloned());
    settings.paths.protected.extend(guarded.protected.iter().cloned());
    settings.paths.readable.extend(guarded.readable.iter().cloned());
    settings
}

/// Returns the word for a role in records.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Solve => "solve",
        Role::Improve => "improve",
        Role::Repair => "repair",
    }
}

/// Reads a trial's meter as the overseer does; the trial's clock starts now.
fn meter(meter: TrialMeter, limits: Limits) -> impl Fn() -> Reading + Send + Sync {
    let started = Instant::now();
    move || {
        let now = meter.reading();
        let seconds = now.trial_seconds(started.elapsed());
        Reading {
            calls: now.calls,
            open_calls: now.open,
            prompt_tokens: now.usage.prompt(),
            output_tokens: now.usage.output,
            cost_nano_usd: now.cost.0,
            cost_limit_nano_usd: NanoUsd::from_usd(limits.usd).0,
            seconds: (seconds * CLOCK_STEPS).floor() / CLOCK_STEPS,
            seconds_limit: limits.seconds,
        }
    }
}

impl Watch {
    /// Waits for the overseer's last records. To be called once the door is closed, which ends the
    /// events; where they do not end, the watch is ended all the same.
    pub async fn finish(self) -> Watched {
        let watched = match self.watching {
            None => None,
            Some(watching) => {
                let over = self.over.clone();
                let impatience = tokio::spawn(async move {
                    tokio::time::sleep(LAST_WORDS).await;
                    over.cancel();
                });
                let joined = watching.join().await;
                impatience.abort();
                joined.inspect_err(|error| tracing::error!(%error, "a trial has no audit log")).ok()
            }
        };
        let cost = match self.judge {
            Some(judge) => judge.close().await,
            None => NanoUsd::ZERO,
        };
        Watched { watched, cost }
    }
}

/// Everything that the overseer of a trial leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// None where the overseer was off, or broke down.
    watched: Option<hone_overseer::Watched>,
    /// What the judge's calls cost, those that came to nothing included.
    cost: NanoUsd,
}

impl Watched {
    /// Returns the overseer's logs; none where it was off or broke down.
    pub fn logs(&self) -> Option<&hone_overseer::Watched> {
        self.watched.as_ref()
    }

    /// Returns what the judge cost.
    pub fn cost(&self) -> NanoUsd {
        self.cost
    }

    /// Tells whether the trial's verdict is `cancelled`, and why, see [`cancelled`].
    pub fn cancelled(&self, achieved: Achieved) -> Option<String> {
        cancelled(&self.watched.as_ref()?.records, achieved)
    }
}

/// Tells from an audit log whether the trial's verdict is `cancelled`, and why: the overseer ended the
/// trial, or it ended a node of it and the trial then achieved nothing.
pub fn cancelled(records: &[hone_overseer::Record], achieved: Achieved) -> Option<String> {
    let whole = records.iter().find_map(|record| match &record.entry {
        Entry::Closed { verdict: Verdict::Cancelled { reason, .. }, .. } => Some(reason.clone()),
        _ => None,
    });
    whole.or_else(|| match achieved {
        Achieved::Something => None,
        Achieved::Nothing => carried_out(records, InterventionKind::Cancel)
            .next()
            .map(|made| format!("node {} was cancelled: {}", made.node, made.reason)),
    })
}

/// Whether a trial came to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Achieved {
    /// It handed in an answer, or left a change, that scores.
    Something,
    /// It did not.
    Nothing,
}
