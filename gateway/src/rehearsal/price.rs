//! What the stand-in costs and how fast it is: stated figures, so that a rehearsal's cost and time
//! follow from its tokens alone and are the same in every run.
//!
//! The figures are those of a large hosted model of 2025, rounded; nobody is billed.

use std::time::Duration;

/// Price of a prompt token that no cache holds, in nano-dollars (15 USD a million).
pub const INPUT_NANO_USD: u64 = 15_000;
/// Price of a prompt token read from the provider's cache, in nano-dollars (1.50 USD a million).
pub const CACHE_READ_NANO_USD: u64 = 1_500;
/// Price of a prompt token written to the cache, in nano-dollars (18.75 USD a million).
pub const CACHE_WRITE_NANO_USD: u64 = 18_750;
/// Price of a token of the reply, in nano-dollars (75 USD a million).
pub const OUTPUT_NANO_USD: u64 = 75_000;

/// Milliseconds that pass before the first token of any reply.
pub const LATENCY_MS: u64 = 400;
/// Prompt tokens read in a second, those from the cache left out.
pub const INPUT_TOKENS_PER_SECOND: u64 = 2_500;
/// Reply tokens written in a second.
pub const OUTPUT_TOKENS_PER_SECOND: u64 = 40;

/// Returns the seconds that a call is stated to take, from the prompt tokens that no cache held
/// and the tokens of the reply.
pub fn model_time(fresh_input_tokens: u64, output_tokens: u64) -> Duration {
    let micros = LATENCY_MS * 1_000
        + fresh_input_tokens * 1_000_000 / INPUT_TOKENS_PER_SECOND
        + output_tokens * 1_000_000 / OUTPUT_TOKENS_PER_SECOND;
    Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::model_time;
    use std::time::Duration;

    #[test]
    fn a_longer_reply_takes_longer_and_a_cached_prompt_takes_no_reading() {
        assert_eq!(model_time(0, 0), Duration::from_millis(400));
        assert_eq!(model_time(2_500, 80), Duration::from_millis(3_400));
    }
}
