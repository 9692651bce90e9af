//! What a provider is to the gateway: a dialect to write and read, and a way to carry bytes.
//!
//! The three steps are kept apart so that the bytes between them can be recorded, and a recording
//! can take the place of the middle one.

use crate::anthropic::AnthropicDecoder;
use crate::completion::{ChatRequest, Completion, Dialect, FinishReason, ToolCall, Usage};
use crate::error::Problem;
use crate::openai::OpenAiDecoder;
use crate::stand_in::PrefixCache;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A model provider.
pub trait Provider: Send + Sync {
    /// Puts a request into the exact bytes of the provider's dialect.
    fn encode(&self, request: &ChatRequest) -> Result<Bytes, Problem>;

    /// Sends the bytes once, and returns when the head of the reply is there.
    fn send(&self, body: Bytes, errand: &Errand) -> BoxFuture<'static, Result<RawReply, Problem>>;

    /// Looks whether the provider answers and takes the key, without asking for a completion.
    fn check(&self) -> BoxFuture<'static, Result<(), Problem>>;
}

/// For whom a call is made.
#[derive(Clone, Default)]
pub struct Errand {
    /// The prompts that this caller sent before, for providers that simulate a cache.
    pub prefixes: PrefixCache,
}

/// A reply as bytes.
pub struct RawReply {
    /// The dialect of the bytes.
    pub dialect: Dialect,
    /// How the bytes are laid out.
    pub form: ReplyForm,
    /// The body as it arrives.
    pub body: BoxStream<'static, Result<Bytes, Problem>>,
    /// The time that the model is said to take, where it is not the wall's.
    pub model_time: Option<Duration>,
}

/// How the bytes of a reply are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// Server-sent events.
    Events,
    /// One JSON value.
    Whole,
}

/// Makes the decoder for a reply.
pub(crate) fn decoder(dialect: Dialect, form: ReplyForm) -> Box<dyn Decoder> {
    match dialect {
        Dialect::OpenAi => Box::new(OpenAiDecoder::new(form)),
        Dialect::Anthropic => Box::new(AnthropicDecoder::new(form)),
    }
}

/// Reads a reply out of its bytes, however they are cut.
pub trait Decoder: Send {
    /// Takes the next bytes.
    fn feed(&mut self, bytes: &[u8], parts: &mut Vec<ReplyPart>) -> Result<(), Problem>;

    /// Is told that no more bytes come; a reply without its proper end is [`Problem::CutOff`].
    fn finish(&mut self, parts: &mut Vec<ReplyPart>) -> Result<(), Problem>;
}

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPart {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// The signature of the reasoning.
    Seal(String),
    /// More of a native function call.
    ToolCall {
        /// Which of the reply's calls.
        index: usize,
        /// Its id, with the first piece.
        id: Option<String>,
        /// Its function, with the first piece.
        name: Option<String>,
        /// More of the arguments.
        arguments: String,
    },
    /// Why the reply ended.
    Finish(FinishReason),
    /// The provider's count; a later one replaces an earlier one.
    Usage(Usage),
}

impl ReplyPart {
    /// Tells whether the part is content, after which nothing may be tried again.
    pub fn is_content(&self) -> bool {
        match self {
            ReplyPart::Text(text) | ReplyPart::Reasoning(text) => !text.is_empty(),
            ReplyPart::ToolCall { .. } => true,
            ReplyPart::Seal(_) | ReplyPart::Finish(_) | ReplyPart::Usage(_) => false,
        }
    }
}

impl Completion {
    /// Adds a piece.
    pub fn take(&mut self, part: &ReplyPart) {
        match part {
            ReplyPart::Text(text) => self.text.push_str(text),
            ReplyPart::Reasoning(text) => self.reasoning.push_str(text),
            ReplyPart::Seal(seal) => self.seal = Some(seal.clone()),
            ReplyPart::ToolCall { index, id, name, arguments } => {
                // A provider numbers its calls from 0; a wild number must not cost memory.
                while self.tool_calls.len() <= (*index).min(MOST_TOOL_CALLS) {
                    self.tool_calls.push(ToolCall::default());
                }
                if let Some(call) = self.tool_calls.get_mut(*index) {
                    if let Some(id) = id {
                        call.id.clone_from(id);
                    }
                    if let Some(name) = name {
                        call.name.clone_from(name);
                    }
                    call.arguments.push_str(arguments);
                }
            }
            ReplyPart::Finish(finish) => self.finish = finish.clone(),
            ReplyPart::Usage(usage) => self.usage = Some(*usage),
        }
    }
}

