//! The rehearsal: the whole loop at no cost, the same each time, on both executors.

use hone_tests::hone::{Hone, git};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

/// The tree of each agent, by the name of its branch.
fn trees(hone: &Hone, run: &str) -> BTreeMap<String, String> {
    let format = "--format=%(refname:short) %(tree)";
    let text = git(
        &hone.run_folder(run).join("archive.git"),
        &["for-each-ref", format, "refs/heads/agents"],
    );
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

/// The score of each trial, by agent, suite, problem and epoch.
fn scores(hone: &Hone, run: &str) -> BTreeMap<String, (String, String)> {
    let file = hone.folder().join(format!("{run}.csv"));
    hone.say(["archive", "export", "--run", run, "--csv", "-o", file.to_str().unwrap()]).exits(0);
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let key = ["agent", "suite", "problem", "epoch"].map(place);
    let (verdict, score) = (place("verdict"), place("score"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let key: Vec<&str> = key.iter().map(|place| cells[*place]).collect();
            (key.join("/"), (cells[verdict].to_owned(), cells[score].to_owned()))
        })
        .collect()
}

#[test]
fn a_rehearsal_improves_the_agent_and_is_the_same_on_both_executors() {
    let hone = Hone::new();
    let run = |name: &str, sandbox: &str| {
        hone.say([
            "run",
            "-n",
            "3",
            "--suite",
            "edit,nav",
            "--seed",
            "7",
            "--run",
            name,
            "--sandbox",
            sandbox,
        ])
        .exits(0)
    };
    let said = run("contained", "docker");
    assert!(said.err.contains("stand-in"), "a rehearsal says what it is:\n{}", said.err);
    run("wrapped", "bubblewrap");
    assert_eq!(trees(&hone, "contained"), trees(&hone, "wrapped"));
    assert_eq!(scores(&hone, "contained"), scores(&hone, "wrapped"));
    assert_eq!(trees(&hone, "contained").len(), 4);

    let list = hone.say(["archive", "list", "--json", "--run", "contained"]).exits(0).json();
    let agents = list["archive"]["agents"].as_array().unwrap();
    let utility = |agent: &serde_json::Value| agent["utility"]["mean"].as_f64().unwrap_or_default();
    let best = agents.iter().map(utility).fold(0.0, f64::max);
    assert!(best > utility(&agents[0]) + 0.01, "nothing got better: {list:#}");

    let clone = hone.folder().join("clone");
    let archive = hone.run_folder("contained").join("archive.git");
    git(hone.folder(), &["clone", "--quiet", archive.to_str().unwrap(), clone.to_str().unwrap()]);
    let graph = git(&clone, &["log", "--graph", "--all", "--oneline"]);
    assert!(graph.lines().count() >= 4, "{graph}");
    let diff = git(&clone, &["diff", "--stat", "origin/agents/0", "origin/agents/1"]);
    assert!(!diff.trim().is_empty());
}

#[test]
fn an_agent_that_loops_is_nudged_then_cancelled_and_the_audit_says_why() {
    let hone = Hone::new();
    hone.say(["run", "-n", "0", "--suite", "nav", "--sandbox", "bubblewrap", "--run", "r"])
        .exits(0);
    let nudges = hone.say(["audit", "r", "--nudges"]).exits(0);
    assert!(nudges.out.contains("nudge"), "{}", nudges.out);
    let cancels = hone.say(["audit", "r", "--cancels"]).exits(0);
    assert!(cancels.out.contains("cancel"), "{}", cancels.out);
    let story = hone.say(["audit", "r"]).exits(0).out;
    let place = |word: &str| story.find(word).unwrap_or_else(|| panic!("no {word} in:\n{story}"));
    assert!(place("sends a nudge") < place("sends a cancel"), "{story}");
}
