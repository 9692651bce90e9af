//! The pantry of the real seed agent.

use hone_sandbox::Pantry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The seed agent of this repository.
pub fn seed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent")
}

/// A cache that the tests of every run share, since filling it takes minutes.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hone-cache")
}

/// The pantry in that cache.
pub fn pantry() -> Pantry {
    Pantry::prepare(&cache(), &seed(), &|_| {}).unwrap()
}

#[test]
fn the_pantry_has_the_agents_crates_and_the_vetted_ones() {
    let pantry = pantry();
    let named: Vec<&str> =
        pantry.crates().iter().filter(|it| it.named).map(|it| it.name.as_str()).collect();
    for name in ["reqwest", "schemars", "tree-sitter", "tree-sitter-python", "similar", "regex"] {
        assert!(named.contains(&name), "{name} is missing in {named:?}");
        assert!(pantry.allowed().contains(name));
    }
    for it in pantry.crates() {
        let manifest =
            pantry.folder().join(format!("vendor/{}-{}/Cargo.toml", it.name, it.version));
        assert!(manifest.exists(), "{} is missing", manifest.display());
    }
    // What a crate of the agent needs may be used, but is not what an editor is told of.
    let hyper = pantry.crates().iter().find(|it| it.name == "hyper").unwrap();
    assert!(!hyper.named);
}

#[test]
fn a_pantry_that_is_there_is_used_again() {
    let first = pantry();
    let fetches = AtomicUsize::new(0);
    let second = Pantry::prepare(&cache(), &seed(), &|_| {
        fetches.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!((first, fetches.into_inner()), (second, 0));
}

#[test]
fn a_pantry_that_cannot_be_fetched_says_why_and_leaves_nothing_that_passes_for_one() {
    let cache = tempfile::tempdir().unwrap();
    let agent = tempfile::tempdir().unwrap();
    std::fs::create_dir(agent.path().join("src")).unwrap();
    std::fs::write(agent.path().join("src/lib.rs"), "").unwrap();
    std::fs::write(
        agent.path().join("Cargo.toml"),
        "[package]\nname = \"a\"\nedition = \"2024\"\n[dependencies]\nb = { path = \"../nowhere\" }\n",
    )
    .unwrap();
    for _ in 0..2 {
        let error = Pantry::prepare(cache.path(), agent.path(), &|_| {}).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
        assert!(error.hint().is_some());
    }
}
