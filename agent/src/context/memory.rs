//! Working memory: results that can be forgotten, and commands that are watched.
//!
//! Every entry has an id: `r3` is the third result, `w1` the first watched command.

use crate::markup::Block;
use crate::process::{Ending, Outcome, Shell, ShellError};
use futures_util::future::join_all;
use std::path::Path;
use std::time::Duration;

/// Bytes of a watched command's output that are shown when its call does not say otherwise.
pub const WATCH_CAP: usize = 1024;

/// Watched commands delay every step, so they have to be quick.
const WATCH_TIMEOUT: Duration = Duration::from_secs(10);

/// More commands than this would be a step of their own.
const MOST_WATCHES: usize = 8;

/// The working memory of an agent.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    results: u32,
    watches: u32,
    known: Vec<String>,
    watched: Vec<Watch>,
    forgotten: Vec<String>,
}

#[derive(Clone, Debug)]
struct Watch {
    id: String,
    command: String,
    cap: usize,
}

impl Memory {
    /// Returns the id for a new result.
    pub fn result(&mut self) -> String {
        self.results += 1;
        let id = format!("r{}", self.results);
        self.known.push(id.clone());
        id
    }

    /// Watches a command: it is run before every step. Returns its id.
    pub fn watch(&mut self, command: String, cap: usize) -> Result<String, String> {
        if self.watched.len() == MOST_WATCHES {
            let problem = format!("{MOST_WATCHES} commands are watched already; forget one first");
            return Err(problem);
        }
        self.watches += 1;
        let id = format!("w{}", self.watches);
        self.watched.push(Watch { id: id.clone(), command, cap });
        Ok(id)
    }

    /// Forgets entries. When one of them is not there, nothing is forgotten.
    pub fn forget(&mut self, ids: &[String]) -> Result<(), String> {
        let is_watched = |id: &String| self.watched.iter().any(|watch| watch.id == *id);
        let unknown: Vec<_> =
            ids.iter().filter(|id| !self.known.contains(*id) && !is_watched(id)).cloned().collect();
        if !unknown.is_empty() {
            return Err(format!("nothing is remembered as {}", unknown.join(", ")));
        }
        self.watched.retain(|watch| !ids.contains(&watch.id));
        let (gone, known) =
            std::mem::take(&mut self.known).into_iter().partition(|id| ids.contains(id));
        self.known = known;
        self.forgotten.extend::<Vec<String>>(gone);
        Ok(())
    }

    /// Takes the ids of results that were forgotten since the last time.
    pub fn take_forgotten(&mut self) -> Vec<String> {
        std::mem::take(&mut self.forgotten)
    }

    /// Forgets the oldest result and returns its id.
    pub fn forget_oldest(&mut self) -> Option<String> {
        if self.known.is_empty() { None } else { Some(self.known.remove(0)) }
    }

    /// Runs the watched commands, side by side, and writes what they print as blocks.
    pub async fn look(&self, shell: &Shell, directory: &Path) -> Vec<String> {
        join_all(self.watched.iter().map(|watch| async move {
            let outcome = shell.run(&watch.command, directory, WATCH_TIMEOUT, watch.cap).await;
            let block = Block::new("WATCH").with("id", &watch.id).with("command", &watch.command);
            let (ending, output) = described(outcome);
            block.with("ending", ending).around(&output)
        }))
        .await
    }
}

fn described(outcome: Result<Outcome, ShellError>) -> (String, String) {
    match outcome {
        Err(error) => (format!("not run: {error}"), String::new()),
        Ok(Outcome { ending, output }) => {
            let ending = match ending {
                Ending::Exited(code) => format!("exit code {code}"),
                Ending::Signaled(signal) => format!("signal {signal}"),
                Ending::TimedOut => format!("ended after {} seconds", WATCH_TIMEOUT.as_secs()),
                Ending::NotStarted(reason) => format!("not started: {reason}"),
            };
            (ending, output.to_text())
        }
    }
}
