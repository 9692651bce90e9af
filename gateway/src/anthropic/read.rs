//! Reads a Messages reply, streamed or whole.

use crate::completion::{FinishReason, Usage};
use crate::error::Problem;
use crate::provider::{Decoder, ReplyForm, ReplyPart};
use crate::sse::EventReader;
use crate::{json, refusal};
use serde_json::Value;

/// A decoder for this dialect.
pub struct AnthropicDecoder {
    form: ReplyForm,
    events: EventReader,
    whole: Vec<u8>,
    usage: Usage,
    calls: usize,
    finished: bool,
}

impl AnthropicDecoder {
    /// Makes a decoder for a reply of that form.
    pub fn new(form: ReplyForm) -> Self {
        AnthropicDecoder {
            form,
            events: EventReader::default(),
            whole: Vec::new(),
            usage: Usage::default(),
            calls: 0,
            finished: false,
        }
    }

    fn read_event(&mut self, data: &str, parts: &mut Vec<ReplyPart>) -> Result<(), Problem> {
        let event: Value = json::read(data).map_err(|error| garbled(&error.to_string(), data))?;
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "message_start" => {
                if let Some(usage) = event.get("message").and_then(|message| message.get("usage")) {
                    self.read_usage(usage, parts);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.get("content_block") {
                    self.read_block(block, true, parts);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.get("delta") {
                    self.read_delta(delta, parts);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.get("usage") {
                    self.read_usage(usage, parts);
                }
                if let Some(delta) = event.get("delta") {
                    self.read_stop(delta, parts);
                }
            }
            "message_stop" => self.finished = true,
            "error" => {
                let error = event.get("error").unwrap_or(&Value::Null);
                return Err(refusal::of_error_value(error));
            }
            // `ping`, `content_block_stop`, and what may be new.
            _ => {}
        }
        Ok(())
    }

    fn read_block(&mut self, block: &Value, streamed: bool, parts: &mut Vec<ReplyPart>) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" if !text("text").is_empty() => {
                parts.push(ReplyPart::Text(text("text").to_owned()));
            }
            "thinking" => {
                if !text("thinking").is_empty() {
                    parts.push(ReplyPart::Reasoning(text("thinking").to_owned()));
                }
                if !text("signature").is_empty() {
                    parts.push(ReplyPart::Seal(text("signature").to_owned()));
                }
            }
            "tool_use" => {
                // A streamed call starts with an empty input, and its arguments follow.
                let input = block.get("input").filter(|_| !streamed);
                parts.push(ReplyPart::ToolCall {
                    index: self.calls,
                    id: Some(text("id").to_owned()),
                    name: Some(text("name").to_owned()),
                    arguments: input.map(Value::to_string).unwrap_or_default(),
                });
                self.calls += 1;
            }
            _ => {}
        }
    }

    fn read_delta(&mut self, delta: &Value, parts: &mut Vec<ReplyPart>) {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => parts.push(ReplyPart::Text(text("text").to_owned())),
            "thinking_delta" => parts.push(ReplyPart::Reasoning(text("thinking").to_owned())),
            "signature_delta" => parts.push(ReplyPart::Seal(text("signature").to_owned())),
            "input_json_delta" => parts.push(ReplyPart::ToolCall {
                index: self.calls.saturating_sub(1),
                id: None,
                name: None,
                arguments: text("partial_json").to_owned(),
            }),
            _ => {}
        }
    }

    fn read_stop(&mut self, message: &Value, parts: &mut Vec<ReplyPart>) {
        let Some(reason) = message.get("stop_reason").and_then(Value::as_str) else {
            return;
        };
        self.finished = true;
        let sequence = message.get("stop_sequence").and_then(Value::as_str);
        parts.push(ReplyPart::Finish(match reason {
            "end_turn" => FinishReason::Stop,
            "stop_sequence" => FinishReason::StopText(sequence.unwrap_or_default().to_owned()),
            "max_tokens" => FinishReason::Length,
            "tool_use" => FinishReason::ToolCalls,
            "refusal" => FinishReason::Refusal,
            other => FinishReason::Other(other.to_owned()),
        }));
    }

    /// Takes Anthropic's counts, in which input excludes what has to do with the cache; a later
    /// event repeats only some of them.
    fn read_usage(&mut self, usage: &Value, parts: &mut Vec<ReplyPart>) {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        let classes = [
            ("input_tokens", &mut self.usage.input),
            ("cache_read_input_tokens", &mut self.usage.cache_read),
            ("cache_creation_input_tokens", &mut self.usage.cache_write),
            ("output_tokens", &mut self.usage.output),
        ];
        let mut any = false;
        for (name, class) in classes {
            if let Some(tokens) = count(name) {
                *class = tokens;
                any = true;
            }
        }
        if any {
            parts.push(ReplyPart::Usage(self.usage));
        }
    }
}

impl Decoder for AnthropicDecoder {
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
                if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
                    return Err(refusal::of_error_value(error));
                }
                let Some(content) = reply.get("content").and_then(Value::as_array) else {
                    return Err(garbled("it has no content", &text));
                };
                for block in content {
                    self.read_block(block, false, parts);
                }
                if let Some(usage) = reply.get("usage") {
                    self.read_usage(usage, parts);
                }
                self.read_stop(&reply, parts);
                Ok(())
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
                        detail: "the stream ended without a stop reason".to_owned(),
                    })
                }
            }
        }
    }
}

fn garbled(why: &str, text: &str) -> Problem {
    Problem::Garbled { detail: format!("{why}: {}", refusal::excerpt(text)) }
}
