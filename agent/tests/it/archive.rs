//! The tools of improvement jobs, on a small archive.

use crate::trial::{Trial, agent, tool};
use hone_protocol::Role;
use std::path::Path;

const RESULTS: &str = r#"{"agent":0,"suite":"edit","problem":"p1","epoch":0,"verdict":"scored","score":0.5,"usd":0.02,"seconds":10.0,"reason":""}
{"agent":0,"suite":"edit","problem":"p4","epoch":0,"verdict":"scored","score":1.0,"usd":0.03,"seconds":5.0}
{"agent":0,"suite":"edit","problem":"p2","epoch":0,"verdict":"scored","score":1.0,"usd":0.01,"seconds":5.0}

{"agent":0,"suite":"nav","problem":"p3","epoch":0,"verdict":"agent_crashed","score":0.9,"usd":0.05,"seconds":9.0,"reason":"panicked at\nx"}
{"agent":0,"suite":"nav","problem":"p5","epoch":0,"verdict":"infra_error","score":null,"usd":0.0,"seconds":1.0,"reason":"disk"}
{"agent":1,"suite":"edit","problem":"p1","epoch":0,"verdict":"scored","score":0.75,"usd":0.01,"seconds":4.0}
{"agent":1,"suite":"edit","problem":"p1","epoch":1,"verdict":"scored","score":0.25,"usd":0.01,"seconds":4.0}
{"agent":1,"suite":"edit","problem":"p2","epoch":0,"verdict":"scored","score":0.0,"usd":0.01,"seconds":4.0}
"#;

fn archive(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("results.jsonl", RESULTS);
    write("agents/0/description.txt", "The seed.\nMore.\n");
    write("agents/0/source/src/main.rs", "fn main() {}\n");
    write("agents/0/source/src/lib.rs", "same\n");
    write("agents/1/description.txt", "Shorter.\n");
    write("agents/1/verdict.json", "{\"verdict\":\"benchmarked\",\n\"utility\":0.6}\n");
    write("agents/1/source/src/main.rs", "fn main() { run() }\n");
    write("agents/1/source/src/lib.rs", "same\n");
    write("agents/1/source/src/new.rs", "new\n");
    write("traces/0/edit/p1.0.txt", "step 1\n");
}

#[test]
fn the_archive_tools_show_what_fails_what_works_and_what_changed() {
    let root = tempfile::TempDir::new().unwrap();
    archive(root.path());
    let trial = Trial::with(|job| {
        job.role = Role::Improve;
        job.archive = Some(root.path().display().to_string());
    });
    trial.server.script("main", agent("archive_explorer", &[("task", "Look.")]));
    let calls = [
        tool("worst_problems", &[("agent", "0"), ("count", "2")]),
        tool("best_problems", &[("agent", "0")]),
        tool("compare_agents", &[("first", "0"), ("second", "1")]),
        tool("problem_history", &[("problem", "edit/p1")]),
        tool("problem_history", &[("problem", "p9")]),
        tool("agent_diff", &[("from", "0"), ("to", "1")]),
        tool("agent_diff", &[("from", "0"), ("to", "1"), ("path", "src/new.rs")]),
        tool("agent_diff", &[("from", "0"), ("to", "1"), ("path", "src/li")]),
        tool("agent_diff", &[("from", "0"), ("to", "7")]),
        tool(
            "open_files",
            &[("paths", &root.path().join("traces/0/edit/p1.0.txt").display().to_string())],
        ),
        tool("return_result", &[("result", "found")]),
    ];
    for call in calls {
        trial.server.script("archive_explorer", call);
    }
    trial.server.script("main", tool("complete", &[]));
    trial.succeed();
    let asked = trial.server.asked("archive_explorer");
    let told: Vec<_> = asked.iter().skip(1).map(|asked| asked.message(-1)).collect();
    let first = told[0].split_once(">\n").unwrap().1;
    assert!(
        first.starts_with(
            "nav/p3 epoch 0 | agent_crashed | score 0.900 | $0.0500 | 9.0 s | panicked at x\n\
             edit/p1 epoch 0 | scored | score 0.500 | $0.0200 | 10.0 s\n\
             1 trials could not be scored, for reasons outside of the agent\n\
             traces, where they were kept: "
        ),
        "{first}"
    );
    let best = told[1].split_once(">\n").unwrap().1;
    assert!(
        best.starts_with("edit/p2 ") && best.lines().nth(1).unwrap().starts_with("edit/p4 "),
        "{best}"
    );
    assert_eq!(best.lines().filter(|line| line.starts_with("edit/")).count(), 3);
    assert!(told[2].contains("agent 0: The seed. \nagent 1: Shorter. {\"verdict\":\"benchmarked\", \"utility\":0.6}\n2 problems that both have done:\nedit/p2 | score 1.000 → 0.000 | $0.0100 → $0.0100 | 5.0 s → 4.0 s\nedit/p1 | score 0.500 → 0.500 |"), "{}", told[2]);
    assert!(
        told[3].contains("agent 0 | edit/p1 epoch 0 | scored | score 0.500")
            && told[3].contains("\nagent 1 | edit/p1 epoch 1 |")
    );
    assert!(told[4].contains("no agent has done a problem `p9`"));
    assert!(
        told[5].contains("2 files differ\n--- a/src/main.rs")
            && told[5].contains("+fn main() { run() }"),
        "{}",
        told[5]
    );
    assert!(told[6].contains("1 files differ") && told[6].contains("+new"));
    assert!(told[7].contains("there is no difference"));
    assert!(told[8].contains("there is no agent 7; the archive has 0, 1"));
    assert!(told[9].contains("step 1\n</FILE>"));
}

#[test]
fn an_archive_that_cannot_be_read_is_told_to_the_model() {
    let root = tempfile::TempDir::new().unwrap();
    archive(root.path());
    std::fs::write(root.path().join("results.jsonl"), "{\"agent\":0}\n").unwrap();
    for (view, problem) in [(Some(root.path()), "line 1 of "), (None, "this job has no archive")] {
        let trial = Trial::with(|job| {
            job.role = Role::Improve;
            job.archive = view.map(|path| path.display().to_string());
        });
        trial.server.script("main", agent("archive_explorer", &[("task", "Look.")]));
        trial.server.script("archive_explorer", tool("best_problems", &[("agent", "0")]));
        trial.server.script("archive_explorer", tool("return_result", &[("result", "found")]));
        trial.server.script("main", tool("complete", &[]));
        trial.succeed();
        let asked = trial.server.asked("archive_explorer");
        assert!(asked[1].message(-1).contains(problem), "{}", asked[1].message(-1));
    }
}
