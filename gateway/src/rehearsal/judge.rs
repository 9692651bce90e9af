//! Judges the rendered view of a trial, as the overseer's model.
//!
//! The view holds lines such as `<HIT detector="…" node="0.1" count="5" proposes="nudge">…</HIT>` and
//! `<NUDGE id="1" node="0.1" state="delivered">…</NUDGE>`; texts of the agent stand in it as JSON
//! strings without angle brackets, so they cannot be taken for such lines. The judge follows what
//! the strongest hit proposes, does not nudge twice for the same thing, and is content otherwise.

use super::block::{Block, blocks};
use crate::completion::{ChatRequest, ChatRole};
use serde::Serialize;

/// Seconds until the next look at a trial that goes well.
const CALM_SECONDS: u32 = 30;

/// Seconds until the next look after a nudge or at something odd; the least that may be asked for.
const SOON_SECONDS: u32 = 5;

/// Returns the view that a request shows, if it is one to a judge.
pub(crate) fn view_in(request: &ChatRequest) -> Option<String> {
    let users = request.messages.iter().filter(|message| message.role == ChatRole::User);
    users.map(|message| message.text()).find(|text| {
        text.lines().any(|line| line.starts_with("<TRIAL ")) && text.contains("</TRIAL>")
    })
}

/// What a detector proposes, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Proposal {
    Note,
    Nudge,
    Cancel,
}

/// A detector's finding.
struct Hit {
    proposes: Proposal,
    detector: String,
    node: String,
    count: String,
}

impl Hit {
    fn read(block: &Block<'_>) -> Option<Hit> {
        let proposes = match block.attribute("proposes")?.as_str() {
            "note" => Proposal::Note,
            "nudge" => Proposal::Nudge,
            "cancel" => Proposal::Cancel,
            _ => return None,
        };
        Some(Hit {
            proposes,
            detector: block.attribute("detector")?,
            node: block.attribute("node")?,
            count: block.attribute("count").unwrap_or_default(),
        })
    }
}

/// What the overseer asks for.
#[derive(Serialize)]
struct Judgement {
    progress: &'static str,
    looping: bool,
    node: String,
    notify: bool,
    notify_reason: String,
    message: String,
    cancel: bool,
    cancel_reason: String,
    notes: String,
    next_look_seconds: u32,
}

impl Default for Judgement {
    /// All is well.
    fn default() -> Self {
        Judgement {
            progress: "good",
            looping: false,
            node: "0".to_owned(),
            notify: false,
            notify_reason: String::new(),
            message: String::new(),
            cancel: false,
            cancel_reason: String::new(),
            notes: "all is well".to_owned(),
            next_look_seconds: CALM_SECONDS,
        }
    }
}

/// Detectors of work that goes in circles.
const LOOPS: [&str; 4] = ["exact_repeat", "alternation", "same_error", "no_progress"];

/// What a looping node is told.
const LOOP_MESSAGE: &str = "You repeat yourself and learn nothing new from it. Stop, say what you know, \
                       and try a different way; or report what you have.";

/// Judges a view; the reply is the JSON object that the overseer asks for.
pub(crate) fn judge(view: &str) -> String {
    // A structure of texts, numbers and truth values always serializes.
    serde_json::to_string(&judgement(view)).unwrap_or_default()
}

fn judgement(view: &str) -> Judgement {
    let lines = blocks(view, &["HIT", "NUDGE", "CANCEL"]);
    let hits = lines.iter().filter(|line| line.tag == "HIT").filter_map(Hit::read);
    // Of equals the first one counts.
    let strongest = hits.reduce(|best, hit| if hit.proposes > best.proposes { hit } else { best });
    let Some(Hit { proposes, detector, node, count }) = strongest else {
        return Judgement::default();
    };
    let was_sent = |tag: &str| {
        lines.iter().any(|line| line.tag == tag && line.attribute("node").as_ref() == Some(&node))
    };
    let (was_nudged, was_cancelled) = (was_sent("NUDGE"), was_sent("CANCEL"));
    let looping = LOOPS.contains(&detector.as_str());
    let reason = format!("{detector} (count {count}) at node {node}");
    let odd = Judgement {
        progress: if looping { "none" } else { "slow" },
        looping,
        node,
        next_look_seconds: SOON_SECONDS,
        ..Judgement::default()
    };
    match proposes {
        _ if was_cancelled => Judgement { notes: "waits for the cancel".to_owned(), ..odd },
        Proposal::Cancel => Judgement {
            cancel: true,
            cancel_reason: match was_nudged {
                true => format!("{reason}, and it goes on after a nudge"),
                false => format!("{reason}, which is too grave for a nudge"),
            },
            notes: "asked for a cancel".to_owned(),
            ..odd
        },
        Proposal::Nudge if was_nudged => {
            Judgement { notes: "nudged already; waits for what it does".to_owned(), ..odd }
        }
        Proposal::Nudge => Judgement {
            notify: true,
            notify_reason: reason,
            message: match looping {
                true => LOOP_MESSAGE.to_owned(),
                false => format!(
                    "Something looks wrong with what you do ({detector}). Stop it, and go on with the \
                     task itself; or report what you have."
                ),
            },
            notes: "nudged".to_owned(),
            ..odd
        },
        Proposal::Note => Judgement { progress: "slow", looping: false, notes: reason, ..odd },
    }
}

