//! End-to-end tests: the real program, real sandboxes, a real archive, and models on loopback.

mod archive;
mod bad_input;
mod machine;
mod nonsense_model;
mod rehearsal;
