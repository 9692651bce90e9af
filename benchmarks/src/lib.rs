//! Map to be written with the crate.
