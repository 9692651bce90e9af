//! Holds only integration tests; see the files beside `src`.
