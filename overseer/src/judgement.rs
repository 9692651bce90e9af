//! The judge's reply, parsed and held to its format (see [`crate::judge`]).

use crate::settings::Cadence;
use hone_protocol::NodeId;
use serde::{Deserialize, Serialize};

/// Characters of a message or a note that are kept.
const TEXT_KEPT: usize = 1_000;

/// Whether the agent gets anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It does.
    Good,
    /// It does, slowly.
    Slow,
    /// It does not.
    None,
}

/// A word to a node, or its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Why.
    pub reason: String,
    /// What to tell the node; of a cancel the same as `reason`.
    pub message: String,
}

/// What the judge made of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether the agent gets anywhere.
    pub progress: Progress,
    /// Whether it is caught in a loop.
    pub looping: bool,
    /// The node judged. It may not exist.
    pub node: NodeId,
    /// The nudge that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge: Option<Wish>,
    /// The cancel that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Wish>,
    /// What it wants to remember.
    pub notes: String,
    /// Seconds until it wants to look again, within the bounds.
    pub next_look_seconds: f64,
}

/// What is wrong with a reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// There is no JSON object in it.
    #[error("there is no JSON object in the reply")]
    NoObject,
    /// The object is not as asked.
    #[error("the object is not as asked: {0}")]
    Malformed(String),
    /// A nudge says nothing.
    #[error("`notify` is true and `message` is empty")]
    NoMessage,
    /// A cancel gives no reason.
    #[error("`cancel` is true and `cancel_reason` is empty")]
    NoReason,
}

#[derive(Deserialize)]
struct Wire {
    progress: Progress,
    looping: bool,
    #[serde(default)]
    node: Option<String>,
    #[serde(default)]
    notify: Option<bool>,
    #[serde(default)]
    notify_reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    cancel: Option<bool>,
    #[serde(default)]
    cancel_reason: Option<String>,
    #[serde(default)]
    notes: Option<String>,
    #[serde(default)]
    next_look_seconds: Option<f64>,
}

/// Parses a reply.
///
/// # Errors
/// Where it holds no object in the format, or a wish without its text.
pub fn parse(reply: &str, cadence: &Cadence) -> Result<Judgement, ReplyError> {
    let wire = first_object(reply)?;
    let text = |text: Option<String>| -> String {
        text.unwrap_or_default().trim().chars().take(TEXT_KEPT).collect()
    };
    let message = text(wire.message);
    let reason = text(wire.notify_reason);
    let nudge = match wire.notify.unwrap_or(false) {
        true if message.is_empty() => return Err(ReplyError::NoMessage),
        true => Some(Wish { reason, message }),
        false => None,
    };
    let cancel_reason = text(wire.cancel_reason);
    let cancel = match wire.cancel.unwrap_or(false) {
        true if cancel_reason.is_empty() => return Err(ReplyError::NoReason),
        true => Some(Wish { reason: cancel_reason.clone(), message: cancel_reason }),
        false => None,
    };
    let seconds = wire.next_look_seconds.filter(|seconds| seconds.is_finite());
    Ok(Judgement {
        progress: wire.progress,
        looping: wire.looping,
        node: NodeId(
            wire.node.map_or_else(|| "0".to_owned(), |node| node.trim().chars().take(60).collect()),
        ),
        nudge,
        cancel,
        notes: text(wire.notes),
        next_look_seconds: clamp(seconds.unwrap_or(cadence.default_seconds), cadence),
    })
}

fn clamp(seconds: f64, cadence: &Cadence) -> f64 {
    seconds.min(cadence.longest_seconds).max(cadence.shortest_seconds)
}

/// Reads the first object that fits, and else tells what is wrong with the first that is JSON.
fn first_object(reply: &str) -> Result<Wire, ReplyError> {
    /// Places where an object may begin; more are only in nonsense.
    const TRIES: usize = 50;
    let mut error = ReplyError::NoObject;
    for (at, _) in reply.match_indices('{').take(TRIES) {
        let mut values =
            serde_json::Deserializer::from_str(&reply[at..]).into_iter::<serde_json::Value>();
        let Some(Ok(value)) = values.next() else { continue };
        match serde_json::from_value::<Wire>(value) {
            Ok(wire) => return Ok(wire),
            Err(reason) if error == ReplyError::NoObject => {
                error = ReplyError::Malformed(reason.to_string());
            }
            Err(_) => {}
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn parse(reply: &str) -> Result<Judgement, ReplyError> {
        super::parse(reply, &Cadence::default())
    }

    #[test]
    fn a_reply_in_a_fence_with_prose_around_it_is_read() {
        let reply = "I think {so}:\n```json\n{\"progress\": \"none\", \"looping\": true, \
                     \"node\": \"0.1\", \"notify\": true, \"notify_reason\": \"r\", \"message\": \
                     \"m\", \"next_look_seconds\": 1, \"mood\": \"calm\"}\n```";
        assert_eq!(
            parse(reply),
            Ok(Judgement {
                progress: Progress::None,
                looping: true,
                node: NodeId("0.1".to_owned()),
                nudge: Some(Wish { reason: "r".to_owned(), message: "m".to_owned() }),
                cancel: None,
                notes: String::new(),
                next_look_seconds: 5.0,
            })
        );
    }

    #[test]
    fn a_reply_that_breaks_a_rule_says_which() {
        assert_eq!(parse("no idea"), Err(ReplyError::NoObject));
        assert_eq!(
            parse(r#"{"progress": "good", "looping": false, "notify": true}"#),
            Err(ReplyError::NoMessage)
        );
        assert_eq!(
            parse(
                r#"{"progress": "good", "looping": false, "cancel": true, "cancel_reason": " "}"#
            ),
            Err(ReplyError::NoReason)
        );
        assert!(matches!(
            parse(r#"{"progress": "superb", "looping": false}"#),
            Err(ReplyError::Malformed(_))
        ));
    }

    #[test]
    fn the_next_look_stays_within_the_bounds() {
        let next = |seconds: &str| {
            let reply = format!(
                r#"{{"progress": "good", "looping": false, "next_look_seconds": {seconds}}}"#
            );
            parse(&reply).map(|judgement| judgement.next_look_seconds)
        };
        assert_eq!(next("1e300"), Ok(500.0));
        assert_eq!(next("-3"), Ok(5.0));
        assert_eq!(next("null"), Ok(30.0));
    }

    proptest::proptest! {
        #[test]
        fn no_reply_makes_the_parser_panic(reply in ".{0,200}") {
            let _ = parse(&reply);
        }
    }
}
