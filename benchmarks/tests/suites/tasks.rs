//! Task folders: imported, verified in a fresh room, and attacked.

use super::bubblewrap::{Bubblewrap, block_on};
use hone_benchmarks::tasks::import::import;
use hone_benchmarks::{
    Environment, GradingRoom, Root, ScoreError, Scored, Submission, Suite, kind,
};
use std::path::Path;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
}

/// The task is to make `double.py` print twice its argument.
const VERIFY: &str =
    "set -e\nfor n in 2 21; do\n  [ \"$(python3 double.py $n)\" = $((2 * n)) ]\ndone\n";

fn own(verify: &str, settings: &str) -> Suite {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("double/statement.md", "Make `double.py` print twice its argument.\n"),
            ("double/files/double.py", "import sys\nprint(sys.argv[1])\n"),
            ("double/files/notes.txt", "nothing\n"),
            ("double/verifier/verify.sh", verify),
            ("double/task.toml", settings),
        ],
    );
    import("mine", dir.path()).unwrap()
}

fn grade(suite: &Suite, files: &[(&str, &str)]) -> Result<Scored, ScoreError> {
    let (work, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(work.path(), files);
    let room = GradingRoom::new(scratch.path()).with_rooms(&Bubblewrap);
    let submission = Submission { answer: "", dir: work.path() };
    block_on(kind::of(suite).unwrap().grade(suite, &suite.problems()[0], submission, room))
}

const HONEST: &str = "import sys\nprint(2 * int(sys.argv[1]))\n";

#[test]
fn honest_work_scores_and_the_work_directory_as_it_was_does_not() {
    let suite = own(VERIFY, "");
    let dir = tempfile::tempdir().unwrap();
    let tasks = kind::of(&suite).unwrap();
    tasks.set_up(&suite, &suite.problems()[0], dir.path()).unwrap();
    assert!(dir.path().join("notes.txt").is_file());
    assert!(!dir.path().join("verify.sh").exists());
    let untouched = std::fs::read_to_string(dir.path().join("double.py")).unwrap();
    assert_eq!(grade(&suite, &[("double.py", &untouched)]).unwrap().score.get(), 0.0);
    assert_eq!(grade(&suite, &[("double.py", HONEST)]).unwrap().score.get(), 1.0);
    assert_eq!(tasks.environment(&suite, &suite.problems()[0]).unwrap(), Environment::default());
}

#[test]
fn a_verifier_may_write_a_number_and_deleted_files_stay_deleted() {
    let verify = "[ ! -e notes.txt ] || exit 3\necho 0.25 > /logs/verifier/reward.txt\n";
    let suite = own(verify, "verifier_seconds = 20\n");
    assert_eq!(grade(&suite, &[("double.py", "")]).unwrap().score.get(), 0.25);
    assert_eq!(grade(&suite, &[("notes.txt", "")]).unwrap().score.get(), 0.0);
    let suite = own("echo 7 > /logs/verifier/reward.txt\n", "");
    assert!(matches!(grade(&suite, &[]), Err(ScoreError::Verifier(_))));
}

#[test]
fn a_verifier_that_hangs_is_no_zero() {
    let suite = own("sleep 60\n", "verifier_seconds = 1\n");
    let error = grade(&suite, &[("double.py", HONEST)]).unwrap_err();
    assert_eq!(error.to_string(), "verify: it did not end in 1 s");
}

#[test]
fn no_trick_gains_a_point() {
    let reward = "mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt";
    let background = format!(
        "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    for f in (0, 1, 2):\n        os.close(f)\n    while True:\n        os.system('{reward}')\nprint(sys.argv[1])\n"
    );
    let kills = "import os, signal\nfor name in os.listdir('/proc'):\n    if name.isdigit() and int(name) not in (1, os.getpid()):\n        \
                 try:\n            os.kill(int(name), signal.SIGKILL)\n        except OSError:\n            pass\n";
    let tricks: Vec<(&str, Vec<(&str, &str)>)> = vec![
        (
            "result files",
            vec![("reward.txt", "1"), ("logs/verifier/reward.txt", "1"), ("double.py", "")],
        ),
        (
            "a verifier of its own",
            vec![("verify.sh", "exit 0"), ("tests/verify.sh", "exit 0"), ("double.py", "")],
        ),
        (
            "a shim",
            vec![
                ("python3", "#!/bin/sh\necho 4\n"),
                ("bin/python3", "#!/bin/sh\necho 4\n"),
                ("sh", "exit 0"),
                ("double.py", ""),
            ],
        ),
        (
            "modules",
            vec![
                ("sitecustomize.py", "print(4)"),
                ("usercustomize.py", "print(4)"),
                ("conftest.py", ""),
                ("double.py", ""),
            ],
        ),
        ("words of success", vec![("double.py", "print('OK')\nprint('1 passed')\n")]),
        ("an early exit", vec![("double.py", "import os\nos._exit(0)\n")]),
        (
            "a reward of its own",
            vec![("double.py", "open('/logs/verifier/reward.txt', 'w').write('1')\n")],
        ),
        ("a process in the background", vec![("double.py", &background)]),
        ("nothing", vec![]),
    ];
    let suite = own(VERIFY, "verifier_seconds = 30\n");
    for (name, files) in &tricks {
        let scored = grade(&suite, files).unwrap();
        assert_eq!(scored.score.get(), 0.0, "{name}: {}", scored.why);
    }
    // Ending the verifier from inside is no way to a score either.
    let killed = grade(&suite, &[("double.py", kills)]);
    assert!(!killed.is_ok_and(|scored| scored.score.get() > 0.0));
    assert_eq!(grade(&suite, &[("double.py", HONEST)]).unwrap().score.get(), 1.0);
}

#[test]
fn a_reward_that_code_under_test_keeps_writing_is_not_read() {
    // The verifier of Harbor's layout: the file is all that counts, and it is written last.
    let verify = "python3 double.py 2 > out.txt\nif [ \"$(cat out.txt)\" = 4 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n";
    let suite = own(verify, "");
    let late = "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    for f in (0, 1, 2):\n        os.close(f)\n    time.sleep(0.5)\n    \
                open('/logs/verifier/reward.txt', 'w').write('1')\n    os._exit(0)\nprint(sys.argv[1])\n";
    assert_eq!(grade(&suite, &[("double.py", late)]).unwrap().score.get(), 0.0);
    assert_eq!(grade(&suite, &[("double.py", HONEST)]).unwrap().score.get(), 1.0);
}

#[test]
fn folders_of_harbor_are_taken_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("hello/instruction.md", "Create hello.txt.\n"),
            (
                "hello/task.toml",
                "version = \"1.0\"\n[metadata]\ncategory = \"files\"\n[verifier]\ntimeout_sec = 30.0\n[agent]\ntimeout_sec = 60.0\n[environment]\ncpus = 1\n",
            ),
            ("hello/environment/Dockerfile", "FROM debian\nWORKDIR /app\nCOPY data.txt .\n"),
            ("hello/environment/data.txt", "data\n"),
            (
                "hello/tests/test.sh",
                "if [ -f /app/hello.txt ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
            ),
            ("hello/solution/solve.sh", "touch hello.txt\n"),
        ],
    );
    let suite = import("h", dir.path()).unwrap();
    let problem = &suite.problems()[0];
    assert_eq!((problem.id.0.as_str(), problem.group.as_deref()), ("hello", Some("files")));
    let environment = kind::of(&suite).unwrap().environment(&suite, problem).unwrap();
    assert_eq!(environment.workdir, "/app");
    let Root::Dockerfile(tree) = environment.root else { panic!("{environment:?}") };
    let names: Vec<&String> = suite.files().tree(&tree).unwrap().keys().collect();
    assert_eq!(names, ["Dockerfile", "data.txt"]);
    // The solution is no part of the suite.
    assert!(!serde_json::to_string(suite.manifest()).unwrap().contains("touch hello.txt"));
    let place = tempfile::tempdir().unwrap();
    suite.save(place.path()).unwrap();
    let opened = Suite::open(place.path()).unwrap();
    opened.verify().unwrap();
    assert_eq!(opened.digest(), suite.digest());
}

#[test]
fn broken_folders_get_clear_errors() {
    for (files, message) in [
        (vec![("a/x", "")], "neither it nor a folder in it"),
        (vec![("a/statement.md", "x")], "there is no verifier/verify.sh"),
        (vec![("a/instruction.md", "x")], "neither environment/Dockerfile nor docker_image"),
        (
            vec![
                ("a/statement.md", "x"),
                ("a/verifier/verify.sh", ""),
                ("a/task.toml", "imagge = 1"),
            ],
            "unknown field",
        ),
        (vec![("a/statement.md", " "), ("a/verifier/verify.sh", "")], "it has no instruction"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &files);
        let error = import("x", dir.path()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
