//! The desk: the overseer of one trial as a state machine without clock, task or network.
//!
//! It is given inputs with their times and returns [`Act`]s, records and decisions. The task around
//! it ([`crate::watch()`]) does the waiting; a replay ([`crate::replay`]) feeds it a tape.
//!
//! | file | part |
//! |---|---|
//! | `looks` | when the judge is asked, and what is made of its replies |
//! | `acting` | nudges and cancels: from a wish to what came of it |

mod acting;
mod looks;

use crate::audit::{Entry, FORMAT, Intervention, InterventionKind, Record, Verdict};
use crate::decisions::{Decision, Moment};
use crate::detectors::spending::History;
use crate::detectors::{DetectorId, Detectors, Hit, Scene};
use crate::graph::CallGraph;
use crate::judge::Prompt;
use crate::meter::Reading;
use crate::rules::{Facts, Sent, nudge_state};
use crate::settings::{Mode, Settings};
use crate::tape::{Input, TapeLine};
use acting::{Aftermath, OpenCancel};
use hone_protocol::{Event, EventKind, MessageKind, NodeId};
use looks::{OpenLook, Trigger};
use std::time::Duration;

/// Seconds between two looks of the detectors that watch the clock.
const CLOCK_STEP: Duration = Duration::from_secs(5);

/// What the overseer is told about a trial before it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// The trial's id.
    pub trial: String,
    /// What it is for, such as `solve`.
    pub role: String,
    /// The job's statement.
    pub statement: String,
}

/// What the desk wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Ask the judge.
    Ask {
        /// The look.
        look: u64,
        /// The number of the question in the look, from 0.
        question: u32,
        /// The question.
        prompt: Prompt,
    },
    /// Put a message into the trial's inbox.
    Send {
        /// The number of the intervention.
        intervention: u64,
        /// The node that it is for.
        node: NodeId,
        /// The message.
        message: MessageKind,
    },
    /// Let the sandbox end the trial.
    ForceStop {
        /// Why.
        reason: String,
    },
}

/// The overseer of one trial.
#[derive(Clone, Debug)]
pub struct Desk {
    brief: Brief,
    settings: Settings,
    at: Duration,
    event: u64,
    graph: CallGraph,
    reading: Reading,
    history: History,
    detectors: Detectors,
    clock_checked: Duration,
    limits_passed: Vec<(&'static str, u32)>,
    trigger: Option<Trigger>,
    next_look: Duration,
    last_look: Option<Duration>,
    look: Option<OpenLook>,
    looks: u64,
    failures: u32,
    judge_lost: bool,
    spent_nano_usd: u64,
    notes: String,
    sent: Vec<Sent>,
    early_receipts: Vec<(u64, u64)>,
    cancels: Vec<OpenCancel>,
    aftermaths: Vec<Aftermath>,
    verdict: Verdict,
    stopped: bool,
    ended: bool,
    records: Vec<Record>,
    decisions: Vec<Decision>,
    acts: Vec<Act>,
    decided: u64,
}

impl Desk {
    /// Opens the desk at the trial's start.
    pub fn open(mut brief: Brief, settings: Settings) -> Self {
        // No view shows more, and what the log holds must be enough to draw every view again.
        let shown = settings.view.text_characters.saturating_mul(8);
        brief.statement = brief.statement.chars().take(shown).collect();
        let next_look = seconds(settings.cadence.first_seconds);
        let mut desk = Desk {
            at: Duration::ZERO,
            event: 0,
            graph: CallGraph::default(),
            reading: Reading::default(),
            history: History::default(),
            detectors: Detectors::default(),
            clock_checked: Duration::ZERO,
            limits_passed: Vec::new(),
            trigger: None,
            next_look,
            last_look: None,
            look: None,
            looks: 0,
            failures: 0,
            judge_lost: false,
            spent_nano_usd: 0,
            notes: String::new(),
            sent: Vec::new(),
            early_receipts: Vec::new(),
            cancels: Vec::new(),
            aftermaths: Vec::new(),
            verdict: Verdict::LetRun,
            stopped: false,
            ended: false,
            records: Vec::new(),
            decisions: Vec::new(),
            acts: Vec::new(),
            decided: 0,
            brief,
            settings,
        };
        desk.record(Entry::Opened {
            format: FORMAT.to_owned(),
            trial: desk.brief.trial.clone(),
            role: desk.brief.role.clone(),
            statement: desk.brief.statement.clone(),
            settings: Box::new(desk.settings.clone()),
        });
        desk
    }

