//! The rehearsal model: a deterministic stand-in for a language model.
//!
//! It is a pure function of a chat request and a seed. It sees what stands in the request and
//! nothing else.

use crate::completion::{ChatRequest, Completion, FinishReason, Usage};
use crate::tokens;

/// Answers a chat request; the same request and seed give the same reply.
pub fn reply(request: &ChatRequest, _seed: u64) -> Completion {
    let text = String::new();
    let usage = Usage {
        input: tokens::of_prompt(request),
        output: tokens::of_text(&text),
        ..Usage::default()
    };
    Completion { text, finish: FinishReason::Stop, usage: Some(usage), ..Completion::default() }
}
