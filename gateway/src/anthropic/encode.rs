//! Writes the body of a Messages request.

use crate::completion::{ChatMessage, ChatRequest, ChatRole, Dialect, Effort, Part};
use crate::error::Problem;
use crate::profile::{EffortField, Quirks};
use serde_json::{Map, Value, json};

/// How many of the last user turns get a cache breakpoint: the one before the last is where the
/// cache of the call before ends, the last is where the next call will find it.
const CACHED_TURNS: usize = 2;

/// The least thinking budget that the API takes.
const LEAST_BUDGET: u64 = 1024;

/// Output tokens that a thinking budget must leave for the reply.
const LEAST_REPLY: u64 = 1024;

/// The output limit of a request that names none.
const DEFAULT_LIMIT: u64 = 8192;

/// Returns the tokens that a model may think for at an effort, where they are a budget.
pub fn thinking_tokens(effort: Option<Effort>, quirks: &Quirks) -> u64 {
    if quirks.effort != EffortField::Budget {
        return 0;
    }
    match effort {
        None | Some(Effort::Minimal) => 0,
        Some(Effort::Low) => 2048,
        Some(Effort::Medium) => 8192,
        Some(Effort::High) => 24576,
    }
}

/// Writes the body; the fields stand in a fixed order.
pub fn encode(request: &ChatRequest, quirks: &Quirks) -> Result<Value, Problem> {
    let limit = request.max_tokens.unwrap_or(DEFAULT_LIMIT);
    let budget = thinking_tokens(request.effort, quirks).min(limit.saturating_sub(LEAST_REPLY));
    let adaptive = quirks.effort == EffortField::Adaptive && request.effort.is_some();
    let thinks = budget >= LEAST_BUDGET || adaptive;

    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("max_tokens".to_owned(), json!(limit));
    if let Some(system) = system(request, quirks) {
        body.insert("system".to_owned(), system);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "input_schema": tool.parameters})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    body.insert("messages".to_owned(), messages(request, quirks)?);
    // A stop text of white space alone is refused; the gateway looks out for it itself.
    let stop: Vec<&String> =
        request.stop.iter().filter(|text| !text.trim().is_empty()).take(quirks.stop).collect();
    if !stop.is_empty() {
        body.insert("stop_sequences".to_owned(), json!(stop));
    }
    if adaptive {
        let effort = match request.effort {
            Some(Effort::Minimal | Effort::Low) => "low",
            Some(Effort::High) => "high",
            Some(Effort::Medium) | None => "medium",
        };
        body.insert("thinking".to_owned(), json!({"type": "adaptive"}));
        body.insert("output_config".to_owned(), json!({"effort": effort}));
    } else if thinks {
        body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": budget}));
    }
    // A thinking model takes no sampling parameter, and no model takes both.
    if quirks.sampling && !thinks {
        if let Some(temperature) = request.temperature {
            body.insert("temperature".to_owned(), json!(temperature.clamp(0.0, 1.0)));
        } else if let Some(top_p) = request.top_p {
            body.insert("top_p".to_owned(), json!(top_p));
        }
    }
    body.insert("stream".to_owned(), json!(true));
    if request.dialect == Dialect::Anthropic {
        for (name, value) in &request.extra {
            body.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(Value::Object(body))
}

fn system(request: &ChatRequest, quirks: &Quirks) -> Option<Value> {
    let texts: Vec<String> = request
        .messages
        .iter()
        .filter(|message| message.role == ChatRole::System)
        .map(ChatMessage::text)
        .filter(|text| !text.is_empty())
        .collect();
    let mut blocks: Vec<Value> =
        texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    if quirks.cache {
        mark(blocks.last_mut()?);
    }
    (!blocks.is_empty()).then_some(Value::Array(blocks))
}

fn messages(request: &ChatRequest, quirks: &Quirks) -> Result<Value, Problem> {
    let mut turns: Vec<(ChatRole, Vec<Value>)> = Vec::new();
    for message in request.messages.iter().filter(|message| message.role != ChatRole::System) {
        let blocks = blocks(message, request.dialect)?;
        match turns.last_mut() {
            Some((role, turn)) if *role == message.role => turn.extend(blocks),
            _ => turns.push((message.role, blocks)),
        }
    }
    turns.retain(|(_, blocks)| !blocks.is_empty());
    if turns.first().is_none_or(|(role, _)| *role != ChatRole::User) {
        return Err(Problem::Untranslatable {
            detail: "the dialogue does not begin with a user message".to_owned(),
        });
    }
    if quirks.cache {
        let users = turns.iter_mut().rev().filter(|(role, _)| *role == ChatRole::User);
        for (_, blocks) in users.take(CACHED_TURNS) {
            if let Some(block) = blocks.last_mut() {
                mark(block);
            }
        }
    }
    let turns = turns.into_iter().map(|(role, content)| {
        let role = if role == ChatRole::Assistant { "assistant" } else { "user" };
        json!({"role": role, "content": content})
    });
    Ok(turns.collect())
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn blocks(message: &ChatMessage, dialect: Dialect) -> Result<Vec<Value>, Problem> {
    let mut blocks = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            // An empty text block is refused.
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => blocks.push(json!({"type": "text", "text": text})),
            // Only sealed reasoning is taken back.
            Part::Thought { seal: None, .. } => {}
            Part::Thought { text, seal: Some(seal) } => {
                blocks.push(json!({"type": "thinking", "thinking": text, "signature": seal}));
            }
            Part::ToolCall(call) => {
                let input = serde_json::from_str::<Map<String, Value>>(&call.arguments);
                blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name,
                    "input": input.unwrap_or_default()}));
            }
            Part::ToolResult { id, content, failed } => {
                let mut block = json!({"type": "tool_result", "tool_use_id": id});
                if !content.is_empty() {
                    block["content"] = json!(content);
                }
                if *failed {
                    block["is_error"] = json!(true);
                }
                blocks.push(block);
            }
            Part::Foreign(value) if dialect == Dialect::Anthropic => blocks.push(value.clone()),
            Part::Foreign(value) => {
                let kind = value.get("type").and_then(Value::as_str).unwrap_or("unnamed");
                return Err(Problem::Untranslatable { detail: format!("a part of type {kind}") });
            }
        }
    }
    Ok(blocks)
}
