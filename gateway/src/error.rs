//! What can go wrong between the gateway and a provider.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A provider did not give a usable reply.
///
/// No variant holds a header or a key; `detail` is the provider's own text, cut short, with the
/// key blotted out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{provider}: {problem}")]
pub struct ProviderError {
    /// The provider's profile.
    pub provider: String,
    /// What went wrong.
    pub problem: Problem,
}

/// What went wrong with a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Problem {
    /// The key is missing.
    #[error("no key: the variable {variable} is not set")]
    NoKey {
        /// The environment variable that should hold it.
        variable: String,
    },
    /// The key was not accepted (401).
    #[error("the key was not accepted: {detail}")]
    BadKey {
        /// The provider's text.
        detail: String,
    },
    /// The key may not do this (403).
    #[error("the key may not use this model: {detail}")]
    Forbidden {
        /// The provider's text.
        detail: String,
    },
    /// The account has no credit (402, or a 400 or 429 that says so).
    #[error("out of credit: {detail}")]
    NoCredit {
        /// The provider's text.
        detail: String,
    },
    /// There is no such model or path (404).
    #[error("no such model or address: {detail}")]
    UnknownModel {
        /// The provider's text.
        detail: String,
    },
    /// The prompt is longer than the model takes.
    #[error("the prompt is too long for the model: {detail}")]
    ContextTooLong {
        /// The provider's text.
        detail: String,
    },
    /// The request as a whole is too big for the provider (413).
    #[error("the request is too large: {detail}")]
    TooLarge {
        /// The provider's text.
        detail: String,
    },
    /// The provider does not take this request (400 and other 4xx).
    #[error("the request was refused (status {status}): {detail}")]
    BadRequest {
        /// The HTTP status.
        status: u16,
        /// The provider's text.
        detail: String,
    },
    /// The gateway cannot put this request into the provider's dialect.
    #[error("the request cannot be put to this provider: {detail}")]
    Untranslatable {
        /// Which part of it.
        detail: String,
    },
    /// Too many requests (429).
    #[error("rate limited: {detail}")]
    RateLimited {
        /// The provider's text.
        detail: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider cannot serve now (408, 409, 5xx).
    #[error("unavailable (status {status}): {detail}")]
    Unavailable {
        /// The HTTP status.
        status: u16,
        /// The provider's text.
        detail: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// No connection could be made, or it broke before a reply.
    #[error("unreachable: {detail}")]
    Unreachable {
        /// The chain of causes.
        detail: String,
    },
    /// Nothing arrived for too long.
    #[error("nothing arrived for {seconds} s")]
    Stalled {
        /// How long was waited.
        seconds: f64,
    },
    /// The reply broke off after it had begun.
    #[error("the reply was cut off: {detail}")]
    CutOff {
        /// What was seen.
        detail: String,
    },
    /// The reply is not of the provider's dialect.
    #[error("the reply makes no sense: {detail}")]
    Garbled {
        /// What was seen.
        detail: String,
    },
    /// The provider points elsewhere (3xx); the gateway does not follow, since a key would go
    /// along.
    #[error("redirected (status {status}) to {location}")]
    Redirected {
        /// The HTTP status.
        status: u16,
        /// Where to.
        location: String,
    },
    /// A replayed run has no such call.
    #[error("the recording does not hold this call: {detail}")]
    NotRecorded {
        /// What differs, and where.
        detail: String,
    },
}

/// What a failed call means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The same call may work in a moment.
    Passing,
    /// The provider is of no use to anybody until somebody or time mends it.
    Outage,
    /// This request is at fault; another may work.
    Request,
    /// The settings are at fault; no request can work.
    Settings,
}

impl Problem {
    /// Names the problem in one stable word, for records and replies.
    pub fn kind(&self) -> &'static str {
        match self {
            Problem::NoKey { .. } => "no_key",
            Problem::BadKey { .. } => "bad_key",
            Problem::Forbidden { .. } => "forbidden",
            Problem::NoCredit { .. } => "no_credit",
            Problem::UnknownModel { .. } => "unknown_model",
            Problem::ContextTooLong { .. } => "context_too_long",
            Problem::TooLarge { .. } => "too_large",
            Problem::BadRequest { .. } => "bad_request",
            Problem::Untranslatable { .. } => "untranslatable",
            Problem::RateLimited { .. } => "rate_limited",
            Problem::Unavailable { .. } => "unavailable",
            Problem::Unreachable { .. } => "unreachable",
            Problem::Stalled { .. } => "stalled",
            Problem::CutOff { .. } => "cut_off",
            Problem::Garbled { .. } => "garbled",
            Problem::Redirected { .. } => "redirected",
            Problem::NotRecorded { .. } => "not_recorded",
        }
    }

    /// Says what the problem means for the run.
    pub fn severity(&self) -> Severity {
        match self {
            Problem::RateLimited { .. }
            | Problem::Unavailable { .. }
            | Problem::Unreachable { .. }
            | Problem::Stalled { .. } => Severity::Passing,
            Problem::NoCredit { .. } => Severity::Outage,
            Problem::ContextTooLong { .. }
            | Problem::TooLarge { .. }
            | Problem::BadRequest { .. }
            | Problem::Untranslatable { .. }
            | Problem::CutOff { .. }
            | Problem::Garbled { .. } => Severity::Request,
            Problem::NoKey { .. }
            | Problem::BadKey { .. }
            | Problem::Forbidden { .. }
            | Problem::UnknownModel { .. }
            | Problem::Redirected { .. }
            | Problem::NotRecorded { .. } => Severity::Settings,
        }
    }

    /// Returns how long the provider asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Problem::RateLimited { retry_after, .. } | Problem::Unavailable { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// Says in a sentence what a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Problem::NoKey { .. } => "Set the variable in the environment or in `.env`.",
            Problem::BadKey { .. } => {
                "Check that the key belongs to this provider and was not revoked."
            }
            Problem::Forbidden { .. } => "Ask the provider for access, or choose another model.",
            Problem::NoCredit { .. } => {
                "Add credit to the account; the run goes on by itself once a call gets through."
            }
            Problem::UnknownModel { .. } => "Check the model's name and the base URL.",
            Problem::ContextTooLong { .. } => {
                "Lower the limit of context tokens, or choose a model that takes more."
            }
            Problem::TooLarge { .. } => "Lower the limit of context tokens.",
            Problem::BadRequest { .. } => {
                "Compare the provider's text with the profile of the provider; a quirk may be missing there."
            }
            Problem::Untranslatable { .. } => {
                "Use a provider of the dialect that the agent speaks."
            }
            Problem::RateLimited { .. } => "Use fewer workers, or ask the provider for more.",
            Problem::Unavailable { .. } | Problem::Unreachable { .. } => {
                "Check the provider's status page, the base URL and the network; the run goes on by itself once a call gets through."
            }
            Problem::Stalled { .. } => "Raise the idle timeout if the model thinks this long.",
            Problem::CutOff { .. } => "Nothing needs to be done unless it happens often.",
            Problem::Garbled { .. } => {
                "Check that the base URL is that of a chat completions endpoint of this dialect."
            }
            Problem::Redirected { .. } => "Set the base URL to the address it points to.",
            Problem::NotRecorded { .. } => {
                "Replay with the settings, the seed and the version of the recorded run."
            }
        }
    }

    /// Puts the name of the provider to the problem.
    pub fn at(self, provider: &str) -> ProviderError {
        ProviderError { provider: provider.to_owned(), problem: self }
    }
}

impl ProviderError {
    /// Says in a sentence what a person can do about it.
    pub fn hint(&self) -> &'static str {
        self.problem.hint()
    }
}
