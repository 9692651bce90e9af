//! The `hone` command.
fn main() {}
