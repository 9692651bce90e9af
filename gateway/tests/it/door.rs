//! The protocol of the door, against the rehearsal model.

use crate::agent::{Agent, Bench, ask, job};
use hone_gateway::{Delivered, Held, LineSpec, NanoUsd, Pace, SpendRole, StopReason, TrialSpec};
use hone_protocol::{Answer, EventKind, MessageKind, NodeId};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_gets_its_job_a_completion_and_hands_in_its_last_answer() {
    let bench = Bench::rehearsal();
    let (door, _events, agent) = bench.open("t1");
    let (status, got) = agent.get("/v1/job").await;
    assert_eq!((status, got), (200, serde_json::to_value(job()).unwrap()));
    let (status, reply) = agent.chat("hello").await;
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert!(reply["choices"][0]["message"]["content"].as_str().unwrap().contains("rehearsal"));
    agent.post("/v1/answer", &json!({"answer": "first"})).await;
    let (status, _) = agent.post("/v1/answer", &json!({"answer": "last", "summary": "s"})).await;
    assert_eq!(status, 200);
    let socket = door.socket().to_owned();
    let report = door.close().await;
    assert_eq!(report.answer, Some(Answer { answer: "last".into(), summary: "s".into() }));
    assert_eq!((report.reading.calls, report.connected, report.stopped), (1, true, None));
    let usage = report.reading.usage;
    // 15 and 75 USD for a million tokens, as the rehearsal model states.
    assert_eq!(report.reading.cost, NanoUsd(usage.input * 15_000 + usage.output * 75_000));
    let stated = hone_gateway::rehearsal::price::model_time(usage.input, usage.output);
    assert_eq!(report.reading.model_time, stated);
    assert!(!socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_completion_says_the_same_as_a_whole_one() {
    let bench = Bench::rehearsal();
    let (_door, _events, agent) = bench.open("t1");
    let (_, whole) = agent.chat("hello").await;
    let (status, text) = agent.stream("/v1/chat/completions", ask("hello")).await;
    assert_eq!(status, 200);
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let chunks: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    let streamed: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(Some(streamed.as_str()), whole["choices"][0]["message"]["content"].as_str());
    assert_eq!(
        chunks.last().unwrap()["usage"]["completion_tokens"],
        whole["usage"]["completion_tokens"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_taken_once_in_order_and_without_gaps() {
    let bench = Bench::rehearsal();
    let (door, mut events, agent) = bench.open("t1");
    let event = |seq: u64| json!({"seq": seq, "time": 1, "node": "0", "type": "warning", "text": format!("{seq}")});
    let post = async |seqs: &[u64]| {
        let batch: Vec<Value> = seqs.iter().map(|seq| event(*seq)).collect();
        agent.post("/v1/events", &json!({"events": batch})).await.1["seq"].clone()
    };
    assert_eq!(post(&[1, 2]).await, json!(2));
    assert_eq!(post(&[4]).await, json!(2), "an event behind a gap is not taken");
    assert_eq!(post(&[2, 3, 4]).await, json!(4), "what came before is dropped");
    let odd = json!({"events": [{"seq": 5, "time": 1, "node": "0.1", "type": "sang", "song": 1}]});
    assert_eq!(agent.post("/v1/events", &odd).await.1, json!({"seq": 5}));
    assert_eq!(agent.post("/v1/events", &json!({"events": [{}]})).await.0, 400);
    drop(agent);
    let report = door.close().await;
    assert_eq!(report.events, 5);
    let mut texts = Vec::new();
    while let Some(event) = events.recv().await {
        match event.kind {
            EventKind::Warning { text } => texts.push((event.seq, text)),
            other => panic!("{other:?}"),
        }
    }
    let said = |seq: u64| (seq, seq.to_string());
    let odd = (5, "an event that cannot be read, of type `sang`".to_owned());
    assert_eq!(texts, [said(1), said(2), said(3), said(4), odd]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_does_not_listen_to_events_does_not_block_the_agent() {
    let bench = Bench::rehearsal();
    let (_door, events, agent) = bench.open("t1");
    drop(events);
    let batch: Vec<Value> = (1..=5000)
        .map(|seq| json!({"seq": seq, "time": 1, "node": "0", "type": "warning", "text": ""}))
        .collect();
    let (_, receipt) = agent.post("/v1/events", &json!({"events": batch})).await;
    assert_eq!(receipt, json!({"seq": 5000}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_reaches_a_waiting_agent_and_its_delivery_is_known() {
    let bench = Bench::rehearsal();
    let (door, _events, agent) = bench.open("t1");
    let inbox = door.inbox();
    let poll = tokio::spawn(async move { (agent.get("/v1/inbox?after=0").await, agent) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let id = inbox.send(NodeId::root(), MessageKind::Nudge { text: "look".into() });
    let ((_, got), agent) = poll.await.unwrap();
    let message = json!({"id": 1, "node": "0", "type": "nudge", "text": "look"});
    assert_eq!(got, json!({"messages": [message]}));
    assert_eq!(inbox.delivered(id), Delivered::Fetched);
    let (_, got) = agent.get("/v1/inbox?after=1&wait=1").await;
    assert_eq!(got, json!({"messages": []}));
    assert_eq!(inbox.delivered(id), Delivered::Acknowledged);
    let second = inbox.send(NodeId::root(), MessageKind::Cancel { reason: "r".into() });
    assert_eq!(inbox.delivered(second), Delivered::Waiting);
    let (_, got) = agent.get("/v1/inbox?after=0").await;
    assert_eq!(got["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_its_cap_a_trial_is_refused_and_the_reason_is_told() {
    let bench = Bench::rehearsal();
    let cap = NanoUsd::from_usd(0.04);
    let line = LineSpec { cap: Some(cap), ..LineSpec::new("t1", SpendRole::Benchmark) };
    let (door, _events, agent) = bench.open_with(line);
    let mut answered = 0;
    let refusal = loop {
        let (status, reply) = agent.chat(&"x".repeat(1000)).await;
        match status {
            200 => answered += 1,
            _ => break (status, reply["error"]["code"].clone()),
        }
        assert!(answered < 100);
    };
    assert_eq!(refusal, (402, json!("cost_cap")));
    assert!(answered > 0);
    let report = door.close().await;
    assert!(report.reading.cost <= cap);
    assert!(matches!(report.stopped, Some(StopReason::Capped(_))), "{:?}", report.stopped);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_no_alias_is_refused_unless_an_alias_stands_in() {
    let bench = Bench::rehearsal();
    let (_door, _events, agent) = bench.open("t1");
    let mut body = ask("x");
    body["model"] = json!("overseer");
    let (status, reply) = agent.post("/v1/chat/completions", &body).await;
    assert_eq!(status, 404);
    let message = "the model `overseer` does not exist; there are main, fast";
    assert_eq!(reply["error"]["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_silence_on_the_socket_hurt_nobody() {
    let bench = Bench::rehearsal();
    let (door, _events, agent) = bench.open("t1");
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(UnixStream::connect(door.socket()).await.unwrap());
    }
    let mut garbage = UnixStream::connect(door.socket()).await.unwrap();
    garbage.write_all(&[0xff; 4096]).await.unwrap();
    garbage.write_all(b"\r\n\r\n").await.ok();
    let mut rest = Vec::new();
    garbage.read_to_end(&mut rest).await.ok();
    let huge = agent.try_post("/v1/chat/completions", vec![b' '; 9 * 1024 * 1024]).await;
    assert!(matches!(huge, None | Some(413)), "{huge:?}");
    for body in
        ["", "[]", "nonsense", "{\"model\":\"main\"}", "{\"model\":\"main\",\"messages\":[{}]}"]
    {
        let reply = agent.post_raw("/v1/chat/completions", body.into()).await;
        assert_eq!(reply.status(), 400, "{body}");
        assert_eq!(agent.post_raw("/v1/events", body.into()).await.status(), 400);
    }
    assert_eq!(agent.get("/v1/nowhere").await.0, 404);
    assert_eq!(agent.chat("still there?").await.0, 200);
    let closed = tokio::time::timeout(Duration::from_secs(2), door.close()).await;
    assert_eq!(closed.unwrap().reading.calls, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_nobody_comes_to_closes_clean() {
    let bench = Bench::rehearsal();
    let (door, _events, _) = bench.open("t1");
    let report = door.close().await;
    assert_eq!((report.connected, report.reading.calls, report.answer), (false, 0, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_a_waiting_poll() {
    let bench = Bench::rehearsal();
    let (door, _events, agent) = bench.open("t1");
    let socket = door.socket().to_owned();
    let poll = tokio::spawn(async move { Agent::new(&socket).try_get("/v1/inbox?after=0").await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    tokio::time::timeout(Duration::from_secs(2), door.close()).await.unwrap();
    assert!(poll.await.unwrap().is_err());
    drop(agent);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_trials_run_at_one_time() {
    let bench = Bench::rehearsal();
    let mut trials = Vec::new();
    for number in 0..64 {
        let (door, events, agent) = bench.open(&format!("t{number}"));
        trials.push(tokio::spawn(async move {
            let _events = events;
            for _ in 0..3 {
                assert_eq!(agent.chat("hello").await.0, 200);
            }
            door.close().await.reading
        }));
    }
    let mut total = NanoUsd::ZERO;
    for trial in trials {
        let reading = trial.await.unwrap();
        assert_eq!(reading.calls, 3);
        total = total.plus(reading.cost);
    }
    let run = bench.gateway.balance(&hone_gateway::Account::Run);
    assert_eq!((run.settled, run.reserved), (total, NanoUsd::ZERO));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_held_up_waits_for_the_events_that_came_before_it() {
    let bench = Bench::rehearsal();
    let (seen, mut held) = tokio::sync::mpsc::unbounded_channel();
    let pace: Pace = Arc::new(move |call| {
        let _ = seen.send(call);
        Box::pin(std::future::ready(()))
    });
    let spec = TrialSpec {
        line: LineSpec::new("t1", SpendRole::Benchmark),
        job: job(),
        socket: bench.socket("t1"),
        other_models: None,
        pace: Some(pace),
    };
    let (door, _events) = bench.gateway.open_trial(spec).unwrap();
    let agent = Agent::new(door.socket());
    let event = json!({"events": [
        {"seq": 1, "time": 0, "node": "0", "type": "warning", "text": "odd"}
    ]});
    let late = async {
        // The call is at the door long before its event.
        tokio::time::sleep(Duration::from_millis(100)).await;
        agent.post("/v1/events", &event).await
    };
    let ((status, reply), _) = tokio::join!(agent.chat_as("0.1", 1), late);
    assert_eq!(status, 200, "{reply}");
    let node = Some(NodeId("0.1".to_owned()));
    assert_eq!(held.recv().await, Some(Held { event: 1, node }));
}
