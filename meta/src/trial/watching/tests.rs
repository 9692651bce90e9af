//! A small agent that speaks the protocol, on a real door, under a real watch whose judge is the
//! rehearsal's.

use super::filing::{self, Subject};
use super::*;
use hone_archive::record::Audit;
use hone_archive::{AgentNumber, Digest};
use hone_gateway::{GatewaySettings, Keys, ModelName, TrialSpec};
use hone_overseer::replay;
use hone_protocol::{
    EVENT_HEADER, EventBatch, EventKind, Inbox, Job, Message, MessageKind, NODE_HEADER, NodeId,
    PROTOCOL_VERSION,
};
use pretty_assertions::assert_eq;
use std::path::Path;
use std::sync::Mutex;
use tokio::sync::{Notify, watch};

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Temper {
    /// Makes different calls and ends.
    Healthy,
    /// Its sub-agent repeats a call; it reads nudges, goes on, and obeys cancels.
    Stubborn,
}

#[derive(Default)]
struct Post {
    messages: Mutex<Vec<Message>>,
    news: Notify,
}

#[derive(Clone)]
struct Agent {
    http: reqwest::Client,
    events: mpsc::UnboundedSender<Event>,
    seq: Arc<Mutex<u64>>,
    delivered: watch::Receiver<u64>,
    post: Arc<Post>,
}

impl Agent {
    /// Connects; events are delivered beside the model calls, as our own agent does it.
    fn new(socket: &Path) -> Agent {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().unix_socket(socket).build().unwrap();
        let (events, mut queue) = mpsc::unbounded_channel::<Event>();
        let client = http.clone();
        let (told, delivered) = watch::channel(0);
        tokio::spawn(async move {
            while let Some(event) = queue.recv().await {
                let seq = event.seq;
                let batch = EventBatch { events: vec![event] };
                client.post("http://door/v1/events").json(&batch).send().await.unwrap();
                told.send_replace(seq);
            }
        });
        Agent { http, events, seq: Arc::default(), delivered, post: Arc::default() }
    }

    /// Waits until all events are delivered.
    async fn flush(&mut self) {
        let last = *self.seq.lock().unwrap();
        self.delivered.wait_for(|seq| *seq >= last).await.unwrap();
    }

    fn emit(&self, node: &NodeId, kind: EventKind) {
        let mut seq = self.seq.lock().unwrap();
        *seq += 1;
        self.events.send(Event { seq: *seq, time: 0, node: node.clone(), kind }).unwrap();
    }

    fn finish(&self, node: &NodeId, how: &str) {
        let kind = EventKind::AgentFinished { how: how.to_owned(), result: String::new() };
        self.emit(node, kind);
    }

    async fn poll(self) {
        let mut after = 0;
        loop {
            let url = format!("http://door/v1/inbox?after={after}");
            let Ok(reply) = self.http.get(url).send().await else { return };
            for message in reply.json::<Inbox>().await.unwrap().messages {
                after = message.id;
                self.post.messages.lock().unwrap().push(message);
                self.post.news.notify_one();
            }
        }
    }

    fn cancel(&self) -> Option<u64> {
        let messages = self.post.messages.lock().unwrap();
        let cancel = |message: &&Message| matches!(message.kind, MessageKind::Cancel { .. });
        messages.iter().find(cancel).map(|message| message.id)
    }

    async fn cancelled(&self) -> u64 {
        loop {
            match self.cancel() {
                Some(message) => return message,
                None => self.post.news.notified().await,
            }
        }
    }

    fn read_nudges(&self, node: &NodeId) {
        let mut messages = self.post.messages.lock().unwrap();
        messages.retain(|message| {
            let nudge = matches!(message.kind, MessageKind::Nudge { .. });
            if nudge {
                self.emit(node, EventKind::NudgeReceived { message: message.id });
            }
            !nudge
        });
    }

    async fn ask(&self, node: &NodeId) {
        let event = *self.seq.lock().unwrap();
        let body = serde_json::json!({
            "model": "main", "messages": [{"role": "user", "content": "what next?"}]
        });
        let call = self.http.post("http://door/v1/chat/completions").json(&body);
        let reply = call.header(NODE_HEADER, &node.0).header(EVENT_HEADER, event).send().await;
        assert!(reply.unwrap().status().is_success());
    }

    fn call(&self, node: &NodeId, number: u64, pattern: &str) {
        let arguments = [("pattern".to_owned(), pattern.into())].into_iter().collect();
        let tool = "search_text".to_owned();
        self.emit(node, EventKind::ToolCall { call: number, tool, arguments });
        let output = format!("a.py:3:{pattern}");
        self.emit(node, EventKind::ToolResult { call: number, ok: true, output });
    }

