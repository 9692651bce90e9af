//! Reads the stream of a completion: server-sent events with one JSON chunk each.

use super::chat::{Finish, Reply, Usage};
use serde::Deserialize;

/// Puts a reply together from the bytes of its stream, however they are cut.
#[derive(Default)]
pub struct Assembler {
    /// Bytes of a line whose end has not come yet. Lines are decoded as wholes, so a character
    /// that is split between two chunks stays whole.
    line: Vec<u8>,
    reply: Reply,
    finished: bool,
}

/// What is wrong with a stream.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StreamError {
    /// The gateway ended the reply with an error.
    #[error("the reply was ended by an error: {message}")]
    Reported { code: String, message: String },
    /// A chunk is not what the protocol says.
    #[error("a chunk of the reply cannot be read: {0}")]
    Garbled(String),
    /// The stream ended before the reply did.
    #[error("the reply broke off")]
    BrokenOff,
}

impl Assembler {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take_line(&String::from_utf8_lossy(&line))?;
            }
        }
        Ok(())
    }

    /// Returns the reply when the stream has ended.
    pub fn finish(mut self) -> Result<Reply, StreamError> {
        let rest = std::mem::take(&mut self.line);
        match self.take_line(&String::from_utf8_lossy(&rest)) {
            // The end of a line that nothing ended is missing.
            Err(StreamError::Garbled(_)) => return Err(StreamError::BrokenOff),
            outcome => outcome?,
        }
        if self.finished { Ok(self.reply) } else { Err(StreamError::BrokenOff) }
    }

    fn take_line(&mut self, line: &str) -> Result<(), StreamError> {
        let Some(data) = line.strip_prefix("data:") else { return Ok(()) };
        let data = data.trim();
        if data == "[DONE]" {
            self.finished = true;
            return Ok(());
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| StreamError::Garbled(error.to_string()))?;
        if let Some(error) = chunk.error {
            let (code, message) = problem_of(&error);
            return Err(StreamError::Reported { code, message });
        }
        if let Some(usage) = chunk.usage {
            self.reply.usage = Some(usage);
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(()) };
        self.reply.text.push_str(&choice.delta.content.unwrap_or_default());
        let reasoning = choice.delta.reasoning_content.or(choice.delta.reasoning);
        self.reply.reasoning.push_str(&reasoning.unwrap_or_default());
        if let Some(reason) = choice.finish_reason {
            self.finished = true;
            self.reply.finish = match reason.as_str() {
                "length" | "max_tokens" => Finish::Length,
                _ => Finish::Stop,
            };
        }
        if let Some(serde_json::Value::String(stop)) = choice.stop_reason {
            self.reply.stopped_at = Some(stop);
        }
        Ok(())
    }
}

/// Returns the code and the message of a provider's error object.
pub fn problem_of(error: &serde_json::Value) -> (String, String) {
    let inner = error.get("error").unwrap_or(error);
    let field = |name| inner.get(name).and_then(serde_json::Value::as_str);
    let code = field("code").or_else(|| field("type")).unwrap_or_default().to_owned();
    let message = match inner.get("message").unwrap_or(inner) {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (code, message)
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    #[serde(default)]
    finish_reason: Option<String>,
    /// The stop text that was met; some servers put a number or null here.
    #[serde(default)]
    stop_reason: Option<serde_json::Value>,
}

#[derive(Default, Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
}
