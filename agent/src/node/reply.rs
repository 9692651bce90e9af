//! Gets one whole reply of the model, in several rounds when it is cut.

use super::steps::Steps;
use crate::context::window::Part;
use crate::markup::call::{Place, STOP};
use crate::markup::{Block, CallKind, Reading, call};
use crate::model::{Finish, Reply};
use crate::trial::TrialEnd;
use hone_protocol::EventKind;

/// How often a reply that was cut is gone on with.
pub(super) const MOST_ROUNDS: u32 = 5;

/// How much of the end of a cut reply is repeated to the model.
const SHOWN_END: usize = 80;

/// How much of a context is kept that was too long for the model.
const SHRINK: f64 = 0.7;

/// What a reply came to.
pub(super) enum Said {
    /// It was read to its end.
    Whole(Reading),
    /// It was cut, and not finished in the rounds that it has.
    Unfinished,
}

impl Steps {
    /// Asks the model until its reply is whole. The rounds are added to the dialogue as they were.
    pub(super) async fn reply(&mut self, status: &str) -> Result<Said, TrialEnd> {
        let mut text = String::new();
        let mut status = status.to_owned();
        let mut stop: &[&str] = &STOP;
        for _ in 0..=MOST_ROUNDS {
            let reply = self.complete(&status, stop).await?;
            status.clear();
            text.push_str(&reply.text);
            let mut added = reply.text.clone();
            let reading = call::read(&text);
            let Some(cut) = Cut::of(&reply, &reading) else {
                self.window.said(added);
                return Ok(Said::Whole(reading));
            };
            if let Some(stop_text) = cut.stop_text {
                text.push_str(stop_text);
                added.push_str(stop_text);
            }
            // An empty message is not allowed everywhere.
            self.window.said(if added.is_empty() { "…".to_owned() } else { added });
            match (cut.go_on, call::read(&text)) {
                (false, reading) => return Ok(Said::Whole(reading)),
                (true, reading @ Reading::Call { .. }) => return Ok(Said::Whole(reading)),
                (true, _) => {}
            }
            if cut.stop_text.is_some() {
                // The text is full of what would stop it again.
                stop = &[];
            }
            let notice =
                Block::new("NOTICE").with("kind", "limit").around(&going_on(&text, cut.inside));
            self.window.tell(Part::Text(notice));
        }
        Ok(Said::Unfinished)
    }

    /// Asks the model once.
    pub(super) async fn complete(
        &mut self,
        status: &str,
        stop: &[&str],
    ) -> Result<Reply, TrialEnd> {
        let trial = self.desk.trial.clone();
        let model = trial.alias(self.agent.model);
        let (messages, reply) = loop {
            let messages = self.window.messages(status);
            let (node, event) = (&self.desk.node, trial.events.last());
            match trial.gateway.complete(node, event, model, &messages, stop).await {
                Ok(reply) => break (messages, reply),
                Err(error) if error.is_spent() => return Err(TrialEnd::Spent(error.to_string())),
                // The estimate was wrong, or the model takes less than the job says.
                Err(error) if error.is_too_long() => {
                    if !self.forget_oldest(self.used() * SHRINK) {
                        return Err(TrialEnd::Gateway(error));
                    }
                }
                Err(error) => return Err(TrialEnd::Gateway(error)),
            }
        };
        if let Some(usage) = &reply.usage {
            trial.count(usage);
            self.gauge.learn(messages.iter().map(|message| message.content.len()).sum(), usage);
        }
        if !reply.reasoning.is_empty() {
            self.desk.emit(EventKind::Reasoning { text: reply.reasoning.clone() });
        }
        Ok(reply)
    }
}

/// What to do about a reply that ends inside a call, or at its limit of tokens.
struct Cut {
    /// The stop text that ended it and belongs to it.
    stop_text: Option<&'static str>,
    /// Whether the model has to go on.
    go_on: bool,
    /// The argument that is not closed yet.
    inside: Option<(String, String)>,
}

impl Cut {
    fn of(reply: &Reply, reading: &Reading) -> Option<Self> {
        let (kind, place) = match reading {
            Reading::Cut { kind, place, .. } => (*kind, Some(place)),
            Reading::NoCall if reply.finish == Finish::Length => (CallKind::Tool, None),
            Reading::NoCall | Reading::Call { .. } | Reading::Wrong { .. } => return None,
        };
        let inside = match place {
            Some(Place::Argument { name, closing, .. }) => Some((name.clone(), closing.clone())),
            Some(Place::Closing | Place::Tags) | None => None,
        };
        if reply.finish == Finish::Length {
            return Some(Cut { stop_text: None, go_on: true, inside });
        }
        let stopped_at = reply.stopped_at.as_deref();
        let stop_text = STOP.into_iter().find(|stop| stopped_at == Some(*stop));
        let slipped = matches!(place, Some(Place::Argument { slipped: true, .. }));
        let go_on = inside.is_some() && !slipped;
        Some(Cut { stop_text: stop_text.or(Some(kind.closing())), go_on, inside })
    }
}

fn going_on(text: &str, inside: Option<(String, String)>) -> String {
    let start = text.char_indices().rev().nth(SHOWN_END).map_or(0, |(start, _)| start);
    let place = match inside {
        Some((name, closing)) => {
            format!(" It ends inside the argument `{name}`, which {closing} will close.")
        }
        None => String::new(),
    };
    format!(
        "Your reply was cut.{place} Go on exactly where it ends: the next character, nothing repeated, \
         nothing in front. Its end is:\n{}",
        &text[start..]
    )
}