    /// Works; returns how many calls the sub-agent made.
    async fn work(&self, temper: Temper, stop: &CancellationToken) -> u64 {
        let (root, coder) = (NodeId::root(), NodeId::root().child(1));
        let start = |agent: &str| EventKind::AgentStarted {
            agent: agent.to_owned(),
            task: "find it".to_owned(),
        };
        tokio::spawn(self.clone().poll());
        self.emit(&root, start("main"));
        self.ask(&root).await;
        self.emit(&coder, start("coder"));
        let most = if temper == Temper::Healthy { 6 } else { 60 };
        let mut made = 0;
        while made < most && !stop.is_cancelled() {
            self.read_nudges(&coder);
            tokio::select! {
                biased;
                message = self.cancelled() => {
                    self.emit(&coder, EventKind::CancelReceived { message });
                    self.finish(&coder, "cancelled");
                    break;
                }
                () = self.ask(&coder) => {}
                () = stop.cancelled() => break,
            }
            made += 1;
            let pattern = match temper {
                Temper::Healthy => format!("def name_{made}"),
                Temper::Stubborn => "def f".to_owned(),
            };
            self.call(&coder, made, &pattern);
        }
        self.ask(&root).await;
        self.finish(&root, "complete");
        made
    }
}

pub(crate) struct Outcome {
    pub watched: Watched,
    copy: Vec<Event>,
    made: u64,
    model_calls: u64,
    stop: Stop,
    /// What the run's purse has paid for overseers.
    paid: NanoUsd,
}

fn job() -> Job {
    Job {
        protocol: PROTOCOL_VERSION,
        role: Role::Solve,
        statement: "Find the definition of f.".to_owned(),
        workdir: "/work".to_owned(),
        archive: None,
        limits: Limits { seconds: 60.0, usd: 1.0, iterations: 100, context_tokens: 100_000 },
        models: vec!["main".to_owned()],
    }
}

pub(crate) async fn run(temper: Temper, trial: &str) -> Outcome {
    run_with(temper, trial, Settings::default()).await
}

async fn run_with(temper: Temper, trial: &str, settings: Settings) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let models = GatewaySettings::of_model(ModelName::rehearsal()).unwrap();
    let gateway = Gateway::new(models, Keys::default()).unwrap();
    let (pacing, stop) = (Pacing::default(), Stop::default());
    let spec = TrialSpec {
        line: LineSpec::new(trial, SpendRole::Benchmark),
        job: job(),
        socket: directory.path().join("t1.sock"),
        other_models: None,
        pace: Some(pacing.pace()),
    };
    let (door, events) = gateway.open_trial(spec).unwrap();
    let (copy, mut copied) = mpsc::unbounded_channel();
    let order = WatchOrder {
        trial: trial.to_owned(),
        role: job().role,
        statement: job().statement,
        settings,
        workdir: job().workdir,
        guarded: Guarded::default(),
        limits: job().limits,
        agent: 0,
        iteration: None,
        pacing: Some(pacing),
        stop: stop.clone(),
    };
    let watch = start(&gateway, &door, events, copy, order);
    let mut agent = Agent::new(door.socket());
    let made = agent.work(temper, stop.token()).await;
    agent.flush().await;
    let model_calls = door.close().await.reading.calls;
    let watched = watch.finish().await;
    let mut copy = Vec::new();
    while let Some(event) = copied.recv().await {
        copy.push(event);
    }
    let paid = gateway.balance(&hone_gateway::Account::Role(SpendRole::Overseer)).settled;
    Outcome { watched, copy, made, model_calls, stop, paid }
}

