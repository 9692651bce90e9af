//! Suites built from a git repository and from wheels.

use git2::{Repository, Signature, Time};
use hone_benchmarks::build::{BuildRequest, build};
use hone_benchmarks::edit::EditData;
use hone_benchmarks::nav::NavData;
use hone_benchmarks::origin::Origin;
use hone_benchmarks::origin::pypi::Wheels;
use hone_benchmarks::{Suite, kind};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Commits files, and removes those with no content.
fn commit(repository: &Repository, files: &[(&str, &str)], parents: &[git2::Oid]) -> git2::Oid {
    let root = repository.workdir().unwrap();
    let mut index = repository.index().unwrap();
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
        index.add_path(Path::new(path)).unwrap();
    }
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    index.write().unwrap();
    let count = repository.revwalk().map(|mut walk| {
        let _ = walk.push_head();
        walk.count()
    });
    let when = Time::new(1_700_000_000 + count.unwrap_or(0) as i64, 0);
    let who = Signature::new("A", "a@example.org", &when).unwrap();
    let parents: Vec<git2::Commit<'_>> =
        parents.iter().map(|id| repository.find_commit(*id).unwrap()).collect();
    let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
    repository.commit(Some("HEAD"), &who, &who, "a change", &tree, &parents).unwrap()
}

/// Makes a repository with fair changes and with changes that are no problems.
fn repository(root: &Path) {
    let repository = Repository::init(root).unwrap();
    let many: String =
        (0..40).map(|n| format!("def step_{n}(x):\n    return x + {n}\n\n\n")).collect();
    let mut at = commit(
        &repository,
        &[
            ("pkg/__init__.py", ""),
            ("pkg/a.py", &many),
            (
                "pkg/b.py",
                "from .a import step_3\n\nLIMIT = 3\n\n\ndef use():\n    return step_3(LIMIT)\n",
            ),
            (
                "pkg/c.py",
                "from pkg import b\n\n\ndef other(é=1):\n    return 'é', b.use(), b.LIMIT\n",
            ),
            ("README", "read me\n"),
        ],
        &[],
    );
    let mut text = many;
    for n in 0..6 {
        text = text.replace(&format!("return x + {n}\n"), &format!("y = x * {n}\n    return y\n"));
        at = commit(&repository, &[("pkg/a.py", &text)], &[at]);
    }
    let spaced = text.replace("def ", "def  ");
    at = commit(&repository, &[("pkg/a.py", &spaced)], &[at]);
    at = commit(&repository, &[("pkg/a.py", &text), ("README", "two files\n")], &[at]);
    commit(&repository, &[("README", "no Python\n")], &[at]);
}

fn request<'a>(kind: &'a str, origin: &'a Origin, seed: u64) -> BuildRequest<'a> {
    let wheels = Path::new("/nonexistent");
    BuildRequest { name: "test", kind, origin, revision: None, wheels, count: 20, seed }
}

fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()))
        .collect()
}

fn check_all(suite: &Suite) {
    let kind = kind::of(suite).unwrap();
    for problem in suite.problems() {
        kind.check(suite, problem).unwrap();
        assert!(!kind.statement(suite, problem).unwrap().is_empty());
    }
}

#[test]
fn suites_built_twice_are_equal_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    // Two clones in different places: nothing of the machine may get into a suite.
    for clone in ["one/code", "two/code"] {
        std::fs::create_dir_all(dir.path().join(clone)).unwrap();
        repository(&dir.path().join(clone));
    }
    for kind in ["edit", "nav"] {
        let saved: Vec<BTreeMap<String, Vec<u8>>> = ["one/code", "two/code"]
            .iter()
            .enumerate()
            .map(|(number, clone)| {
                let origin = Origin::Git(dir.path().join(clone));
                let suite = build(&request(kind, &origin, 7)).unwrap();
                check_all(&suite);
                let place = dir.path().join(format!("{kind}-{number}"));
                suite.save(&place).unwrap();
                let opened = Suite::open(&place).unwrap();
                opened.verify().unwrap();
                assert_eq!(opened.manifest(), suite.manifest());
                bytes(&place)
            })
            .collect();
        assert_eq!(saved[0], saved[1], "{kind}");
        assert_eq!(saved[0].len(), 3);
    }
}

