//! The loop of an agent that works in steps.

use super::calls::Missed;
use super::reply::Said;
use super::{Ended, How};
use crate::agents::Agent;
use crate::context::limits::{Limit, Limits};
use crate::context::prompt;
use crate::context::status::{Gauge, Status};
use crate::context::window::{Part, Window};
use crate::markup::{Block, Reading};
use crate::tools::{Desk, Finish, Kit, Tool};
use crate::trial::{Trial, TrialEnd};
use hone_protocol::{EventKind, MessageKind, NodeId};
use std::rc::Rc;

/// So many replies in a row without a call that can be carried out end the job.
const MOST_FAILURES: u32 = 5;

/// An agent at work.
pub(super) struct Steps {
    pub(super) agent: &'static Agent,
    kits: &'static [Kit],
    pub(super) task: Option<String>,
    pub(super) desk: Desk,
    pub(super) window: Window,
    pub(super) gauge: Gauge,
    limits: Limits,
    pub(super) children: u32,
}

impl Steps {
    pub(super) fn new(
        trial: Rc<Trial>,
        id: NodeId,
        agent: &'static Agent,
        kits: &'static [Kit],
        task: Option<String>,
    ) -> Self {
        let desk = Desk::new(trial, id);
        let window = Window::new(String::new(), String::new());
        let (gauge, limits) = (Gauge::default(), Limits::default());
        Steps { agent, kits, task, desk, window, gauge, limits, children: 0 }
    }

    /// Opens the files that the agent was called with. They are part of its core prompt.
    pub(super) fn open(&mut self, paths: &[String]) {
        let mut problems = Vec::new();
        for path in paths.iter().filter(|path| !path.trim().is_empty()) {
            if let Err(problem) = self.desk.open(path.trim()) {
                problems.push(format!("{path} was not opened: {problem}"));
            }
        }
        self.desk.shown.clear();
        let trial = self.desk.trial.clone();
        let tools: Vec<&Tool> = self.tools(&trial).collect();
        self.window = Window::new(prompt::system(self.agent, &tools, trial.job.role), self.core());
        if !problems.is_empty() {
            self.notice("warning", None, &problems.join("\n"));
        }
    }

    /// Lists the tools that the agent is given.
    pub(super) fn tools<'a>(&self, trial: &'a Trial) -> impl Iterator<Item = &'a Tool> + use<'a> {
        let (kits, role) = (self.kits, trial.job.role);
        trial.tools.iter().filter(move |tool| kits.contains(&tool.kit) && tool.kit.serves(role))
    }

    /// Works until the agent ends.
    pub(super) async fn run(&mut self, most: u32) -> Result<Ended, TrialEnd> {
        let allowed = most.min(self.desk.trial.job.limits.iterations);
        let mut failures = 0;
        for step in 0..allowed {
            self.read_inbox();
            self.tell_limits(step, allowed);
            let status = self.last_words().await;
            let missed = match self.reply(&status).await? {
                Said::Whole(reading) => self.carry_out(reading).await?,
                Said::Unfinished => Some(Missed(
                    "the reply was cut again and again; do less in one call".to_owned(),
                )),
            };
            match missed {
                None => failures = 0,
                Some(Missed(problem)) => {
                    failures += 1;
                    self.desk.trial.events.warn(&self.desk.node, &problem);
                    if failures == MOST_FAILURES {
                        return Err(TrialEnd::Protocol(failures, problem));
                    }
                    let result = Block::new("TOOL_RESULT").with("tool", "").with("ok", false);
                    self.window.tell(Part::Text(result.around(&problem)));
                }
            }
            if let Some(finish) = self.desk.finish.take() {
                return Ok(match finish {
                    Finish::Complete(value) => Ended { how: How::Complete, value },
                    Finish::Return(value) => Ended { how: How::Returned, value },
                    Finish::GiveUp(value) => Ended { how: How::GaveUp, value },
                });
            }
            self.update();
        }
        let value = format!("it used up its {allowed} steps and did not end by itself");
        Ok(Ended { how: How::StepLimit, value })
    }

    async fn carry_out(&mut self, reading: Reading) -> Result<Option<Missed>, TrialEnd> {
        let (before, outcome) = match reading {
            Reading::Call { call, before, more } => (before, Ok((call, more))),
            Reading::NoCall => (String::new(), Err("there was no call in your reply; end it with one \
                call, and with `return_result` or `complete` when you are done".to_owned())),
            Reading::Cut { before, .. } => (before, Err("the call in your reply is not whole: an argument \
                or a tag is not closed. A value that contains closing tags of calls has to stand in a \
                fence".to_owned())),
            Reading::Wrong { before, problem } => (before, Err(format!("the call cannot be read: {problem}"))),
        };
        let text = before.trim();
        if !text.is_empty() {
            self.desk.emit(EventKind::AssistantMessage { text: text.to_owned() });
        }
        match outcome {
            Err(problem) => Ok(Some(Missed(problem))),
            Ok((call, more)) => {
                let missed = self.call(call).await?;
                if more > 0 {
                    let text = format!(
                        "{more} more calls in the same reply were not carried out: one call to a reply."
                    );
                    self.notice("warning", None, &text);
                }
                Ok(missed)
            }
        }
    }

    /// Writes what stands at the very end: watched commands and the status.
    async fn last_words(&self) -> String {
        let trial = &self.desk.trial;
        let mut words = self.desk.memory.look(&trial.shell, trial.workspace.root()).await;
        words.push(self.status().to_block());
        words.join("\n")
    }

    fn status(&self) -> Status {
        let trial = &self.desk.trial;
        Status {
            used: self.gauge.tokens(self.window.bytes()),
            of: trial.job.limits.context_tokens,
            elapsed: trial.elapsed(),
            unread: trial.inbox.unread(),
        }
    }

    fn read_inbox(&mut self) {
        let trial = self.desk.trial.clone();
        for message in trial.inbox.take(&self.desk.node) {
            let (kind, text) = match message.kind {
                MessageKind::Nudge { text } => ("nudge", text),
                MessageKind::Human { text } => ("human", text),
                // A cancel never waits for a step.
                MessageKind::Cancel { .. } => continue,
            };
            self.desk.emit(EventKind::NudgeReceived { message: message.id });
            self.notice(kind, Some(message.id), &text);
        }
    }

    fn tell_limits(&mut self, step: u32, allowed: u32) {
        let trial = self.desk.trial.clone();
        let limits = &trial.job.limits;
        let status = self.status();
        let passed = [
            self.limits.check(Limit::Time, trial.elapsed().as_secs_f64(), limits.seconds),
            self.limits.check(Limit::Cost, trial.usd(), limits.usd),
            self.limits.check(Limit::Steps, step.into(), allowed.into()),
            self.limits.check(Limit::Context, status.used as f64, status.of as f64),
        ];
        for passed in passed.into_iter().flatten() {
            let limit = passed.limit.word().to_owned();
            self.desk.emit(EventKind::Budget { used_percent: passed.used, limit });
            self.notice("limit", None, &passed.text);
        }
    }

    pub(super) fn notice(&mut self, kind: &str, id: Option<u64>, text: &str) {
        let mut block = Block::new("NOTICE").with("kind", kind);
        if let Some(id) = id {
            block = block.with("id", id);
        }
        self.window.tell(Part::Text(block.around(text)));
    }
}
