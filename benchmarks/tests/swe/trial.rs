//! A trial from the image to the score, and predictions scored with the official files.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use hone_benchmarks::swe::evaluate::{EvaluationRequest, LOG_LIMIT, Verdict, evaluate};
use hone_benchmarks::swe::history::{EXTRACTED, cut_history, extract_patch};
use hone_benchmarks::swe::kind::score_trial;
use hone_benchmarks::swe::prediction::{ModelPatch, Prediction, Predictions};
use hone_benchmarks::swe::row::Row;
use hone_benchmarks::swe::score::{Progress, ScoreOptions, ScoreRunError, gold, score};
use hone_benchmarks::{Problem, ProblemId, Scored, Submission};
use pretty_assertions::assert_eq;

use super::engine::{DockerRoom, DockerRooms, wait};
use super::image::{Calc, GOLD, TEST_PATCH};

/// Runs a whole trial: `work` is the agent, as a shell script in the repository.
pub fn trial(calc: &Calc, work: &str) -> Scored {
    let row = calc.row();
    let room = DockerRoom::open(&row.image).unwrap();
    room.script(&cut_history());
    room.script(work);
    room.script(&extract_patch());
    let dir = tempfile::tempdir().unwrap();
    room.copy_out(EXTRACTED, dir.path());
    drop(room);
    let problem = Problem {
        id: ProblemId(row.instance_id.clone()),
        group: Some(row.repository.clone()),
        tree: None,
        data: calc.row.clone(),
    };
    let submission = Submission { answer: "", dir: dir.path() };
    wait(score_trial(&DockerRooms, &problem, submission)).unwrap()
}

/// The honest solution.
pub const SOLVE: &str = "sed -i '2s/a - b/a + b/' calc/__init__.py";

#[test]
fn a_trial_scores_the_honest_solution_however_it_was_left() {
    if !Calc::engine() {
        return;
    }
    let calc = Calc::new();
    for work in [
        SOLVE.to_owned(),
        format!("{SOLVE}; git add -A; git -c user.name=x -c user.email=x@y commit -qm done"),
        format!("{SOLVE}; rm -rf .git"),
        "mv calc/__init__.py calc/core.py; sed -i '2s/-/+/' calc/core.py; printf 'from .core import *\\r\\n' > calc/__init__.py".to_owned(),
    ] {
        let scored = trial(&calc, &work);
        assert_eq!((scored.score.get(), scored.why.as_str()), (1.0, "resolved"), "{work}");
        let report = &scored.details["report"]["calc__calc-1"];
        assert_eq!(report["resolved"], serde_json::json!(true));
    }
    let scored = trial(&calc, "true");
    assert_eq!((scored.score.get(), scored.why.as_str()), (0.0, "nothing was changed"));
    let scored = trial(&calc, "echo >> calc/__init__.py");
    assert_eq!((scored.score.get(), scored.why.as_str()), (0.0, "not resolved"));
}

fn options(dir: &Path, run_id: &str) -> ScoreOptions {
    ScoreOptions {
        dataset: "calc.jsonl".to_owned(),
        created_at: "2026-01-01T00:00:00+00:00".to_owned(),
        ..ScoreOptions::new(dir.join("logs/run_evaluation"), dir.join("out"), run_id)
    }
}

fn one(row: &Row, model: &str, patch: &str) -> Predictions {
    let prediction = Prediction {
        instance_id: row.labels.instance_id.clone(),
        model: Some(model.into()),
        patch: ModelPatch::Text(patch.into()),
    };
    [(row.labels.instance_id.clone(), prediction)].into_iter().collect()
}

#[test]
fn gold_is_resolved_and_leaves_the_official_files() {
    if !Calc::engine() {
        return;
    }
    let (calc, dir) = (Calc::new(), tempfile::tempdir().unwrap());
    let rows = [calc.row()];
    let said = Mutex::new(Vec::new());
    let progress = |progress: Progress<'_>| said.lock().unwrap().push(format!("{progress:?}"));
    let options = options(dir.path(), "r1");
    let run = wait(score(&DockerRooms, &rows, &gold(&rows), &options, &progress)).unwrap();
    assert_eq!(run.summary.resolved().len(), 1);
    assert_eq!(run.path, dir.path().join("out/gold.r1.json"));
    let folder = options.logs.join("r1/gold/calc__calc-1");
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        ["eval.sh", "patch.diff", "report.json", "run_instance.log", "test_output.txt"]
    );
    assert_eq!(std::fs::read_to_string(folder.join("patch.diff")).unwrap(), GOLD);
    let log = std::fs::read_to_string(folder.join("test_output.txt")).unwrap();
    assert!(
        log.contains("+ : '>>>>> Start Test Output'\n+ pytest -rA tests/test_calc.py\n"),
        "{log}"
    );
    assert!(log.contains("\n>>>>> Test Exit Code: 0\n"), "{log}");
    assert_eq!(
        std::fs::read_to_string(options.logs.join("r1/run.json")).unwrap(),
        "{\n  \"dataset\": \"calc.jsonl\",\n  \"split\": \"test\",\n  \"task_repo\": null,\n  \"created_at\": \"2026-01-01T00:00:00+00:00\"\n}\n"
    );
    // A second run finds the verdict and starts nothing.
    wait(score(&DockerRooms, &rows, &gold(&rows), &options, &progress)).unwrap();
    assert_eq!(
        *said.lock().unwrap(),
        [
            "Evaluated { instance_id: \"calc__calc-1\", resolved: true }",
            "Kept { instance_id: \"calc__calc-1\" }"
        ]
    );
}

