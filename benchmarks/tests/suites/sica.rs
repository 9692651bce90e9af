//! The paper's own edit score, against cases that its authors' code answered.

use hone_benchmarks::edit::sica::score;
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    base: String,
    target: String,
    edited: String,
    score: f64,
}

/// Gives the folder of cases: `HONE_CASES`, which must be there, else `../shared/cases` beside the repository.
fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("HONE_CASES") {
        Some(folder) => {
            let folder = PathBuf::from(folder);
            assert!(folder.is_dir(), "HONE_CASES names no folder: {}", folder.display());
            folder
        }
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no conformance data in {}: nothing ran", folder.display());
    None
}

#[test]
fn conformance_the_score_is_that_of_the_papers_code() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read(folder.join("edit_sica.json")).unwrap();
    let Cases { cases } = serde_json::from_slice(&text).unwrap();
    assert!(!cases.is_empty(), "edit_sica.json holds no cases");
    for (number, case) in cases.iter().enumerate() {
        let found = score(&case.base, &case.target, &case.edited).score.get();
        assert!((found - case.score).abs() <= 1e-9, "case {number}: {found}, not {}", case.score);
    }
    println!("edit_sica.json: {} cases ran", cases.len());
}
