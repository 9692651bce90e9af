//! The corpus on a Docker engine.

#[path = "../../../benchmarks/tests/suites/code.rs"]
mod code;
#[path = "../../../benchmarks/tests/suites/tasks.rs"]
mod tasks;

/// What the corpus calls its rooms by.
mod bubblewrap {
    pub use crate::executor::block_on;

    #[allow(non_upper_case_globals)]
    pub static Bubblewrap: crate::executor::OwnExecutor =
        crate::executor::OwnExecutor(hone_sandbox::Choice::Docker);
}
