//! How long a child takes to build after a one-file edit, against the bare incremental `cargo build --release`.
//!
//! Both compile the same edits of the same source, by turns. The bare one is cargo on the host in a warm target
//! directory; the other is everything that [`ChildBuilder::build`] does: copying the source, the sandbox, cargo, and
//! bringing the binary out. Run it with `cargo bench -p hone-sandbox --bench rebuild`.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/it/executors.rs"]
mod executors;

use executors::executors;
use hone_sandbox::{BuildRequest, Built, ChildBuilder, Pantry, SharedExecutor};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// So many edits are compiled by both.
const EDITS: usize = 7;
/// The file that is edited: a tool of the agent, with nothing special about it.
const EDITED: &str = "src/tools/calculate.rs";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(compare());
}

async fn compare() {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hone-cache");
    let pantry = Pantry::prepare(&cache, &seed, &|said| println!("{said}")).unwrap();

    let bare = tempfile::tempdir_in(&cache).unwrap();
    println!("building the seed with the bare cargo");
    copy(&seed, &bare.path().join("source"));
    bare_build(&pantry, bare.path());

    let state = tempfile::tempdir().unwrap();
    for executor in executors(state.path()).await {
        compare_with(executor, &pantry, &cache, &seed, bare.path()).await;
    }
}

async fn compare_with(
    executor: SharedExecutor,
    pantry: &Pantry,
    cache: &Path,
    seed: &Path,
    bare: &Path,
) {
    let name = executor.name();
    let builder = ChildBuilder::new(executor, pantry.clone(), cache).unwrap();
    let cancelled = CancellationToken::new();
    let base = builder.base(seed, &|said| println!("{said}"), &cancelled).await.unwrap();
    let child = tempfile::tempdir().unwrap();
    let source = child.path().join("source");
    copy(seed, &source);
    let binary = child.path().join("binary");

    let mut ratios = Vec::new();
    let mut with_copy = Vec::new();
    println!(
        "{name}: seconds of bare cargo, of the copy that is made while the editor works, of the build"
    );
    for edit in 0..EDITS {
        let text = std::fs::read_to_string(seed.join(EDITED)).unwrap();
        let text =
            format!("{text}\npub fn edit_of_{name}_{edit}(x: u64) -> u64 {{ x + {edit} }}\n");
        std::fs::write(bare.join("source").join(EDITED), &text).unwrap();
        std::fs::write(source.join(EDITED), &text).unwrap();
        let bare = bare_build(pantry, bare);

        // As in a run, each child starts from a fresh copy.
        let start = Instant::now();
        let mut target = builder.target_for(&base).await.unwrap();
        let copied = start.elapsed();
        let request = BuildRequest {
            purpose: "the benchmark of rebuilds",
            source: &source,
            timeout: Duration::from_secs(1800),
            cancelled: cancelled.clone(),
        };
        let start = Instant::now();
        let built = builder.build(request, &mut target, &binary).await.unwrap();
        let built_in = start.elapsed();
        let Built::Ok { log, .. } = built else { panic!("{built:?}") };
        assert!(log.contains("Compiling hone-agent"), "{log}");
        let [bare, copied, built_in] = [bare, copied, built_in].map(|it| it.as_secs_f64());
        println!("  {bare:.2}  {copied:.2}  {built_in:.2}  ratio {:.2}", built_in / bare);
        ratios.push(built_in / bare);
        with_copy.push((copied + built_in) / bare);
        // What is removed in the background should not burden the next edit.
        drop(target);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for ratios in [&mut ratios, &mut with_copy] {
        ratios.sort_by(f64::total_cmp);
    }
    println!(
        "{name}: median ratio {:.2} (target: at most 1.5), with the copy {:.2}",
        ratios[EDITS / 2],
        with_copy[EDITS / 2]
    );
}

/// Runs the host's cargo on `folder/source` with `folder/target`, against the same crates.
fn bare_build(pantry: &Pantry, folder: &Path) -> Duration {
    let config = format!(
        "source.pantry.directory = {:?}",
        pantry.folder().join("vendor").display().to_string()
    );
    let start = Instant::now();
    let output = Command::new(pantry.toolchain().join("bin/cargo"))
        .args(["build", "--release", "--offline", "--config", &config])
        .args(["--config", "source.crates-io.replace-with = \"pantry\""])
        .current_dir(folder.join("source"))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .unwrap();
    let elapsed = start.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    elapsed
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
