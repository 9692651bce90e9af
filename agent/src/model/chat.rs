//! A completion: what is sent and what comes back.

use serde::{Deserialize, Serialize};

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The system prompt.
    System,
    /// The agent program, to the model.
    User,
    /// The model.
    Assistant,
}

/// One message of a dialogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Speaker,
    /// What is said.
    pub content: String,
}

/// The body of a request. Replies are always streamed.
#[derive(Serialize)]
pub struct Request<'a> {
    /// The alias of the model.
    pub model: &'a str,
    /// The dialogue.
    pub messages: &'a [Message],
    /// The texts before which the reply ends.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub stop: &'a [&'a str],
    /// Always true.
    pub stream: bool,
    /// Asks for the usage in the last chunk.
    pub stream_options: StreamOptions,
}

/// Options of a streamed reply.
#[derive(Serialize)]
pub struct StreamOptions {
    /// Whether the last chunk holds the usage.
    pub include_usage: bool,
}

/// A reply, put together from its chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The reasoning, where the provider shows it.
    pub reasoning: String,
    /// Why it ended.
    pub finish: Finish,
    /// The stop text that ended it, where the provider names it.
    pub stopped_at: Option<String>,
    /// What it took, where the provider says so.
    pub usage: Option<Usage>,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// The model was done, or came to a stop text.
    #[default]
    Stop,
    /// It came to its limit of tokens.
    Length,
}

/// Tokens of one completion, as the gateway counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    #[serde(default)]
    pub completion_tokens: u64,
    /// US dollars, where the gateway states them.
    #[serde(default)]
    pub cost: Option<f64>,
}
