//! What an overseer or a person says to a running agent.
//!
//! Nudges and human messages wait here until their node takes its next step. A cancel ends its
//! node and every node below it at once.

use super::gateway::Gateway;
use hone_protocol::{Message, MessageKind, NodeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The pause after a poll that failed, or that came back empty at once.
const PAUSE: Duration = Duration::from_millis(200);

/// The messages of a trial; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    state: Rc<RefCell<State>>,
}

#[derive(Debug, Default)]
struct State {
    running: BTreeMap<NodeId, CancellationToken>,
    waiting: Vec<Message>,
    cancels: Vec<Message>,
}

/// A cancel that applies to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// The number of its message.
    pub message: u64,
    /// The node that it was meant for: this one or one above it.
    pub node: NodeId,
    /// Why.
    pub reason: String,
}

impl Inbox {
    /// Registers a node; the token is cancelled when a cancel for it arrives.
    pub fn enter(&self, node: &NodeId) -> CancellationToken {
        let token = CancellationToken::new();
        if self.cancel_of(node).is_some() {
            token.cancel();
        }
        self.state.borrow_mut().running.insert(node.clone(), token.clone());
        token
    }

    /// Takes a node from the register. What still waits for it goes to its parent.
    pub fn leave(&self, node: &NodeId) {
        let mut state = self.state.borrow_mut();
        state.running.remove(node);
        for message in state.waiting.iter_mut().filter(|message| message.node == *node) {
            message.node = parent(node);
        }
    }

    /// Takes the messages that wait for a node.
    pub fn take(&self, node: &NodeId) -> Vec<Message> {
        let waiting = &mut self.state.borrow_mut().waiting;
        let (mine, others) = std::mem::take(waiting).into_iter().partition(|m| m.node == *node);
        *waiting = others;
        mine
    }

    /// Counts the messages that wait for other nodes.
    pub fn unread(&self) -> usize {
        self.state.borrow().waiting.len()
    }

    /// Returns the cancel that ends a node, if one came.
    pub fn cancel_of(&self, node: &NodeId) -> Option<Cancel> {
        self.state.borrow().cancels.iter().find_map(|message| match &message.kind {
            MessageKind::Cancel { reason } if node.is_within(&message.node) => Some(Cancel {
                message: message.id,
                node: message.node.clone(),
                reason: reason.clone(),
            }),
            _ => None,
        })
    }

    /// Takes a message that arrived.
    pub fn receive(&self, mut message: Message) {
        let mut state = self.state.borrow_mut();
        match message.kind {
            MessageKind::Cancel { .. } => {
                // What runs below the node ends with it.
                if let Some(token) = state.running.get(&message.node) {
                    token.cancel();
                }
                state.cancels.push(message);
            }
            MessageKind::Nudge { .. } | MessageKind::Human { .. } => {
                // A message for a node that has ended reaches the nearest one above it.
                while message.node != NodeId::root() && !state.running.contains_key(&message.node) {
                    message.node = parent(&message.node);
                }
                state.waiting.push(message);
            }
        }
    }

    /// Polls the gateway for messages, for as long as it is polled itself.
    pub async fn poll(&self, gateway: &Gateway) {
        let mut after = 0;
        loop {
            let messages = match gateway.inbox(after).await {
                Ok(inbox) => inbox.messages,
                // The gateway is asked again; a trial without an inbox goes on without one.
                Err(_) => Vec::new(),
            };
            if messages.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
            for message in messages {
                if message.id > after {
                    after = message.id;
                    self.receive(message);
                }
            }
        }
    }
}

fn parent(node: &NodeId) -> NodeId {
    match node.0.rsplit_once('.') {
        Some((parent, _)) => NodeId(parent.to_owned()),
        None => node.clone(),
    }
}
