//! Outages: while a provider is down or out of credit, calls wait instead of failing.

use crate::error::ProviderError;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// What is done about an outage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutageSettings {
    /// Seconds between two looks whether the provider is back.
    pub probe: f64,
    /// Seconds after which waiting calls fail; `None` waits as long as it takes.
    pub give_up: Option<f64>,
}

impl Default for OutageSettings {
    fn default() -> Self {
        OutageSettings { probe: 30.0, give_up: None }
    }
}

/// An outage.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// What the provider said or did.
    pub error: ProviderError,
    /// When it began.
    pub since: jiff::Timestamp,
}

/// Where outages are posted.
pub(crate) struct OutageBoard {
    posted: watch::Sender<Option<Outage>>,
    again: Notify,
    settings: OutageSettings,
}

impl OutageBoard {
    pub fn new(settings: OutageSettings) -> Self {
        OutageBoard { posted: watch::Sender::new(None), again: Notify::new(), settings }
    }

    /// Shows the board to others.
    pub fn subscribe(&self) -> watch::Receiver<Option<Outage>> {
        self.posted.subscribe()
    }

    /// Lets waiting calls try at once.
    pub fn try_now(&self) {
        self.again.notify_waiters();
    }

    /// Tells whether a call that has waited so long shall give up.
    pub fn is_hopeless(&self, waited: Duration) -> bool {
        self.settings.give_up.is_some_and(|limit| waited.as_secs_f64() >= limit)
    }

    /// Posts an outage and waits until it is time to try again.
    pub async fn wait(&self, error: &ProviderError) {
        self.posted.send_if_modified(|posted| match posted {
            Some(known) if known.error == *error => false,
            Some(known) => {
                known.error = error.clone();
                true
            }
            None => {
                *posted = Some(Outage { error: error.clone(), since: jiff::Timestamp::now() });
                true
            }
        });
        let probe = Duration::try_from_secs_f64(self.settings.probe).unwrap_or(Duration::MAX);
        let _ = tokio::time::timeout(probe, self.again.notified()).await;
    }

    /// Takes the outage of a provider down, since a call got through.
    pub fn is_over(&self, provider: &str) {
        if self.posted.borrow().is_none() {
            return;
        }
        let ended = self.posted.send_if_modified(|posted| {
            let over = posted.as_ref().is_some_and(|known| known.error.provider == provider);
            if over {
                *posted = None;
            }
            over
        });
        if ended {
            self.again.notify_waiters();
        }
    }
}
