//! OpenAI chat completions, outward to providers and inward from agents.

mod encode;
mod inward;
mod read;

pub use encode::encode;
pub use inward::{StreamWriter, parse, whole};
pub use read::OpenAiDecoder;
