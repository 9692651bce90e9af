//! The rehearsal model as a provider.
//!
//! It speaks the OpenAI dialect to the rest of the gateway, so that its exchanges are recorded
//! and read like any other's. Its cache is a simulation, and its time is computed.

use crate::completion::{ChatRequest, Dialect, Usage};
use crate::error::Problem;
use crate::openai;
use crate::profile::Quirks;
use crate::provider::{Errand, Provider, RawReply, ReplyForm};
use crate::rehearsal::{self, price};
use crate::tokens;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Prompts shorter than this are not cached, as with real providers.
const LEAST_CACHED: u64 = 1024;

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
    fn check(&self) -> BoxFuture<'static, Result<(), Problem>> {
        Box::pin(std::future::ready(Ok(())))
    }

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
            let (body, usage, pause) = reply
                .map_err(|error| Problem::Garbled {
                    detail: format!("the rehearsal model failed: {error}"),
                })?
                .map_err(|detail| Problem::BadRequest { status: 400, detail })?;
            tokio::time::sleep(pause).await;
            Ok(RawReply {
                dialect: Dialect::OpenAi,
                form: ReplyForm::Whole,
                body: stream::iter([Ok(body)]).boxed(),
                model_time: Some(price::model_time(usage.input + usage.cache_write, usage.output)),
            })
        })
    }
}

fn answer(
    body: &[u8],
    seed: u64,
    prefixes: &PrefixCache,
) -> Result<(Bytes, Usage, Duration), String> {
    let request = openai::parse(body)?;
    let rehearsal::Answer { mut completion, pause } = rehearsal::answer(&request, seed);
    let mut usage = completion.usage.unwrap_or_else(|| Usage {
        input: tokens::of_prompt(&request),
        output: tokens::of_text(&completion.text),
        ..Usage::default()
    });
    let cached = prefixes.pass(&request).min(usage.input);
    usage.input -= cached;
    usage.cache_read += cached;
    completion.usage = Some(usage);
    let reply = openai::whole("rehearsal", rehearsal::MODEL_NAME, &completion);
    Ok((Bytes::from(reply.to_string()), usage, pause))
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
