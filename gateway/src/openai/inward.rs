//! Reads an agent's OpenAI request, and writes the reply that it gets.

use crate::completion::{
    ChatMessage, ChatRequest, ChatRole, Completion, Dialect, Effort, FinishReason, Part, ToolCall,
    ToolDefinition, Usage,
};
use crate::json;
use crate::provider::ReplyPart;
use serde_json::{Map, Value, json};

/// Fields that the gateway sets itself, and a caller may not.
const OWN_FIELDS: [&str; 5] = ["stream_options", "n", "service_tier", "store", "user"];

/// Reads a request; the error is a sentence for the agent.
pub fn parse(body: &[u8]) -> Result<ChatRequest, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8".to_owned())?;
    let mut fields: Map<String, Value> =
        json::read(text).map_err(|error| format!("the body is no JSON object: {error}"))?;
    let mut request = ChatRequest { dialect: Dialect::OpenAi, ..ChatRequest::default() };
    match fields.shift_remove("model") {
        Some(Value::String(model)) => request.model = model,
        _ => return Err("`model` is missing".to_owned()),
    }
    if fields.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        return Err("`n` above 1 is not supported".to_owned());
    }
    let Some(Value::Array(messages)) = fields.shift_remove("messages") else {
        return Err("`messages` is missing".to_owned());
    };
    for message in messages {
        read_message(&message, &mut request.messages)?;
    }
    if request.messages.is_empty() {
        return Err("`messages` is empty".to_owned());
    }
    request.stop = match fields.shift_remove("stop") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(texts)) => {
            texts.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        }
        Some(_) => return Err("`stop` is neither a text nor a list of texts".to_owned()),
    };
    request.stop.retain(|text| !text.is_empty());
    let older = fields.shift_remove("max_tokens").and_then(|limit| limit.as_u64());
    let newer = fields.shift_remove("max_completion_tokens").and_then(|limit| limit.as_u64());
    request.max_tokens = newer.or(older);
    request.temperature = fields.shift_remove("temperature").and_then(|value| value.as_f64());
    request.top_p = fields.shift_remove("top_p").and_then(|value| value.as_f64());
    request.stream = fields.shift_remove("stream").and_then(|value| value.as_bool()) == Some(true);
    if let Some(effort) = fields.shift_remove("reasoning_effort").filter(|effort| !effort.is_null())
    {
        request.effort =
            Some(serde_json::from_value::<Effort>(effort).map_err(|_| {
                "`reasoning_effort` is not minimal, low, medium or high".to_owned()
            })?);
    }
    if let Some(Value::Array(tools)) = fields.shift_remove("tools") {
        for tool in &tools {
            request.tools.push(read_tool(tool)?);
        }
    }
    for name in OWN_FIELDS {
        fields.shift_remove(name);
    }
    request.extra = fields;
    Ok(request)
}

fn read_tool(tool: &Value) -> Result<ToolDefinition, String> {
    let function = tool.get("function").ok_or("a tool is no function")?;
    let name = function.get("name").and_then(Value::as_str).ok_or("a function has no name")?;
    Ok(ToolDefinition {
        name: name.to_owned(),
        description: function
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        parameters: function
            .get("parameters")
            .cloned()
            .unwrap_or_else(|| json!({"type": "object", "properties": {}})),
    })
}

