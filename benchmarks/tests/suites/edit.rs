//! Files that try to score as an edit without being one, and beside them the honest edit.

use hone_benchmarks::edit::EditData;
use hone_benchmarks::{Score, Submission, builtin, kind};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Scores a problem after something was done to the file in question; the target lies beside it, as an agent might have
/// left it.
fn score(change: impl Fn(&Path, &str)) -> Score {
    let suite = builtin::open("edit").unwrap().unwrap();
    let edit = kind::of(&suite).unwrap();
    let problem = &suite.problems()[0];
    let data: EditData = problem.data().unwrap();
    let work = tempfile::tempdir().unwrap();
    edit.set_up(&suite, problem, work.path()).unwrap();
    let path = work.path().join(&data.path);
    std::fs::write(path.with_extension("target"), &data.target).unwrap();
    change(&path, &data.target);
    edit.score(&suite, problem, Submission { answer: &data.target, dir: work.path() })
        .unwrap()
        .score
}

#[test]
fn no_trick_gains_a_point_and_the_honest_edit_gets_its_own() {
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    assert_eq!(score(|path, target| std::fs::write(path, target).unwrap()), Score::ONE);
    // The target as the answer, or beside the file, is no edit.
    assert_eq!(score(|_, _| ()), Score::ZERO);
    assert_eq!(score(|path, _| remove(path)), Score::ZERO);
    let link = |path: &Path, _: &str| {
        remove(path);
        symlink(path.with_extension("target"), path).unwrap();
    };
    assert_eq!(score(link), Score::ZERO);
    let folder_link = |path: &Path, target: &str| {
        let folder = path.parent().unwrap();
        let other = folder.with_file_name("other");
        std::fs::rename(folder, &other).unwrap();
        std::fs::write(other.join(path.file_name().unwrap()), target).unwrap();
        symlink("other", folder).unwrap();
    };
    assert_eq!(score(folder_link), Score::ZERO);
    let folder = |path: &Path, _: &str| {
        remove(path);
        std::fs::create_dir(path).unwrap();
    };
    assert_eq!(score(folder), Score::ZERO);
    let endless = |path: &Path, target: &str| {
        std::fs::write(path, target.repeat(1 + (2 << 20) / target.len())).unwrap();
    };
    assert_eq!(score(endless), Score::ZERO);
    let pipe = |path: &Path, _: &str| {
        remove(path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    assert_eq!(score(pipe), Score::ZERO);
}

#[test]
fn a_suite_that_was_changed_on_disk_is_refused() {
    let suite = builtin::open("edit").unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    suite.save(dir.path()).unwrap();
    let path = dir.path().join("suite.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("RETRY_LIMIT = 6", "RETRY_LIMIT = 7")).unwrap();
    let error = hone_benchmarks::Suite::open(dir.path()).unwrap_err().to_string();
    assert!(error.starts_with("verify suite edit: its digest should be "), "{error}");
    std::fs::write(&path, text.replace("\"breaking\": 1", "\"breaking\": 2")).unwrap();
    let error = hone_benchmarks::Suite::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("its format is 2, this program reads 1"), "{error}");
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert!(hone_benchmarks::Suite::open(dir.path()).is_err());
    std::fs::remove_file(&path).unwrap();
    let error = hone_benchmarks::Suite::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("it has no suite.json"), "{error}");
}
