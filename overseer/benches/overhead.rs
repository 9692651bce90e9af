//! What the overseer costs a trial, at ten events a second: `cargo bench -p hone-overseer`.
//!
//! Three figures: the desk alone as fast as it can (per event), a real trial of some seconds at ten
//! events a second (processor time of the whole process against wall time), and what the trial itself
//! waits for, which is putting an event into a channel.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may fail")]

use futures::future::BoxFuture;
use hone_overseer::desk::{Act, Desk};
use hone_overseer::tape::{Answer, Input, TapeLine};
use hone_overseer::{
    Brief, InterventionError, Interventions, Judge, JudgeError, NoSink, Post, Prompt, Reading,
    Reply, Settings, watch,
};
use hone_protocol::{Event, EventKind, MessageKind, NodeId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const REPLY: &str = r#"{"progress": "good", "looping": false, "next_look_seconds": 5}"#;
const EVENTS_PER_SECOND: u64 = 10;
const REAL_SECONDS: u64 = 10;
/// The target: one percent of a trial's wall time.
const TARGET_PERCENT: f64 = 1.0;

struct Quick;

impl Judge for Quick {
    fn ask(&self, _prompt: Prompt) -> BoxFuture<'static, Result<Reply, JudgeError>> {
        Box::pin(async { Ok(Reply { text: REPLY.to_owned(), ..Reply::default() }) })
    }
}

struct Nobody;

impl Interventions for Nobody {
    fn send(
        &self,
        _node: NodeId,
        _message: MessageKind,
    ) -> BoxFuture<'static, Result<u64, InterventionError>> {
        Box::pin(async { Err(InterventionError::Over) })
    }

    fn force_stop(&self, _reason: String) -> BoxFuture<'static, Result<(), InterventionError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Makes event `seq`: calls and results by turns, of two nodes, with outputs of some 4 kB.
fn event(seq: u64) -> Event {
    let node = if seq % 4 < 2 { NodeId::root() } else { NodeId::root().child(1) };
    let kind = if seq.is_multiple_of(2) {
        let mut arguments = serde_json::Map::new();
        arguments.insert("command".to_owned(), format!("grep -rn name_{seq} src | head").into());
        EventKind::ToolCall { call: seq, tool: "execute_command".to_owned(), arguments }
    } else {
        let output =
            format!("exit code 0\n{}", format!("src/a.py:{seq}: name = 1.5\n").repeat(160));
        EventKind::ToolResult { call: seq - 1, ok: true, output }
    };
    Event { seq, time: 0, node, kind }
}

fn reading(seq: u64) -> Reading {
    Reading {
        calls: seq / 2,
        prompt_tokens: seq * 1_000,
        output_tokens: seq * 50,
        ..Reading::default()
    }
}

/// Feeds the desk as fast as it can, with a look every five seconds of the trial's time.
fn desk_alone(events: u64) -> Duration {
    let mut desk = Desk::open(Brief::default(), Settings::default());
    let lines: Vec<TapeLine> = (1..=events)
        .flat_map(|seq| {
            let at_ms = seq * 1_000 / EVENTS_PER_SECOND;
            [
                TapeLine { at_ms, input: Input::Reading { reading: reading(seq) } },
                TapeLine { at_ms, input: Input::Event { event: event(seq) } },
            ]
        })
        .collect();
    let start = Instant::now();
    for line in &lines {
        desk.feed(line);
        for act in desk.take_acts() {
            if let Act::Ask { look, question, .. } = act {
                let answer = Answer::Reply {
                    text: REPLY.to_owned(),
                    model: String::new(),
                    cost_nano_usd: 0,
                    tokens: Vec::new(),
                };
                let input = Input::Replied { look, question, answer };
                desk.feed(&TapeLine { at_ms: line.at_ms, input });
            }
        }
    }
    start.elapsed()
}

/// Returns processor seconds of this process so far.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    // Of the main thread alone; the runtime below has one thread.
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Runs a real trial; with a watch, or with a task that only takes the events out of the channel.
async fn real_trial(watched: bool) -> (f64, Duration) {
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let before = processor_seconds().unwrap_or(0.0);
    let watching = if watched {
        Some(watch(Post {
            brief: Brief::default(),
            settings: Settings::default(),
            events,
            meter: Arc::new(|| reading(1)),
            judge: Arc::new(Quick),
            interventions: Arc::new(Nobody),
            sink: Box::new(NoSink),
            cancelled: CancellationToken::new(),
        }))
    } else {
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        None
    };
    let mut longest = Duration::ZERO;
    for seq in 1..=EVENTS_PER_SECOND * REAL_SECONDS {
        tokio::time::sleep(Duration::from_millis(1_000 / EVENTS_PER_SECOND)).await;
        let event = event(seq);
        let start = Instant::now();
        sender.send(event).unwrap();
        longest = longest.max(start.elapsed());
    }
    drop(sender);
    if let Some(watching) = watching {
        watching.join().await.unwrap();
    }
    (processor_seconds().unwrap_or(0.0) - before, longest)
}

fn main() {
    let events = 20_000;
    desk_alone(1_000);
    let took = desk_alone(events);
    let per_event = took.as_secs_f64() / events as f64;
    let percent = per_event * EVENTS_PER_SECOND as f64 * 100.0;
    println!(
        "desk alone: {events} events in {:.2} s, {:.1} µs an event; {percent:.4} % of a trial at \
         {EVENTS_PER_SECOND} events a second",
        took.as_secs_f64(),
        per_event * 1e6
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (without, _) = runtime.block_on(real_trial(false));
    let (with, longest) = runtime.block_on(real_trial(true));
    let real = (with - without) / REAL_SECONDS as f64 * 100.0;
    println!(
        "a trial of {REAL_SECONDS} s at {EVENTS_PER_SECOND} events a second: {with:.4} s of processor \
         time with a watch, {without:.4} s without; overhead {real:.4} % (target {TARGET_PERCENT} %)"
    );
    println!("the trial's longest wait for its channel: {:.1} µs", longest.as_secs_f64() * 1e6);
    if real > TARGET_PERCENT {
        println!("MISSED the target");
    }
}
