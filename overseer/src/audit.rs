//! The audit log: append-only records, one JSON object a line, which tell everything that the
//! overseer saw, judged and did.

use crate::detectors::Hit;
use crate::judgement::Judgement;
use crate::meter::Reading;
use crate::rules::Refusal;
use crate::settings::{Mode, Settings};
use hone_protocol::NodeId;
use serde::{Deserialize, Serialize};

/// The version of the log's format: breaking and additive part.
pub const FORMAT: &str = "1.0";

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number in the trial's log, from 1.
    pub record: u64,
    /// Milliseconds since the trial's start, by the harness's clock.
    pub at_ms: u64,
    /// The number of the newest event that had been seen.
    pub event: u64,
    /// What is recorded.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// The watch began.
    Opened {
        /// The version of the log's format, see [`FORMAT`].
        format: String,
        /// The trial.
        trial: String,
        /// What the trial is for.
        role: String,
        /// The job's statement, as far as the judge is shown it.
        statement: String,
        /// All settings.
        settings: Box<Settings>,
    },
    /// A detector reported something.
    Detector {
        /// What it saw.
        #[serde(flatten)]
        hit: Hit,
    },
    /// The judge was asked.
    Look(Look),
    /// The judge, or a detector in its place, left a note.
    Note {
        /// Who.
        by: Author,
        /// What.
        text: String,
    },
    /// A nudge or a cancel was sent, or would have been.
    Intervention(Intervention),
    /// A nudge or a cancel was wished for and not let through.
    Refused {
        /// `nudge` or `cancel`.
        kind: InterventionKind,
        /// The node that it was for.
        node: NodeId,
        /// Who wanted it.
        by: Author,
        /// The reason that was given.
        reason: String,
        /// The rule that forbids it.
        rule: Refusal,
    },
    /// The harness put a message into the inbox, or could not.
    Sent {
        /// The number of the intervention.
        intervention: u64,
        /// The message's id in the trial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<u64>,
        /// Why it did not get out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The agent said that a message reached the node.
    Delivered {
        /// The number of the intervention.
        intervention: u64,
        /// The event that says so.
        receipt: u64,
    },
    /// What the agent did after a delivered nudge or cancel.
    Aftermath {
        /// The number of the intervention.
        intervention: u64,
        /// Its next calls, shortened.
        calls: Vec<String>,
        /// Whether the loop that led to it went on.
        went_on: bool,
        /// Whether the node ended.
        ended: bool,
    },
    /// The sandbox was asked to end the trial.
    ForcedStop {
        /// The cancel that was not carried out.
        intervention: u64,
        /// Why.
        reason: String,
    },
    /// The judge is not asked any more.
    JudgeLost {
        /// Why.
        reason: String,
    },
    /// The watch is over.
    Closed {
        /// How it ended.
        verdict: Verdict,
        /// What the judge cost, in nano-dollars.
        cost_nano_usd: u64,
        /// How often it was asked.
        looks: u64,
        /// The last reading of the trial's meter.
        reading: Reading,
        /// What a cancel saved at the most: what was left of the trial's cost limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved_at_most_nano_usd: Option<u64>,
        /// What a cancel saved if the agent had gone on at its pace to its time limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saved_at_pace_nano_usd: Option<u64>,
    },
}

impl Entry {
    /// Returns the word for what is recorded, by which a reader may choose: `nudge` and `cancel` for
    /// interventions, `verdict` for the end, and else the record's own type.
    pub fn kind(&self) -> &'static str {
        match self {
            Entry::Opened { .. } => "opened",
            Entry::Detector { .. } => "detector",
            Entry::Look(_) => "look",
            Entry::Note { .. } => "note",
            Entry::Intervention(made) => made.kind.as_str(),
            Entry::Refused { .. } => "refused",
            Entry::Sent { .. } => "sent",
            Entry::Delivered { .. } => "delivered",
            Entry::Aftermath { .. } => "aftermath",
            Entry::ForcedStop { .. } => "forced_stop",
            Entry::JudgeLost { .. } => "judge_lost",
            Entry::Closed { .. } => "verdict",
        }
    }
}