    /// Takes in one input. Times never run backwards; an earlier one counts as now.
    pub fn feed(&mut self, line: &TapeLine) {
        self.at = self.at.max(Duration::from_millis(line.at_ms));
        if self.ended || self.settings.mode == Mode::Off {
            return;
        }
        match &line.input {
            Input::Event { event } => self.take_event(event),
            Input::Reading { reading } => self.take_reading(*reading),
            Input::Tick => {}
            Input::Replied { look, answer, .. } => self.take_reply(*look, answer),
            Input::Sent { intervention, message, error } => {
                self.take_sent(*intervention, *message, error.as_deref());
            }
            Input::Ended => {
                self.end();
                return;
            }
        }
        self.check_clock();
        self.check_cancels();
        self.look_if_due();
    }

    /// Returns when the desk wants a [`Input::Tick`] at the latest.
    pub fn deadline(&self) -> Option<Duration> {
        if self.ended || self.settings.mode == Mode::Off {
            return None;
        }
        let clock = Some(self.clock_checked + CLOCK_STEP);
        let cancel = self.cancels.iter().map(|cancel| cancel.deadline).min();
        [clock, cancel, self.look_due()].into_iter().flatten().min()
    }

    /// Takes what is to be done.
    pub fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// Returns all records so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Tells whether the judge is being asked.
    pub fn is_looking(&self) -> bool {
        self.look.is_some()
    }

    /// Returns the nodes that were sent a cancel; in the shadow none is.
    pub fn cancelled_nodes(&self) -> impl Iterator<Item = &NodeId> {
        let is_cancel = |sent: &&Sent| sent.kind == InterventionKind::Cancel;
        let sent = self.sent.iter().filter(|_| self.settings.mode == Mode::On);
        sent.filter(is_cancel).map(|sent| &sent.node)
    }

    /// Returns how the overseer left the trial, as far as it is known.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Returns what the judge cost so far, in nano-dollars.
    pub fn spent_nano_usd(&self) -> u64 {
        self.spent_nano_usd
    }

    /// Closes the desk and returns records and decisions.
    pub fn into_logs(self) -> (Vec<Record>, Vec<Decision>) {
        (self.records, self.decisions)
    }

    fn take_event(&mut self, event: &Event) {
        self.event = self.event.max(event.seq);
        self.graph.apply(self.at, event, self.settings.view.text_characters);
        self.history.event(self.reading.calls);
        if let EventKind::NudgeReceived { message } | EventKind::CancelReceived { message } =
            event.kind
        {
            self.receipt(message, event.seq);
        }
        let scene = Scene {
            at: self.at,
            graph: &self.graph,
            reading: &self.reading,
            history: &self.history,
            settings: &self.settings,
        };
        let nudged = |node: &NodeId| nudge_state(&self.graph, &self.sent, node);
        let hits = self.detectors.on_event(&scene, event, nudged);
        let below_root = event.node != NodeId::root();
        match &event.kind {
            EventKind::AgentStarted { .. } if below_root => {
                self.want_look(Trigger::gentle(format!("sub-agent {} started", event.node)));
            }
            EventKind::AgentFinished { .. } => {
                self.detectors.node_finished(&event.node);
                if below_root {
                    self.want_look(Trigger::gentle(format!("sub-agent {} ended", event.node)));
                }
            }
            _ => {}
        }
        self.follow(event);
        self.take_hits(hits);
    }

