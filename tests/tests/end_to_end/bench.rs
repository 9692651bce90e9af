//! `hone bench`: suites from sources, and SWE-bench logs and predictions graded.

use hone_tests::hone::{Hone, git};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Makes a repository whose history has changes of single files, and uses of names across files.
fn repository(folder: &Path) {
    std::fs::create_dir_all(folder.join("shop")).unwrap();
    git(folder, &["init", "-q", "-b", "main"]);
    let commit = |number: usize| {
        git(folder, &["add", "-A"]);
        git(
            folder,
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "commit",
                "-qm",
                &format!("Change {number}"),
                "--date=2020-01-01T00:00:00Z",
            ],
        );
    };
    let prices = |number: usize| {
        let steps: String = (0..number)
            .map(|step| format!("    total = total + {step} * rate\n    total -= {step}\n"))
            .collect();
        format!(
            "LIMIT = 10\n\n\ndef price(amount, rate):\n    total = amount\n{steps}    return total\n\n\nclass Till:\n    \
             def count(self):\n        return LIMIT\n"
        )
    };
    let user = "from shop.prices import LIMIT, Till, price\n\n\ndef pay(amount):\n    till = Till()\n    \
                return price(amount, LIMIT) + till.count()\n";
    std::fs::write(folder.join("shop/__init__.py"), "").unwrap();
    std::fs::write(folder.join("shop/pay.py"), user).unwrap();
    for number in 0..8 {
        std::fs::write(folder.join("shop/prices.py"), prices(number)).unwrap();
        commit(number);
    }
}

/// Reads every file of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn suites_built_twice_from_one_revision_are_byte_identical_and_damage_is_seen() {
    let hone = Hone::new();
    repository(&hone.folder().join("shop"));
    let suites = hone.folder().join("hone-runs/suites");
    for kind in ["edit", "nav"] {
        let build = |home: &str| {
            let arguments =
                ["--home", home, "bench", "build", kind, "--from", "shop", "--name", "s"];
            hone.say(arguments).exits(0);
            files(&hone.folder().join(home).join("suites/s"))
        };
        let (first, second) = (build(&format!("{kind}-1")), build(&format!("{kind}-2")));
        assert!(first.contains_key("suite.json"), "{:?}", first.keys());
        assert!(first == second, "{kind} was built differently the second time");

        hone.say(["bench", "build", kind, "--from", "shop"]).exits(0);
        let name = format!("{kind}-shop");
        assert_eq!(files(&suites.join(&name)).len(), 3);
        let verified = hone.say(["--json", "bench", "verify", &name]).exits(0).json();
        assert_eq!(verified["suites"][0]["wrong"], Value::Null);

        let pack = suites.join(&name).join("files.pack");
        let mut bytes = std::fs::read(&pack).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&pack, bytes).unwrap();
        let said = hone.say(["bench", "verify", &name]).exits(1);
        assert!(said.err.contains(&format!("verify the suite {name}")), "{}", said.err);
    }
}

#[test]
fn another_suite_of_a_name_stays_unless_it_is_to_be_replaced() {
    let hone = Hone::new();
    repository(&hone.folder().join("shop"));
    let build = |seed: &str, more: &[&str]| {
        let fixed = ["bench", "build", "edit", "--from", "shop", "--problems", "3", "--seed", seed];
        hone.say(fixed.iter().chain(more))
    };
    build("1", &[]).exits(0);
    let digest = || {
        let shown = hone.say(["--json", "bench", "show", "edit-shop"]).exits(0).json();
        shown["suite"]["digest"].as_str().unwrap().to_owned()
    };
    let first = digest();
    assert!(build("1", &[]).exits(0).out.starts_with("unchanged"));
    build("2", &[]).exits(1);
    assert_eq!(digest(), first);
    build("2", &["--force"]).exits(0);
    assert_ne!(digest(), first);
    build("2", &["--force", "--scoring", "sica"]).exits(0);
    let shown = hone.say(["--json", "bench", "show", "edit-shop"]).exits(0).json();
    assert_eq!(shown["suite"]["options"], json!({ "scoring": "sica" }));
}

#[test]
fn a_problem_is_shown_as_an_agent_sees_it_and_the_solution_only_on_demand() {
    let hone = Hone::new();
    let list = hone.say(["--json", "bench", "show", "nav"]).exits(0).json();
    let id = list["suite"]["problems"][0]["id"].as_str().unwrap().to_owned();
    let plain = hone.say(["--json", "bench", "show", "nav", &id]).exits(0).json();
    assert_eq!(plain["problem"]["data"], Value::Null);
    let solved = hone.say(["--json", "bench", "show", "nav", &id, "--solution"]).exits(0).json();
    let path = solved["problem"]["data"]["answer"]["path"].as_str();
    assert!(path.is_some(), "{solved}");
    let said = hone.say(["bench", "show", "nav", "no-such"]).exits(2);
    assert!(said.err.contains("hint: `hone bench show nav` lists its problems."), "{}", said.err);
    let said = hone.say(["bench", "show", "navv"]).exits(2);
    assert!(said.err.contains("Did you mean `nav`?"), "{}", said.err);
}

