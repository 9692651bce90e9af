//! The agent's account of what it does.
//!
//! Events are numbered when they happen and kept until the gateway has acknowledged them, so none
//! is lost or doubled when the connection breaks.

use super::gateway::Gateway;
use hone_protocol::{Event, EventBatch, EventKind, NodeId};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Events in one delivery.
const BATCH: usize = 64;

/// The pause after a delivery that failed.
const PAUSE: Duration = Duration::from_millis(200);

/// How long the end of the agent waits for the last events to be delivered.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Takes events; clones share one queue.
#[derive(Clone, Debug, Default)]
pub struct Events {
    queue: Rc<RefCell<Queue>>,
    news: Rc<Notify>,
    empty: Rc<Notify>,
}

#[derive(Debug, Default)]
struct Queue {
    last: u64,
    waiting: VecDeque<Event>,
}

impl Events {
    /// Notes that something happened at `node`.
    pub fn emit(&self, node: &NodeId, kind: EventKind) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let mut queue = self.queue.borrow_mut();
        queue.last += 1;
        let event = Event { seq: queue.last, time, node: node.clone(), kind };
        queue.waiting.push_back(event);
        self.news.notify_one();
    }

    /// Returns the number of the newest event.
    pub fn last(&self) -> u64 {
        self.queue.borrow().last
    }

    /// Notes something odd that does not stop the agent.
    pub fn warn(&self, node: &NodeId, text: impl Into<String>) {
        self.emit(node, EventKind::Warning { text: text.into() });
    }

    /// Delivers events as they come, for as long as it is polled.
    pub async fn deliver(&self, gateway: &Gateway) {
        loop {
            let events: Vec<Event> =
                self.queue.borrow().waiting.iter().take(BATCH).cloned().collect();
            if events.is_empty() {
                self.empty.notify_waiters();
                self.news.notified().await;
                continue;
            }
            match gateway.events(&EventBatch { events }).await {
                Ok(receipt) => {
                    let waiting = &mut self.queue.borrow_mut().waiting;
                    while waiting.front().is_some_and(|event| event.seq <= receipt.seq) {
                        waiting.pop_front();
                    }
                }
                // What was not acknowledged stays in the queue and is sent again.
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Waits until all events are delivered, or for as long as the end of an agent may take.
    pub async fn flush(&self) {
        let emptied = async {
            loop {
                let emptied = self.empty.notified();
                if self.queue.borrow().waiting.is_empty() {
                    break;
                }
                emptied.await;
            }
        };
        // When time is up the rest of the account is lost, which stops nothing.
        let _ = tokio::time::timeout(LAST_WAIT, emptied).await;
    }
}
