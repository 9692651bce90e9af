//! What every executor has to do. Each test runs unchanged on bubblewrap and on Docker.

use hone_sandbox::{
    Choice, Command, CommandOutcome, Ending, Limits, Mount, Owner, Sandbox, SandboxError,
    SandboxSpec, SharedExecutor, choose,
};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

/// More than any command here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const WORK: &str = "/work/here";

/// An executor and where it keeps its files.
pub struct Bench {
    pub executor: SharedExecutor,
    pub state: tempfile::TempDir,
}

/// Makes an executor. Without an engine the tests of Docker say that they are skipped, or fail where they are required.
pub async fn bench(choice: Choice) -> Option<Bench> {
    let state = tempfile::tempdir().unwrap();
    let owner = Owner { run: "conformance".to_owned() };
    match choose(choice, owner, state.path()).await {
        Ok(executor) => Some(Bench { executor, state }),
        Err(error) => {
            let is_required = std::env::var_os("HONE_REQUIRE_DOCKER").is_some_and(|it| it == "1");
            assert!(choice == Choice::Docker && !is_required, "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

impl Bench {
    pub async fn open(&self, spec: SandboxSpec) -> Box<dyn Sandbox> {
        self.executor.create(spec).await.unwrap()
    }

    pub async fn plain(&self) -> Box<dyn Sandbox> {
        self.open(SandboxSpec::new("a test", WORK)).await
    }
}

pub async fn sh(sandbox: &dyn Sandbox, script: &str) -> CommandOutcome {
    sandbox.run(Command::shell(script, LONG)).await.unwrap()
}

/// Runs a script that must succeed, and returns what it printed.
pub async fn says(sandbox: &dyn Sandbox, script: &str) -> String {
    let outcome = sh(sandbox, script).await;
    assert_eq!(outcome.ending, Ending::Exited(0), "{script}: {}", outcome.stderr.text());
    outcome.stdout.text()
}

/// Makes a test for each executor out of a function.
macro_rules! on_each {
    ($($name:ident)*) => {
        mod bubblewrap {
            use hone_sandbox::Choice;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(bench) = $crate::conformance::bench(Choice::Bubblewrap).await {
                    super::$name(bench).await;
                }
            })*
        }
        mod docker {
            use hone_sandbox::Choice;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(bench) = $crate::conformance::bench(Choice::Docker).await {
                    super::$name(bench).await;
                }
            })*
        }
    };
}

on_each! {
    a_command_is_told_apart_by_how_it_ends
    a_command_runs_where_and_with_what_it_is_told
    commands_run_side_by_side
    no_descendant_outlives_its_command
    a_timeout_kills_whatever_a_command_started
    a_cancel_kills_whatever_a_command_started
    killing_the_watcher_of_a_command_saves_nobody
    output_is_bounded_and_keeps_head_and_tail
    a_used_up_limit_is_no_dead_sandbox
    files_come_and_go_with_bytes_modes_and_links
    mounted_files_belong_to_who_runs_hone
    what_is_not_listed_is_not_there
    the_environment_of_the_harness_is_nowhere
    a_destroyed_sandbox_leaves_no_file
    a_dropped_sandbox_leaves_no_file
    a_create_that_is_dropped_leaves_no_file
    a_spec_that_cannot_be_fulfilled_is_refused
}

async fn a_command_is_told_apart_by_how_it_ends(bench: Bench) {
    let sandbox = bench.plain().await;
    assert_eq!(sh(&*sandbox, "exit 0").await.ending, Ending::Exited(0));
    assert_eq!(sh(&*sandbox, "exit 7").await.ending, Ending::Exited(7));
    assert_eq!(sh(&*sandbox, "kill -SEGV $$").await.ending, Ending::Signaled(11));
    let missing = sandbox.run(Command::new(["no-such-program"], LONG)).await.unwrap();
    assert!(matches!(&missing.ending, Ending::NotStarted(why) if why.contains("no-such-program")));
    let mut nowhere = Command::shell("true", LONG);
    nowhere.cwd = Some("/no/such/folder".to_owned());
    let nowhere = sandbox.run(nowhere).await.unwrap();
    assert!(matches!(&nowhere.ending, Ending::NotStarted(why) if why.contains("/no/such/folder")));
    let none = sandbox.run(Command::new(Vec::<String>::new(), LONG)).await.unwrap();
    assert!(matches!(none.ending, Ending::NotStarted(_)));
    let huge = sandbox.run(Command::new(["true".to_owned(), "x".repeat(4 << 20)], LONG)).await;
    assert!(matches!(huge.unwrap().ending, Ending::NotStarted(_)));
    assert_eq!(says(&*sandbox, "echo fine").await, "fine\n");
    sandbox.destroy().await.unwrap();
}