pub(crate) fn subject() -> Subject {
    Subject {
        run: "r".to_owned(),
        iteration: None,
        agent: AgentNumber(3),
        suite: "nav".to_owned(),
        problem: "f".to_owned(),
        epoch: 0,
        time: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn kinds(audit: &Audit) -> Vec<(&str, &str)> {
    let shown = ["nudge", "cancel", "forced_stop"];
    let entries = audit.entries.iter().filter(|entry| shown.contains(&entry.kind.as_str()));
    entries.map(|entry| (entry.kind.as_str(), entry.node.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_looping_sub_agent_is_nudged_and_then_cancelled_at_the_same_call_each_time() {
    let first = run(Temper::Stubborn, "t1").await;
    let audit = first.watched.audit(subject(), None).unwrap();
    assert_eq!(kinds(&audit), [("nudge", "0.1"), ("cancel", "0.1")]);
    assert!(first.made < 20, "{} calls were made", first.made);
    assert_eq!(first.stop.reason(), None);
    let second = run(Temper::Stubborn, "t1").await;
    assert_eq!((second.made, second.model_calls), (first.made, first.model_calls));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_counts_as_cancelled_when_its_node_was_and_nothing_was_achieved() {
    let outcome = run(Temper::Stubborn, "t1").await;
    let reason = outcome.watched.cancelled(Achieved::Nothing).unwrap();
    assert!(reason.starts_with("node 0.1 was cancelled: "), "{reason}");
    assert_eq!(outcome.watched.cancelled(Achieved::Something), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ignores_its_cancel_is_stopped_from_outside() {
    let mut settings = Settings::default();
    settings.rules.obey_seconds = 0.2;
    // A deaf agent never gets the nudge that has to come before a cancel; a grave matter needs none.
    settings.paths.graders = vec!["tests".to_owned()];
    let directory = tempfile::tempdir().unwrap();
    let models = GatewaySettings::of_model(ModelName::rehearsal()).unwrap();
    let gateway = Gateway::new(models, Keys::default()).unwrap();
    let spec = TrialSpec {
        line: LineSpec::new("t1", SpendRole::Benchmark),
        job: job(),
        socket: directory.path().join("t1.sock"),
        other_models: None,
        pace: None,
    };
    let (door, events) = gateway.open_trial(spec).unwrap();
    let stop = Stop::default();
    let order = WatchOrder {
        trial: "t1".to_owned(),
        role: Role::Solve,
        statement: job().statement,
        settings,
        workdir: job().workdir,
        guarded: Guarded::default(),
        limits: job().limits,
        agent: 0,
        iteration: None,
        pacing: None,
        stop: stop.clone(),
    };
    let (copy, _copied) = mpsc::unbounded_channel();
    let watch = start(&gateway, &door, events, copy, order);
    let agent = Agent::new(door.socket());
    let arguments: serde_json::Map<_, _> =
        serde_json::from_str(r#"{"path": "tests/test_f.py", "content": "def test_f(): pass"}"#)
            .unwrap();
    let tool = "overwrite_file".to_owned();
    agent.emit(&NodeId::root(), EventKind::ToolCall { call: 1, tool, arguments });
    tokio::time::timeout(Duration::from_secs(30), stop.token().cancelled()).await.unwrap();
    assert!(stop.reason().unwrap().contains("ignored its cancel"), "{:?}", stop.reason());
    door.close().await;
    let watched = watch.finish().await;
    let audit = watched.audit(subject(), None).unwrap();
    assert_eq!(kinds(&audit), [("cancel", "0"), ("forced_stop", "")]);
    assert!(watched.cancelled(Achieved::Something).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_is_paid_from_the_overseers_account() {
    let outcome = run(Temper::Stubborn, "t1").await;
    let looks = outcome.watched.logs().unwrap().records.iter();
    let looks = looks.filter(|record| record.entry.kind() == "look").count();
    assert!(looks >= 2, "{looks} looks");
    assert!(outcome.paid > NanoUsd::ZERO);
    assert_eq!(outcome.watched.cost(), outcome.paid);
    assert_eq!(outcome.watched.logs().unwrap().cost_nano_usd, outcome.paid.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_trial_is_left_alone_and_its_events_are_copied() {
    let outcome = run(Temper::Healthy, "t1").await;
    assert_eq!(kinds(&outcome.watched.audit(subject(), None).unwrap()), []);
    assert_eq!(outcome.watched.cancelled(Achieved::Nothing), None);
    let seqs: Vec<u64> = outcome.copy.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    assert_eq!(seqs.len(), 3 + 2 * 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overseer_that_is_off_leaves_no_log_and_the_events_are_copied_all_the_same() {
    let settings = Settings { mode: Mode::Off, ..Settings::default() };
    let outcome = run_with(Temper::Healthy, "t1", settings).await;
    assert_eq!(outcome.watched, Watched::default());
    assert_eq!(outcome.watched.audit(subject(), None), None);
    assert_eq!(outcome.copy.len(), 3 + 2 * 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn log_and_verdict_follow_from_the_tape_that_the_record_names() {
    let outcome = run(Temper::Stubborn, "t1").await;
    let traces = tempfile::tempdir().unwrap();
    let tape = outcome.watched.keep_tape(traces.path()).unwrap();
    let audit = outcome.watched.audit(subject(), tape).unwrap();
    // As it comes back from the ledger.
    let audit: Audit = serde_json::from_str(&serde_json::to_string(&audit).unwrap()).unwrap();
    let records = filing::records(&audit).unwrap();
    let kept = filing::read_tape(traces.path(), audit.tape.unwrap()).unwrap();
    let logs = outcome.watched.logs().unwrap();
    assert_eq!(records, logs.records);
    assert_eq!((&kept.tape, &kept.decisions), (&logs.tape, &logs.decisions));
    assert_eq!(replay::verify(&records, &kept.tape).unwrap(), logs.verdict);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tape_that_was_changed_is_refused() {
    let outcome = run(Temper::Healthy, "t1").await;
    let traces = tempfile::tempdir().unwrap();
    let digest = outcome.watched.keep_tape(traces.path()).unwrap().unwrap();
    let path = traces.path().join(format!("{digest}.watch.zst"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.push(0);
    std::fs::write(&path, bytes).unwrap();
    let refused = filing::read_tape(traces.path(), digest);
    assert!(matches!(refused, Err(FilingError::Changed { .. })), "{refused:?}");
    let missing = filing::read_tape(traces.path(), Digest::of(b"none"));
    assert!(matches!(missing, Err(FilingError::File { .. })), "{missing:?}");
}
