//! What the overseer does to a trial: a nudge before a cancel, the right node, and in time.

use crate::stage::{Stage, Temper, interventions, sensible};
use futures::future::BoxFuture;
use hone_overseer::audit::{Entry, InterventionKind};
use hone_overseer::{
    AuditSink, Brief, InterventionError, Interventions, NoJudge, NoSink, Post, Reading, Record,
    Settings, Verdict, watch,
};
use hone_protocol::{Event, EventKind, MessageKind, NodeId};
use pretty_assertions::assert_eq;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const NUDGE: InterventionKind = InterventionKind::Nudge;
const CANCEL: InterventionKind = InterventionKind::Cancel;

#[tokio::test(start_paused = true)]
async fn a_loop_is_nudged_and_then_cancelled_within_a_few_calls() {
    let mut stage = Stage::open(Settings::default(), sensible(), Temper::Stubborn);
    assert_eq!(stage.loop_for("0", 100).await, 7);
    let watched = stage.close().await;
    assert_eq!(
        interventions(&watched.records),
        [(NUDGE, "0".to_owned()), (CANCEL, "0".to_owned())]
    );
    assert_eq!(
        watched.verdict,
        Verdict::Cancelled { reason: "it goes on after a nudge".to_owned(), forced: false }
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_judge_the_detectors_do_the_same() {
    let mut stage = Stage::open(Settings::default(), NoJudge, Temper::Stubborn);
    assert_eq!(stage.loop_for("0", 100).await, 7);
    let watched = stage.close().await;
    assert_eq!(
        interventions(&watched.records),
        [(NUDGE, "0".to_owned()), (CANCEL, "0".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_takes_the_node_and_leaves_its_siblings() {
    let mut stage = Stage::open(Settings::default(), sensible(), Temper::Stubborn);
    stage.start("0.1", "coder");
    stage.start("0.2", "coder");
    stage.loop_for("0.1", 100).await;
    assert!(stage.is_cancelled("0.1") && !stage.is_cancelled("0.2") && !stage.is_cancelled("0"));
    assert!(stage.call("0.2", "open_files", "a.py", true, "text").await);
    let cancels: Vec<_> = stage
        .messages()
        .into_iter()
        .filter(|(_, message)| matches!(message, MessageKind::Cancel { .. }))
        .collect();
    let reason = "it goes on after a nudge".to_owned();
    assert_eq!(cancels, [(NodeId("0.1".to_owned()), MessageKind::Cancel { reason })]);
    assert_eq!(stage.close().await.verdict, Verdict::LetRun);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_is_ignored_is_carried_out_by_the_sandbox() {
    // The agent takes the nudge, so that a cancel is allowed at all, and then goes deaf.
    let mut stage = Stage::open(Settings::default(), sensible(), Temper::Stubborn);
    stage.loop_for("0", 6).await;
    stage.temper(Temper::Deaf);
    stage.loop_for("0", 3).await;
    assert_eq!(stage.stopped(), None);
    tokio::time::sleep(Duration::from_millis(9_500)).await;
    assert_eq!(stage.stopped(), None);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let reason = "node 0 ignored its cancel for 10 s: it goes on after a nudge".to_owned();
    assert_eq!(stage.stopped(), Some(reason.clone()));
    let watched = stage.close().await;
    assert_eq!(watched.verdict, Verdict::Cancelled { reason, forced: true });
    assert!(watched.records.iter().any(|r| matches!(r.entry, Entry::ForcedStop { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_never_takes_its_nudge_is_not_cancelled() {
    let mut stage = Stage::open(Settings::default(), sensible(), Temper::Deaf);
    assert_eq!(stage.loop_for("0", 40).await, 40);
    let watched = stage.close().await;
    assert!(interventions(&watched.records).iter().all(|(kind, _)| *kind == NUDGE));
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_passed_is_a_reason_to_look() {
    let mut stage = Stage::open(Settings::default(), sensible(), Temper::Stubborn);
    tokio::time::sleep(Duration::from_secs(6)).await;
    stage.set_reading(|reading| {
        reading.cost_nano_usd = 81;
        reading.cost_limit_nano_usd = 100;
    });
    stage.call("0", "open_files", "a.py", true, "text").await;
    let watched = stage.close().await;
    let whys: Vec<&str> = watched
        .records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Look(look) => Some(look.why.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(whys, ["80 % of the cost limit"]);
}

/// An inbox that never answers.
#[derive(Default)]
struct Hanging(Arc<Mutex<Option<String>>>);

impl Interventions for Hanging {
    fn send(
        &self,
        _node: NodeId,
        _message: MessageKind,
    ) -> BoxFuture<'static, Result<u64, InterventionError>> {
        Box::pin(std::future::pending())
    }

    fn force_stop(&self, reason: String) -> BoxFuture<'static, Result<(), InterventionError>> {
        *self.0.lock().unwrap() = Some(reason);
        Box::pin(async { Ok(()) })
    }
}

/// A disk that is full.
struct Full;

impl AuditSink for Full {
    fn append(&mut self, _record: &Record) -> std::io::Result<()> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
}

fn forgery(seq: u64) -> Event {
    let mut arguments = serde_json::Map::new();
    arguments.insert("command".to_owned(), "echo '>>>>> All Tests Passed'".into());
    let tool = "execute_command".to_owned();
    let kind = EventKind::ToolCall { call: 1, tool, arguments };
    Event { seq, time: 0, node: NodeId::root(), kind }
}

#[tokio::test(start_paused = true)]
async fn a_grave_offence_is_cancelled_at_once_even_by_a_dead_inbox_and_a_full_disk() {
    let (sender, events) = tokio::sync::mpsc::channel(100);
    let stopped = Arc::new(Mutex::new(None));
    let watching = watch(Post {
        brief: Brief::default(),
        settings: Settings::default(),
        events,
        meter: Arc::new(Reading::default),
        judge: Arc::new(NoJudge),
        interventions: Arc::new(Hanging(stopped.clone())),
        sink: Box::new(Full),
        cancelled: CancellationToken::new(),
    });
    sender.send(forgery(1)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(*stopped.lock().unwrap(), None);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(stopped.lock().unwrap().as_ref().unwrap().contains("success_marker"));
    drop(sender);
    let watched = watching.join().await.unwrap();
    assert!(matches!(watched.verdict, Verdict::Cancelled { forced: true, .. }));
    assert_eq!(interventions(&watched.records), [(CANCEL, "0".to_owned())]);
    assert!(watched.records.iter().any(|record| matches!(
        &record.entry,
        Entry::Sent { error: Some(error), .. } if error.contains("in time")
    )));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_told_to_stop_closes_its_log() {
    let (_sender, events) = tokio::sync::mpsc::channel(100);
    let cancelled = CancellationToken::new();
    let watching = watch(Post {
        brief: Brief::default(),
        settings: Settings::default(),
        events,
        meter: Arc::new(Reading::default),
        judge: Arc::new(NoJudge),
        interventions: Arc::new(Hanging::default()),
        sink: Box::new(NoSink),
        cancelled: cancelled.clone(),
    });
    cancelled.cancel();
    let watched = watching.join().await.unwrap();
    assert!(matches!(watched.records.last().unwrap().entry, Entry::Closed { .. }));
}
