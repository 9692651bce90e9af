//! The one door out of a sandbox: model providers, metering, caps, records and the rehearsal model.

pub mod completion;
pub mod rehearsal;
pub mod tokens;