fn read_message(message: &Value, messages: &mut Vec<ChatMessage>) -> Result<(), String> {
    let text = |name: &str| message.get(name).and_then(Value::as_str);
    let role = text("role").ok_or("a message has no role")?;
    let content = message.get("content");
    if role == "tool" {
        let result = Part::ToolResult {
            id: text("tool_call_id").unwrap_or_default().to_owned(),
            content: flat(content),
            failed: false,
        };
        messages.push(ChatMessage { role: ChatRole::User, parts: vec![result] });
        return Ok(());
    }
    let role = match role {
        "system" | "developer" => ChatRole::System,
        "user" => ChatRole::User,
        "assistant" => ChatRole::Assistant,
        other => return Err(format!("a message has the role `{other}`")),
    };
    let mut parts = Vec::new();
    if let Some(thought) = text("reasoning_content") {
        parts.push(Part::Thought { text: thought.to_owned(), seal: None });
    }
    match content {
        Some(Value::String(text)) => parts.push(Part::Text(text.clone())),
        Some(Value::Array(pieces)) => {
            for piece in pieces {
                match piece.get("text").and_then(Value::as_str) {
                    Some(text) => parts.push(Part::Text(text.to_owned())),
                    None => parts.push(Part::Foreign(piece.clone())),
                }
            }
        }
        None | Some(Value::Null) => {}
        Some(_) => return Err("`content` is neither a text nor a list of parts".to_owned()),
    }
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function");
        let text = |name: &str| {
            function
                .and_then(|function| function.get(name)?.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        parts.push(Part::ToolCall(ToolCall {
            id: call.get("id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            name: text("name"),
            arguments: text("arguments"),
        }));
    }
    messages.push(ChatMessage { role, parts });
    Ok(())
}

/// Joins the texts of a content value.
fn flat(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(pieces)) => {
            pieces.iter().filter_map(|piece| piece.get("text")?.as_str()).collect()
        }
        _ => String::new(),
    }
}

/// Writes a whole reply.
pub fn whole(id: &str, model: &str, completion: &Completion) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(completion.text));
    if !completion.reasoning.is_empty() {
        message.insert("reasoning_content".to_owned(), json!(completion.reasoning));
    }
    if !completion.tool_calls.is_empty() {
        let calls = completion.tool_calls.iter().map(|call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}})
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    let mut reply = json!({
        "id": id, "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": word(&completion.finish)}],
    });
    if let Some(usage) = &completion.usage {
        reply["usage"] = counts(usage);
    }
    reply
}

/// Writes a streamed reply, one event at a time.
pub struct StreamWriter {
    id: String,
    model: String,
    begun: bool,
}

impl StreamWriter {
    /// Starts a reply.
    pub fn new(id: &str, model: &str) -> Self {
        StreamWriter { id: id.to_owned(), model: model.to_owned(), begun: false }
    }

    /// Writes what a piece adds.
    pub fn write(&mut self, part: &ReplyPart) -> String {
        let mut delta = Map::new();
        if !std::mem::replace(&mut self.begun, true) {
            delta.insert("role".to_owned(), json!("assistant"));
        }
        let mut finish = Value::Null;
        match part {
            ReplyPart::Text(text) => {
                delta.insert("content".to_owned(), json!(text));
            }
            ReplyPart::Reasoning(text) => {
                delta.insert("reasoning_content".to_owned(), json!(text));
            }
            ReplyPart::ToolCall { index, id, name, arguments } => {
                let mut call = Map::new();
                call.insert("index".to_owned(), json!(index));
                if let Some(id) = id {
                    call.insert("id".to_owned(), json!(id));
                    call.insert("type".to_owned(), json!("function"));
                }
                let mut function = Map::new();
                if let Some(name) = name {
                    function.insert("name".to_owned(), json!(name));
                }
                function.insert("arguments".to_owned(), json!(arguments));
                call.insert("function".to_owned(), Value::Object(function));
                delta.insert("tool_calls".to_owned(), json!([call]));
            }
            ReplyPart::Finish(reason) => finish = json!(word(reason)),
            ReplyPart::Seal(_) => return String::new(),
            ReplyPart::Usage(usage) => {
                return event(&json!({
                    "id": self.id, "object": "chat.completion.chunk", "created": 0,
                    "model": self.model, "choices": [], "usage": counts(usage),
                }));
            }
        }
        event(&json!({
            "id": self.id, "object": "chat.completion.chunk", "created": 0, "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }))
    }

    /// Writes the end.
    pub fn done(&self) -> String {
        "data: [DONE]\n\n".to_owned()
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn word(finish: &FinishReason) -> &str {
    match finish {
        FinishReason::Stop | FinishReason::StopText(_) => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Refusal => "content_filter",
        FinishReason::Other(reason) => reason,
    }
}

/// Writes four classes as OpenAI counts them.
fn counts(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt(),
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt() + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
        },
    })
}
