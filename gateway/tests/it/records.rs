//! Recordings, replays, and keys that must not be in them.
