//! An archive of 10,000 versions with 100 trials each: how long it takes to list, select, explain and append,
//! and how large it is on disk. `HONE_BENCH_VERSIONS` makes it smaller.
//!
//! Targets: list, select and explain 100 ms each from a fresh start with the index there, 5 s without it;
//! 10 ms for the median durable append; 1 KB a trial on disk after packing.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a program for people who measure

use hone_archive::record::{
    Change, ChildVerdict, Conditions, Iteration, Outcome, RunStarted, SuitePlan, Trial, Usage,
    Version,
};
use hone_archive::{
    AgentNumber, Archive, ConditionsId, Digest, NanoUsd, PolicyName, Record, UtilitySettings,
};
use jiff::Timestamp;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

const PROBLEMS: u32 = 100;

fn time(second: u32) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + i64::from(second)).unwrap()
}

fn main() {
    // `cargo test --benches` starts this too; it measures only when asked.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let versions: u32 =
        std::env::var("HONE_BENCH_VERSIONS").map_or(10_000, |text| text.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("archive.git");
    let trials = u64::from(versions) * u64::from(PROBLEMS);
    println!("{versions} versions, {trials} trials");
    let started = Instant::now();
    generate(&path, home.path(), versions);
    println!("{:<44} {:>9.1} s", "generated in", started.elapsed().as_secs_f64());

    row("append one trial, durable (median of 500)", 10.0, || append(&path));
    std::fs::remove_file(path.join("hone/index")).ok();
    let cold = once(|| list(&path));
    println!("{:<44} {:>9.1} ms  (target 5000)", "list, without index", cold);
    row("list", 100.0, || best_of(5, || list(&path)));
    row("explain", 100.0, || {
        best_of(5, || {
            let archive = Archive::open_read_only(&path).unwrap();
            archive.explain(None, versions / 2).unwrap();
        })
    });
    for policy in PolicyName::ALL {
        row(&format!("select, {policy}"), 100.0, || {
            best_of(3, || {
                let archive = Archive::open_read_only(&path).unwrap();
                archive.choose(policy, 7, &[]).unwrap().unwrap();
            })
        });
    }
    let archive = Archive::open_read_only(&path).unwrap();
    archive.summaries().unwrap();
    row("list again in the same process", 100.0, || {
        best_of(3, || drop(archive.summaries().unwrap()))
    });
    row("select again in the same process, best", 100.0, || {
        best_of(3, || drop(archive.choose(PolicyName::Best, 7, &[]).unwrap()))
    });
    drop(archive);
    let started = Instant::now();
    let packed = Archive::open(&path).unwrap().pack(|_, _| {}).unwrap();
    println!("{:<44} {:>9.1} s", "gc", started.elapsed().as_secs_f64());
    println!(
        "{:<44} {:>9.1} bytes a trial  (target 1000; {:.1} MB before, {:.1} MB after)",
        "on disk after gc",
        packed.bytes_after as f64 / trials as f64,
        packed.bytes_before as f64 / 1e6,
        packed.bytes_after as f64 / 1e6
    );
    row("list, packed", 100.0, || best_of(3, || list(&path)));
    std::fs::remove_file(path.join("hone/index")).ok();
    let cold = once(|| list(&path));
    println!("{:<44} {:>9.1} ms  (target 5000)", "list, packed, without index", cold);
}

fn row(what: &str, target: f64, measure: impl FnOnce() -> f64) {
    let milliseconds = measure();
    let missed = if milliseconds > target { "  MISSED" } else { "" };
    println!("{what:<44} {milliseconds:>9.1} ms  (target {target}){missed}");
}

fn once(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64() * 1e3
}

/// Returns the fastest of several: what the code takes, without what else the machine does.
fn best_of(times: usize, mut work: impl FnMut()) -> f64 {
    (0..times).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

fn list(path: &Path) {
    let archive = Archive::open_read_only(path).unwrap();
    assert!(!archive.summaries().unwrap().is_empty());
}

fn append(path: &Path) -> f64 {
    let archive = Archive::open(path).unwrap();
    let version = archive.version(AgentNumber(0)).unwrap();
    let conditions = archive.read(|state| *state.conditions.keys().next().unwrap()).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut times: Vec<f64> = (0..500)
        .map(|problem| {
            let record = trial(&version, problem % PROBLEMS, conditions, &mut random);
            once(|| {
                archive.append(&record).unwrap();
            })
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn generate(path: &Path, home: &Path, versions: u32) {
    let archive = Archive::create(path).unwrap();
    drop(archive);
    // Durable one by one this would take longer than all that is measured.
    let config = std::fs::read_to_string(path.join("config")).unwrap();
    std::fs::write(path.join("config"), config.replace("fsyncObjectFiles = true", "")).unwrap();
    let archive = Archive::open(path).unwrap();
    let plan = SuitePlan {
        suite: "edit".to_owned(),
        digest: Digest::of(b"edit"),
        problems: (0..PROBLEMS).map(|it| format!("edit-{it:04}")).collect(),
        epochs: 1,
    };
    let started = RunStarted {
        run: "run-1".to_owned(),
        time: time(0),
        resumed: false,
        harness: "0.1.0".to_owned(),
        seed: 1,
        configuration: serde_json::Value::Null,
        suites: vec![plan],
    };
    archive.append(&Record::RunStarted(started)).unwrap();
    let conditions = Conditions {
        harness: "0.1.0".to_owned(),
        models: BTreeMap::from([("main".to_owned(), "rehearsal".to_owned())]),
        prices: serde_json::Value::Null,
        limits: serde_json::Value::Null,
        utility: UtilitySettings::default(),
        sandbox: "bubblewrap".to_owned(),
        rehearsal: true,
    };
    let conditions = archive.conditions(&conditions).unwrap();
    let source = home.join("source");
    for file in 0..20 {
        let folder = source.join(format!("src/part_{}", file % 4));
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("// file {file}\n").repeat(50);
        std::fs::write(folder.join(format!("file_{file}.rs")), text).unwrap();
    }
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for number in 0..versions {
        let parent = (number > 0).then(|| AgentNumber(random.random_range(0..number)));
        if let Some(base) = parent {
            archive.append(&Record::Iteration(iteration(number, base))).unwrap();
        }
        let file = format!("src/part_{}/file_{}.rs", number % 4, number % 4);
        std::fs::write(source.join(file), format!("// version {number}\n").repeat(50)).unwrap();
        let change = Change {
            description: format!("change {number}"),
            editor: parent,
            run: parent.map(|_| "run-1".to_owned()),
            iteration: parent.map(|_| number),
            verdict: ChildVerdict::Accepted,
        };
        let parents: Vec<_> = parent.into_iter().collect();
        let version = archive.add_version(&source, &parents, &change, time(number)).unwrap();
        let records: Vec<Record> =
            (0..PROBLEMS).map(|it| trial(&version, it, conditions, &mut random)).collect();
        archive.append_all(&records).unwrap();
    }
    archive.commit().unwrap();
    drop(archive);
    let config = std::fs::read_to_string(path.join("config")).unwrap();
    std::fs::write(path.join("config"), format!("{config}\n[core]\n\tfsyncObjectFiles = true\n"))
        .unwrap();
}

fn iteration(iteration: u32, base: AgentNumber) -> Iteration {
    Iteration {
        run: "run-1".to_owned(),
        iteration,
        time: time(iteration),
        base,
        editor: base,
        base_policy: "best".to_owned(),
        editor_policy: "same".to_owned(),
        seed: u64::from(iteration),
        reasons: Vec::new(),
        editor_reasons: Vec::new(),
        rescue: None,
    }
}

fn trial(
    version: &Version,
    problem: u32,
    conditions: ConditionsId,
    random: &mut ChaCha8Rng,
) -> Record {
    let score = f64::from(u8::from(random.random::<f64>() < 0.5));
    let mut trace = [0; 32];
    random.fill(&mut trace[..]);
    Record::Trial(Trial {
        agent: version.agent,
        tree: version.tree,
        suite: "edit".to_owned(),
        suite_digest: Digest::of(b"edit"),
        problem: format!("edit-{problem:04}"),
        epoch: 0,
        outcome: Outcome::Scored { score },
        usage: Usage {
            input: random.random_range(1000..9000),
            cache_read: random.random_range(10_000..90_000),
            cache_write: 0,
            output: random.random_range(100..5000),
        },
        cost: NanoUsd(random.random_range(1_000_000..90_000_000)),
        seconds: random.random_range(5.0..120.0),
        wall_seconds: random.random_range(5.0..120.0),
        reason: String::new(),
        trace: Some(Digest(trace)),
        conditions,
        run: "run-1".to_owned(),
        time: time(version.agent.0 + problem),
    })
}