/// More native calls than any model makes in one reply.
const MOST_TOOL_CALLS: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{anthropic, openai};
    use proptest::prelude::*;

    const DIALECTS: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

    /// Lines that are near to what a provider sends, and some that are not.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(r#"{"choices":[{"delta":{"content":"a\ud83d\ude00b"}}]}"#.to_owned()),
            Just(r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"index":7,"function":{}}]}}]}"#.to_owned()),
            Just(r#"{"choices":[{"delta":[],"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}"#.to_owned()),
            Just(r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"\u00e9"}}"#.to_owned()),
            Just(r#"{"type":"content_block_delta","delta":{"type":"input_json_delta"}}"#.to_owned()),
            Just(r#"{"type":"message_delta","delta":{"stop_reason":"x"},"usage":{"input_tokens":-1}}"#.to_owned()),
            Just(r#"{"type":"message_start","message":7}"#.to_owned()),
            Just("[DONE]".to_owned()),
            r#"[{}\[\]":,a\\u0-9d]{0,12}"#.prop_map(|text| text),
        ]
    }

    fn decode(
        dialect: Dialect,
        form: ReplyForm,
        chunks: &[&[u8]],
    ) -> (Completion, Option<Problem>) {
        let mut decoder = decoder(dialect, form);
        let mut parts = Vec::new();
        let mut read = Ok(());
        for chunk in chunks {
            read = read.and_then(|()| decoder.feed(chunk, &mut parts));
        }
        let read = read.and_then(|()| decoder.finish(&mut parts));
        let mut completion = Completion::default();
        for part in &parts {
            completion.take(part);
        }
        (completion, read.err())
    }

    proptest! {
        #[test]
        fn a_reply_reads_the_same_however_it_is_cut_and_whatever_it_is(
            lines in prop::collection::vec(line(), 0..8),
            size in 1usize..20,
        ) {
            let events: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
            let whole = lines.concat();
            for dialect in DIALECTS {
                for (form, text) in [(ReplyForm::Events, &events), (ReplyForm::Whole, &whole)] {
                    let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                    let cut = decode(dialect, form, &chunks);
                    prop_assert_eq!(cut, decode(dialect, form, &[text.as_bytes()]));
                }
            }
        }

        #[test]
        fn no_body_of_an_agent_breaks_the_parsers(
            fields in prop::collection::vec(
                prop_oneof![
                    Just(r#""model":"m""#), Just(r#""messages":[]"#), Just(r#""messages":[{}]"#),
                    Just(r#""messages":[{"role":"user","content":[{"type":"image"},7]}]"#),
                    Just(r#""messages":[{"role":"assistant","tool_calls":[1]}]"#),
                    Just(r#""tools":[{"name":"f"}]"#), Just(r#""stop":[1,""]"#),
                    Just(r#""system":[{"text":"s"}]"#), Just(r#""max_tokens":-1"#),
                    Just(r#""thinking":7"#), Just(r#""n":"x""#), Just("}"), Just("\u{0}"),
                ],
                0..8,
            ),
        ) {
            let body = format!("{{{}}}", fields.join(","));
            let parsed = [openai::parse(body.as_bytes()), anthropic::parse(body.as_bytes())];
            for request in parsed.into_iter().flatten() {
                let quirks = crate::profile::Quirks::default();
                // What cannot be put to a provider is an error, not a panic.
                let _ = openai::encode(&request, &quirks);
                let _ = anthropic::encode(&request, &quirks);
                prop_assert!(!request.messages.is_empty());
            }
        }
    }
}
