//! The agent's program against a scripted gateway on a unix socket.

// Helpers outside of test functions may unwrap too.
#![allow(clippy::unwrap_used, dead_code)]

mod server;
mod trial;

mod whole;
