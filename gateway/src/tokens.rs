//! Token counts without a tokenizer.

use crate::completion::ChatRequest;

/// Bytes of text that one token stands for: the usual rule of thumb for English and code.
const BYTES_PER_TOKEN: u64 = 4;

/// Bytes per token where too few tokens would be counted against a cap: code with many symbols
/// and other scripts than Latin come down to about three.
const BYTES_PER_TOKEN_AT_LEAST: u64 = 3;

/// Tokens that a message costs besides its text.
const TOKENS_PER_MESSAGE: u64 = 4;

/// Estimates the tokens of a text.
pub fn of_text(text: &str) -> u64 {
    of_bytes(text.len())
}

/// Estimates the tokens of a text of so many bytes.
pub fn of_bytes(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Estimates the tokens of a whole prompt.
pub fn of_prompt(request: &ChatRequest) -> u64 {
    request.prompt_bytes().div_ceil(BYTES_PER_TOKEN)
        + TOKENS_PER_MESSAGE * request.messages.len() as u64
}

/// Estimates the tokens of a whole prompt on the high side, for reserving money.
pub fn of_prompt_at_most(request: &ChatRequest) -> u64 {
    request.prompt_bytes().div_ceil(BYTES_PER_TOKEN_AT_LEAST)
        + TOKENS_PER_MESSAGE * request.messages.len() as u64
}
