//! Reads an agent's Messages request, and writes the reply that it gets.

use crate::completion::{
    ChatMessage, ChatRequest, ChatRole, Completion, Dialect, Effort, FinishReason, Part, ToolCall,
    ToolDefinition, Usage,
};
use crate::json;
use crate::provider::ReplyPart;
use serde_json::{Map, Value, json};

/// Reads a request; the error is a sentence for the agent.
pub fn parse(body: &[u8]) -> Result<ChatRequest, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8".to_owned())?;
    let mut fields: Map<String, Value> =
        json::read(text).map_err(|error| format!("the body is no JSON object: {error}"))?;
    let mut request = ChatRequest { dialect: Dialect::Anthropic, ..ChatRequest::default() };
    match fields.shift_remove("model") {
        Some(Value::String(model)) => request.model = model,
        _ => return Err("`model` is missing".to_owned()),
    }
    match fields.shift_remove("system") {
        Some(Value::String(text)) => request.messages.push(ChatMessage::system(text)),
        Some(Value::Array(blocks)) => {
            for text in blocks.iter().filter_map(|block| block.get("text")?.as_str()) {
                request.messages.push(ChatMessage::system(text));
            }
        }
        _ => {}
    }
    let Some(Value::Array(messages)) = fields.shift_remove("messages") else {
        return Err("`messages` is missing".to_owned());
    };
    if messages.is_empty() {
        return Err("`messages` is empty".to_owned());
    }
    for message in &messages {
        request.messages.push(read_message(message)?);
    }
    if let Some(Value::Array(texts)) = fields.shift_remove("stop_sequences") {
        request.stop = texts
            .iter()
            .filter_map(|text| Some(text.as_str()?.to_owned()))
            .filter(|text| !text.is_empty())
            .collect();
    }
    request.max_tokens = fields.shift_remove("max_tokens").and_then(|limit| limit.as_u64());
    request.temperature = fields.shift_remove("temperature").and_then(|value| value.as_f64());
    request.top_p = fields.shift_remove("top_p").and_then(|value| value.as_f64());
    request.stream = fields.shift_remove("stream").and_then(|value| value.as_bool()) == Some(true);
    request.effort = read_effort(&mut fields);
    if let Some(Value::Array(tools)) = fields.shift_remove("tools") {
        for tool in &tools {
            request.tools.push(read_tool(tool)?);
        }
    }
    fields.shift_remove("metadata");
    request.extra = fields;
    Ok(request)
}

/// Takes the thinking budget or the effort for the effort that comes nearest.
fn read_effort(fields: &mut Map<String, Value>) -> Option<Effort> {
    let thinking = fields.shift_remove("thinking");
    let config = fields.shift_remove("output_config");
    let word = config.as_ref().and_then(|config| config.get("effort")?.as_str());
    match word {
        Some("low") => return Some(Effort::Low),
        Some("medium") => return Some(Effort::Medium),
        Some(_) => return Some(Effort::High),
        None => {}
    }
    let thinking = thinking?;
    match thinking.get("type").and_then(Value::as_str) {
        Some("adaptive") => Some(Effort::Medium),
        Some("enabled") => match thinking.get("budget_tokens").and_then(Value::as_u64) {
            Some(..=4096) => Some(Effort::Low),
            Some(4097..=16384) | None => Some(Effort::Medium),
            Some(_) => Some(Effort::High),
        },
        _ => None,
    }
}

fn read_tool(tool: &Value) -> Result<ToolDefinition, String> {
    let text = |name: &str| tool.get(name).and_then(Value::as_str);
    let parameters = tool.get("input_schema");
    match (text("name"), parameters) {
        (Some(name), Some(parameters)) => Ok(ToolDefinition {
            name: name.to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            parameters: parameters.clone(),
        }),
        _ => Err("a tool of the provider's own is not supported".to_owned()),
    }
}

fn read_message(message: &Value) -> Result<ChatMessage, String> {
    let role = match message.get("role").and_then(Value::as_str) {
        Some("user") => ChatRole::User,
        Some("assistant") => ChatRole::Assistant,
        other => return Err(format!("a message has the role `{}`", other.unwrap_or_default())),
    };
    let parts = match message.get("content") {
        Some(Value::String(text)) => vec![Part::Text(text.clone())],
        Some(Value::Array(blocks)) => blocks.iter().map(read_block).collect(),
        _ => return Err("`content` is neither a text nor a list of blocks".to_owned()),
    };
    Ok(ChatMessage { role, parts })
}

fn read_block(block: &Value) -> Part {
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match block.get("type").and_then(Value::as_str) {
        Some("text") => Part::Text(text("text")),
        Some("thinking") => Part::Thought { text: text("thinking"), seal: Some(text("signature")) },
        Some("tool_use") => Part::ToolCall(ToolCall {
            id: text("id"),
            name: text("name"),
            arguments: block.get("input").map(Value::to_string).unwrap_or_default(),
        }),
        Some("tool_result") => Part::ToolResult {
            id: text("tool_use_id"),
            content: match block.get("content") {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Array(blocks)) => {
                    blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect()
                }
                _ => String::new(),
            },
            failed: block.get("is_error").and_then(Value::as_bool) == Some(true),
        },
        _ => Part::Foreign(block.clone()),
    }
}

