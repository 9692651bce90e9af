//! The judge: a model that is asked what it makes of a trial.
//!
//! # What it is asked
//! A [`Prompt`] of two messages. The system message (`prompt.txt`) never changes, so that it caches.
//! The user message is one rendered view, described in [`crate::render`].
//!
//! # What it answers
//! One JSON object; prose or a code fence around it is tolerated, unknown keys are ignored:
//!
//! ```json
//! {"progress": "none", "looping": true, "node": "0.1",
//!  "notify": true, "notify_reason": "five equal searches", "message": "Search for another name.",
//!  "cancel": false, "cancel_reason": "",
//!  "notes": "watch 0.1", "next_look_seconds": 30}
//! ```
//!
//! | key | type | rule |
//! |---|---|---|
//! | `progress` | `good`, `slow`, `none` | required |
//! | `looping` | bool | required |
//! | `node` | string | the node judged; `0` when absent |
//! | `notify` | bool | false when absent; true needs a `message` that is not empty |
//! | `notify_reason`, `message` | string | empty when absent |
//! | `cancel` | bool | false when absent; true needs a `cancel_reason` that is not empty |
//! | `cancel_reason`, `notes` | string | empty when absent |
//! | `next_look_seconds` | number | clamped to the settings' bounds; their default when absent |
//!
//! A reply that breaks a rule is asked for once more, with the error; then it is recorded as
//! unparsable. A stand-in judge answers well when it follows the `proposes` attribute of the
//! strongest `<HIT>` line: `cancel` over `nudge` over `note`.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// The system message of every look.
pub const SYSTEM_PROMPT: &str = include_str!("prompt.txt");

/// The version of [`SYSTEM_PROMPT`] and of the view; it is part of every look's record.
pub const PROMPT_VERSION: &str = "1";

/// What the judge is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The standing instructions.
    pub system: String,
    /// The view of the trial.
    pub user: String,
    /// Most tokens that the reply may have.
    pub reply_tokens: u32,
}

/// What the judge said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The text, to be parsed as described in [`crate::judge`].
    pub text: String,
    /// The model that answered, for the record.
    pub model: String,
    /// What the call cost, in nano-dollars.
    pub cost_nano_usd: u64,
    /// Log-probabilities of the reply's tokens, where the provider gives them.
    pub tokens: Vec<TokenOdds>,
}

/// One token of a reply with the alternatives that the model weighed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenOdds {
    /// The token that was chosen.
    pub token: String,
    /// Alternatives with their natural log-probabilities, the chosen one among them.
    pub alternatives: Vec<(String, f64)>,
}

/// Why no reply came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The overseer's money is spent.
    #[error("the overseer's budget is spent")]
    Unaffordable,
    /// No model answers for the overseer.
    #[error("no overseer model: {0}")]
    NoModel(String),
    /// The call failed.
    #[error("the call failed: {0}")]
    Failed(String),
}

/// A model that can be asked. It is called from a task of its own under a deadline, so it may hang.
pub trait Judge: Send + Sync {
    /// Asks once.
    fn ask(&self, prompt: Prompt) -> BoxFuture<'static, Result<Reply, JudgeError>>;
}

/// A judge for trials that have none: the detectors rule alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJudge;

impl Judge for NoJudge {
    fn ask(&self, _prompt: Prompt) -> BoxFuture<'static, Result<Reply, JudgeError>> {
        Box::pin(async { Err(JudgeError::NoModel("none is configured".to_owned())) })
    }
}