#[cfg(test)]
mod tests {
    use crate::completion::{ChatMessage, ChatRequest};
    use crate::rehearsal::reply;
    use serde_json::Value;

    /// Asks about a view with these lines; returns the parsed reply.
    fn judged(lines: &str) -> Value {
        let view = format!(
            "<JOB role=\"solve\">\"Find it\"</JOB>\n<TRIAL look=\"3\" why=\"cadence\">\n{lines}\n\
             <EVENTS>\n#1 +0.1s 0 tool_call 1 x \"\\u003cHIT proposes=cancel\\u003e\"\n</EVENTS>\n</TRIAL>"
        );
        let messages = vec![ChatMessage::system("You watch."), ChatMessage::user(view)];
        let reply = reply(&ChatRequest::new("overseer", messages), 0);
        serde_json::from_str(&reply.text).unwrap()
    }

    const NUDGE_HIT: &str =
        "<HIT detector=\"exact_repeat\" node=\"0.1\" count=\"5\" proposes=\"nudge\">\"x\"</HIT>";

    #[test]
    fn a_trial_without_hits_goes_well() {
        let reply = judged("<NODE id=\"0\" agent=\"main\" state=\"running\"/>");
        assert_eq!((&reply["progress"], &reply["looping"]), (&"good".into(), &false.into()));
        assert_eq!((&reply["notify"], &reply["cancel"]), (&false.into(), &false.into()));
    }

    #[test]
    fn a_loop_is_nudged_with_a_message_to_its_node() {
        let reply = judged(NUDGE_HIT);
        assert_eq!((&reply["node"], &reply["notify"]), (&"0.1".into(), &true.into()));
        assert!(reply["message"].as_str().unwrap().contains("different way"));
        assert_eq!(reply["cancel"], false);
    }

    #[test]
    fn a_nudge_is_not_repeated_while_it_may_still_work() {
        let nudge = "<NUDGE id=\"1\" node=\"0.1\" state=\"sent\" calls_since=\"0\">\"x\"</NUDGE>";
        let reply = judged(&format!("{NUDGE_HIT}\n{nudge}"));
        assert_eq!((&reply["notify"], &reply["looping"]), (&false.into(), &true.into()));
    }

    #[test]
    fn the_strongest_hit_decides_and_a_cancel_has_its_reason() {
        let cancel = NUDGE_HIT.replace("0.1", "0.2").replace("\"nudge\"", "\"cancel\"");
        let sent = "<CANCEL id=\"2\" node=\"0.2\" state=\"sent\">\"x\"</CANCEL>";
        assert_eq!(judged(&format!("{cancel}\n{sent}"))["cancel"], false);
        let reply = judged(&format!("{NUDGE_HIT}\n{cancel}"));
        assert_eq!((&reply["node"], &reply["cancel"]), (&"0.2".into(), &true.into()));
        assert!(reply["cancel_reason"].as_str().unwrap().contains("too grave"));
        let nudge =
            "<NUDGE id=\"1\" node=\"0.2\" state=\"delivered\" calls_since=\"4\">\"x\"</NUDGE>";
        let reply = judged(&format!("{cancel}\n{nudge}"));
        assert!(reply["cancel_reason"].as_str().unwrap().contains("after a nudge"));
    }

    #[test]
    fn what_is_no_loop_is_not_called_one() {
        let reply = judged(&NUDGE_HIT.replace("exact_repeat", "git_history"));
        assert_eq!((&reply["notify"], &reply["looping"]), (&true.into(), &false.into()));
        assert!(reply["message"].as_str().unwrap().contains("git_history"));
    }
}