async fn a_command_runs_where_and_with_what_it_is_told(bench: Bench) {
    let mut spec = SandboxSpec::new("a test", WORK);
    spec.environment.push(("ONE".to_owned(), "of the spec".to_owned()));
    spec.environment.push(("TWO".to_owned(), "of the spec".to_owned()));
    let sandbox = bench.open(spec).await;
    let mut command = Command::shell("pwd; echo $ONE; echo $TWO; cat", LONG);
    command.environment.push(("TWO".to_owned(), "of the command".to_owned()));
    let outcome = sandbox.run(command).await.unwrap();
    assert_eq!(outcome.stdout.text(), "/work/here\nof the spec\nof the command\n");
    let mut elsewhere = Command::shell("pwd", LONG);
    elsewhere.cwd = Some("/tmp".to_owned());
    assert_eq!(sandbox.run(elsewhere).await.unwrap().stdout.text(), "/tmp\n");
    assert_eq!(
        says(&*sandbox, "for f in $HOME $TMPDIR .; do touch $f/x && echo $f; done").await,
        "/home/agent\n/tmp\n.\n"
    );
    let streams = sh(&*sandbox, "echo out; echo err >&2").await;
    assert_eq!((streams.stdout.text(), streams.stderr.text()), ("out\n".into(), "err\n".into()));
    sandbox.destroy().await.unwrap();
}

async fn commands_run_side_by_side(bench: Bench) {
    let sandbox = bench.plain().await;
    // Each waits for the other, so one after the other they would never end.
    let (one, two) = tokio::join!(
        sh(&*sandbox, "touch one; until [ -e two ]; do sleep 0.01; done; echo 1"),
        sh(&*sandbox, "touch two; until [ -e one ]; do sleep 0.01; done; echo 2"),
    );
    assert_eq!((one.stdout.text(), two.stdout.text()), ("1\n".to_owned(), "2\n".to_owned()));
    // The end of one, with all it started, leaves the other alone.
    let (slow, quick) = tokio::join!(
        sh(&*sandbox, "(setsid sleep 0.7; echo late) & wait; echo done"),
        sh(&*sandbox, "(setsid sleep 1000 &) ; true"),
    );
    assert_eq!(slow.stdout.text(), "late\ndone\n");
    assert_eq!(quick.ending, Ending::Exited(0));
    sandbox.destroy().await.unwrap();
}

/// Counts processes besides the supervisor's and the ones that count.
const COUNT: &str = "n=0; for p in /proc/[0-9]*; do c=$(tr '\\0' ' ' < $p/cmdline 2>/dev/null); case \"$c\" in *left-over*) n=$((n+1));; esac; done; echo $n";

/// Programs that outlive a careless killer. `left-over` is how they are found.
const CORPUS: [(&str, &str); 8] = [
    ("a sleeping shell", "sh -c 'sleep 1000; : left-over'"),
    ("a busy loop", "sh -c 'while :; do :; done; : left-over'"),
    ("a double fork", "(sh -c 'sleep 1000; : left-over' &) & sleep 1000"),
    ("a new session", "setsid sh -c 'sleep 1000; : left-over' & sleep 1000"),
    (
        "one that ignores SIGTERM",
        "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done; : left-over'",
    ),
    ("one that holds the output", "setsid sh -c 'exec sleep 1000 # left-over' & exec sleep 1000"),
    ("one that is stopped", "sh -c 'kill -STOP $$; : left-over'"),
    (
        "a fork bomb",
        "exec python3 -c 'while True:\n try: __import__(\"os\").fork()\n except OSError: pass' left-over",
    ),
];

