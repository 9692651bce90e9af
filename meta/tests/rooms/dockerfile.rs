//! A task in Harbor's layout whose image is built from its Dockerfile.

use crate::executor::{block_on, executor};
use hone_benchmarks::tasks::import::import;
use hone_benchmarks::{GradingRoom, Root, Submission, kind};
use hone_meta::rooms::{self, ExecutorRooms};
use hone_sandbox::Choice;
use std::path::Path;
use std::process::Command;

/// Makes an image with a shell and a few programs, since no registry is in reach.
fn base() -> String {
    let script = r#"
        set -eu
        root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
        mkdir -p "$root/bin" "$root/tmp" "$root/etc"; chmod 1777 "$root/tmp"
        echo 'root:x:0:0:root:/:/bin/sh' > "$root/etc/passwd"
        for name in bash cat mkdir find rm env; do
            program=$(type -P $name); cp -L "$program" "$root/bin/$name"
            for library in $(ldd "$program" | grep -o '/[^ ]*'); do
                mkdir -p "$root$(dirname "$library")"; cp -nL "$library" "$root$library"
            done
        done
        ln -s bash "$root/bin/sh"
        tar -C "$root" --owner=0 --group=0 -cf - . | docker import --change 'LABEL hone.test=task' - hone-test-task-base:1
    "#;
    let output = Command::new("bash").args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    "hone-test-task-base:1".to_owned()
}

#[test]
fn a_harbor_task_is_judged_in_the_image_of_its_dockerfile() {
    let state = tempfile::tempdir().unwrap();
    let executor = block_on(executor(Choice::Docker, state.path()));
    if executor.name() != "docker" {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join("greet").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("task.toml", "version = \"1.0\"\n[verifier]\ntimeout_sec = 30.0\n");
    write("instruction.md", "Write hello into /app/out.txt.");
    let dockerfile = format!("FROM {}\nWORKDIR /app\nCOPY seed.txt /seed.txt\n", base());
    write("environment/Dockerfile", &dockerfile);
    write("environment/seed.txt", "hello");
    write(
        "tests/test.sh",
        "#!/bin/bash\nif [ \"$(cat /app/out.txt)\" = \"$(cat /seed.txt)\" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n",
    );
    let suite = import("harbor", dir.path()).unwrap();
    let (tasks, problem) = (kind::of(&suite).unwrap(), &suite.problems()[0]);
    let environment = tasks.environment(&suite, problem).unwrap();
    assert!(matches!(environment.root, Root::Dockerfile(_)), "{environment:?}");
    let scratch = tempfile::tempdir().unwrap();
    let built = rooms::build(executor.as_ref(), &suite, &environment.root, scratch.path());
    let built = block_on(built).unwrap();
    let score = |out: &str| {
        let (work, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(work.path().join("out.txt"), out).unwrap();
        let rooms = ExecutorRooms::new(executor.clone()).with_built(built.clone());
        let room = GradingRoom::new(scratch.path()).with_rooms(&rooms);
        let submission = Submission { answer: "", dir: Path::new(work.path()) };
        block_on(tasks.grade(&suite, problem, submission, room)).unwrap().score.get()
    };
    assert_eq!((score("hello"), score("bye")), (1.0, 0.0));
    let image = built.unwrap().image;
    let removed = Command::new("docker").args(["rmi", &image]).output().unwrap();
    assert!(removed.status.success(), "{image}: {removed:?}");
}
