//! Writes the body of an OpenAI request.

use crate::completion::{ChatMessage, ChatRequest, ChatRole, Dialect, Effort, Part};
use crate::error::Problem;
use crate::profile::{EffortField, LimitField, Quirks};
use serde_json::{Map, Value, json};

/// Writes the body for a provider of this dialect; the fields stand in a fixed order.
pub fn encode(request: &ChatRequest, quirks: &Quirks) -> Result<Value, Problem> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    let mut messages = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        write_message(message, request.dialect, quirks, &mut messages)?;
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    if !request.stop.is_empty() && quirks.stop > 0 {
        let sent = &request.stop[..request.stop.len().min(quirks.stop)];
        body.insert("stop".to_owned(), json!(sent));
    }
    if let Some(limit) = request.max_tokens {
        let name = match quirks.limit {
            LimitField::MaxTokens => "max_tokens",
            LimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(name.to_owned(), json!(limit));
    }
    if quirks.sampling {
        if let Some(temperature) = request.temperature {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        if let Some(top_p) = request.top_p {
            body.insert("top_p".to_owned(), json!(top_p));
        }
    }
    if let Some(effort) = request.effort {
        match quirks.effort {
            EffortField::Field => {
                body.insert("reasoning_effort".to_owned(), json!(word(effort)));
            }
            EffortField::Object => {
                body.insert("reasoning".to_owned(), json!({"effort": word(effort)}));
            }
            EffortField::None | EffortField::Budget | EffortField::Adaptive => {}
        }
    }
    body.insert("stream".to_owned(), json!(true));
    if quirks.usage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if request.dialect == Dialect::OpenAi {
        for (name, value) in &request.extra {
            body.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(Value::Object(body))
}

/// Returns the word for an effort.
fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

fn write_message(
    message: &ChatMessage,
    dialect: Dialect,
    quirks: &Quirks,
    messages: &mut Vec<Value>,
) -> Result<(), Problem> {
    let mut texts = Vec::new();
    let mut foreign = false;
    let mut calls = Vec::new();
    let mut thoughts = String::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => texts.push(json!({"type": "text", "text": text})),
            Part::Foreign(value) if dialect == Dialect::OpenAi => {
                foreign = true;
                texts.push(value.clone());
            }
            Part::Foreign(value) => {
                let kind = value.get("type").and_then(Value::as_str).unwrap_or("unnamed");
                return Err(Problem::Untranslatable { detail: format!("a part of type {kind}") });
            }
            Part::ToolCall(call) => calls.push(json!({
                "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })),
            Part::ToolResult { id, content, .. } => {
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
            }
            Part::Thought { text, .. } => thoughts.push_str(text),
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let role = match message.role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
    };
    let content = if foreign {
        Value::Array(texts)
    } else if texts.is_empty() {
        Value::Null
    } else {
        Value::String(message.text())
    };
    let mut written = Map::new();
    written.insert("role".to_owned(), json!(role));
    written.insert("content".to_owned(), content);
    if quirks.echo_reasoning && !thoughts.is_empty() {
        written.insert("reasoning_content".to_owned(), json!(thoughts));
    }
    if !calls.is_empty() {
        written.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    messages.push(Value::Object(written));
    Ok(())
}