async fn no_descendant_outlives_its_command(bench: Bench) {
    let sandbox = bench.plain().await;
    let outcome =
        sh(&*sandbox, "(setsid sh -c 'sleep 1000; : left-over' &); sleep 0.2; echo started").await;
    assert_eq!((outcome.ending, outcome.stdout.text()), (Ending::Exited(0), "started\n".into()));
    assert_eq!(says(&*sandbox, COUNT).await.trim(), "1", "only the counter itself names it");
    // The same count sees one that runs, while its command does.
    let both = format!("(setsid sh -c 'sleep 1000; : left-over' &); sleep 0.2; {COUNT}");
    assert_eq!(says(&*sandbox, &both).await.trim(), "2");
    sandbox.destroy().await.unwrap();
}

async fn a_timeout_kills_whatever_a_command_started(bench: Bench) {
    let mut spec = SandboxSpec::new("a test", WORK);
    spec.limits.processes = 64;
    let sandbox = bench.open(spec).await;
    for (what, script) in CORPUS {
        let timeout = Duration::from_millis(400);
        let began = Instant::now();
        let outcome = sandbox.run(Command::shell(script, timeout)).await.unwrap();
        assert_eq!(outcome.ending, Ending::TimedOut, "{what}");
        assert!(began.elapsed() < timeout + LONG, "{what}");
        eprintln!("{what}: {:?} after the deadline", began.elapsed().saturating_sub(timeout));
        assert_eq!(says(&*sandbox, COUNT).await.trim(), "1", "{what}");
    }
    sandbox.destroy().await.unwrap();
}