    fn take_reading(&mut self, reading: Reading) {
        let more_calls = reading.calls != self.reading.calls;
        self.reading = reading;
        self.history.push(self.at, reading, self.graph.edits());
        for (limit, percent) in [("cost", reading.cost_percent()), ("time", reading.time_percent())]
        {
            let passed = self
                .settings
                .cadence
                .limit_percents
                .iter()
                .copied()
                .filter(|mark| percent >= f64::from(*mark))
                .max();
            let Some(mark) = passed else { continue };
            if !self.limits_passed.contains(&(limit, mark)) {
                self.limits_passed.push((limit, mark));
                self.want_look(Trigger::gentle(format!("{mark} % of the {limit} limit")));
            }
        }
        if more_calls {
            self.watch_clock();
        }
    }

    fn check_clock(&mut self) {
        if self.at >= self.clock_checked + CLOCK_STEP {
            self.watch_clock();
        }
    }

    fn watch_clock(&mut self) {
        self.clock_checked = self.at;
        let scene = Scene {
            at: self.at,
            graph: &self.graph,
            reading: &self.reading,
            history: &self.history,
            settings: &self.settings,
        };
        let nudged = |node: &NodeId| nudge_state(&self.graph, &self.sent, node);
        let hits = self.detectors.on_time(&scene, nudged);
        self.take_hits(hits);
    }

    fn take_hits(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            let decision = self.moment().fired(&hit);
            self.decisions.push(decision);
            self.record(Entry::Detector { hit: hit.clone() });
            if self.judge_lost {
                self.act_on(&hit);
            } else {
                self.want_look(Trigger::urgent(format!("detector {}", hit.detector)));
            }
        }
        self.insist();
    }

    fn end(&mut self) {
        self.ended = true;
        self.close_late_look();
        self.close_aftermaths();
        let quiet: Vec<DetectorId> = {
            let fired: Vec<DetectorId> = self.detectors.fired().collect();
            DetectorId::ALL.into_iter().filter(|id| !fired.contains(id)).collect()
        };
        let events = self.graph.event_count();
        for id in quiet {
            let decision = self.moment().quiet(id, events);
            self.decisions.push(decision);
        }
        // What was cancelled would have gone on; a trial that went on without it saved less, or nothing.
        let carried_out = |sent: &Sent| {
            sent.kind == InterventionKind::Cancel
                && sent.delivered.is_some()
                && self.settings.mode == Mode::On
        };
        let cancelled =
            matches!(self.verdict, Verdict::Cancelled { .. }) || self.sent.iter().any(carried_out);
        let reading = self.reading;
        let left = reading.cost_limit_nano_usd.saturating_sub(reading.cost_nano_usd);
        let has_limit = cancelled && reading.cost_limit_nano_usd > 0;
        let pace = (cancelled && reading.seconds > 0.0 && reading.seconds_limit > 0.0).then(|| {
            let rest = (reading.seconds_limit - reading.seconds).max(0.0);
            let more = reading.cost_nano_usd as f64 / reading.seconds * rest;
            if has_limit { (more as u64).min(left) } else { more as u64 }
        });
        self.record(Entry::Closed {
            verdict: self.verdict.clone(),
            cost_nano_usd: self.spent_nano_usd,
            looks: self.looks,
            reading,
            saved_at_most_nano_usd: has_limit.then_some(left),
            saved_at_pace_nano_usd: pace,
        });
    }

    fn moment(&mut self) -> Moment<'_> {
        self.decided += 1;
        Moment {
            trial: &self.brief.trial,
            number: self.decided,
            event: self.event,
            at_ms: milliseconds(self.at),
        }
    }

    fn facts<'a>(&'a self, standing: &'a [&'a Hit]) -> Facts<'a> {
        Facts {
            at: self.at,
            graph: &self.graph,
            sent: &self.sent,
            standing,
            rules: &self.settings.rules,
        }
    }

    fn record(&mut self, entry: Entry) {
        self.records.push(Record {
            record: self.records.len() as u64 + 1,
            at_ms: milliseconds(self.at),
            event: self.event,
            entry,
        });
    }

    fn intervention(&self, number: u64) -> Option<&Intervention> {
        self.records.iter().find_map(|record| match &record.entry {
            Entry::Intervention(made) if made.intervention == number => Some(made),
            _ => None,
        })
    }
}

/// Returns a setting in seconds as a duration; nonsense counts as zero.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn milliseconds(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}