#[test]
fn empty_and_broken_patches_are_not_resolved() {
    if !Calc::engine() {
        return;
    }
    let (calc, dir) = (Calc::new(), tempfile::tempdir().unwrap());
    let rows = [calc.row()];
    let run = |run_id: &str, patch: &str| {
        let options = options(dir.path(), run_id);
        let predictions = one(&rows[0], "me", patch);
        let run = wait(score(&DockerRooms, &rows, &predictions, &options, &|_| {})).unwrap();
        std::fs::read_to_string(run.path).unwrap()
    };
    let count = |summary: &str, name: &str| {
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        summary[name].as_u64().unwrap()
    };
    let empty = run("empty", "");
    assert_eq!(
        (count(&empty, "empty_patch_instances"), count(&empty, "resolved_instances")),
        (1, 0)
    );
    let broken = run("broken", &GOLD.replace("return a - b\n+", "return nothing\n+"));
    assert_eq!((count(&broken, "error_instances"), count(&broken, "completed_instances")), (1, 0));
    let log = dir.path().join("logs/run_evaluation/broken/me/calc__calc-1/run_instance.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains(">>>>> Patch Apply Failed:"), "{log}");
    assert_eq!(log.matches("Failed to apply patch to container").count(), 4, "{log}");
    // Whitespace that only the last of the four attempts forgives.
    let fuzzy = GOLD.replace(" def sub(a, b):\n", " def sub(a, c):\n");
    assert_eq!(count(&run("fuzzy", &fuzzy), "resolved_instances"), 1);
}

#[test]
fn a_missing_image_is_a_clear_error_and_nothing_is_half_done() {
    if !Calc::engine() {
        return;
    }
    let (calc, dir) = (Calc::new(), tempfile::tempdir().unwrap());
    let mut row = calc.row();
    row.image = "hone-test-swe-missing:none".to_owned();
    let rows = [row];
    let options = options(dir.path(), "r");
    let error = wait(score(&DockerRooms, &rows, &gold(&rows), &options, &|_| {})).unwrap_err();
    assert!(matches!(error, ScoreRunError::NoImages { wanted: 1, .. }));
    let said = error.to_string();
    assert!(said.contains("1 of 1 images are missing"), "{said}");
    assert!(said.contains("`docker pull hone-test-swe-missing:none`"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

fn verdict(calc: &Calc, patch: &str, timeout: Duration, log_limit: usize) -> (Verdict, Vec<u8>) {
    let row = calc.row();
    let request = EvaluationRequest {
        row: &row,
        model: "me",
        patch: patch.as_bytes(),
        timeout,
        log_limit,
        label: "test",
    };
    let evaluation = wait(evaluate(&DockerRooms, &request)).unwrap();
    (evaluation.verdict, evaluation.log.unwrap_or_default())
}

fn with_line(line: &str) -> String {
    GOLD.replace("@@ -1,5 +1,5 @@\n", &format!("@@ -1,5 +1,6 @@\n+{line}\n"))
}

#[test]
fn tests_that_hang_and_logs_without_end_have_clear_verdicts() {
    if !Calc::engine() {
        return;
    }
    let calc = Calc::new();
    let minute = Duration::from_secs(60);
    let hang = with_line("import time; time.sleep(1000)");
    let (ended, log) = verdict(&calc, &hang, Duration::from_secs(3), LOG_LIMIT);
    assert_eq!(ended, Verdict::TimedOut);
    assert!(log.ends_with(b"\n\nTimeout error: 3 seconds exceeded."));
    let loud = with_line("print(('x' * 99 + chr(10)) * 1_000_000)");
    let (ended, log) = verdict(&calc, &loud, minute, 1 << 20);
    assert_eq!((ended, log.len()), (Verdict::LogTooLong, 1 << 20));
    let (ended, log) = verdict(&calc, &loud, minute, LOG_LIMIT);
    assert!(matches!(ended, Verdict::Graded { resolved: true, .. }), "{ended:?}");
    assert!(log.len() > 100_000_000, "{}", log.len());
}

#[test]
fn the_test_patch_alone_fails_before_the_solution() {
    // The positive control of all others: the problem is one.
    if !Calc::engine() {
        return;
    }
    let calc = Calc::new();
    let harmless = "diff --git a/x.txt b/x.txt\nnew file mode 100644\n--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+x\n";
    let (ended, log) = verdict(&calc, harmless, Duration::from_secs(60), LOG_LIMIT);
    assert!(matches!(ended, Verdict::Graded { resolved: false, .. }), "{ended:?}");
    assert!(String::from_utf8_lossy(&log).contains("FAILED tests/test_calc.py::test_add"));
    assert!(TEST_PATCH.contains("test_add"));
}