const LOG: &str = "+ : '>>>>> Start Test Output'\nPASSED t.py::test_a\nFAILED t.py::test_b - x\n\
                   + : '>>>>> End Test Output'\n>>>>> Test Exit Code: 1\n";

fn row(id: &str) -> Value {
    json!({
        "instance_id": id,
        "repo": "pallets/flask",
        "version": "1",
        "base_commit": "a".repeat(40),
        "problem_statement": "s",
        "patch": "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "test_patch": "",
        "FAIL_TO_PASS": "[\"t.py::test_a\"]",
        "PASS_TO_PASS": "[\"t.py::test_b\"]",
        "image": "registry.invalid/hone/no-such-image:1",
        "eval_script": "#!/bin/bash\n: '>>>>> Start Test Output'\ntrue\n: '>>>>> End Test Output'\n",
        "log_parser": "parse_log_flask",
        "eval_type": "pass_and_fail",
    })
}

#[test]
fn logs_are_graded_alone_and_in_batches() {
    let hone = Hone::new();
    let write = |name: &str, text: &str| std::fs::write(hone.folder().join(name), text).unwrap();
    write("log", LOG);
    write("row", &row("a__a-1").to_string());
    write("prediction", &json!({ "instance_id": "a__a-1", "model_patch": "x" }).to_string());
    let case =
        ["bench", "grade", "--log", "log", "--instance", "row", "--prediction", "prediction"];
    let report = hone.say(case).exits(0).json();
    let lists =
        |success: &[&str], failure: &[&str]| json!({ "success": success, "failure": failure });
    let expected = json!({ "a__a-1": {
        "patch_is_None": false,
        "patch_exists": true,
        "patch_successfully_applied": true,
        "resolved": false,
        "infra_failure": false,
        "tests_status": {
            "FAIL_TO_PASS": lists(&["t.py::test_a"], &[]),
            "PASS_TO_PASS": lists(&[], &["t.py::test_b"]),
            "FAIL_TO_FAIL": lists(&[], &[]),
            "PASS_TO_FAIL": lists(&[], &[]),
        },
    }});
    assert_eq!(report, expected);
    let map = hone.say(case.iter().chain(&["--status-map"])).exits(0).json();
    assert_eq!(map, json!({ "t.py::test_a": "PASSED", "t.py::test_b": "FAILED" }));

    let whole =
        json!({ "case_id": 1, "log": "log", "instance": "row", "prediction": "prediction" });
    let broken =
        json!({ "case_id": 2, "log": "gone", "instance": "row", "prediction": "prediction" });
    write("cases", &format!("{whole}\n{broken}\n"));
    let said = hone.say(["bench", "grade", "--batch", "cases"]).exits(1);
    let lines: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "case_id": 1, "report": expected }));
    assert_eq!(lines[1]["case_id"], 2);
    let why = lines[1]["error"].as_str().unwrap();
    assert!(why.starts_with("cannot read the log gone"), "{why}");
    hone.say(["bench", "grade", "--batch", "gone"]).exits(2);
    hone.say(["bench", "grade", "--log", "log"]).exits(2);
}

#[test]
fn broken_rows_are_refused_with_their_place_and_leave_no_suite() {
    let hone = Hone::new();
    let rows = hone.folder().join("rows.jsonl");
    let mut lacking = row("b");
    lacking.as_object_mut().unwrap().remove("test_patch");
    for (second, why) in [
        (lacking.to_string(), "read row 2 (b) of rows.jsonl: column `test_patch` is missing"),
        (row("a").to_string(), "row 1 has the instance_id a already"),
        ("{".to_owned(), "read row 2 of rows.jsonl"),
    ] {
        std::fs::write(&rows, format!("{}\n{second}\n", row("a"))).unwrap();
        let said = hone.say(["bench", "import", "swe", "rows.jsonl"]).exits(1);
        assert!(said.err.contains(why), "{}", said.err);
    }
    let listed = hone.say(["--json", "bench", "list"]).exits(0).json();
    let names: Vec<&str> = listed["suites"]
        .as_array()
        .unwrap()
        .iter()
        .map(|suite| suite["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["edit", "nav"]);
    std::fs::write(&rows, format!("{}\n{}\n", row("a"), row("b"))).unwrap();
    hone.say(["bench", "import", "swe", "rows.jsonl"]).exits(0);
    hone.say(["bench", "show", "swe-rows", "b"]).exits(0);
}
