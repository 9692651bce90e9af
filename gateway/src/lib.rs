//! The one door out of a sandbox: model providers, metering, caps, records and the rehearsal model.
//!
//! This crate owns the talk with models: it reads and writes the dialects of agents and providers,
//! counts tokens and money, keeps caps, waits for providers, records every exchange and plays
//! recordings. It knows nothing of benchmarks or archives, reads no environment, and prints
//! nothing.
//!
//! | in reading order | what it is |
//! |---|---|
//! | [`Gateway`], [`settings`] | the gateway of a run, and what it is told |
//! | [`door`] | a trial's unix socket and the harness's handle on it |
//! | [`completion`] | requests and replies between the dialects |
//! | `line`, `call` | the calls of one trial; one call from alias to settled reply |
//! | [`purse`], [`meter`], [`money`], [`prices`] | caps, counts, nano-dollars, what tokens cost |
//! | [`forecast`] | what a run may cost, before it starts |
//! | [`provider`], [`error`] | what a provider is, and how it fails |
//! | [`profile`], [`http`], [`openai`], [`anthropic`] | providers as data, and the two dialects |
//! | `lane`, [`outage`] | how many calls a provider bears; waiting while it is down |
//! | [`tape`], `replay` | recordings, and playing them |
//! | `stand_in`, [`rehearsal`] | the model that costs nothing |

pub mod anthropic;
mod call;
pub mod completion;
pub mod door;
pub mod error;
pub mod forecast;
mod gateway;
pub mod http;
mod json;
mod keys;
mod lane;
mod line;
mod litellm;
pub mod meter;
pub mod model;
pub mod money;
pub mod openai;
pub mod outage;
pub mod prices;
pub mod profile;
pub mod provider;
pub mod purse;
mod refusal;
pub mod rehearsal;
mod replay;
pub mod settings;
mod sse;
mod stand_in;
mod stop;
pub mod tape;
pub mod tokens;

pub use completion::{ChatMessage, ChatRequest, ChatRole, Completion, FinishReason, Usage};
pub use door::{
    Delivered, DoorError, Held, InboxSender, Pace, TrialDoor, TrialMeter, TrialReport, TrialSpec,
};
pub use error::{Problem, ProviderError, Severity};
pub use gateway::{Desk, Gateway, GatewayError};
pub use keys::Keys;
pub use line::{CallError, LineSpec, StopReason};
pub use meter::MeterReading;
pub use model::{Alias, ModelName};
pub use money::NanoUsd;
pub use profile::{Profile, Profiles};
pub use purse::{Account, Capped, SpendRole};
pub use settings::GatewaySettings;
pub use stand_in::PrefixCache;
