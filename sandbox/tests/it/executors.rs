//! The executors that builds are tried on.

use hone_sandbox::{Choice, Owner, SharedExecutor, choose};
use std::path::Path;

/// Makes every executor of this machine, with its private files in a folder. Docker may be missing, unless
/// `HONE_REQUIRE_DOCKER` is 1.
pub async fn executors(state: &Path) -> Vec<SharedExecutor> {
    let mut executors = Vec::new();
    for choice in [Choice::Bubblewrap, Choice::Docker] {
        let owner = Owner { run: "builds".to_owned() };
        match choose(choice, owner, state).await {
            Ok(executor) => executors.push(executor),
            Err(error) => {
                let is_required =
                    std::env::var_os("HONE_REQUIRE_DOCKER").is_some_and(|it| it == "1");
                assert!(choice == Choice::Docker && !is_required, "{error}");
                eprintln!("skipped: {error}");
            }
        }
    }
    executors
}
