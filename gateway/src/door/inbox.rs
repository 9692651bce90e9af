//! What the harness says to a running agent.

use hone_protocol::{Inbox, Message, MessageKind, NodeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivered {
    /// The agent has not asked for it.
    Waiting,
    /// It was handed over.
    Fetched,
    /// The agent has asked for what comes after it.
    Acknowledged,
}

/// The post of a trial.
pub(crate) struct Post {
    messages: Mutex<Vec<Message>>,
    /// The id of the newest message, of the newest that was handed over, and of the newest that
    /// was acknowledged.
    ids: watch::Sender<Ids>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ids {
    newest: u64,
    fetched: u64,
    acknowledged: u64,
}

impl Default for Post {
    fn default() -> Self {
        Post { messages: Mutex::new(Vec::new()), ids: watch::Sender::new(Ids::default()) }
    }
}

impl Post {
    fn messages(&self) -> MutexGuard<'_, Vec<Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, node: NodeId, kind: MessageKind) -> u64 {
        let mut messages = self.messages();
        let id = messages.len() as u64 + 1;
        messages.push(Message { id, node, kind });
        drop(messages);
        self.ids.send_modify(|ids| ids.newest = ids.newest.max(id));
        id
    }

    /// Waits until there is a message above `after`, and returns all of them.
    pub(super) async fn fetch(&self, after: u64) -> Inbox {
        let mut ids = self.ids.subscribe();
        self.ids.send_if_modified(|ids| {
            let acknowledged = after.min(ids.fetched).max(ids.acknowledged);
            std::mem::replace(&mut ids.acknowledged, acknowledged) != acknowledged
        });
        // The sender lives as long as this post.
        let _ = ids.wait_for(|ids| ids.newest > after).await;
        let messages: Vec<Message> =
            self.messages().iter().filter(|message| message.id > after).cloned().collect();
        if let Some(last) = messages.last() {
            self.ids.send_modify(|ids| ids.fetched = ids.fetched.max(last.id));
        }
        Inbox { messages }
    }
}

/// Sends to the agent of a trial.
#[derive(Clone)]
pub struct InboxSender {
    post: Arc<Post>,
}

impl InboxSender {
    pub(super) fn new(post: Arc<Post>) -> Self {
        InboxSender { post }
    }

    /// Sends a message to a node, and returns its id.
    pub fn send(&self, node: NodeId, kind: MessageKind) -> u64 {
        self.post.send(node, kind)
    }

    /// Says how far a message has come.
    pub fn delivered(&self, id: u64) -> Delivered {
        let ids = *self.post.ids.borrow();
        if id <= ids.acknowledged {
            Delivered::Acknowledged
        } else if id <= ids.fetched {
            Delivered::Fetched
        } else {
            Delivered::Waiting
        }
    }

    /// Waits until a message has come so far. It may never: put a limit on the wait.
    pub async fn wait(&self, id: u64, wanted: Delivered) {
        let mut ids = self.post.ids.subscribe();
        let come = |ids: &Ids| match wanted {
            Delivered::Waiting => ids.newest >= id,
            Delivered::Fetched => ids.fetched >= id,
            Delivered::Acknowledged => ids.acknowledged >= id,
        };
        // The sender lives as long as the post.
        let _ = ids.wait_for(come).await;
    }
}
