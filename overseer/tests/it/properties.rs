//! Whatever agent and judge do, the rules hold.

use hone_overseer::audit::{Entry, InterventionKind};
use hone_overseer::decisions::{all_points, check_rows};
use hone_overseer::desk::{Act, Desk};
use hone_overseer::labels::{Truth, check_labels, labels};
use hone_overseer::replay::verify;
use hone_overseer::tape::{Answer, Input, TapeLine};
use hone_overseer::{Brief, Reading, Record, Settings};
use hone_protocol::{Event, EventKind, NodeId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One step of a wild trial.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Call { node: u8, argument: u8, result: u8, ok: bool },
    Start(u8),
    Finish(u8),
    Edit(u8),
    TakeInbox,
    Spend(u64),
}

/// What a wild judge says.
#[derive(Clone, Debug)]
enum Says {
    Calm,
    Nudge(u8),
    Cancel(u8),
    Both(u8),
    Garbage,
    Nothing,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0u64..40_000).prop_map(Step::Wait),
        8 => (0u8..3, 0u8..3, 0u8..2, any::<bool>())
            .prop_map(|(node, argument, result, ok)| Step::Call { node, argument, result, ok }),
        1 => (0u8..4).prop_map(Step::Start),
        1 => (0u8..4).prop_map(Step::Finish),
        1 => (0u8..3).prop_map(Step::Edit),
        3 => Just(Step::TakeInbox),
        1 => (0u64..100).prop_map(Step::Spend),
    ];
    proptest::collection::vec(step, 1..120)
}

fn judges() -> impl Strategy<Value = Vec<Says>> {
    let says = prop_oneof![
        Just(Says::Calm),
        (0u8..5).prop_map(Says::Nudge),
        (0u8..5).prop_map(Says::Cancel),
        (0u8..5).prop_map(Says::Both),
        Just(Says::Garbage),
        Just(Says::Nothing),
    ];
    proptest::collection::vec(says, 1..12)
}

fn node(number: u8) -> NodeId {
    match number {
        0 => NodeId::root(),
        1 => NodeId("0.1".to_owned()),
        2 => NodeId("0.1.1".to_owned()),
        3 => NodeId("0.2".to_owned()),
        _ => NodeId("nonsense".to_owned()),
    }
}

fn answer(says: &Says) -> Answer {
    let reply = |number: u8, notify: bool, cancel: bool| Answer::Reply {
        text: serde_json::json!({
            "progress": "none", "looping": true, "node": node(number).0, "notify": notify,
            "message": "m", "cancel": cancel, "cancel_reason": "r", "next_look_seconds": 5,
        })
        .to_string(),
        model: "wild".to_owned(),
        cost_nano_usd: 1,
        tokens: Vec::new(),
    };
    match says {
        Says::Calm => reply(0, false, false),
        Says::Nudge(number) => reply(*number, true, false),
        Says::Cancel(number) => reply(*number, false, true),
        Says::Both(number) => reply(*number, true, true),
        Says::Garbage => Answer::Reply {
            text: "{\"progress\": 7}".to_owned(),
            model: "wild".to_owned(),
            cost_nano_usd: 1,
            tokens: Vec::new(),
        },
        Says::Nothing => Answer::TimedOut,
    }
}

struct Run {
    desk: Desk,
    tape: Vec<TapeLine>,
    at_ms: u64,
    seq: u64,
    looks: usize,
    messages: u64,
    inbox: Vec<(u64, NodeId, bool)>,
}

impl Run {
    fn feed(&mut self, input: Input, judge: &[Says]) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let line = TapeLine { at_ms: self.at_ms, input };
            self.desk.feed(&line);
            self.tape.push(line);
            for act in self.desk.take_acts() {
                match act {
                    Act::Ask { look, question, .. } => {
                        let answer = answer(&judge[self.looks % judge.len()]);
                        self.looks += 1;
                        inputs.push(Input::Replied { look, question, answer });
                    }
                    Act::Send { intervention, node, message } => {
                        self.messages += 1;
                        let nudge = matches!(message, hone_protocol::MessageKind::Nudge { .. });
                        self.inbox.push((self.messages, node, nudge));
                        let message = Some(self.messages);
                        inputs.push(Input::Sent { intervention, message, error: None });
                    }
                    Act::ForceStop { .. } => {}
                }
            }
        }
    }

    fn event(&mut self, node: NodeId, kind: EventKind, judge: &[Says]) {
        self.seq += 1;
        let event = Event { seq: self.seq, time: 0, node, kind };
        self.feed(Input::Event { event }, judge);
    }
}