#[test]
fn edits_come_from_fair_commits_alone_and_show_nothing_of_the_target() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    let origin = Origin::Git(dir.path().to_owned());
    let suite = build(&request("edit", &origin, 0)).unwrap();
    assert_eq!(suite.problems().len(), 6);
    let edit = kind::of(&suite).unwrap();
    for problem in suite.problems() {
        let data: EditData = problem.data().unwrap();
        let work = tempfile::tempdir().unwrap();
        edit.set_up(&suite, problem, work.path()).unwrap();
        let mut names: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(work.path().join("pkg")).unwrap() {
            let path = entry.unwrap().path();
            assert_ne!(std::fs::read_to_string(&path).unwrap(), data.target);
            names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
        names.sort();
        assert_eq!(names, ["__init__.py", "a.py", "b.py", "c.py"]);
        assert!(!work.path().join(".git").exists());
    }
}

#[test]
fn names_stand_where_the_answers_say() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path());
    let origin = Origin::Git(dir.path().to_owned());
    let suite = build(&request("nav", &origin, 0)).unwrap();
    check_all(&suite);
    let mut asked: Vec<String> = suite
        .problems()
        .iter()
        .map(|problem| {
            let data: NavData = problem.data().unwrap();
            format!("{} at {} is {}", data.name, data.usage, data.answer)
        })
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            "LIMIT at pkg/c.py:5:27 is pkg/b.py:3:0",
            "step_3 at pkg/b.py:7:11 is pkg/a.py:16:4",
            "use at pkg/c.py:5:18 is pkg/b.py:6:4",
        ]
    );
}

fn wheel(folder: &Path, version: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = folder.join(format!("some_pkg-{version}-py3-none-any.whl"));
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    for (name, text) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    path
}

#[test]
fn successive_wheels_give_edits_and_the_newest_gives_names() {
    let dir = tempfile::tempdir().unwrap();
    let old = "def run(x):\n    return x\n";
    let new = "def run(x, y):\n    z = x + y\n    return z\n";
    let user = "from .core import run\n\n\ndef go():\n    return run(1, 2)\n";
    wheel(
        dir.path(),
        "1.10.0",
        &[("some_pkg/core.py", new), ("some_pkg/__init__.py", ""), ("some_pkg/user.py", user)],
    );
    wheel(
        dir.path(),
        "1.9.0",
        &[("some_pkg/core.py", old), ("../evil.py", "x"), ("some_pkg/__init__.py", "")],
    );
    let wheels = Wheels::open("some-pkg", &[dir.path().to_owned()]).unwrap();
    let edits = hone_benchmarks::edit::build::build("e", &wheels, 5, 0).unwrap();
    check_all(&edits);
    let ids: Vec<&str> = edits.problems().iter().map(|p| p.id.0.as_str()).collect();
    assert_eq!(ids, ["edit-some-pkg-1.10.0-some_pkg-core.py"]);
    let names = hone_benchmarks::nav::build::build("n", &wheels.snapshot().unwrap(), 5, 0).unwrap();
    check_all(&names);
    assert_eq!(names.problems().len(), 1);
}

#[test]
fn broken_sources_get_clear_errors() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = Origin::Git(dir.path().to_owned());
    let error = build(&request("nav", &nothing, 0)).unwrap_err().to_string();
    assert!(error.starts_with("read the git repository "), "{error}");
    let path = dir.path().join("some_pkg-1.0-py3-none-any.whl");
    std::fs::write(&path, "no zip").unwrap();
    let error = Wheels::open("some-pkg", &[dir.path().to_owned()]).unwrap_err().to_string();
    assert!(error.contains("it is no zip file"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let one = wheel(dir.path(), "1.0", &[("some_pkg/a.py", "x = 1\n")]);
    let wheels = Wheels::open("some-pkg", std::slice::from_ref(&one)).unwrap();
    let error = hone_benchmarks::edit::build::build("e", &wheels, 5, 0).unwrap_err().to_string();
    assert!(error.contains("edits need the wheels of two releases"), "{error}");
    assert!(Wheels::open("other", &[one]).is_err());
}
