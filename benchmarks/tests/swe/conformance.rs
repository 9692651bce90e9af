//! Agreement with the official harness, case by case.

use std::path::{Path, PathBuf};

use hone_benchmarks::swe::batch::{Answer, CaseFiles};
use hone_benchmarks::swe::command::{self, SummaryRequest};
use hone_benchmarks::swe::dataset::read_rows;
use hone_benchmarks::swe::eval_script::eval_script;
use hone_benchmarks::swe::grade::grade;
use hone_benchmarks::swe::guard::{Objection, objection};
use hone_benchmarks::swe::import::{ImportRequest, import};
use hone_benchmarks::swe::json::{self, Value};
use hone_benchmarks::swe::labels::Labels;
use hone_benchmarks::swe::patch;
use hone_benchmarks::swe::prediction::Prediction;
use hone_benchmarks::swe::row::Row;
use sha2::{Digest, Sha256};

use super::material::{canonical, case_files, folder, lines, text};

fn dump(value: &Value) -> String {
    let mut out = String::new();
    value.write(&mut out);
    out
}

/// Runs every grading case and gives the number of cases and what disagrees.
fn disagreements(folder: &Path, answer: Answer, key: &str) -> (usize, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let files = CaseFiles {
        log: dir.path().join("test_output.txt"),
        instance: dir.path().join("instance.json"),
        prediction: dir.path().join("prediction.json"),
    };
    let (mut cases, mut wrong) = (0, Vec::new());
    for path in case_files(folder, false) {
        for case in lines(&path) {
            cases += 1;
            let log = case.get("test_output").and_then(Value::as_string).unwrap();
            std::fs::write(&files.log, log.as_bytes()).unwrap();
            std::fs::write(&files.instance, dump(case.get("instance").unwrap())).unwrap();
            std::fs::write(&files.prediction, dump(case.get("prediction").unwrap())).unwrap();
            let got = command::grade(&files, answer)
                .map(|text| canonical(&json::parse(text.as_bytes()).unwrap()));
            let agrees = match (case.get("expected_error"), &got) {
                (Some(_), got) => got.is_err(),
                (None, Ok(got)) => *got == canonical(case.get(key).unwrap()),
                (None, Err(_)) => false,
            };
            if !agrees {
                wrong.push(format!("{}: {got:?}", text(&case, "case_id")));
            }
        }
    }
    (cases, wrong)
}

fn check(answer: Answer, key: &str) {
    let Some(folder) = folder() else { return };
    let (cases, wrong) = disagreements(&folder, answer, key);
    println!("{key}: {cases} cases ran");
    assert!(cases > 0, "no case in {}", folder.display());
    assert!(wrong.is_empty(), "{} of {cases} disagree:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn conformance_reports_agree_with_the_official_ones() {
    check(Answer::Report, "expected");
}

#[test]
fn conformance_status_maps_agree_with_the_official_ones() {
    check(Answer::StatusMap, "status_map");
}

#[test]
fn conformance_run_summaries_agree_with_the_official_ones() {
    let Some(folder) = folder() else { return };
    let mut cases = 0;
    for path in case_files(&folder, true) {
        for case in lines(&path) {
            cases += 1;
            run_summary(&case);
        }
    }
    println!("run summaries: {cases} cases ran");
    assert!(cases > 0, "no case in {}", folder.display());
}

fn run_summary(case: &Value) {
    let name = text(case, "name");
    let dir = tempfile::tempdir().unwrap();
    let Some(Value::Object(files)) = case.get("files") else { panic!("{name}: no files") };
    for (path, content) in files {
        let path = dir.path().join(path.as_str().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.as_string().unwrap().as_bytes()).unwrap();
    }
    let rows = |key: &str| {
        let Some(Value::Array(rows)) = case.get(key) else { panic!("{name}: no {key}") };
        rows.iter().map(|row| dump(row) + "\n").collect::<String>()
    };
    let (predictions, dataset) = (dir.path().join("p.jsonl"), dir.path().join("d.jsonl"));
    std::fs::write(&predictions, rows("predictions")).unwrap();
    std::fs::write(&dataset, rows("dataset")).unwrap();
    let written = command::summary(&SummaryRequest {
        logs: dir.path().join("logs/run_evaluation"),
        predictions,
        dataset,
        run_id: text(case, "run_id").to_owned(),
        report_dir: dir.path().join("out"),
    });
    if case.get("expected_error").is_some() {
        assert!(written.is_err(), "{name}: the official code raises");
        return;
    }
    let written = written.unwrap();
    let file = written.path.file_name().unwrap().to_str().unwrap();
    assert_eq!(file, text(case, "expected_filename"), "{name}");
    let got = std::fs::read(&written.path).unwrap();
    let expected = canonical(case.get("expected_report").unwrap());
    assert_eq!(canonical(&json::parse(&got).unwrap()), expected, "{name}");
    if let Some(stdout) = case.get("expected_stdout").and_then(Value::as_string) {
        let words = written.summary.words();
        assert!(stdout.to_text().starts_with(&words), "{name}: {stdout}\n{words}");
    }
}

/// Gives the files of dataset rows; a folder of grading cases need not have any.
fn row_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            [".jsonl", ".jsonl.gz", ".parquet"].iter().any(|end| name.ends_with(end))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty() || folder.join("grading").is_dir(), "{} is empty", folder.display());
    files
}

