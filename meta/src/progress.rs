//! What a run tells while it goes on: lines for people, a live line on a terminal, JSON for programs.

use crate::cli::Console;
use hone_archive::record::Trial;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Something that happened in a run.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// Something to be told in words.
    Notice {
        /// The words.
        text: String,
    },
    /// An iteration began.
    Iteration {
        /// Its number.
        iteration: u32,
        /// The number of iterations.
        of: u32,
        /// The version that is edited.
        base: u32,
        /// The version that edits.
        editor: u32,
        /// Why the policies' choice was set aside.
        rescue: Option<String>,
    },
    /// A step of an iteration began.
    Step {
        /// The iteration.
        iteration: u32,
        /// What is done, such as `edit`, `build`, `repair`, `gate`.
        step: &'static str,
    },
    /// An iteration's child was judged.
    Judged {
        /// The iteration.
        iteration: u32,
        /// The version that it became.
        agent: u32,
        /// The verdict.
        verdict: String,
        /// Why.
        reason: String,
        /// What it says that it changed.
        description: String,
    },
    /// An agent's trials begin.
    Evaluating {
        /// The agent.
        agent: u32,
        /// How many trials.
        trials: usize,
    },
    /// A trial began.
    TrialStarted {
        /// Its id.
        trial: String,
    },
    /// A trial ended.
    TrialEnded {
        /// The agent.
        agent: u32,
        /// The suite.
        suite: String,
        /// The problem.
        problem: String,
        /// The repeat.
        epoch: u32,
        /// The verdict.
        verdict: &'static str,
        /// The score, where it was scored.
        score: Option<f64>,
        /// US dollars.
        usd: f64,
        /// Seconds, by the clock of the utility.
        seconds: f64,
        /// Why it ended so.
        reason: String,
    },
    /// The run came to its end.
    Ended {
        /// Why.
        how: String,
        /// What it has spent, in US dollars.
        usd: f64,
    },
}

impl RunEvent {
    /// Tells of a trial's end.
    pub fn trial_ended(trial: &Trial) -> Self {
        RunEvent::TrialEnded {
            agent: trial.agent.0,
            suite: trial.suite.clone(),
            problem: trial.problem.clone(),
            epoch: trial.epoch,
            verdict: trial.outcome.name(),
            score: trial.outcome.score(),
            usd: trial.cost.usd(),
            seconds: trial.seconds,
            reason: trial.reason.clone(),
        }
    }
}

/// Tells of a run.
pub struct Progress {
    console: Console,
    live: Option<ProgressBar>,
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    step: String,
    done: usize,
    total: usize,
    in_flight: Vec<String>,
    usd: f64,
}

impl Progress {
    /// Begins to tell.
    pub fn new(console: Console) -> Self {
        let live = console.is_live().then(|| {
            let bar = ProgressBar::new_spinner();
            // The template is a constant; where it did not parse, the default is shown.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Progress { console, live, count: Mutex::default() }
    }

    /// Tells of an event.
    pub fn tell(&self, event: RunEvent) {
        if self.console.json {
            if let Ok(line) = serde_json::to_string(&event) {
                // A reader that went away does not end the run.
                let _ = self.console.data(&line);
            }
            return;
        }
        let line = self.count(&event);
        match &self.live {
            Some(bar) => {
                if let Some(line) = line {
                    bar.println(line);
                }
                bar.set_message(self.status());
            }
            None => {
                if let Some(line) = line {
                    self.console.say(&line);
                }
            }
        }
    }

    /// Takes the live line away.
    pub fn end(&self) {
        if let Some(bar) = &self.live {
            bar.finish_and_clear();
        }
    }

    fn status(&self) -> String {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = count.step.clone();
        if count.total > 0 {
            text.push_str(&format!(" · {}/{} trials", count.done, count.total));
        }
        text.push_str(&format!(" · ${:.4}", count.usd));
        if let Some(first) = count.in_flight.first() {
            let more = count.in_flight.len() - 1;
            text.push_str(&format!(" · {first}"));
            if more > 0 {
                text.push_str(&format!(" and {more} more"));
            }
        }
        text
    }

    /// Counts an event and returns the line that people are told.
    fn count(&self, event: &RunEvent) -> Option<String> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Notice { text } => Some(text.clone()),
            RunEvent::Iteration { iteration, of, base, editor, rescue } => {
                count.step = format!("iteration {iteration}/{of}");
                count.total = 0;
                let rescue = rescue.as_ref().map_or(String::new(), |it| format!(" ({it})"));
                Some(format!(
                    "iteration {iteration}/{of}: agent {editor} edits agent {base}{rescue}"
                ))
            }
            RunEvent::Step { iteration, step } => {
                count.step = format!("iteration {iteration}: {step}");
                Some(format!("  {step} …"))
            }
            RunEvent::Judged { agent, verdict, reason, description, .. } => {
                let title = description.lines().next().unwrap_or_default();
                let reason = reason.lines().next().unwrap_or_default();
                let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                Some(format!("  agent {agent}: {verdict}{why}: {title}"))
            }
            RunEvent::Evaluating { agent, trials } => {
                count.step = format!("agent {agent}");
                (count.done, count.total) = (0, *trials);
                Some(format!("  agent {agent}: {trials} trials"))
            }
            RunEvent::TrialStarted { trial } => {
                count.in_flight.push(trial.clone());
                None
            }
            RunEvent::TrialEnded {
                agent,
                suite,
                problem,
                epoch,
                verdict,
                score,
                usd,
                seconds,
                reason,
            } => {
                let id = format!("agent-{agent}/{suite}/{problem}/{epoch}");
                count.in_flight.retain(|it| !it.starts_with(&id));
                count.done += 1;
                count.usd += usd;
                let score = score.map_or("unscored".to_owned(), |score| format!("{score:.3}"));
                let why = if reason.is_empty() { String::new() } else { format!("  {reason}") };
                Some(format!(
                    "    [{}/{}] {suite}/{problem}  {verdict} {score}  ${usd:.4}  {seconds:.1} s{why}",
                    count.done, count.total
                ))
            }
            RunEvent::Ended { how, usd } => Some(format!("ended: {how}; ${usd:.4} spent")),
        }
    }
}
