//! A stage for trials: a scripted agent, a scripted judge, and paused time.

use futures::future::BoxFuture;
use hone_overseer::audit::{Entry, InterventionKind};
use hone_overseer::{
    Brief, InterventionError, Interventions, Judge, JudgeError, NoSink, Post, Prompt, Reading,
    Record, Reply, Settings, Watched, Watching, watch,
};
use hone_protocol::{Event, EventKind, MessageKind, NodeId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What the agent does with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temper {
    /// Takes nudges as read and goes on as before; obeys cancels.
    Stubborn,
    /// Takes nothing, not even a cancel.
    Deaf,
}

/// What the stage's agent and the stage share.
#[derive(Debug, Default)]
struct Shared {
    inbox: VecDeque<(u64, NodeId, MessageKind)>,
    log: Vec<(NodeId, MessageKind)>,
    next_message: u64,
    stopped: Option<String>,
    reading: Reading,
}

/// The stage.
pub struct Stage {
    events: Option<mpsc::UnboundedSender<Event>>,
    shared: Arc<Mutex<Shared>>,
    temper: Temper,
    seq: u64,
    calls: u64,
    ended: Vec<NodeId>,
    pub watching: Watching,
}

struct Inbox(Arc<Mutex<Shared>>);

impl Interventions for Inbox {
    fn send(
        &self,
        node: NodeId,
        message: MessageKind,
    ) -> BoxFuture<'static, Result<u64, InterventionError>> {
        let mut shared = self.0.lock().unwrap();
        shared.next_message += 1;
        let id = shared.next_message;
        shared.log.push((node.clone(), message.clone()));
        shared.inbox.push_back((id, node, message));
        Box::pin(async move { Ok(id) })
    }

    fn force_stop(&self, reason: String) -> BoxFuture<'static, Result<(), InterventionError>> {
        self.0.lock().unwrap().stopped = Some(reason);
        Box::pin(async { Ok(()) })
    }
}

impl Stage {
    /// Opens a trial under the eyes of a judge.
    pub fn open(settings: Settings, judge: impl Judge + 'static, temper: Temper) -> Stage {
        let (sender, events) = mpsc::unbounded_channel();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let meter = shared.clone();
        let watching = watch(Post {
            brief: Brief {
                trial: "t1".to_owned(),
                role: "solve".to_owned(),
                statement: "Find the definition of f.".to_owned(),
            },
            settings,
            events,
            meter: Arc::new(move || meter.lock().unwrap().reading),
            judge: Arc::new(judge),
            interventions: Arc::new(Inbox(shared.clone())),
            sink: Box::new(NoSink),
            cancelled: CancellationToken::new(),
        });
        let events = Some(sender);
        let mut stage =
            Stage { events, shared, temper, seq: 0, calls: 0, ended: Vec::new(), watching };
        stage.start("0", "main");
        stage
    }

    /// Changes the agent's temper.
    pub fn temper(&mut self, temper: Temper) {
        self.temper = temper;
    }

    /// Sends an event.
    pub fn event(&mut self, node: &str, kind: EventKind) {
        self.seq += 1;
        let event = Event { seq: self.seq, time: 0, node: NodeId(node.to_owned()), kind };
        if let Some(events) = &self.events {
            let _ = events.send(event);
        }
    }

    pub fn start(&mut self, node: &str, agent: &str) {
        let kind = EventKind::AgentStarted { agent: agent.to_owned(), task: "do it".to_owned() };
        self.event(node, kind);
    }

    pub fn set_reading(&mut self, change: impl FnOnce(&mut Reading)) {
        change(&mut self.shared.lock().unwrap().reading);
    }

    /// Lets the agent read its inbox, as it does before each step.
    pub fn read_inbox(&mut self) {
        if self.temper == Temper::Deaf {
            return;
        }
        let messages: Vec<_> = self.shared.lock().unwrap().inbox.drain(..).collect();
        for (message, node, kind) in messages {
            match kind {
                MessageKind::Nudge { .. } | MessageKind::Human { .. } => {
                    self.event(&node.0, EventKind::NudgeReceived { message });
                }
                MessageKind::Cancel { .. } => {
                    self.event(&node.0, EventKind::CancelReceived { message });
                    self.finish(&node.0, "cancelled");
                    self.ended.push(node);
                }
            }
        }
    }

    pub fn finish(&mut self, node: &str, how: &str) {
        let kind = EventKind::AgentFinished { how: how.to_owned(), result: String::new() };
        self.event(node, kind);
    }