fn run(steps: &[Step], judge: &[Says]) -> Run {
    let brief = Brief { trial: "wild".to_owned(), ..Brief::default() };
    let mut run = Run {
        desk: Desk::open(brief, Settings::default()),
        tape: Vec::new(),
        at_ms: 0,
        seq: 0,
        looks: 0,
        messages: 0,
        inbox: Vec::new(),
    };
    let mut reading = Reading { cost_limit_nano_usd: 500, ..Reading::default() };
    for step in steps {
        match step {
            Step::Wait(ms) => {
                run.at_ms += ms;
                run.feed(Input::Tick, judge);
            }
            Step::Call { node: number, argument, result, ok } => {
                run.at_ms += 700;
                let call = run.seq;
                let mut arguments = serde_json::Map::new();
                arguments.insert("command".to_owned(), format!("cat {argument}").into());
                let tool = "execute_command".to_owned();
                run.event(node(*number), EventKind::ToolCall { call, tool, arguments }, judge);
                let output = result.to_string();
                run.event(node(*number), EventKind::ToolResult { call, ok: *ok, output }, judge);
            }
            Step::Start(number) => {
                let (agent, task) = ("coder".to_owned(), "t".to_owned());
                run.event(node(*number), EventKind::AgentStarted { agent, task }, judge);
            }
            Step::Finish(number) => {
                let (how, result) = ("complete".to_owned(), String::new());
                run.event(node(*number), EventKind::AgentFinished { how, result }, judge);
            }
            Step::Edit(number) => {
                let (path, diff) = ("tests/a.py".to_owned(), "+x".to_owned());
                run.event(node(*number), EventKind::FileEdited { path, diff }, judge);
            }
            Step::TakeInbox => {
                for (message, node, nudge) in std::mem::take(&mut run.inbox) {
                    let kind = if nudge {
                        EventKind::NudgeReceived { message }
                    } else {
                        EventKind::CancelReceived { message }
                    };
                    run.event(node, kind, judge);
                }
            }
            Step::Spend(nano) => {
                reading.calls += 1;
                reading.cost_nano_usd += nano;
                run.feed(Input::Reading { reading }, judge);
            }
        }
    }
    run.feed(Input::Ended, judge);
    run
}

/// Checks the log alone: no cancel before a nudge that arrived, and no flood of nudges.
fn check_rules(records: &[Record]) -> Result<(), TestCaseError> {
    let mut nudges: BTreeMap<u64, NodeId> = BTreeMap::new();
    let mut arrived: Vec<NodeId> = Vec::new();
    let mut times: Vec<u64> = Vec::new();
    for record in records {
        match &record.entry {
            Entry::Intervention(made) if made.kind == InterventionKind::Nudge => {
                nudges.insert(made.intervention, made.node.clone());
                times.push(record.at_ms);
            }
            Entry::Intervention(made) => {
                prop_assert!(
                    arrived.iter().any(|node| made.node.is_within(node)),
                    "a cancel of {} with no nudge before it",
                    made.node
                );
            }
            Entry::Delivered { intervention, .. } => {
                arrived.extend(nudges.get(intervention).cloned());
            }
            _ => {}
        }
    }
    for four in times.windows(4) {
        prop_assert!(four[3] - four[0] >= 60_000, "four nudges within a minute: {four:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_hold_and_the_log_verifies(steps in steps(), judge in judges()) {
        let run = run(&steps, &judge);
        let verdict = run.desk.verdict().clone();
        let (records, decisions) = run.desk.into_logs();
        check_rules(&records)?;
        prop_assert_eq!(verify(&records, &run.tape), Ok(verdict));
        prop_assert_eq!(check_rows(&decisions, &all_points()), Ok(()));
        let truth = Truth::of(&run.tape, &records);
        let made = labels(&decisions, &truth, Some(1.0));
        prop_assert_eq!(check_labels(&made, &decisions, &truth), Ok(()));
    }
}
