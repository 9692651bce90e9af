//! The proposals as real source: each tree that comes out is put on disk and handed to cargo.

use super::improving::{before, improved, proposal, repaired, seed_tree};
use crate::rehearsal::proposals::{Fate, PROPOSALS};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Runs all tests of a tree; returns whether it passed, and what cargo said.
///
/// The agent's own target directory is used: what it depends on is compiled there already when
/// its tests ran.
fn tested(tree: &BTreeMap<String, String>) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in tree {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/target");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Makes the proposals with these fates one after the other on the seed tree.
fn with(fates: &[Fate]) -> BTreeMap<String, String> {
    let chosen = PROPOSALS.iter().filter(|proposal| fates.contains(&proposal.fate));
    chosen.fold(seed_tree(), |tree, proposal| improved(&tree, &before(proposal), 0).files)
}

#[test]
fn children_that_are_to_build_do_and_pass_their_tests_and_those_of_the_new_tools() {
    let tree = with(&[
        Fate::Better,
        Fate::Documentation,
        Fate::Worse,
        Fate::Forbidden,
        Fate::FailedGate,
        Fate::Repaired,
    ]);
    let (passed, said) = tested(&tree);
    assert!(!passed && said.contains("src/tools/outline_file.rs"), "{said}");
    let (passed, said) = tested(&repaired(&tree, "src/tools/outline_file.rs").files);
    assert!(passed, "{said}");
    for tool in ["replace_in_file", "find_definition"] {
        assert!(said.contains(&format!("test tools::{tool}::tests::")), "{tool}: {said}");
    }
}

#[test]
fn a_child_that_is_not_to_build_does_not_whatever_the_repairs() {
    let mut tree = improved(&seed_tree(), &before(proposal(Fate::NotBuilt)), 0).files;
    for _ in 0..3 {
        let (passed, said) = tested(&tree);
        assert!(!passed && said.contains("src/tools/measure_files.rs"), "{said}");
        tree = repaired(&tree, "src/tools/measure_files.rs").files;
    }
    assert!(!tested(&tree).0);
}
