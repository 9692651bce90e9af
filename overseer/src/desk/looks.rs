//! Looks: when the judge is asked, and what is made of its replies.

use super::{Act, Desk, milliseconds, seconds};
use crate::audit::{Author, Entry, InterventionKind, Look, LookOutcome, RawReply};
use crate::detectors::Hit;
use crate::judge::{PROMPT_VERSION, Prompt, SYSTEM_PROMPT, TokenOdds};
use crate::judgement::{Judgement, parse};
use crate::render::{View, render};
use crate::rules::Refusal;
use crate::tape::Answer;
use std::time::Duration;

/// Failed looks in a row after which the judge is given up for the trial.
const MOST_FAILURES: u32 = 3;
/// Characters of a raw reply that are kept.
const REPLY_KEPT: usize = 4_000;

/// Why a look is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trigger {
    why: String,
    urgent: bool,
}

impl Trigger {
    /// One that waits until the shortest pause is over.
    pub(super) fn gentle(why: String) -> Self {
        Trigger { why, urgent: false }
    }

    /// One that waits for nothing.
    pub(super) fn urgent(why: String) -> Self {
        Trigger { why, urgent: true }
    }
}

/// A look whose replies are awaited.
#[derive(Clone, Debug)]
pub(super) struct OpenLook {
    record: Look,
    since: Duration,
    /// What was known, as data; the whole view can be drawn again from the tape.
    state: serde_json::Value,
    prompt: Prompt,
    /// Questions that are out.
    open: u32,
    /// Questions that were ever asked.
    asked: u32,
    /// Questions that may still be asked again.
    retries: u32,
    votes: Vec<Judgement>,
    odds: Vec<TokenOdds>,
    failure: Option<LookOutcome>,
    lost: Option<String>,
}

impl Desk {
    /// Wants a look soon; the more urgent reason stays.
    pub(super) fn want_look(&mut self, trigger: Trigger) {
        let keep = self.trigger.as_ref().is_some_and(|known| known.urgent || !trigger.urgent);
        if !keep {
            self.trigger = Some(trigger);
        }
    }

    /// Returns when the next look is due, if one can be.
    pub(super) fn look_due(&self) -> Option<Duration> {
        if self.judge_lost || self.look.is_some() || self.stopped {
            return None;
        }
        let wanted = self.trigger.as_ref().map(|trigger| match self.last_look {
            Some(last) if !trigger.urgent => last + seconds(self.settings.cadence.shortest_seconds),
            // The first moments of a trial have nothing to show, unless a detector says so.
            None if !trigger.urgent => seconds(
                self.settings.cadence.shortest_seconds.min(self.settings.cadence.first_seconds),
            ),
            _ => Duration::ZERO,
        });
        Some(wanted.map_or(self.next_look, |wanted| wanted.min(self.next_look)))
    }

    pub(super) fn look_if_due(&mut self) {
        let due = self.look_due().is_some_and(|due| due <= self.at);
        if !due {
            return;
        }
        if self.spent_nano_usd >= self.settings.judge.cap_nano_usd {
            self.lose_judge("the overseer's cap for this trial is spent");
            return;
        }
        let why = self.trigger.take().map_or_else(|| "cadence".to_owned(), |trigger| trigger.why);
        self.looks += 1;
        let standing = self.detectors.standing();
        let sent = self.sent_lines();
        let text = render(
            &View {
                role: &self.brief.role,
                statement: &self.brief.statement,
                look: self.looks,
                why: &why,
                at: self.at,
                graph: &self.graph,
                reading: &self.reading,
                hits: &standing,
                sent: &sent,
                notes: &self.notes,
            },
            &self.settings.view,
        );
        let view_digest = blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
        let state = serde_json::json!({
            "look": self.looks, "why": why, "view_digest": view_digest,
            "elapsed_seconds": self.at.as_secs_f64(), "meter": self.reading,
            "hits": standing.iter().take(16).collect::<Vec<_>>(),
            "calls": self.graph.done_within(&hone_protocol::NodeId::root()).calls,
            "files_changed": self.graph.changed().len(), "messages_sent": sent.len(),
        });
        let prompt = Prompt {
            system: SYSTEM_PROMPT.to_owned(),
            user: text,
            reply_tokens: self.settings.judge.reply_tokens,
        };
        let votes = self.settings.judge.votes.clamp(1, 16);
        for question in 0..votes {
            let prompt = prompt.clone();
            self.acts.push(Act::Ask { look: self.looks, question, prompt });
        }
        self.look = Some(OpenLook {
            record: Look {
                look: self.looks,
                why,
                view_digest,
                view_bytes: prompt.user.len() as u64,
                prompt_version: PROMPT_VERSION.to_owned(),
                shown_event: self.event,
                replies: Vec::new(),
                outcome: LookOutcome::TooLate,
                cost_nano_usd: 0,
                latency_ms: 0,
            },
            since: self.at,
            state,
            prompt,
            open: votes,
            asked: votes,
            retries: votes,
            votes: Vec::new(),
            odds: Vec::new(),
            failure: None,
            lost: None,
        });
    }

