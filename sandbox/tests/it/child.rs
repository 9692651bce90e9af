//! Builds of the real seed agent, of children of it, and of small agents that try tricks, in real sandboxes.

use crate::executors::executors;
use crate::pantry::{cache, pantry, seed};
use hone_sandbox::{
    Base, BuildRequest, Built, ChildBuilder, Command, Ending, SandboxSpec, SharedExecutor,
};
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A source that is built, and where its binary goes.
struct Agent {
    folder: tempfile::TempDir,
    timeout: Duration,
    cancelled: CancellationToken,
}

impl Agent {
    fn new() -> Self {
        Agent {
            folder: tempfile::tempdir().unwrap(),
            timeout: Duration::from_secs(900),
            cancelled: CancellationToken::new(),
        }
    }

    /// The seed of this repository.
    fn seed() -> Self {
        let agent = Agent::new();
        copy(&seed(), &agent.source());
        agent
    }

    /// An agent of one line, which builds in a second.
    fn small() -> Self {
        let agent = Agent::new();
        agent.write(
            "Cargo.toml",
            "[package]\nname = \"hone-agent\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n",
        );
        agent.write("src/main.rs", "fn main() {\n    println!(\"word-first\");\n}\n");
        let config = std::fs::read_to_string(seed().join(".cargo/config.toml")).unwrap();
        agent.write(".cargo/config.toml", &config);
        agent
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("source")
    }