    /// Tells whether a node was cancelled, itself or one above it.
    pub fn is_cancelled(&self, node: &str) -> bool {
        let node = NodeId(node.to_owned());
        self.ended.iter().any(|ended| node.is_within(ended))
    }

    /// Lets a node make a call that comes back at once, unless it was cancelled; then lets the
    /// overseer have its turn. Returns whether the call was made.
    pub async fn call(
        &mut self,
        node: &str,
        tool: &str,
        argument: &str,
        ok: bool,
        output: &str,
    ) -> bool {
        self.read_inbox();
        let made = self.make_call(node, tool, argument, ok, output);
        self.settle().await;
        made
    }

    /// The same, and the overseer has its turn only as far as it can without a pause.
    pub async fn call_without_waiting(
        &mut self,
        node: &str,
        tool: &str,
        argument: &str,
        output: &str,
    ) -> bool {
        let made = self.make_call(node, tool, argument, true, output);
        tokio::task::yield_now().await;
        made
    }

    fn make_call(
        &mut self,
        node: &str,
        tool: &str,
        argument: &str,
        ok: bool,
        output: &str,
    ) -> bool {
        if self.is_cancelled(node) || self.stopped().is_some() {
            return false;
        }
        self.calls += 1;
        let call = self.calls;
        let mut arguments = serde_json::Map::new();
        arguments.insert("argument".to_owned(), argument.into());
        self.event(node, EventKind::ToolCall { call, tool: tool.to_owned(), arguments });
        let output = output.to_owned();
        self.event(node, EventKind::ToolResult { call, ok, output });
        true
    }

    /// Lets the overseer take in everything and do what it wants.
    pub async fn settle(&mut self) {
        let gate = self.watching.gate();
        assert!(gate.settled(self.seq, Duration::from_secs(100)).await, "the watch is stuck");
    }

    /// Repeats one call until the node is cancelled, at most `most` times. Returns how often.
    pub async fn loop_for(&mut self, node: &str, most: u64) -> u64 {
        let mut made = 0;
        while made < most && self.call(node, "search_text", "def f", true, "a.py:3:def f").await {
            made += 1;
        }
        made
    }

    /// Returns why the sandbox stopped the trial.
    pub fn stopped(&self) -> Option<String> {
        self.shared.lock().unwrap().stopped.clone()
    }

    /// Returns the messages that were sent.
    pub fn messages(&self) -> Vec<(NodeId, MessageKind)> {
        self.shared.lock().unwrap().log.clone()
    }

    /// Ends the trial.
    pub async fn close(mut self) -> Watched {
        self.events = None;
        self.watching.join().await.unwrap()
    }
}

/// Judges by a function of the prompt.
pub struct Scripted<F>(pub F);

impl<F: Fn(&Prompt) -> String + Send + Sync> Judge for Scripted<F> {
    fn ask(&self, prompt: Prompt) -> BoxFuture<'static, Result<Reply, JudgeError>> {
        let text = (self.0)(&prompt);
        Box::pin(async move {
            Ok(Reply { text, model: "scripted".to_owned(), cost_nano_usd: 1_000, tokens: vec![] })
        })
    }
}

/// Judges as a sensible model would: it follows the strongest `<HIT>` line.
pub fn sensible() -> impl Judge {
    Scripted(|prompt: &Prompt| {
        let hit = |proposes: &str| {
            prompt
                .user
                .lines()
                .find(|line| line.starts_with("<HIT") && line.contains(proposes))
                .map(|line| {
                    line.split("node=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
                })
        };
        if let Some(node) = hit("proposes=\"cancel\"") {
            return reply(&node, true, "", "it goes on after a nudge");
        }
        match hit("proposes=\"nudge\"") {
            Some(node) => reply(&node, true, "Try another search.", ""),
            None => reply("0", false, "", ""),
        }
    })
}

/// Writes a reply; an empty text wishes for nothing.
pub fn reply(node: &str, looping: bool, nudge: &str, cancel: &str) -> String {
    serde_json::json!({
        "progress": if looping { "none" } else { "good" }, "looping": looping, "node": node,
        "notify": !nudge.is_empty(), "notify_reason": "seen", "message": nudge,
        "cancel": !cancel.is_empty(), "cancel_reason": cancel,
        "notes": "", "next_look_seconds": 30,
    })
    .to_string()
}

/// Returns the interventions of a log in order.
pub fn interventions(records: &[Record]) -> Vec<(InterventionKind, String)> {
    records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Intervention(made) => Some((made.kind, made.node.0.clone())),
            _ => None,
        })
        .collect()
}