/// Writes a whole reply.
pub fn whole(id: &str, model: &str, completion: &Completion) -> Value {
    let mut content = Vec::new();
    if !completion.reasoning.is_empty() {
        content.push(json!({"type": "thinking", "thinking": completion.reasoning,
            "signature": completion.seal.clone().unwrap_or_default()}));
    }
    if !completion.text.is_empty() {
        content.push(json!({"type": "text", "text": completion.text}));
    }
    for call in &completion.tool_calls {
        let input = serde_json::from_str::<Map<String, Value>>(&call.arguments);
        content.push(json!({"type": "tool_use", "id": call.id, "name": call.name,
            "input": input.unwrap_or_default()}));
    }
    let (reason, sequence) = stop(&completion.finish);
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": reason, "stop_sequence": sequence,
        "usage": counts(&completion.usage.unwrap_or_default()),
    })
}

/// Which block of the reply is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
    ToolCall(usize),
}

/// Writes a streamed reply.
pub struct StreamWriter {
    id: String,
    model: String,
    begun: bool,
    open: Option<Block>,
    blocks: usize,
    finish: FinishReason,
    usage: Usage,
}

impl StreamWriter {
    /// Starts a reply.
    pub fn new(id: &str, model: &str) -> Self {
        StreamWriter {
            id: id.to_owned(),
            model: model.to_owned(),
            begun: false,
            open: None,
            blocks: 0,
            finish: FinishReason::Stop,
            usage: Usage::default(),
        }
    }

    /// Writes what a piece adds.
    pub fn write(&mut self, part: &ReplyPart) -> String {
        let mut text = String::new();
        self.begin(&mut text);
        let delta = match part {
            ReplyPart::Text(piece) => {
                self.switch(Block::Text, || json!({"type": "text", "text": ""}), &mut text);
                json!({"type": "text_delta", "text": piece})
            }
            ReplyPart::Reasoning(piece) => {
                let start = || json!({"type": "thinking", "thinking": "", "signature": ""});
                self.switch(Block::Thinking, start, &mut text);
                json!({"type": "thinking_delta", "thinking": piece})
            }
            ReplyPart::Seal(seal) => {
                if self.open != Some(Block::Thinking) {
                    return text;
                }
                json!({"type": "signature_delta", "signature": seal})
            }
            ReplyPart::ToolCall { index, id, name, arguments } => {
                let start = || json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.switch(Block::ToolCall(*index), start, &mut text);
                json!({"type": "input_json_delta", "partial_json": arguments})
            }
            ReplyPart::Finish(finish) => {
                self.finish = finish.clone();
                return text;
            }
            ReplyPart::Usage(usage) => {
                self.usage = *usage;
                return text;
            }
        };
        let index = self.blocks.saturating_sub(1);
        let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
        event("content_block_delta", &delta, &mut text);
        text
    }

    /// Writes the end.
    pub fn done(&mut self) -> String {
        let mut text = String::new();
        self.begin(&mut text);
        self.close(&mut text);
        let (reason, sequence) = stop(&self.finish);
        let delta = json!({"type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": sequence},
            "usage": counts(&self.usage)});
        event("message_delta", &delta, &mut text);
        event("message_stop", &json!({"type": "message_stop"}), &mut text);
        text
    }

    fn begin(&mut self, text: &mut String) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let message = json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": counts(&Usage::default()),
        });
        event("message_start", &json!({"type": "message_start", "message": message}), text);
    }

    fn switch(&mut self, block: Block, start: impl FnOnce() -> Value, text: &mut String) {
        if self.open == Some(block) {
            return;
        }
        self.close(text);
        let begin =
            json!({"type": "content_block_start", "index": self.blocks, "content_block": start()});
        event("content_block_start", &begin, text);
        self.open = Some(block);
        self.blocks += 1;
    }

    fn close(&mut self, text: &mut String) {
        if self.open.take().is_some() {
            let stop = json!({"type": "content_block_stop", "index": self.blocks - 1});
            event("content_block_stop", &stop, text);
        }
    }
}

fn event(name: &str, value: &Value, text: &mut String) {
    text.push_str(&format!("event: {name}\ndata: {value}\n\n"));
}

fn stop(finish: &FinishReason) -> (&str, Option<&str>) {
    match finish {
        FinishReason::Stop => ("end_turn", None),
        FinishReason::StopText(text) => ("stop_sequence", Some(text)),
        FinishReason::Length => ("max_tokens", None),
        FinishReason::ToolCalls => ("tool_use", None),
        FinishReason::Refusal => ("refusal", None),
        FinishReason::Other(reason) => (reason, None),
    }
}

fn counts(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": usage.output,
    })
}