    fn binary(&self) -> PathBuf {
        self.folder.path().join("binary")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.source().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.source().join(name)).unwrap()
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}");
        self.write(name, &text.replacen(from, to, 1));
    }

    fn request<'a>(&self, source: &'a Path) -> BuildRequest<'a> {
        BuildRequest {
            purpose: "a test",
            source,
            timeout: self.timeout,
            cancelled: self.cancelled.clone(),
        }
    }

    fn holds(&self, text: &str) -> bool {
        let bytes = std::fs::read(self.binary()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_name() == "target" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn builder(executor: &SharedExecutor) -> ChildBuilder {
    ChildBuilder::new(executor.clone(), pantry(), &cache()).unwrap()
}

async fn base(builder: &ChildBuilder, agent: &Agent) -> Base {
    builder.base(&agent.source(), &|_| {}, &CancellationToken::new()).await.unwrap()
}

/// Builds a source on a fresh copy of a base.
async fn build(builder: &ChildBuilder, base: &Base, agent: &Agent) -> Built {
    let mut target = builder.target_for(base).await.unwrap();
    let source = agent.source();
    builder.build(agent.request(&source), &mut target, &agent.binary()).await.unwrap()
}

fn log(built: &Built) -> &str {
    match built {
        Built::Ok { log, .. } | Built::Failed { log, .. } => log,
    }
}

/// The packages that cargo compiled.
fn compiled(built: &Built) -> Vec<&str> {
    assert!(matches!(built, Built::Ok { .. }), "{}", log(built));
    log(built)
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Compiling "))
        .filter_map(|line| line.split(' ').next())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seed_builds_from_its_base_its_tests_pass_and_an_edit_compiles_the_agent_alone() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::seed();
        let base = base(&builder, &agent).await;
        let mut target = builder.target_for(&base).await.unwrap();
        let (source, binary) = (agent.source(), agent.binary());

        // Every file of the checkout is newer than the base, and none is compiled again.
        let built = builder.build(agent.request(&source), &mut target, &binary).await.unwrap();
        assert_eq!(compiled(&built), [""; 0]);
        assert_eq!(std::fs::metadata(&binary).unwrap().permissions().mode() & 0o777, 0o755);

        let tested = builder.run_tests(agent.request(&source), &mut target).await.unwrap();
        assert!(tested.ending.is_success(), "{}", tested.log);
        assert!(tested.log.contains("test result: ok."), "{}", tested.log);

        let file = "src/tools/calculate.rs";
        agent.write(file, &format!("{}\n// edited\n", agent.read(file)));
        let built = builder.build(agent.request(&source), &mut target, &binary).await.unwrap();
        assert_eq!(compiled(&built), ["hone-agent"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binary_is_that_of_its_source_whatever_the_times_of_the_files() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        let base = base(&builder, &agent).await;
        let mut target = builder.target_for(&base).await.unwrap();
        let (source, binary) = (agent.source(), agent.binary());
        let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(86400);
        let first = agent.read("src/main.rs");
        let broken = first.replace("println", "no_such_macro");
        for (text, is_ok) in [
            (first.replace("first", "second"), true),
            // Back to what the base was compiled from, but not what the target holds.
            (first.clone(), true),
            (broken, false),
            (first.clone(), true),
        ] {
            agent.write("src/main.rs", &text);
            let file = std::fs::File::open(source.join("src/main.rs")).unwrap();
            file.set_modified(long_ago).unwrap();
            let built = builder.build(agent.request(&source), &mut target, &binary).await.unwrap();
            match built {
                Built::Ok { .. } => {
                    assert!(is_ok);
                    let holds = ["word-first", "word-second"].map(|word| agent.holds(word));
                    assert_eq!(
                        holds,
                        ["word-first", "word-second"].map(|word| text.contains(word))
                    );
                }
                Built::Failed { ending, log } => {
                    assert!(!is_ok, "{log}");
                    assert_eq!(ending, Ending::Exited(101));
                    assert!(log.contains("src/main.rs:2"), "{log}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_may_add_a_crate_of_the_pantry_and_its_lockfile_comes_along() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        let base = base(&builder, &agent).await;
        assert!(matches!(build(&builder, &base, &agent).await, Built::Ok { .. }));
        agent.replace("Cargo.toml", "[dependencies]\n", "[dependencies]\nstrsim = \"0.11\"\n");
        agent.replace(
            "src/main.rs",
            "\"word-first\"",
            "\"{}\", strsim::hamming(\"a\", \"b\").is_ok()",
        );

        let built = build(&builder, &base, &agent).await;

        assert_eq!(compiled(&built), ["strsim", "hone-agent"]);
        assert!(agent.read("Cargo.lock").contains("name = \"strsim\""));
        // Only the lockfile was touched.
        assert!(!agent.source().join("target").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_names_another_crate_is_told_which_are_allowed() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        let base = base(&builder, &agent).await;
        let manifest = agent.read("Cargo.toml");
        for dependency in [
            "left-pad = \"1\"",
            "regex = \"99\"",
            "regex = { version = \"1\", features = [\"no-such-feature\"] }",
            "rand = { git = \"https://example.invalid/rand\" }",
            // It has this feature, but what the feature needs is not in the pantry.
            "reqwest = { version = \"0.13\", default-features = false, features = [\"brotli\"] }",
        ] {
            let text = manifest.replace("[dependencies]", &format!("[dependencies]\n{dependency}"));
            agent.write("Cargo.toml", &text);
            let Built::Failed { log, ending } = build(&builder, &base, &agent).await else {
                panic!("{dependency} was built");
            };
            assert_eq!(ending, Ending::Exited(101), "{log}");
            assert!(log.contains(&builder.pantry().allowed()), "{dependency}: {log}");
        }
        // What any other mistake says is not drowned in crates.
        agent.write("Cargo.toml", &manifest);
        agent.write("src/main.rs", "fn main() { no_such_function() }");
        let built = build(&builder, &base, &agent).await;
        assert!(log(&built).contains("no_such_function"));
        assert!(!log(&built).contains(&builder.pantry().allowed()));
    }
}

/// A build script that tries to write, and says what it could.
fn tries_to_write(paths: &[String]) -> String {
    format!(
        "fn main() {{
    for path in {paths:?} {{
        let said = match std::fs::write(path, \"x\") {{ Ok(()) => \"wrote\", Err(_) => \"could not write\" }};
        println!(\"cargo::warning={{said}} {{path}}\");
    }}
}}
"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_build_script_of_a_child_writes_nowhere_but_into_its_own_build() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        let base = base(&builder, &agent).await;
        let host = tempfile::tempdir_in(cache()).unwrap();
        let denied = [
            host.path().join("file").display().to_string(),
            builder.pantry().folder().join("vendor/file").display().to_string(),
            "/pantry/vendor/file".to_owned(),
            "/rust/bin/file".to_owned(),
            "/.cargo/config.toml".to_owned(),
            "/usr/bin/file-of-a-child".to_owned(),
        ];
        // The control: what it may write it can.
        let allowed = ["/target/file".to_owned(), "/work/agent/src/file.rs".to_owned()];
        agent.write("build.rs", &tries_to_write(&[&denied[..], &allowed[..]].concat()));

        let built = build(&builder, &base, &agent).await;

        assert!(matches!(built, Built::Ok { .. }), "{}", log(&built));
        let said: Vec<&str> = log(&built)
            .lines()
            .filter_map(|line| Some(line.split_once("hone-agent@0.1.0: ")?.1))
            .collect();
        let expected: Vec<String> = denied
            .iter()
            .map(|path| format!("could not write {path}"))
            .chain(allowed.iter().map(|path| format!("wrote {path}")))
            .collect();
        assert_eq!(said, expected);
        assert_eq!(std::fs::read_dir(host.path()).unwrap().count(), 0);
        // What it does to its source is done to a copy.
        assert!(!agent.source().join("src/file.rs").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_whose_binary_is_a_link_to_a_file_of_the_host_gets_nothing() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        let base = base(&builder, &agent).await;
        let secret = agent.folder.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        let linker = format!(
            "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nln -sf {} \"$2\"\n",
            secret.display()
        );
        agent.write("linker.sh", &linker);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(agent.source().join("linker.sh"), executable).unwrap();
        agent.replace(
            ".cargo/config.toml",
            "rustflags",
            "linker = \"/work/agent/linker.sh\"\nrustflags",
        );

        let built = build(&builder, &base, &agent).await;

        assert!(matches!(built, Built::Failed { .. }), "{}", log(&built));
        assert!(!std::fs::read(agent.binary()).is_ok_and(|bytes| bytes == b"secret"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_builds_no_agent_has_none_and_not_the_seeds() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        let base = base(&builder, &agent).await;
        agent.replace("Cargo.toml", "name = \"hone-agent\"", "name = \"other\"");
        let built = build(&builder, &base, &agent).await;
        assert!(matches!(&built, Built::Failed { ending: Ending::Exited(0), .. }), "{built:?}");
        assert!(log(&built).contains("note: cargo succeeded, but made no /target/"), "{built:?}");
        assert!(!agent.binary().exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_takes_too_long_or_is_cancelled_ends() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let mut agent = Agent::small();
        let base = base(&builder, &agent).await;
        agent.write(
            "build.rs",
            "fn main() { std::thread::sleep(std::time::Duration::from_secs(3600)); }",
        );
        agent.timeout = Duration::from_secs(5);
        let Built::Failed { ending, log } = build(&builder, &base, &agent).await else {
            panic!("it was built");
        };
        assert_eq!(ending, Ending::TimedOut);
        assert!(log.contains("note: the time was up"), "{log}");

        agent.timeout = Duration::from_secs(900);
        let cancelled = agent.cancelled.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            cancelled.cancel();
        });
        let built = build(&builder, &base, &agent).await;
        assert!(matches!(built, Built::Failed { ending: Ending::Cancelled, .. }), "{built:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_builds_its_own_source_warm_and_what_it_compiles_becomes_no_child() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        agent.replace("Cargo.toml", "[dependencies]\n", "[dependencies]\nstrsim = \"0.11\"\n");
        let base = base(&builder, &agent).await;
        let source = agent.source();
        let workshop = builder.workshop(&source, &base).await.unwrap();
        let spec = SandboxSpec {
            mounts: workshop.mounts.clone(),
            environment: workshop.environment.clone(),
            ..SandboxSpec::new("an editor's test", "/work/agent")
        };
        let sandbox = executor.create(spec).await.unwrap();
        let script = "cargo build --release --offline 2>&1 && echo --- && \
                      sed -i s/first/second/ src/main.rs && cargo build --release --offline 2>&1 && \
                      cp /bin/true /target/x86_64-unknown-linux-gnu/release/deps/hone_agent-*";
        let outcome = sandbox.run(Command::shell(script, agent.timeout)).await.unwrap();
        sandbox.destroy().await.unwrap();
        drop(workshop);

        let said = outcome.stdout.text();
        let (first, second) = said.split_once("---").unwrap_or_else(|| panic!("{outcome:?}"));
        assert!(first.contains("Finished") && !first.contains("Compiling"), "{first}");
        assert!(second.contains("Compiling hone-agent"), "{second}");
        assert!(!second.contains("Compiling strsim"), "{second}");
        let built = build(&builder, &base, &agent).await;
        assert_eq!(compiled(&built), ["hone-agent"]);
        assert!(agent.holds("word-second"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_that_does_not_build_says_so_and_is_no_base_later_either() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let builder = builder(&executor);
        let agent = Agent::small();
        agent.write("src/main.rs", "fn main() { no_such_function() }");
        for _ in 0..2 {
            let error = builder
                .base(&agent.source(), &|_| {}, &CancellationToken::new())
                .await
                .unwrap_err();
            assert!(error.to_string().contains("no_such_function"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_need_one_base_at_once_compile_it_once() {
    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        let agent = Agent::small();
        // An empty cache, so that the base has to be compiled.
        let cache = tempfile::tempdir().unwrap();
        let builder = || ChildBuilder::new(executor.clone(), pantry(), cache.path()).unwrap();
        let (one, other) = (builder(), builder());
        let compilations = std::sync::atomic::AtomicUsize::new(0);
        let count = |text: &str| {
            if text.starts_with("compiling the seed") {
                compilations.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        };
        let never = CancellationToken::new();
        let source = agent.source();
        let (a, b) =
            tokio::join!(one.base(&source, &count, &never), other.base(&source, &count, &never));
        assert_eq!(a.unwrap().digest(), b.unwrap().digest());
        assert_eq!(compilations.into_inner(), 1);
    }
}