    pub(super) fn take_reply(&mut self, look: u64, answer: &Answer) {
        let Some(open) = self.look.as_mut().filter(|open| open.record.look == look) else { return };
        open.open = open.open.saturating_sub(1);
        match answer {
            Answer::Reply { text, model, cost_nano_usd, tokens } => {
                self.spent_nano_usd += cost_nano_usd;
                open.record.cost_nano_usd += cost_nano_usd;
                let parsed = parse(text, &self.settings.cadence);
                open.record.replies.push(RawReply {
                    model: model.clone(),
                    text: text.chars().take(REPLY_KEPT).collect(),
                    error: parsed.as_ref().err().map(ToString::to_string),
                });
                match parsed {
                    Ok(judgement) => {
                        if open.odds.is_empty() {
                            open.odds.clone_from(tokens);
                        }
                        open.votes.push(judgement);
                    }
                    Err(error) if open.retries > 0 => {
                        open.retries -= 1;
                        open.open += 1;
                        let mut prompt = open.prompt.clone();
                        prompt.user.push_str(&format!(
                            "\nYour last reply could not be used: {error}. Answer with the JSON \
                             object alone.\n"
                        ));
                        let question = open.asked;
                        open.asked += 1;
                        self.acts.push(Act::Ask { look, question, prompt });
                    }
                    Err(_) => {
                        open.failure.get_or_insert(LookOutcome::Unparsable);
                    }
                }
            }
            Answer::TimedOut => {
                open.failure.get_or_insert(LookOutcome::TimedOut);
            }
            Answer::Failed { reason } => {
                open.failure.get_or_insert(LookOutcome::Failed { reason: reason.clone() });
            }
            Answer::NoModel { reason } => {
                let reason = format!("no model: {reason}");
                open.failure.get_or_insert(LookOutcome::Failed { reason: reason.clone() });
                open.lost = Some(reason);
            }
            Answer::Unaffordable => {
                let reason = "the overseer's budget is spent".to_owned();
                open.failure.get_or_insert(LookOutcome::Failed { reason: reason.clone() });
                open.lost = Some(reason);
            }
        }
        if open.open == 0 {
            self.close_look();
        }
    }

    fn close_look(&mut self) {
        let Some(mut open) = self.look.take() else { return };
        self.last_look = Some(self.at);
        open.record.latency_ms = milliseconds(self.at - open.since);
        let votes = majority_first(open.votes);
        match votes.first().cloned() {
            Some(judgement) => {
                self.failures = 0;
                let agree = votes.iter().filter(|vote| alike(vote, &judgement)).count();
                let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                open.record.outcome = LookOutcome::Judged {
                    judgement: judgement.clone(),
                    votes: (count(agree), count(votes.len())),
                };
                let rows = self.moment().judged(&votes, &open.odds, &open.state);
                self.decisions.extend(rows);
                let look = open.record.look;
                self.next_look = self.at + seconds(judgement.next_look_seconds);
                self.record(Entry::Look(open.record));
                self.take_judgement(look, &judgement);
            }
            None => {
                self.failures += 1;
                open.record.outcome = open.failure.unwrap_or(LookOutcome::Unparsable);
                self.next_look = self.at + seconds(self.settings.cadence.default_seconds);
                self.record(Entry::Look(open.record));
                match open.lost {
                    Some(reason) => self.lose_judge(&reason),
                    None if self.failures >= MOST_FAILURES => {
                        self.lose_judge("it failed three times in a row");
                    }
                    None => self.fall_back(),
                }
            }
        }
    }

    fn take_judgement(&mut self, look: u64, judgement: &Judgement) {
        let by = || Author::Judge { look };
        if !judgement.notes.is_empty() {
            self.notes.clone_from(&judgement.notes);
            self.record(Entry::Note { by: by(), text: judgement.notes.clone() });
        }
        let node = &judgement.node;
        if let Some(wish) = &judgement.cancel {
            let refused = self.wish(InterventionKind::Cancel, node, by(), wish, None).err();
            // A cancel that came before any nudge becomes a nudge, when a detector sees it too.
            let standing = self.detectors.standing();
            let seen = standing.iter().any(|hit| hit.node.is_within(node));
            if refused == Some(Refusal::NoNudgeBefore) && seen && judgement.nudge.is_none() {
                let _ = self.wish(InterventionKind::Nudge, node, by(), wish, None);
            }
            if refused.is_none() {
                return;
            }
        }
        if let Some(wish) = &judgement.nudge {
            // A refusal is in the records, and nothing else follows from it.
            let _ = self.wish(InterventionKind::Nudge, node, by(), wish, None);
        }
    }

    /// Gives the judge up for this trial; from now on the detectors act.
    fn lose_judge(&mut self, reason: &str) {
        self.judge_lost = true;
        self.trigger = None;
        self.record(Entry::JudgeLost { reason: reason.to_owned() });
        self.fall_back();
    }

    /// Acts on what the detectors see, in place of the judge.
    fn fall_back(&mut self) {
        let standing: Vec<Hit> = self.detectors.standing().into_iter().cloned().collect();
        for hit in &standing {
            self.act_on(hit);
        }
    }

    pub(super) fn close_late_look(&mut self) {
        if let Some(mut open) = self.look.take() {
            open.record.latency_ms = milliseconds(self.at - open.since);
            self.record(Entry::Look(open.record));
        }
    }
}

/// Puts the judgement that most votes agree with first; of equal ones the mildest.
fn majority_first(mut votes: Vec<Judgement>) -> Vec<Judgement> {
    let rank = |vote: &Judgement, votes: &[Judgement]| {
        let agree = votes.iter().filter(|other| alike(vote, other)).count();
        let severity = u8::from(vote.nudge.is_some()) + 2 * u8::from(vote.cancel.is_some());
        (std::cmp::Reverse(agree), severity)
    };
    let snapshot = votes.clone();
    votes.sort_by_key(|vote| rank(vote, &snapshot));
    votes
}

/// Tells whether two judgements come to the same.
fn alike(one: &Judgement, other: &Judgement) -> bool {
    let acts = one.nudge.is_some() || one.cancel.is_some();
    one.cancel.is_some() == other.cancel.is_some()
        && one.nudge.is_some() == other.nudge.is_some()
        && one.looping == other.looping
        && (!acts || one.node == other.node)
}