/// One look of the judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Its number, from 1.
    pub look: u64,
    /// Why it was now.
    pub why: String,
    /// The digest of the view that was shown.
    pub view_digest: String,
    /// The view's length in bytes.
    pub view_bytes: u64,
    /// The version of the prompt.
    pub prompt_version: String,
    /// The newest event that the view held.
    pub shown_event: u64,
    /// Every reply, as it came.
    pub replies: Vec<RawReply>,
    /// What came of it.
    pub outcome: LookOutcome,
    /// What it cost, in nano-dollars.
    pub cost_nano_usd: u64,
    /// Milliseconds from the question to the outcome.
    pub latency_ms: u64,
}

/// One reply of the judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawReply {
    /// The model that answered.
    pub model: String,
    /// The text as it came, cut at 4,000 characters.
    pub text: String,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What came of a look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum LookOutcome {
    /// There is a judgement.
    Judged {
        /// The judgement.
        judgement: Judgement,
        /// How many of the votes agree with it, of how many.
        votes: (u32, u32),
    },
    /// No reply could be read, the second try included.
    Unparsable,
    /// No reply came in time.
    TimedOut,
    /// The call failed.
    Failed {
        /// Why.
        reason: String,
    },
    /// The trial ended first.
    TooLate,
}

/// `nudge` or `cancel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterventionKind {
    /// A word to a node.
    Nudge,
    /// The end of a node.
    Cancel,
}

impl InterventionKind {
    /// Returns the name as it stands in records.
    pub fn as_str(self) -> &'static str {
        match self {
            InterventionKind::Nudge => "nudge",
            InterventionKind::Cancel => "cancel",
        }
    }
}

/// A nudge or a cancel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// Its number, from 1.
    pub intervention: u64,
    /// What it is.
    pub kind: InterventionKind,
    /// The node that it is for.
    pub node: NodeId,
    /// Who wanted it.
    pub by: Author,
    /// Why.
    pub reason: String,
    /// What the node, or its parent, is told.
    pub text: String,
    /// `on` where it was sent, `shadow` where it would have been.
    pub mode: Mode,
}

/// Who wanted something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "author", rename_all = "snake_case")]
pub enum Author {
    /// The judge, at a look.
    Judge {
        /// The look's number.
        look: u64,
    },
    /// A detector, where the judge could not be asked or a loop became too long.
    Detector {
        /// The detector.
        id: crate::detectors::DetectorId,
    },
}

/// How the overseer left a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The trial ended by itself.
    LetRun,
    /// The overseer ended the trial.
    Cancelled {
        /// Why.
        reason: String,
        /// Whether the sandbox had to do it.
        forced: bool,
    },
}

/// Returns the interventions of a kind that reached their node.
pub fn carried_out(
    records: &[Record],
    kind: InterventionKind,
) -> impl Iterator<Item = &Intervention> {
    let arrived = |number: u64| {
        records.iter().any(|record| match record.entry {
            Entry::Delivered { intervention, .. } | Entry::ForcedStop { intervention, .. } => {
                intervention == number
            }
            _ => false,
        })
    };
    records.iter().filter_map(move |record| match &record.entry {
        Entry::Intervention(made) if made.kind == kind && arrived(made.intervention) => Some(made),
        _ => None,
    })
}

/// Takes records as they are made. A sink that fails is told no more; the trial goes on.
pub trait AuditSink: Send {
    /// Appends one record.
    ///
    /// # Errors
    /// Where the record could not be kept.
    fn append(&mut self, record: &Record) -> std::io::Result<()>;
}

/// Keeps nothing; the records are in the [`crate::watch::Watched`] all the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl AuditSink for NoSink {
    fn append(&mut self, _record: &Record) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes each record as one JSON line, and flushes it.
#[derive(Debug)]
pub struct LineSink<W>(pub W);

impl<W: std::io::Write + Send> AuditSink for LineSink<W> {
    fn append(&mut self, record: &Record) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}

/// Writes things as JSON lines.
///
/// # Errors
/// Where one of them cannot be written as JSON.
pub fn to_lines<T: Serialize>(items: &[T]) -> Result<String, LogError> {
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        let line = serde_json::to_string(item)
            .map_err(|source| LogError::Line { line: index + 1, source })?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Reads JSON lines. A last line without its line feed was cut by a crash and is left out.
///
/// # Errors
/// Where a whole line is not as expected.
pub fn from_lines<T: serde::de::DeserializeOwned>(text: &str) -> Result<Vec<T>, LogError> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| LogError::Line { line: index + 1, source })
        })
        .collect()
}

/// Why a log cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A line is not as expected.
    #[error("line {line} of the log is not as expected")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}
