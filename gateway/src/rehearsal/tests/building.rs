//! The proposals as real source: each tree that comes out is put on disk and handed to cargo.

use super::improving::{before, improved, proposal, repaired, seed_tree};
use crate::rehearsal::proposals::{Fate, PROPOSALS};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Runs all tests of a tree; returns whether it passed, and what cargo said.
///
/// What the agent depends on is compiled once into a target directory of this test's own. The
/// agent's own one will not do: cargo would put the child's program in the place of the agent's.
fn tested(tree: &BTreeMap<String, String>) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in tree {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/children");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--lib", "--tests"])
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

// One test, since two at a time would be in each other's way in the target directory.
#[test]
fn children_that_are_to_build_pass_their_tests_and_the_others_fail_where_they_are_meant_to() {
    let tree =
        with(&[Fate::Better, Fate::Documentation, Fate::Worse, Fate::Forbidden, Fate::Repaired]);
    let (passed, said) = tested(&tree);
    assert!(!passed && said.contains("src/tools/outline_file.rs"), "{said}");
    let (passed, said) = tested(&repaired(&tree, "src/tools/outline_file.rs").files);
    assert!(passed, "{said}");
    for tool in ["replace_in_file", "find_definition"] {
        assert!(said.contains(&format!("test tools::{tool}::tests::")), "{tool}: {said}");
    }

    // It builds; whether its tests notice what is wrong with it is not for this test to say.
    let (_, said) = tested(&with(&[Fate::FailedGate]));
    assert!(said.contains("test result: "), "{said}");

    let mut tree = improved(&seed_tree(), &before(proposal(Fate::NotBuilt)), 0).files;
    for _ in 0..2 {
        let (passed, said) = tested(&tree);
        assert!(!passed && said.contains("src/tools/measure_files.rs"), "{said}");
        tree = repaired(&tree, "src/tools/measure_files.rs").files;
    }
}
