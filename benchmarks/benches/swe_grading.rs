//! Times SWE-bench grading per log beside the official harness's figures.
//!
//! Takes the recorded logs of `HONE_SWEBENCH` or `../shared/swebench`; without them it makes logs of the same size.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hone_benchmarks::swe::batch::{Answer, grade_batch};
use hone_benchmarks::swe::grade::grade;
use hone_benchmarks::swe::json::{self, Value};
use hone_benchmarks::swe::labels::Labels;
use hone_benchmarks::swe::prediction::Prediction;

/// The official grader's median for one log, in milliseconds (swebench 5.0.2 in Python).
const OFFICIAL_MEDIAN_MS: f64 = 1.2;
/// The official grader's time for 361 logs, in milliseconds.
const OFFICIAL_BATCH_MS: f64 = 3500.0;
const OFFICIAL_BATCH_LOGS: f64 = 361.0;
const ROUNDS: usize = 5;

struct Case {
    log: Vec<u8>,
    instance: String,
    prediction: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut cases = recorded().unwrap_or_default();
    let origin = if cases.is_empty() { "made" } else { "recorded" };
    if cases.is_empty() {
        cases = (0..200).map(made).collect();
    }
    let megabytes = cases.iter().map(|case| case.log.len()).sum::<usize>() as f64 / 1e6;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} {origin} logs, {megabytes:.1} MB", cases.len())?;

    let mut times: Vec<Duration> = Vec::new();
    for case in &cases {
        let labels = Labels::from_row(&json::parse(case.instance.as_bytes())?)?;
        let prediction = Prediction::from_value(&json::parse(case.prediction.as_bytes())?)?;
        let best = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                let json = grade(&labels, &prediction, &case.log).map(|report| report.to_json());
                std::hint::black_box(&json);
                start.elapsed()
            })
            .min();
        times.extend(best);
    }
    times.sort();
    let total = times.iter().sum::<Duration>().as_secs_f64() * 1e3;
    let median = times[times.len() / 2].as_secs_f64() * 1e3;
    let slowest = times[times.len() - 1].as_secs_f64() * 1e3;
    writeln!(
        out,
        "one log, report.json included: median {median:.3} ms, slowest {slowest:.2} ms, all {total:.1} ms on one core \
         | official median {OFFICIAL_MEDIAN_MS} ms: {:.0} times faster",
        OFFICIAL_MEDIAN_MS / median
    )?;

    let dir = tempfile::tempdir()?;
    let list = lay(dir.path(), &cases)?;
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let source = BufReader::new(std::fs::File::open(&list)?);
        grade_batch(source, &mut std::io::sink(), Answer::Report, 2)?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    let per_log = best / cases.len() as f64;
    let official = OFFICIAL_BATCH_MS / OFFICIAL_BATCH_LOGS;
    writeln!(
        out,
        "batch from files on two threads: {best:.1} ms, {per_log:.3} ms a log | official {official:.1} ms a log \
         (361 logs in 3.5 s): {:.0} times faster",
        official / per_log
    )?;
    Ok(())
}

/// Reads the recorded logs, or nothing where there are none.
fn recorded() -> Option<Vec<Case>> {
    let folder = std::env::var_os("HONE_SWEBENCH").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/swebench"),
        PathBuf::from,
    );
    let packed = std::fs::read(folder.join("grading/logs.jsonl.gz")).ok()?;
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut text).ok()?;
    let dump = |value: &Value| {
        let mut out = String::new();
        value.write(&mut out);
        out
    };
    text.split(|b| *b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(|line| {
            let case = json::parse(line).ok()?;
            Some(Case {
                log: case.get("test_output")?.as_string()?.as_bytes().to_vec(),
                instance: dump(case.get("instance")?),
                prediction: dump(case.get("prediction")?),
            })
        })
        .collect()
}

/// Makes a Django log of about 90 kB with its row.
fn made(number: usize) -> Case {
    let test = |n: usize| format!("test_case_{n} (app{number}.tests.SomeTestCase)");
    let mut log = String::from("+ : '>>>>> Start Test Output'\n");
    for n in 0..1200 {
        log.push_str(&format!("{} ... ok\n", test(n)));
        log.push_str(if n % 9 == 0 { "  some other output of the suite\n" } else { "" });
    }
    log.push_str("+ : '>>>>> End Test Output'\n");
    let tests: Vec<String> = (0..1200).map(|n| format!("\"{}\"", test(n))).collect();
    let instance = format!(
        r#"{{"instance_id": "a__a-{number}", "repo": "django/django", "FAIL_TO_PASS": [], "PASS_TO_PASS": [{}]}}"#,
        tests.join(", ")
    );
    let prediction = format!(r#"{{"instance_id": "a__a-{number}", "model_patch": "x"}}"#);
    Case { log: log.into_bytes(), instance, prediction }
}

/// Writes the files of a batch and gives its list.
fn lay(dir: &Path, cases: &[Case]) -> std::io::Result<PathBuf> {
    let mut list = String::new();
    for (n, case) in cases.iter().enumerate() {
        let path = |name: &str| dir.join(format!("{n}.{name}"));
        std::fs::write(path("log"), &case.log)?;
        std::fs::write(path("instance"), &case.instance)?;
        std::fs::write(path("prediction"), &case.prediction)?;
        list.push_str(&format!(
            "{{\"case_id\": {n}, \"log\": {:?}, \"instance\": {:?}, \"prediction\": {:?}}}\n",
            path("log"),
            path("instance"),
            path("prediction")
        ));
    }
    let path = dir.join("cases.jsonl");
    std::fs::write(&path, list)?;
    Ok(path)
}
