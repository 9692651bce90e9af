//! Reads an OpenAI reply, streamed or whole.

use crate::completion::{FinishReason, Usage};
use crate::error::Problem;
use crate::provider::{Decoder, ReplyForm, ReplyPart};
use crate::sse::EventReader;
use crate::{json, refusal};
use serde_json::Value;

/// A decoder for this dialect.
pub struct OpenAiDecoder {
    form: ReplyForm,
    events: EventReader,
    whole: Vec<u8>,
    finished: bool,
}

impl OpenAiDecoder {
    /// Makes a decoder for a reply of that form.
    pub fn new(form: ReplyForm) -> Self {
        OpenAiDecoder { form, events: EventReader::default(), whole: Vec::new(), finished: false }
    }

    fn read_event(&mut self, data: &str, parts: &mut Vec<ReplyPart>) -> Result<(), Problem> {
        if data.trim() == "[DONE]" {
            self.finished = true;
            return Ok(());
        }
        let chunk: Value = json::read(data).map_err(|error| garbled(&error.to_string(), data))?;
        self.read_chunk(&chunk, "delta", parts)
    }

    fn read_chunk(
        &mut self,
        chunk: &Value,
        inner: &str,
        parts: &mut Vec<ReplyPart>,
    ) -> Result<(), Problem> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(refusal::of_error_value(error));
        }
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        if let Some(choice) = choice {
            if let Some(delta) = choice.get(inner) {
                read_delta(delta, parts);
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.finished = true;
                parts.push(ReplyPart::Finish(finish(reason)));
            }
        }
        if let Some(usage) = chunk.get("usage").and_then(read_usage) {
            parts.push(ReplyPart::Usage(usage));
        }
        Ok(())
    }
}

impl Decoder for OpenAiDecoder {
    fn feed(&mut self, bytes: &[u8], parts: &mut Vec<ReplyPart>) -> Result<(), Problem> {
        match self.form {
            ReplyForm::Whole => self.whole.extend_from_slice(bytes),
            ReplyForm::Events => {
                let mut events = Vec::new();
                self.events.feed(bytes, &mut events)?;
                for event in events {
                    self.read_event(&event.data, parts)?;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, parts: &mut Vec<ReplyPart>) -> Result<(), Problem> {
        match self.form {
            ReplyForm::Whole => {
                let bytes = std::mem::take(&mut self.whole);
                let text = String::from_utf8_lossy(&bytes);
                let reply: Value =
                    json::read(&text).map_err(|error| garbled(&error.to_string(), &text))?;
                if reply.get("choices").and_then(|choices| choices.get(0)).is_none()
                    && reply.get("error").is_none()
                {
                    return Err(garbled("it has no choices", &text));
                }
                self.finished = true;
                self.read_chunk(&reply, "message", parts)
            }
            ReplyForm::Events => {
                let mut events = Vec::new();
                self.events.finish(&mut events);
                for event in events {
                    self.read_event(&event.data, parts)?;
                }
                if self.finished {
                    Ok(())
                } else {
                    Err(Problem::CutOff {
                        detail: "the stream ended without a finish reason".to_owned(),
                    })
                }
            }
        }
    }
}

fn garbled(why: &str, text: &str) -> Problem {
    Problem::Garbled { detail: format!("{why}: {}", refusal::excerpt(text)) }
}

fn read_delta(delta: &Value, parts: &mut Vec<ReplyPart>) {
    for name in ["reasoning_content", "reasoning"] {
        if let Some(text) = delta.get(name).and_then(Value::as_str) {
            if !text.is_empty() {
                parts.push(ReplyPart::Reasoning(text.to_owned()));
            }
            break;
        }
    }
    match delta.get("content") {
        Some(Value::String(text)) if !text.is_empty() => parts.push(ReplyPart::Text(text.clone())),
        // Some servers send a list of parts.
        Some(Value::Array(pieces)) => {
            for text in pieces.iter().filter_map(|piece| piece.get("text")?.as_str()) {
                parts.push(ReplyPart::Text(text.to_owned()));
            }
        }
        _ => {}
    }
    if let Some(text) = delta.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty())
    {
        parts.push(ReplyPart::Text(text.to_owned()));
        parts.push(ReplyPart::Finish(FinishReason::Refusal));
    }
    let calls = delta.get("tool_calls").and_then(Value::as_array);
    for (position, call) in calls.into_iter().flatten().enumerate() {
        let function = call.get("function");
        let text = |name: &str| function.and_then(|function| function.get(name)?.as_str());
        parts.push(ReplyPart::ToolCall {
            index: call
                .get("index")
                .and_then(Value::as_u64)
                .and_then(|index| usize::try_from(index).ok())
                .unwrap_or(position),
            id: call.get("id").and_then(Value::as_str).map(str::to_owned),
            name: text("name").map(str::to_owned),
            arguments: text("arguments").unwrap_or_default().to_owned(),
        });
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::Refusal,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Splits OpenAI's counts, in which the prompt includes what came from the cache.
///
/// DeepSeek names the cached part `prompt_cache_hit_tokens`; some providers count reasoning beside
/// the completion and show it in the total alone.
fn read_usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let prompt = count("prompt_tokens")?;
    let completion = count("completion_tokens").unwrap_or(0);
    let detail = |name: &str| usage.get("prompt_tokens_details")?.get(name)?.as_u64();
    let cache_read = detail("cached_tokens")
        .or_else(|| count("prompt_cache_hit_tokens"))
        .unwrap_or(0)
        .min(prompt);
    let cache_write = detail("cache_write_tokens").unwrap_or(0).min(prompt - cache_read);
    let beside = count("total_tokens").unwrap_or(0).saturating_sub(prompt);
    Some(Usage {
        input: prompt - cache_read - cache_write,
        cache_read,
        cache_write,
        output: completion.max(beside),
    })
}
