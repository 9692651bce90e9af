//! Scoring in the sandboxes of runs: the corpus of honest work and of tricks that `benchmarks` keeps, on each executor.

mod executor;
mod on_bubblewrap;
mod on_docker;