async fn a_cancel_kills_whatever_a_command_started(bench: Bench) {
    let sandbox = bench.plain().await;
    let command = Command::shell("(setsid sh -c 'sleep 1000; : left-over' &); sleep 1000", LONG);
    let cancel = command.cancelled.clone();
    let (outcome, ()) = tokio::join!(sandbox.run(command), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert_eq!(outcome.unwrap().ending, Ending::Cancelled);
    assert_eq!(says(&*sandbox, COUNT).await.trim(), "1");
    let unborn = Command::shell("touch born", LONG);
    unborn.cancelled.cancel();
    assert_eq!(sandbox.run(unborn).await.unwrap().ending, Ending::Cancelled);
    assert_eq!(sh(&*sandbox, "test -e born").await.ending, Ending::Exited(1));
    // One whose caller goes away is killed too.
    let run = sandbox.run(Command::shell("sh -c 'sleep 1000; : left-over'", LONG));
    assert!(tokio::time::timeout(Duration::from_millis(200), run).await.is_err());
    let until = Instant::now() + LONG;
    while says(&*sandbox, COUNT).await.trim() != "1" {
        assert!(Instant::now() < until);
    }
    sandbox.destroy().await.unwrap();
}

async fn killing_the_watcher_of_a_command_saves_nobody(bench: Bench) {
    let sandbox = bench.plain().await;
    // Whether it may is another matter; either way nothing is left, and the sandbox works.
    let outcome = sh(
        &*sandbox,
        "(setsid sh -c 'sleep 1000; : left-over' &); kill -9 $PPID; kill -9 1; kill -9 -1; sleep 0.1; echo on",
    )
    .await;
    assert!(!matches!(outcome.ending, Ending::TimedOut | Ending::NotStarted(_)), "{outcome:?}");
    assert_eq!(says(&*sandbox, COUNT).await.trim(), "1");
    sandbox.destroy().await.unwrap();
}

async fn output_is_bounded_and_keeps_head_and_tail(bench: Bench) {
    let sandbox = bench.plain().await;
    let mut command = Command::shell("seq 1 200000", LONG);
    command.output_bytes = 1000;
    let stdout = sandbox.run(command).await.unwrap().stdout;
    let whole: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(stdout.head, whole.as_bytes()[..500]);
    assert_eq!(stdout.tail, whole.as_bytes()[whole.len() - 500..]);
    assert_eq!(stdout.dropped as usize, whole.len() - 1000);
    for exact in [0, 1, 999, 1000, 1001] {
        let mut command = Command::shell(format!("head -c {exact} /dev/zero"), LONG);
        command.output_bytes = 1000;
        let stdout = sandbox.run(command).await.unwrap().stdout;
        assert_eq!(stdout.bytes(), vec![0; exact.min(1000)], "NUL bytes are bytes");
        assert_eq!(stdout.dropped as usize, exact.saturating_sub(1000));
    }
    let odd = sh(&*sandbox, "printf '\\377\\376\\033[31m\\r\\0'").await.stdout;
    assert_eq!(odd.bytes(), b"\xff\xfe\x1b[31m\r\0");
    sandbox.destroy().await.unwrap();
}

async fn a_used_up_limit_is_no_dead_sandbox(bench: Bench) {
    let mut spec = SandboxSpec::new("a test", WORK);
    spec.limits = Limits {
        memory_bytes: 256 << 20,
        processes: 40,
        open_files: 64,
        disk_bytes: 64 << 20,
        ..Limits::default()
    };
    let sandbox = bench.open(spec).await;
    let hog = "python3 -c 'x = bytearray(1 << 30); print(len(x))'";
    assert_eq!(sh(&*sandbox, hog).await.ending, Ending::OutOfMemory);
    assert_eq!(
        says(&*sandbox, "python3 -c 'x = bytearray(1 << 26); print(len(x))'").await,
        "67108864\n"
    );
    let many = "import subprocess\nps=[]\ntry:\n  for i in range(100): ps.append(subprocess.Popen(['sleep','9']))\nexcept OSError: print('stopped below', 10*(len(ps)//10+1))";
    let outcome = sandbox.run(Command::new(["python3", "-c", many], LONG)).await.unwrap();
    assert!(outcome.stdout.text().starts_with("stopped below"), "{outcome:?}");
    let open = "import os\ntry:\n  while True: n = os.open('/dev/null', 0)\nexcept OSError as e: print(n, e.errno)";
    let outcome = sandbox.run(Command::new(["python3", "-c", open], LONG)).await.unwrap();
    assert_eq!(outcome.stdout.text(), "63 24\n");
    // One file cannot pass the limit; many are stopped by the one who measures.
    let outcome = sh(&*sandbox, "dd if=/dev/zero of=big bs=1M count=200; rm -f big").await;
    assert!(!outcome.stderr.text().contains("209715200 bytes"), "{outcome:?}");
    let outcome = sh(&*sandbox, "echo fine").await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    let outcome = sh(
        &*sandbox,
        "i=0; while [ $i -lt 40 ]; do dd if=/dev/zero of=f$i bs=1M count=5 2>/dev/null; i=$((i+1)); done; sleep 1000",
    )
    .await;
    assert_eq!(outcome.ending, Ending::Signaled(25));
    assert!(outcome.stderr.text().contains("67108864 bytes of files"), "{outcome:?}");
    sandbox.destroy().await.unwrap();
}

async fn files_come_and_go_with_bytes_modes_and_links(bench: Bench) {
    let from = tempfile::tempdir().unwrap();
    let tree = from.path();
    std::fs::create_dir_all(tree.join("a/empty")).unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    std::fs::write(tree.join("a/bytes"), &bytes).unwrap();
    std::fs::write(tree.join("a/'quoted' \"name\"\n"), "").unwrap();
    std::fs::write(tree.join("run"), "#!/bin/sh\necho ran\n").unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&tree.join("run"), 0o755);
    mode(&tree.join("a/bytes"), 0o640);
    mode(&tree.join("a/empty"), 0o500);
    symlink("/etc/shadow", tree.join("absolute")).unwrap();
    symlink("nowhere", tree.join("a/dangling")).unwrap();
    let sandbox = bench.plain().await;
    sandbox.copy_in(tree, "/work/here/new/tree").await.unwrap();
    assert_eq!(
        says(
            &*sandbox,
            "new/tree/run; readlink new/tree/absolute; stat -c %a new/tree/a/bytes new/tree/a/empty"
        )
        .await,
        "ran\n/etc/shadow\n640\n500\n"
    );
    // Once more on top changes nothing.
    sandbox.copy_in(tree, "/work/here/new/tree").await.unwrap();
    let back = tempfile::tempdir().unwrap();
    let out = back.path().join("out");
    sandbox.copy_out("/work/here/new/tree", &out).await.unwrap();
    let listing = |root: &Path| {
        let format = "%P %y %m %l %s\\n";
        let list = std::process::Command::new("find")
            .arg(root)
            .args([
                "-not",
                "-type",
                "d",
                "-printf",
                format,
                "-o",
                "-mindepth",
                "1",
                "-printf",
                "%P %y %m\\n",
            ])
            .output();
        let mut lines: Vec<String> =
            String::from_utf8(list.unwrap().stdout).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(listing(tree), listing(&out));
    assert!(std::fs::read(out.join("a/bytes")).unwrap() == bytes);
    sandbox.copy_out("/work/here/new/tree/run", &back.path().join("single")).await.unwrap();
    assert_eq!(
        std::fs::read_to_string(back.path().join("single")).unwrap(),
        "#!/bin/sh\necho ran\n"
    );
    let missing = sandbox.copy_out("/work/here/no", &back.path().join("no")).await.unwrap_err();
    assert!(
        matches!(&missing, SandboxError::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
        "{missing:?}"
    );
    // What could hurt the host stays inside: set-user-id bits, pipes; what is closed to its owner is opened.
    says(&*sandbox, "mkdir odd; mkfifo odd/pipe; echo x > odd/closed; chmod 000 odd/closed; chmod 4755 odd 2>/dev/null; chmod 500 odd").await;
    sandbox.copy_out("/work/here/odd", &back.path().join("odd")).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(back.path().join("odd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["closed"]);
    mode(&back.path().join("odd"), 0o700);
    sandbox.destroy().await.unwrap();
}

async fn mounted_files_belong_to_who_runs_hone(bench: Bench) {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("read"), "me").unwrap();
    let mut spec = SandboxSpec::new("a test", "/work/here");
    spec.mounts.push(Mount::read_write(host.path(), "/work/here"));
    spec.mounts.push(Mount::read_only(host.path(), "/seen"));
    let sandbox = bench.open(spec).await;
    says(&*sandbox, "cat read; echo new > made; chmod 750 made; cat /seen/made").await;
    let data = std::fs::metadata(host.path().join("made")).unwrap();
    let (user, mode) = (rustix::process::getuid().as_raw(), data.mode() & 0o7777);
    assert_eq!((data.uid(), mode), (user, 0o750));
    let refused = sh(&*sandbox, "echo no > /seen/other").await;
    assert!(!refused.ending.is_success());
    assert!(!host.path().join("other").exists());
    let refused = sh(&*sandbox, "chmod 4755 made").await;
    assert!(!refused.ending.is_success(), "a file of the host became set-user-id");
    sandbox.destroy().await.unwrap();
}

async fn what_is_not_listed_is_not_there(bench: Bench) {
    let secret = tempfile::Builder::new().prefix("secret-").tempdir_in("/var/tmp").unwrap();
    std::fs::write(secret.path().join("key"), "sesame").unwrap();
    let path = secret.path().join("key").display().to_string();
    let mut spec = SandboxSpec::new("a test", WORK);
    let sandbox = bench.open(spec.clone()).await;
    for hidden in [
        path.as_str(),
        "/root",
        "/etc/shadow",
        "/etc/ssl/private",
        "/run/docker.sock",
        "/var/run/docker.sock",
        "/var/lib/docker",
        "/sys/kernel/debug/x",
    ] {
        let outcome =
            sh(&*sandbox, &format!("test -e '{hidden}' && ls -A '{hidden}' | grep .")).await;
        assert!(!outcome.ending.is_success(), "{hidden}: {}", outcome.stdout.text());
    }
    for read_only in ["/usr/x", "/etc/x", "/x", "/.hone/x", "/bin/x", "/lib/x"] {
        let outcome = sh(&*sandbox, &format!("touch {read_only}")).await;
        assert!(!outcome.ending.is_success(), "{read_only} can be written");
    }
    for refused in [
        "unshare -U true",
        "mount -t tmpfs x /tmp",
        "chroot / true",
        "cat /proc/1/environ | grep .",
        "head -c 1 /proc/1/mem",
    ] {
        let outcome = sh(&*sandbox, refused).await;
        assert!(!outcome.ending.is_success(), "{refused}");
    }
    let rights = says(
        &*sandbox,
        "grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status | tr -s '\\t\\n' ' '",
    )
    .await;
    assert_eq!(
        rights,
        "CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 "
    );
    sandbox.destroy().await.unwrap();
    // The same look sees it where it is listed.
    spec.mounts.push(Mount::read_only(secret.path(), "/listed"));
    let sandbox = bench.open(spec).await;
    assert_eq!(says(&*sandbox, "cat /listed/key").await, "sesame");
    sandbox.destroy().await.unwrap();
}

async fn the_environment_of_the_harness_is_nowhere(bench: Bench) {
    // This process has PATH and CARGO variables, of which no sandbox knows.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let mut spec = SandboxSpec::new("a test", WORK);
    spec.environment.push(("PLANTED".to_owned(), "yes".to_owned()));
    let sandbox = bench.open(spec).await;
    let look = |name: &str| {
        format!("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c '^{name}'; true")
    };
    assert_eq!(says(&*sandbox, &look("CARGO_MANIFEST_DIR")).await, "0\n");
    assert_ne!(says(&*sandbox, &look("PLANTED=yes")).await, "0\n");
    assert_eq!(
        says(&*sandbox, "env | cut -d= -f1 | sort | tr '\\n' ' '").await,
        "HOME PATH PLANTED PWD TMPDIR "
    );
    sandbox.destroy().await.unwrap();
}

/// Returns the private folders that are left, besides the executor's own.
fn folders(bench: &Bench) -> usize {
    std::fs::read_dir(bench.state.path().join("sandboxes")).unwrap().count() - 1
}

async fn until_no_folder_is_left(bench: &Bench) {
    let until = Instant::now() + LONG;
    while folders(bench) > 0 {
        assert!(Instant::now() < until);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn a_destroyed_sandbox_leaves_no_file(bench: Bench) {
    let sandbox = bench.plain().await;
    says(&*sandbox, "mkdir -p a/b; touch a/b/c; chmod 000 a/b a; setsid sleep 1000 &").await;
    assert_eq!(folders(&bench), 1);
    sandbox.destroy().await.unwrap();
    assert_eq!(folders(&bench), 0);
}

async fn a_dropped_sandbox_leaves_no_file(bench: Bench) {
    let sandbox = bench.plain().await;
    let command = Command::shell("sleep 1000", LONG);
    assert!(tokio::time::timeout(Duration::from_millis(100), sandbox.run(command)).await.is_err());
    drop(sandbox);
    until_no_folder_is_left(&bench).await;
}

async fn a_create_that_is_dropped_leaves_no_file(bench: Bench) {
    for milliseconds in [0, 1, 3, 10, 30, 100] {
        let created = bench.executor.create(SandboxSpec::new("a test", WORK));
        let _ = tokio::time::timeout(Duration::from_millis(milliseconds), created).await;
    }
    until_no_folder_is_left(&bench).await;
}

async fn a_spec_that_cannot_be_fulfilled_is_refused(bench: Bench) {
    for (host, inside) in [
        ("/no/such/path", "/here"),
        ("/usr", "here"),
        ("/usr", "/"),
        ("/usr", "/a/../b"),
        ("/usr", "/.hone"),
        ("/var/run/docker.sock", "/x"),
    ] {
        let mut spec = SandboxSpec::new("a test", WORK);
        spec.mounts.push(Mount::read_only(host, inside));
        let error = bench.executor.create(spec).await.err();
        assert!(matches!(error, Some(SandboxError::Refused { .. })), "{host} {inside}: {error:?}");
    }
    let error = bench.executor.create(SandboxSpec::new("a test", "relative")).await.err();
    assert!(matches!(error, Some(SandboxError::Refused { .. })));
    let error = bench.executor.provide("hone.invalid/none:1").await.unwrap_err();
    assert!(matches!(error, SandboxError::NoImage { .. }), "{error:?}");
}
