//! The rehearsal model as a provider.
//!
//! It speaks the OpenAI dialect to the rest of the gateway, so that its exchanges are recorded
//! and read like any other's. Its cache is a simulation, and its time is computed.

use crate::completion::{ChatRequest, Dialect, Usage};
use crate::error::Problem;
use crate::openai;
use crate::profile::Quirks;
use crate::provider::{Errand, Provider, RawReply, ReplyForm};
use crate::{rehearsal, tokens};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Nanoseconds that a call takes before anything else.
const NANOS_PER_CALL: u64 = 500_000_000;

/// Nanoseconds for a prompt token that is not in the cache: 4,000 tokens a second.
const NANOS_PER_PROMPT_TOKEN: u64 = 250_000;

/// Nanoseconds for a prompt token from the cache: 40,000 tokens a second.
const NANOS_PER_CACHED_TOKEN: u64 = 25_000;

/// Nanoseconds for an output token: 80 tokens a second.
const NANOS_PER_OUTPUT_TOKEN: u64 = 12_500_000;

/// Prompts shorter than this are not cached, as with real providers.
const LEAST_CACHED: u64 = 1024;

/// Computes the time that the rehearsal model states for a call.
pub fn model_time(usage: &Usage) -> Duration {
    Duration::from_nanos(
        NANOS_PER_CALL
            + NANOS_PER_PROMPT_TOKEN * (usage.input + usage.cache_write)
            + NANOS_PER_CACHED_TOKEN * usage.cache_read
            + NANOS_PER_OUTPUT_TOKEN * usage.output,
    )
}

/// The prompts of one trial, as a provider's prefix cache would know them: a hash of every
/// beginning that ends with a message, and its tokens.
#[derive(Clone, Default)]
pub struct PrefixCache(Arc<Mutex<HashMap<[u8; 32], u64>>>);

impl PrefixCache {
    /// Returns the tokens of the longest beginning that an earlier prompt had, and learns this
    /// prompt.
    fn pass(&self, request: &ChatRequest) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hasher = blake3::Hasher::new();
        let mut begun = ChatRequest::default();
        let mut cached = 0;
        for message in &request.messages {
            let role = [message.role as u8];
            let text = message.text();
            hasher.update(&role).update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
            begun.messages.push(message.clone());
            let tokens = tokens::of_prompt(&begun);
            if known.insert(*hasher.finalize().as_bytes(), tokens).is_some() {
                cached = tokens;
            }
        }
        if cached < LEAST_CACHED { 0 } else { cached }
    }
}

/// The rehearsal model.
pub(crate) struct StandIn {
    pub seed: u64,
}

impl Provider for StandIn {
    fn encode(&self, request: &ChatRequest) -> Result<Bytes, Problem> {
        let quirks = Quirks { stop: usize::MAX, ..Quirks::default() };
        Ok(Bytes::from(openai::encode(request, &quirks)?.to_string()))
    }

    fn send(&self, body: Bytes, errand: &Errand) -> BoxFuture<'static, Result<RawReply, Problem>> {
        let seed = self.seed;
        let prefixes = errand.prefixes.clone();
        Box::pin(async move {
            // The stand-in computes, so it is kept off the threads that serve.
            let reply = tokio::task::spawn_blocking(move || answer(&body, seed, &prefixes)).await;
            let (body, usage) = reply
                .map_err(|error| Problem::Garbled {
                    detail: format!("the rehearsal model failed: {error}"),
                })?
                .map_err(|detail| Problem::BadRequest { status: 400, detail })?;
            Ok(RawReply {
                dialect: Dialect::OpenAi,
                form: ReplyForm::Whole,
                body: stream::iter([Ok(body)]).boxed(),
                model_time: Some(model_time(&usage)),
            })
        })
    }
}

fn answer(body: &[u8], seed: u64, prefixes: &PrefixCache) -> Result<(Bytes, Usage), String> {
    let request = openai::parse(body)?;
    let mut completion = rehearsal::reply(&request, seed);
    let mut usage = completion.usage.unwrap_or_else(|| Usage {
        input: tokens::of_prompt(&request),
        output: tokens::of_text(&completion.text),
        ..Usage::default()
    });
    let cached = prefixes.pass(&request).min(usage.input);
    usage.input -= cached;
    usage.cache_read += cached;
    completion.usage = Some(usage);
    let reply = openai::whole("rehearsal", &request.model, &completion);
    Ok((Bytes::from(reply.to_string()), usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::ChatMessage;

    #[test]
    fn the_cache_serves_the_longest_beginning_that_was_sent_before() {
        let cache = PrefixCache::default();
        let system = ChatMessage::system("s".repeat(8000));
        let first = ChatRequest::new("m", vec![system.clone(), ChatMessage::user("a")]);
        assert_eq!(cache.pass(&first), 0);
        let longer = ChatRequest::new(
            "m",
            vec![system.clone(), ChatMessage::user("a"), ChatMessage::assistant("b")],
        );
        assert_eq!(cache.pass(&longer), 2001 + 8);
        let other = ChatRequest::new("m", vec![system, ChatMessage::user("z")]);
        assert_eq!(cache.pass(&other), 2004);
    }
}
