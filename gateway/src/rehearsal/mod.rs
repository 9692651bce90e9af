//! The rehearsal model: a deterministic stand-in for a language model.
//!
//! It lets the whole loop run at no cost, without a network and without a key, and it says what it
//! is in its name. It is a pure function of a request and a seed: it reads the request as a model
//! would (which agent it is, which tools are offered, what the statement asks, what the dialogue
//! shows) and knows nothing else: no files, no clock, no hidden answers. So the agent that it
//! drives gets better only when its tools do.
//!
//! | asked as | what it does | file |
//! |---|---|---|
//! | `main` | delegates to `coder`, hands in what comes back | [`worker`] |
//! | `coder` on an edit problem | opens the file; overwrites it, or replaces small parts where a tool for that is offered | [`edit`] |
//! | `coder` on a navigation problem | guesses among search hits, or compares definitions with imports where a tool finds them | [`navigate`] |
//! | `coder` that improves an agent | picks a proposal that the archive does not show yet and makes it | [`improve`], [`proposals`] |
//! | `coder` that repairs one | mends one kind of mistake, and fails at another | [`repair`] |
//! | the overseer's judge | follows what the detectors found | [`judge`] |
//! | anything else | a sentence or two | here |
//!
//! How it reads the dialogue stands in [`prompt`], how a worker is played without memory in
//! [`script`]; [`price`] states what it costs and how fast it is.

mod block;
mod difference;
mod edit;
mod improve;
mod judge;
mod navigate;
pub mod price;
mod prompt;
mod proposals;
mod python;
mod repair;
mod script;
mod statement;
mod worker;

#[cfg(test)]
mod tests;

pub use navigate::{gets_stuck, misjudges_column};

use crate::completion::{ChatRequest, Completion, FinishReason, Usage};
use crate::tokens;
use prompt::Prompt;
use std::time::Duration;

/// The name under which the stand-in answers, so that nobody takes it for a model.
pub const MODEL_NAME: &str = "rehearsal-stand-in";

/// How long a worker that is stuck is held back at each repeat: longer than an overseer takes to
/// notice, so that the number of repeats until it is cancelled does not depend on the machine.
const STUCK_PAUSE: Duration = Duration::from_millis(250);

/// What it says where it has no part to play.
const SMALL_TALK: &str = "This is a rehearsal stand-in, not a language model. From what it was \
                          shown it has nothing to object to: keep the change small and test it.";

/// What the stand-in answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The reply. All of the prompt counts as new to the provider's cache.
    pub completion: Completion,
    /// How long to hold the reply back, for a worker that is stuck: without this it would repeat
    /// itself thousands of times before anybody looks. It is not part of the stated time.
    pub pause: Duration,
}

/// Answers a chat request; the same request and seed give the same reply.
pub fn reply(request: &ChatRequest, seed: u64) -> Completion {
    answer(request, seed).completion
}

/// Answers a chat request and tells how long to hold the reply back.
pub fn answer(request: &ChatRequest, seed: u64) -> Answer {
    let mut pause = Duration::ZERO;
    let text = match Prompt::read(request) {
        None => match judge::view_in(request) {
            Some(view) => judge::judge(&view),
            None => SMALL_TALK.to_owned(),
        },
        Some(prompt) => {
            let mut repeats = 0;
            let whole = script::play(&prompt, |script| {
                let said = worker::work(script, seed);
                repeats = script.stuck;
                said
            });
            if repeats > 0 {
                pause = STUCK_PAUSE;
            }
            script::rest_of(&whole, &prompt.unfinished)
        }
    };
    Answer { completion: finished(&text, request), pause }
}

/// Cuts a text by the request's stop texts and its limit, and counts its tokens.
fn finished(text: &str, request: &ChatRequest) -> Completion {
    let stop = request
        .stop
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| Some((text.find(stop.as_str())?, stop)))
        .min();
    let mut text = stop.map_or(text, |(at, _)| &text[..at]);
    let mut finish =
        stop.map_or(FinishReason::Stop, |(_, stop)| FinishReason::StopText(stop.clone()));
    if let Some(limit) = request.max_tokens.filter(|limit| *limit < tokens::of_text(text)) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let end = text.char_indices().map(|(at, _)| at).take_while(|at| at.div_ceil(4) <= limit);
        text = &text[..end.last().unwrap_or(0)];
        finish = FinishReason::Length;
    }
    let usage = Usage {
        input: tokens::of_prompt(request),
        output: tokens::of_text(text),
        ..Usage::default()
    };
    Completion { text: text.to_owned(), finish, usage: Some(usage), ..Completion::default() }
}
