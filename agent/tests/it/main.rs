//! The agent's program against a scripted gateway on a unix socket.

// Helpers outside of test functions may unwrap too.
#![allow(clippy::unwrap_used)]

mod server;
mod trial;

mod agents;
mod archive;
mod calls;
mod commands;
mod context;
mod endings;
mod files;
mod inbox;
mod markup;
mod memory;
mod replay;
mod structures;
mod whole;
