//! What end-to-end tests work with: the real `hone` program in a home of its own, and a model server on loopback.
//!
//! | file | what it owns |
//! |---|---|
//! | [`hone`] | runs the program and reads what it says |
//! | [`model_server`] | plays a provider of models |

pub mod hone;
pub mod model_server;
