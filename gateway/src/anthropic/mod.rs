//! Anthropic Messages, outward to the provider and inward from agents.

mod encode;
mod inward;
mod read;

pub use encode::{encode, thinking_tokens};
pub use inward::{StreamWriter, parse, whole};
pub use read::AnthropicDecoder;
