//! The connection to the gateway, the only door out of the sandbox.
//!
//! [`gateway`] makes the calls of the protocol, [`chat`] holds the types of a completion and
//! [`stream`] reads its chunks, [`events`] delivers the agent's account of what it does, and
//! [`inbox`] receives what an overseer or a person has to say.

pub mod chat;
pub mod events;
pub mod gateway;
pub mod inbox;
pub mod stream;

pub use chat::{Finish, Reply, Speaker, Usage};
pub use events::Events;
pub use gateway::{Gateway, GatewayError};
pub use inbox::Inbox;
