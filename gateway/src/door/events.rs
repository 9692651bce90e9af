//! Takes an agent's events: each once, in order, without gaps.

use hone_protocol::{Event, EventKind, EventReceipt, NodeId};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, watch};

/// Bytes of events that a trial may report. Beyond, events are acknowledged and dropped, so that
/// an agent that floods its door fills nobody's memory or disk.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// How long a call waits for the events before it, which are on their way on another connection.
const ON_THEIR_WAY: Duration = Duration::from_secs(5);

pub(super) struct EventLog {
    state: Mutex<State>,
    newest: watch::Sender<u64>,
    sender: mpsc::Sender<Event>,
}

#[derive(Default)]
struct State {
    seq: u64,
    taken: u64,
    bytes: u64,
}

impl EventLog {
    pub fn new(sender: mpsc::Sender<Event>) -> Self {
        EventLog { state: Mutex::new(State::default()), newest: watch::Sender::new(0), sender }
    }

    /// Takes a batch and acknowledges the highest number up to which nothing is missing. An event
    /// behind a gap is not taken; the agent sends it again.
    pub async fn take(&self, events: Vec<(Event, u64)>) -> EventReceipt {
        let mut state = self.state.lock().await;
        for (event, bytes) in events {
            if event.seq <= state.seq {
                continue;
            }
            if event.seq != state.seq + 1 {
                break;
            }
            let (time, node, seq) = (event.time, event.node.clone(), event.seq);
            let before = state.bytes;
            if before <= MOST_BYTES {
                // The place is taken before the number moves on: whoever is cut off in between
                // has lost nothing. A harness that does not listen discards.
                let _ = self.sender.send(event).await;
                state.taken += 1;
            }
            state.seq = seq;
            state.bytes = before.saturating_add(bytes);
            if before <= MOST_BYTES && state.bytes > MOST_BYTES {
                let text = format!("more than {MOST_BYTES} bytes of events; the rest is dropped");
                let kind = EventKind::Warning { text };
                let _ = self.sender.send(Event { seq, time, node, kind }).await;
            }
        }
        self.newest.send_replace(state.seq);
        EventReceipt { seq: state.seq }
    }

    /// Waits until an event was taken, and returns the number of the newest one.
    pub async fn reach(&self, event: u64) -> u64 {
        let mut newest = self.newest.subscribe();
        let reached = newest.wait_for(|newest| *newest >= event);
        // An agent may name an event that never comes.
        let _ = tokio::time::timeout(ON_THEIR_WAY, reached).await;
        *self.newest.borrow()
    }

    pub async fn taken(&self) -> u64 {
        self.state.lock().await.taken
    }
}

/// Reads a batch. An event of an unknown type becomes a warning that says so: an agent that was
/// changed may say new things, and must not get stuck on them.
pub(super) fn read_batch(body: &Value) -> Result<Vec<(Event, u64)>, String> {
    let Some(events) = body.get("events").and_then(Value::as_array) else {
        return Err("`events` is missing".to_owned());
    };
    events.iter().map(read_event).collect()
}

fn read_event(value: &Value) -> Result<(Event, u64), String> {
    let bytes = value.to_string().len() as u64;
    if let Ok(event) = serde_json::from_value::<Event>(value.clone()) {
        return Ok((event, bytes));
    }
    let seq = value.get("seq").and_then(Value::as_u64).ok_or("an event has no `seq`")?;
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("");
    Ok((
        Event {
            seq,
            time: value.get("time").and_then(Value::as_u64).unwrap_or(0),
            node: value
                .get("node")
                .and_then(Value::as_str)
                .map_or_else(NodeId::root, |node| NodeId(node.to_owned())),
            kind: EventKind::Warning {
                text: format!("an event that cannot be read, of type `{kind}`"),
            },
        },
        bytes,
    ))
}
