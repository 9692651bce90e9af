//! `hone bench score swe`: predictions tested in real containers of an image with the official layout.

#[path = "../../../benchmarks/tests/swe/image.rs"]
#[allow(dead_code, clippy::print_stdout)]
mod image;

use hone_tests::hone::Hone;
use image::{Calc, GOLD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn read(hone: &Hone, path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(hone.folder().join(path)).unwrap()).unwrap()
}

fn score(hone: &Hone, more: &[&str]) -> hone_tests::hone::Said {
    let fixed = ["bench", "score", "swe", "--dataset", "rows.jsonl", "-c", "sandbox=docker"];
    hone.say(fixed.iter().chain(more))
}

#[test]
fn gold_is_resolved_and_other_patches_are_told_apart() {
    if !Calc::engine() {
        return;
    }
    let (hone, calc) = (Hone::new(), Calc::new());
    std::fs::write(hone.folder().join("rows.jsonl"), calc.row.to_string()).unwrap();
    let said = score(&hone, &["--predictions", "gold", "--run-id", "g"]).exits(0);
    assert!(said.out.contains("Instances resolved: 1\n"), "{}", said.out);
    assert_eq!(read(&hone, "gold.g.json")["resolved_ids"], json!(["calc__calc-1"]));
    let report = read(&hone, "logs/run_evaluation/g/gold/calc__calc-1/report.json");
    assert_eq!(report["calc__calc-1"]["resolved"], true);
    // The verdict stands: nothing is run again.
    let again = score(&hone, &["--predictions", "gold", "--run-id", "g"]).exits(0);
    assert!(again.err.contains("calc__calc-1: verdict of an earlier run"), "{}", again.err);

    for (model, patch, field) in [
        ("wrong", GOLD.replace("a + b", "a * b"), "unresolved_ids"),
        ("empty", String::new(), "empty_patch_ids"),
        ("broken", "no patch".to_owned(), "error_ids"),
    ] {
        let prediction = json!({
            "instance_id": "calc__calc-1",
            "model_name_or_path": model,
            "model_patch": patch,
        });
        std::fs::write(hone.folder().join("p.jsonl"), format!("{prediction}\n")).unwrap();
        score(&hone, &["--predictions", "p.jsonl", "--run-id", "r"]).exits(0);
        let summary = read(&hone, &format!("{model}.r.json"));
        assert_eq!(summary[field], json!(["calc__calc-1"]), "{model}: {summary}");
        assert_eq!(summary["resolved_ids"], json!([]), "{model}");
    }
}

#[test]
fn a_missing_image_and_unknown_predictions_are_clear_errors_and_nothing_is_half_done() {
    if !Calc::engine() {
        return;
    }
    let (hone, calc) = (Hone::new(), Calc::new());
    let mut row = calc.row.clone();
    row["image"] = json!("localhost:9/hone/no-such-image:1");
    std::fs::write(hone.folder().join("rows.jsonl"), row.to_string()).unwrap();
    let said = score(&hone, &["--predictions", "gold", "--run-id", "g"]).exits(4);
    assert!(said.err.contains("localhost:9/hone/no-such-image:1"), "{}", said.err);
    let unknown = json!({ "instance_id": "x__y-1", "model_name_or_path": "m", "model_patch": "p" });
    std::fs::write(hone.folder().join("p.jsonl"), format!("{unknown}\n")).unwrap();
    let said = score(&hone, &["--predictions", "p.jsonl", "--run-id", "g"]).exits(2);
    assert!(said.err.contains("the dataset has no x__y-1"), "{}", said.err);
    assert!(!hone.folder().join("logs").exists());
    assert!(!hone.folder().join("gold.g.json").exists());
}
