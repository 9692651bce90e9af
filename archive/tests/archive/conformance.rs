//! The shared cases: utility, statistics, selection.

use hone_archive::policy::Candidate;
use hone_archive::statistics::{clustered, mcnemar_exact, pass_at_k, sign_flip, wilson};
use hone_archive::{AgentNumber, PolicyName, UtilitySettings};
use serde_json::Value;
use std::path::PathBuf;

/// Reads the cases of a file; none when the machine has no folder of cases.
fn cases(file: &str) -> Option<Vec<Value>> {
    let folder = match std::env::var_os("HONE_CASES") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
            [workspace.join("../shared/cases"), workspace.join("../../shared/cases")]
                .into_iter()
                .find(|folder| folder.is_dir())?
        }
    };
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let cases: Value = serde_json::from_str(&text).unwrap();
    let cases = cases["cases"].as_array().unwrap().clone();
    assert!(!cases.is_empty(), "{file} holds no case");
    println!("{file}: {} cases", cases.len());
    Some(cases)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[track_caller]
fn close(actual: f64, expected: f64, tolerance: f64, case: &Value) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected} in {case}");
}

#[test]
fn utility_conformance() {
    for case in cases("utility.json").unwrap_or_default() {
        let utility = UtilitySettings::default().of_trial(
            number(&case["score"]),
            number(&case["cost_usd"]),
            number(&case["time_s"]),
            case["timed_out"].as_bool().unwrap(),
        );
        close(utility, number(&case["utility"]), 1e-12, &case);
    }
}

#[test]
fn statistics_conformance() {
    for case in cases("statistics.json").unwrap_or_default() {
        let count = |name: &str| case[name].as_u64().unwrap();
        match case["kind"].as_str().unwrap() {
            "mcnemar_exact" => {
                close(
                    mcnemar_exact(count("wins"), count("losses")),
                    number(&case["p"]),
                    1e-9,
                    &case,
                );
            }
            "wilson95" => {
                let interval = wilson(count("successes"), count("n"));
                let expected = numbers(&case["interval"]);
                close(interval.low, expected[0], 1e-9, &case);
                close(interval.high, expected[1], 1e-9, &case);
            }
            "pass_at_k" => {
                let value = pass_at_k(count("n"), count("correct"), count("k"));
                close(value, number(&case["value"]), 1e-9, &case);
            }
            "clustered_se" => {
                let clusters: Vec<Vec<f64>> =
                    case["clusters"].as_array().unwrap().iter().map(numbers).collect();
                let found = clustered(clusters.iter().map(|it| it.iter().copied())).unwrap();
                close(found.mean, number(&case["mean"]), 1e-9, &case);
                close(found.standard_error, number(&case["se"]), 1e-9, &case);
            }
            "sign_flip" => {
                let found = sign_flip(&numbers(&case["differences"]), 0);
                close(found.p, number(&case["p"]), 1e-9, &case);
            }
            kind => panic!("no test knows the kind {kind}"),
        }
    }
}

#[test]
fn selection_conformance() {
    for case in cases("selection.json").unwrap_or_default() {
        let candidates: Vec<Candidate> = case["archive"]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| {
                Candidate::of_scores(
                    AgentNumber(agent["agent"].as_u64().unwrap() as u32),
                    numbers(&agent["scores"]),
                    agent["children"].as_u64().unwrap() as usize,
                )
            })
            .collect();
        let choose = |policy: PolicyName| policy.policy().choose(&candidates, 1).unwrap();
        let chosen = |policy| u64::from(choose(policy).agent.0);
        assert_eq!(chosen(PolicyName::Best), case["best"], "{case}");
        assert_eq!(chosen(PolicyName::Sica), case["sica_newest_within_ci"], "{case}");
        for (policy, weights) in case["weights"].as_object().unwrap() {
            let policy: PolicyName = policy.parse().unwrap();
            let reasons = choose(policy).reasons;
            let expected = numbers(weights);
            assert_eq!(reasons.len(), expected.len());
            for (reason, expected) in reasons.iter().zip(expected) {
                close(reason.weight, expected, 1e-9, &case);
            }
        }
    }
}
