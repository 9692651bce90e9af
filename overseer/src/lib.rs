//! The overseer: an asynchronous second pair of eyes on every trial.
//!
//! It owns detectors, the judge's prompt and reply, the rules of intervening, and the audit log. It
//! knows nothing of sandboxes, providers or the archive: events come in through a channel, and what it
//! needs from others are four small traits. It can never stall, slow or crash a trial, and nothing
//! that the agent writes can instruct it.
//!
//! In reading order:
//!
//! | file | what it holds |
//! |---|---|
//! | [`settings`] | [`Settings`]: mode, cadence, caps, rules, thresholds, guarded paths |
//! | [`meter`], [`interventions`], [`judge`] | [`Meter`], [`Interventions`], [`Judge`]: what the harness gives it |
//! | [`watch`](mod@watch) | [`watch()`]: the task of one trial, from [`Post`] to [`Watched`] |
//! | [`desk`] | the same as a state machine without a clock, which a replay uses too |
//! | [`graph`], [`fingerprint`] | the call graph that events build up; when two calls are "the same" |
//! | [`detectors`] | what is found without a model, with evidence |
//! | [`render`], [`quote`], [`judgement`] | the view that the judge is shown, and its reply |
//! | [`rules`] | what may be sent: a nudge before a cancel, and so on |
//! | [`audit`], [`tape`], [`decisions`] | what is written down |
//! | [`story`] | the audit log as a story, with filters, as lines, text and CSV |
//! | [`replay`] | a log checked against its tape; a trial judged again, with the differences |
//! | [`labels`], [`calibration`], [`score`](mod@score) | what turned out to be right, and how good the overseer was |

pub mod audit;
pub mod calibration;
pub mod decisions;
pub mod desk;
pub mod detectors;
pub mod fingerprint;
pub mod graph;
pub mod interventions;
pub mod judge;
pub mod judgement;
pub mod labels;
pub mod meter;
pub mod quote;
pub mod render;
pub mod replay;
pub mod rules;
pub mod score;
pub mod settings;
pub mod story;
pub mod tape;
pub mod watch;

pub use audit::{AuditSink, Entry, LineSink, NoSink, Record, Verdict};
pub use decisions::Decision;
pub use desk::Brief;
pub use detectors::{DetectorId, Hit, Proposal};
pub use interventions::{InterventionError, Interventions};
pub use judge::{Judge, JudgeError, NoJudge, Prompt, Reply};
pub use meter::{Meter, Reading};
pub use settings::{Mode, Settings};
pub use tape::TapeLine;
pub use watch::{EventSource, Gate, Post, WatchError, Watched, Watching, watch};
