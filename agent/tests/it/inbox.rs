//! Nudges, human messages and cancels.

use crate::commands::{processes_with, wait_until};
use crate::server::Reply;
use crate::trial::{Trial, agent, tool};
use hone_protocol::{EventKind, Message, MessageKind, NodeId};
use std::time::Duration;

fn message(id: u64, node: &str, kind: MessageKind) -> Message {
    Message { id, node: NodeId(node.to_owned()), kind }
}

fn nudge(id: u64, node: &str, text: &str) -> Message {
    message(id, node, MessageKind::Nudge { text: text.to_owned() })
}

fn cancel(id: u64, node: &str, reason: &str) -> Message {
    message(id, node, MessageKind::Cancel { reason: reason.to_owned() })
}

#[test]
fn nudges_and_human_messages_appear_at_the_next_step() {
    let trial = Trial::for_coder();
    trial.server.message_when("coder", 1, nudge(1, "0.1", "You repeat yourself."));
    let human = MessageKind::Human { text: "Hurry up.".to_owned() };
    trial.server.message_when("coder", 1, message(2, "0.1", human));
    trial.server.message_when("coder", 1, nudge(3, "0", "For main."));
    let first = tool("calculate", &[("expression", "1")]);
    trial.server.script("coder", Reply::AfterMessage(3, first));
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("</TOOL_RESULT>\n<NOTICE kind=\"nudge\" id=\"1\">You repeat yourself.</NOTICE>\n<NOTICE kind=\"human\" id=\"2\">Hurry up.</NOTICE>\n<STATUS "), "{}", told[0]);
    assert!(told[0].contains("unread=\"1\""), "the message for main is not read yet: {}", told[0]);
    let received = |node: &str| {
        let events = trial.events_of(node).into_iter();
        events.filter(|event| matches!(event.kind, EventKind::NudgeReceived { .. })).count()
    };
    assert_eq!((received("0.1"), received("0")), (2, 1));
    assert!(
        trial.server.asked("main")[1]
            .message(-1)
            .contains("<NOTICE kind=\"nudge\" id=\"3\">For main.</NOTICE>")
    );
}

#[test]
fn a_nudge_for_an_agent_that_has_ended_reaches_the_one_above_it() {
    let trial = Trial::new();
    trial.server.script("main", agent("coder", &[("task", "Do it.")]));
    trial.coder("return_result", &[("result", "")]);
    trial.server.message_when("main", 2, nudge(1, "0.1", "Too late?"));
    trial.server.script("main", agent("reasoner", &[("question", "?")]));
    trial.server.script("reasoner", Reply::AfterMessage(1, "yes".to_owned()));
    trial.server.script("main", tool("complete", &[]));
    trial.succeed();
    assert!(trial.server.asked("main")[2].message(-1).contains("Too late?"));
}

#[test]
fn a_nudge_that_its_agent_did_not_live_to_read_reaches_the_one_above_it() {
    let trial = Trial::for_coder();
    trial.server.message_when("coder", 1, nudge(1, "0.1", "Unread."));
    let last = tool("return_result", &[("result", "r")]);
    trial.server.script("coder", Reply::AfterMessage(1, last));
    trial.succeed();
    assert!(trial.server.asked("main")[1].message(-1).contains("Unread."));
}

#[test]
fn a_cancel_ends_its_node_and_all_below_it_and_the_parent_is_told_why() {
    let trial = Trial::new();
    trial.delegate(&[]);
    trial.server.script("coder", agent("reasoner", &[("question", "?")]));
    trial.server.script("reasoner", Reply::Hang(Duration::from_secs(20)));
    trial.server.message_when("reasoner", 1, cancel(7, "0.1", "It goes in circles."));
    trial.succeed();
    let cancelled = "cancelled".to_owned();
    assert_eq!(
        trial.endings(),
        [
            ("0.1.1".to_owned(), cancelled.clone()),
            ("0.1".to_owned(), cancelled),
            ("0".to_owned(), "complete".to_owned())
        ]
    );
    let received = EventKind::CancelReceived { message: 7 };
    for node in ["0.1", "0.1.1"] {
        assert!(trial.events_of(node).iter().any(|event| event.kind == received), "{node}");
    }
    let told = trial.server.asked("main")[1].message(-1).to_owned();
    assert!(told.starts_with("<AGENT_RESULT agent=\"coder\" ok=\"false\" id=\"r1\">it was cancelled: It goes in circles.</AGENT_RESULT>"), "{told}");
}

#[test]
fn a_cancel_of_a_node_spares_its_parent_and_its_siblings() {
    let trial = Trial::for_coder();
    trial.server.script("coder", agent("reasoner", &[("question", "a"), ("question", "b")]));
    trial.server.script("reasoner", Reply::Hang(Duration::from_secs(20)));
    trial.server.script("reasoner", Reply::Hang(Duration::from_secs(20)));
    trial.server.message_when("reasoner", 2, cancel(1, "0.1.1", "Enough."));
    trial.server.message_when("reasoner", 2, cancel(2, "0.1.2", "Enough of that too."));
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(
        told[0].contains("<RESULT call=\"1\" ok=\"false\">it was cancelled: Enough.</RESULT>"),
        "{}",
        told[0]
    );
    assert!(told[0].contains(
        "<RESULT call=\"2\" ok=\"false\">it was cancelled: Enough of that too.</RESULT>"
    ));
}

#[test]
fn a_cancel_ends_a_running_command() {
    let trial = Trial::for_coder();
    let mark = format!("34.{}", std::process::id());
    trial.coder("execute_command", &[("command", &format!("setsid sleep {mark}"))]);
    trial.server.message_when("coder", 1, cancel(1, "0.1", "Stop."));
    let mut agent = trial.spawn();
    assert!(agent.wait().unwrap().success());
    wait_until(|| processes_with(&mark) == 0);
    assert_eq!(trial.endings()[0].1, "cancelled");
}

#[test]
fn a_cancel_of_the_main_agent_ends_the_job() {
    let trial = Trial::new();
    trial.server.script("main", Reply::Hang(Duration::from_secs(20)));
    trial.server.message_when("main", 1, cancel(1, "0", "Out of bounds."));
    trial.succeed();
    assert_eq!(trial.endings(), [("0".into(), "cancelled".into())]);
}
