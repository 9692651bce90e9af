//! A chat completion in the gateway's own terms, between the dialects of agents and providers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request for one completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The alias that was asked for (`main`), or the provider's own name of the model once it has
    /// been resolved.
    pub model: String,
    /// The dialogue in order; system messages stand first.
    pub messages: Vec<ChatMessage>,
    /// Texts before which the reply ends.
    pub stop: Vec<String>,
    /// The most output tokens that the reply may have.
    pub max_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The nucleus of sampling.
    pub top_p: Option<f64>,
    /// How hard a reasoning model is to think.
    pub effort: Option<Effort>,
    /// Functions that the model may call natively (other agents than our own use this).
    pub tools: Vec<ToolDefinition>,
    /// Whether the caller wants the reply in pieces.
    pub stream: bool,
    /// Fields of the caller's dialect that have no place above; they are passed on to a provider
    /// of the same dialect and dropped otherwise.
    pub extra: Map<String, Value>,
    /// The dialect that [`ChatRequest::extra`] belongs to.
    pub dialect: Dialect,
}

impl ChatRequest {
    /// Makes a request of an alias with nothing else set.
    pub fn new(model: impl Into<String>, messages: Vec<ChatMessage>) -> Self {
        ChatRequest { model: model.into(), messages, ..ChatRequest::default() }
    }

    /// Returns the number of bytes of everything that becomes the prompt.
    pub fn prompt_bytes(&self) -> u64 {
        let messages: usize = self.messages.iter().map(ChatMessage::bytes).sum();
        let tools: usize = self.tools.iter().map(ToolDefinition::bytes).sum();
        let extra = if self.extra.is_empty() {
            0
        } else {
            serde_json::to_string(&self.extra).map_or(0, |text| text.len())
        };
        (messages + tools + extra) as u64
    }
}

/// One message of a dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: ChatRole,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

impl ChatMessage {
    /// Makes a message of one text.
    pub fn new(role: ChatRole, text: impl Into<String>) -> Self {
        ChatMessage { role, parts: vec![Part::Text(text.into())] }
    }

    /// Makes a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(ChatRole::System, text)
    }

    /// Makes a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(ChatRole::User, text)
    }

    /// Makes an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(ChatRole::Assistant, text)
    }

    /// Returns all text of the message, without calls, results and thoughts.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            if let Part::Text(piece) = part {
                text.push_str(piece);
            }
        }
        text
    }

    fn bytes(&self) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Thought { text, .. } => text.len(),
                Part::ToolCall(call) => call.name.len() + call.arguments.len(),
                Part::ToolResult { content, .. } => content.len(),
                Part::Foreign(value) => value.to_string().len(),
            })
            .sum()
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Standing instructions.
    System,
    /// The agent program, for the world outside of the model.
    User,
    /// The model.
    Assistant,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(String),
    /// Reasoning that the provider wants back; `seal` is its signature.
    Thought {
        /// The reasoning.
        text: String,
        /// The provider's signature of it.
        seal: Option<String>,
    },
    /// A native function call of the model.
    ToolCall(ToolCall),
    /// What a native function call returned.
    ToolResult {
        /// The id of the call.
        id: String,
        /// The result as text.
        content: String,
        /// Whether the call failed.
        failed: bool,
    },
    /// A part that only the caller's own dialect knows, such as an image.
    Foreign(Value),
}

/// A native function call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the result names.
    pub id: String,
    /// The function.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them.
    pub arguments: String,
}

/// A function that the model may call natively.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The function.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

impl ToolDefinition {
    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.to_string().len()
    }
}

/// How hard a reasoning model is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Hardly at all.
    Minimal,
    /// A little.
    Low,
    /// The middle way.
    Medium,
    /// Long.
    High,
}

/// The forms in which chat completions are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI chat completions.
    #[default]
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

/// A whole reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text, without the stop text that ended it.
    pub text: String,
    /// Reasoning, where the provider shows it.
    pub reasoning: String,
    /// The provider's signature of the reasoning.
    pub seal: Option<String>,
    /// Native function calls.
    pub tool_calls: Vec<ToolCall>,
    /// Why the reply ended.
    pub finish: FinishReason,
    /// The provider's count of tokens; `None` when it gave none.
    pub usage: Option<Usage>,
}

/// Why a reply ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    #[default]
    Stop,
    /// One of the stop texts was met.
    StopText(String),
    /// The output limit was reached.
    Length,
    /// The model waits for native function calls.
    ToolCalls,
    /// The model or a filter of the provider refused.
    Refusal,
    /// The provider gave a reason that the gateway does not know.
    Other(String),
}

/// Tokens of one call in four classes that do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to the provider's cache.
    pub input: u64,
    /// Prompt tokens that were served from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens that were written to the provider's cache at a price of their own.
    pub cache_write: u64,
    /// Tokens that the model wrote, reasoning included.
    pub output: u64,
}

impl Usage {
    /// Returns all prompt tokens.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Returns the counts without absurd ones, which would overflow sums: no call has a trillion
    /// tokens.
    pub(crate) fn plausible(self) -> Self {
        let most = 1 << 40;
        Usage {
            input: self.input.min(most),
            cache_read: self.cache_read.min(most),
            cache_write: self.cache_write.min(most),
            output: self.output.min(most),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
    }
}