#[test]
fn conformance_eval_scripts_have_the_official_digests() {
    let Some(folder) = folder() else { return };
    let Ok(bytes) = std::fs::read(folder.join("eval_sh_v5.sha256.json")) else {
        row_files(&folder);
        println!("no digests of eval scripts in {}: nothing ran", folder.display());
        return;
    };
    let digests = json::parse(&bytes).unwrap();
    let mut cases = 0;
    for row in row_files(&folder).iter().flat_map(|path| read_rows(path).unwrap()) {
        let id = text(&row, "instance_id");
        let Some(expected) = digests.get(id) else { continue };
        cases += 1;
        let script = eval_script(text(&row, "eval_script"));
        let digest: String =
            Sha256::digest(script).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(digest.as_str()), expected.as_string().and_then(|s| s.as_str()), "{id}");
    }
    println!("eval scripts: {cases} cases ran");
    assert!(cases > 0);
}

#[test]
fn conformance_published_rows_become_suites_with_their_subsets() {
    let Some(folder) = folder() else { return };
    let file = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
    let mut cases = 0;
    for rows in row_files(&folder) {
        let import = |subset: Option<&str>| {
            import(&ImportRequest {
                name: "rows".to_owned(),
                rows: rows.clone(),
                subsets: file("subsets.json"),
                subset: subset.map(str::to_owned),
                label_fixes: file("label_fixes.json"),
                hints: false,
            })
            .unwrap()
        };
        let suite = import(None).suite;
        assert_eq!(suite.problems().len(), read_rows(&rows).unwrap().len(), "{}", rows.display());
        cases += suite.problems().len();
        for (name, ids) in &suite.manifest().subsets {
            let part = import(Some(name)).suite;
            let mut found: Vec<_> = part.problems().iter().map(|problem| &problem.id).collect();
            let mut wanted: Vec<_> = ids.iter().collect();
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{name}");
            cases += found.len();
        }
        let dir = tempfile::tempdir().unwrap();
        suite.save(dir.path()).unwrap();
        let opened = hone_benchmarks::Suite::open(dir.path()).unwrap();
        assert_eq!(opened.digest(), suite.digest());
        for problem in opened.problems() {
            let row = Row::from_problem(&problem.data).unwrap();
            assert_eq!(row.instance_id, problem.id.0);
            let (kept, left_out) =
                patch::counted(row.patch.as_bytes(), &row.test_patch, &row.patch);
            assert_eq!((kept, left_out), (row.patch.into_bytes(), vec![]), "{}", problem.id);
        }
    }
    println!("imports: {cases} cases ran");
}

#[test]
fn conformance_honest_resolved_logs_meet_no_objection() {
    let Some(folder) = folder() else { return };
    let (mut recorded, mut cases, mut wrong) = (0, 0, Vec::new());
    for case in case_files(&folder, false).iter().flat_map(|path| lines(path)) {
        // Small logs written for one rule each are no honest runs.
        if case.get("expected_error").is_some() || case.get("source").is_none() {
            continue;
        }
        recorded += 1;
        let labels = Labels::from_row(case.get("instance").unwrap()).unwrap();
        let prediction = Prediction::from_value(case.get("prediction").unwrap()).unwrap();
        let log = case.get("test_output").and_then(Value::as_string).unwrap();
        if grade(&labels, &prediction, log.as_bytes()).unwrap().is_resolved() {
            cases += 1;
            // Some recorders took the two output streams apart, which this harness does not.
            if let Some(objection) = objection(&labels, log.as_bytes(), false)
                && objection != Objection::NoResults
            {
                wrong.push(format!("{}: {objection}", text(&case, "case_id")));
            }
        }
    }
    println!("resolved logs: {cases} cases ran");
    assert!(cases > 0 || recorded == 0, "none of {recorded} recorded logs is resolved");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
}
