//! Keeps the context in shape: shows what tools have put aside, writes the core prompt anew when
//! that pays, and makes room when there is none left.

use super::steps::Steps;
use crate::context::window::Part;
use crate::context::{Shown, prompt};
use hone_protocol::EventKind;

/// The share of the context that files in the dialogue may take before they are written into the
/// core prompt anew: that costs one reading of everything at the full price, and what it saves is
/// read at the price of the cache at every step.
const FILES_SHARE: f64 = 0.25;

/// The part of these files that has to be out of date for it to pay.
const STALE_SHARE: f64 = 0.5;

/// How full the context is after room was made.
const ROOMY_SHARE: f64 = 0.75;

impl Steps {
    /// Takes into the dialogue what the last call has changed in what the model is to see.
    pub(super) fn update(&mut self) {
        self.desk.refresh();
        for shown in std::mem::take(&mut self.desk.shown) {
            let part = match shown {
                Shown::Remark(_) => Part::Text(shown.to_block()),
                Shown::File { .. } | Shown::Diff { .. } => Part::File(shown.to_block()),
            };
            self.window.tell(part);
        }
        for id in self.desk.memory.take_forgotten() {
            self.window.forget(&id);
        }
        let asked = std::mem::take(&mut self.desk.regenerate);
        if asked || self.consolidating_pays() {
            self.consolidate();
        }
        self.make_room();
    }

    fn consolidating_pays(&self) -> bool {
        let shown = self.window.file_bytes();
        let most = self.desk.trial.job.limits.context_tokens as f64 * FILES_SHARE;
        if (self.gauge.tokens(shown) as f64) < most {
            return false;
        }
        let without = self.window.core_bytes() + shown;
        let with = self.core().len();
        without.saturating_sub(with) as f64 >= shown as f64 * STALE_SHARE
    }

    fn consolidate(&mut self) {
        let core = self.core();
        if !self.window.differs(&core) {
            return;
        }
        self.window.consolidate(core);
        let tokens = self.gauge.tokens(self.window.bytes());
        self.desk.emit(EventKind::PromptUpdated { tokens });
    }

    /// Forgets the oldest results when the context is full. The model is told at 95 percent, so
    /// this is for models that did not listen.
    pub(super) fn make_room(&mut self) {
        let of = self.desk.trial.job.limits.context_tokens as f64;
        if self.used() >= of {
            self.forget_oldest(of * ROOMY_SHARE);
        }
    }

    /// Forgets the oldest results until the context has so many tokens; tells whether there was
    /// anything to forget.
    pub(super) fn forget_oldest(&mut self, tokens: f64) -> bool {
        let mut forgotten = Vec::new();
        while self.used() > tokens
            && let Some(id) = self.desk.memory.forget_oldest()
        {
            self.window.forget(&id);
            forgotten.push(id);
        }
        let (Some(first), Some(last)) = (forgotten.first(), forgotten.last()) else { return false };
        let text = format!("The context was full: the results {first} to {last} were forgotten.");
        self.desk.trial.events.warn(&self.desk.node, &text);
        self.notice("limit", None, &text);
        true
    }

    /// Estimates the tokens of the context.
    pub(super) fn used(&self) -> f64 {
        self.gauge.tokens(self.window.bytes()) as f64
    }

    /// Writes the core prompt as it would be now.
    pub(super) fn core(&self) -> String {
        let trial = &self.desk.trial;
        prompt::core(&trial.job, self.task.as_deref(), &self.desk.files, trial.workspace.root())
    }
}
