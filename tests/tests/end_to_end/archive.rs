//! `hone archive` on a small archive with fixed content.

#![allow(clippy::unwrap_used)] // what cannot be made fails its test

use hone_archive::record::{
    Change, Child, ChildVerdict, Conditions, Iteration, Log, Outcome, RunStarted, SuitePlan, Trial,
    Usage,
};
use hone_archive::{
    AgentNumber, Archive, ConditionsId, Digest, NanoUsd, PolicyName, Record, UtilitySettings,
};
use hone_tests::hone::{Hone, git};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

struct Maker {
    archive: Archive,
    conditions: ConditionsId,
    source: tempfile::TempDir,
}

/// Makes a run with a seed, one better child, and one that does not build.
fn run_with_three_agents(hone: &Hone, run: &str) -> Maker {
    let folder = hone.run_folder(run);
    std::fs::create_dir_all(folder.join("traces")).unwrap();
    std::fs::write(folder.join("run.json"), "{}").unwrap();
    let archive = Archive::create(&folder.join("archive.git")).unwrap();
    let plan = SuitePlan {
        suite: "edit".to_owned(),
        digest: Digest::of(b"edit"),
        problems: (0..4).map(|i| format!("edit-{i}")).collect(),
        epochs: 1,
    };
    let started = RunStarted {
        run: run.to_owned(),
        time: time(0),
        resumed: false,
        harness: "0.1.0".to_owned(),
        seed: 7,
        configuration: serde_json::json!({}),
        suites: vec![plan],
    };
    archive.append(&Record::RunStarted(started)).unwrap();
    let conditions = Conditions {
        harness: "0.1.0".to_owned(),
        models: BTreeMap::from([("main".to_owned(), "rehearsal".to_owned())]),
        prices: serde_json::json!({}),
        limits: serde_json::json!({}),
        utility: UtilitySettings::default(),
        sandbox: "bubblewrap".to_owned(),
        rehearsal: true,
    };
    let conditions = archive.conditions(&conditions).unwrap();
    let maker = Maker { archive, conditions, source: tempfile::tempdir().unwrap() };
    maker.version(run, None, "the seed", ChildVerdict::Accepted);
    maker.measure(run, 0, [1.0, 0.0, 0.0, 0.0]);
    for (iteration, description, verdict) in [
        (1, "Read a file before it is edited.", ChildVerdict::Accepted),
        (2, "Think twice.", ChildVerdict::NotBuilt),
    ] {
        maker.iteration(run, iteration);
        maker.version(run, Some(iteration), description, verdict);
        maker.child(run, iteration, description, verdict);
        if verdict == ChildVerdict::Accepted {
            maker.measure(run, iteration, [1.0, 1.0, 1.0, 0.0]);
        }
    }
    maker.archive.commit().unwrap();
    maker
}

impl Maker {
    fn version(&self, run: &str, iteration: Option<u32>, description: &str, verdict: ChildVerdict) {
        let source = self.source.path();
        std::fs::write(source.join("Cargo.toml"), "[workspace]\n").unwrap();
        std::fs::write(source.join("main.rs"), format!("// {description}\n")).unwrap();
        let change = Change {
            description: description.to_owned(),
            editor: iteration.map(|it| AgentNumber(it - 1)),
            run: iteration.map(|_| run.to_owned()),
            iteration,
            verdict,
        };
        let parents: Vec<_> = iteration.map(|it| AgentNumber(it - 1)).into_iter().collect();
        let time = time(i64::from(iteration.unwrap_or(0)));
        self.archive.add_version(source, &parents, &change, time).unwrap();
    }

    fn measure(&self, run: &str, agent: u32, scores: [f64; 4]) {
        let version = self.archive.version(AgentNumber(agent)).unwrap();
        for (problem, score) in scores.into_iter().enumerate() {
            let trial = Trial {
                agent: version.agent,
                tree: version.tree,
                suite: "edit".to_owned(),
                suite_digest: Digest::of(b"edit"),
                problem: format!("edit-{problem}"),
                epoch: 0,
                outcome: Outcome::Scored { score },
                usage: Usage { input: 100, cache_read: 200, cache_write: 0, output: 50 },
                cost: NanoUsd(20_000_000),
                seconds: 30.0,
                wall_seconds: 31.0,
                reason: String::new(),
                trace: None,
                conditions: self.conditions,
                run: run.to_owned(),
                time: time(100),
            };
            self.archive.append(&Record::Trial(trial)).unwrap();
        }
    }

    fn iteration(&self, run: &str, iteration: u32) {
        let choice = self.archive.choose(PolicyName::Best, 7, &[]).unwrap().unwrap();
        let record = Iteration {
            run: run.to_owned(),
            iteration,
            time: time(i64::from(iteration)),
            base: choice.agent,
            editor: choice.agent,
            base_policy: "best".to_owned(),
            editor_policy: "same".to_owned(),
            seed: 7,
            reasons: choice.condensed(50),
            editor_reasons: Vec::new(),
            rescue: None,
        };
        self.archive.append(&Record::Iteration(record)).unwrap();
    }

    fn child(&self, run: &str, iteration: u32, description: &str, verdict: ChildVerdict) {
        let failed = verdict != ChildVerdict::Accepted;
        let child = Child {
            run: run.to_owned(),
            iteration,
            time: time(i64::from(iteration)),
            agent: Some(AgentNumber(iteration)),
            verdict,
            reason: if failed { "error[E0425]: cannot find value `x`" } else { "" }.to_owned(),
            description: description.to_owned(),
            log: failed.then(|| Log { digest: None, tail: "error: one\nerror: two".to_owned() }),
            repairs: u32::from(failed),
            editor_ended: "complete".to_owned(),
            cost: NanoUsd(500_000_000),
            seconds: 60.0,
            wall_seconds: 61.0,
            trace: None,
        };
        self.archive.append(&Record::Child(child)).unwrap();
    }
}

#[test]
fn the_archive_is_listed_with_intervals_and_the_best_is_named() {
    let hone = Hone::new();
    run_with_three_agents(&hone, "one");
    let list = hone.say(["archive", "list"]).exits(0);
    insta::assert_snapshot!(list.out, @r"
    agent  base  verdict    utility        edit           cost/trial  time/trial    spent  what changed
        0        accepted   0.600 ± 0.212  0.250 ± 0.424     $0.0200        30 s  $0.0800  the seed
        1     0  accepted   0.850 ± 0.212  0.750 ± 0.424     $0.0200        30 s    $0.58  Read a file before it is edited.
        2     1  not built  –              –                       –           –    $0.50  Think twice.
    3 agents; the best is agent 1; $1.16 spent
    rehearsal: the model is an embedded stand-in; the numbers test the harness, not a model
    ");
    let best = hone.say(["archive", "best", "--json"]).exits(0).json();
    assert_eq!(best["best"]["agent"]["agent"], 1);
    assert_eq!(best["best"]["rehearsal"], true);
    let newest = hone.say(["archive", "list", "--last", "1", "--json"]).exits(0).json();
    assert_eq!(newest["archive"]["agents"].as_array().unwrap().len(), 1);
    assert_eq!(newest["archive"]["agents"][0]["verdict"], "not_built");
}

#[test]
fn an_agent_is_shown_with_its_origin_verdict_log_and_trials() {
    let hone = Hone::new();
    run_with_three_agents(&hone, "one");
    let failed = hone.say(["archive", "show", "2"]).exits(0).out;
    let failed: String = failed
        .lines()
        .filter(|line| !line.starts_with("commit") && !line.starts_with("tree"))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(failed, @r"
    agent       2
    base        1
    editor      1
    made in     iteration 2 of one
    time        2027-01-15T08:00:02Z
    verdict     not built
    children    0 accepted
    change      Think twice.
    reason      error[E0425]: cannot find value `x`
    editing     $0.50 and 60 s; the editor's job ended: complete; 1 repair
    log         error: one
                error: two
    utility     –
    rehearsal: the model is an embedded stand-in; the numbers test the harness, not a model
    ");
    let seed = hone.say(["archive", "show", "0", "--trials", "--json"]).exits(0).json();
    let trials = seed["agent"]["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    assert_eq!(trials[0]["trial"]["problem"], "edit-0");
}

#[test]
fn a_choice_is_explained_with_its_numbers_and_what_came_of_it() {
    let hone = Hone::new();
    run_with_three_agents(&hone, "one");
    let said = hone.say(["archive", "explain", "2"]).exits(0);
    insta::assert_snapshot!(said.out, @r"
    iteration 2: agent 1 was edited, by agent 1
    seed 7, 2027-01-15T08:00:02Z

    why this base (policy best):
       agent  utility        weight
           0  0.600 ± 0.212   0.000
    →      1  0.850 ± 0.212   1.000

    what came of it: agent 2, not built: error[E0425]: cannot find value `x`
    what changed: Think twice.
    rehearsal: the model is an embedded stand-in; the numbers test the harness, not a model
    ");
    let json = hone.say(["archive", "explain", "2", "--json"]).exits(0).json();
    assert_eq!(json["explanation"]["iteration"]["reasons"][1]["weight"], 1.0);
}

#[test]
fn lineage_and_differences_are_shown() {
    let hone = Hone::new();
    run_with_three_agents(&hone, "one");
    let lineage = hone.say(["archive", "lineage"]).exits(0);
    insta::assert_snapshot!(lineage.out, @r"
    0  0.600 ± 0.212  the seed
    1  0.850 ± 0.212  Read a file before it is edited.
    2  not built  Think twice.
    rehearsal: the model is an embedded stand-in; the numbers test the harness, not a model
    ");
    let diff = hone.say(["archive", "diff", "1"]).exits(0).out;
    assert!(diff.contains("-// the seed\n+// Read a file"), "{diff}");
    assert_eq!(hone.say(["archive", "diff", "0", "1"]).exits(0).out, diff);
    assert!(hone.say(["archive", "diff", "0"]).exits(2).err.contains("no base"));
}

#[test]
fn an_agent_checked_out_can_be_changed_and_imported_as_a_child() {
    let hone = Hone::new();
    run_with_three_agents(&hone, "one");
    hone.say(["archive", "checkout", "1", "mine"]).exits(0);
    let mine = hone.folder().join("mine");
    assert_eq!(git(&mine, &["log", "--format=%s"]), "Read a file before it is edited.\nthe seed\n");
    std::fs::write(mine.join("main.rs"), "// by hand\n").unwrap();
    let import = ["archive", "import", "mine", "--base", "1", "--description", "by hand", "--json"];
    let imported = hone.say(import).exits(0).json();
    assert_eq!(imported["imported"]["version"]["agent"], 3);
    assert_eq!(imported["imported"]["version"]["parents"][0], 1);
    let diff = hone.say(["archive", "diff", "3"]).exits(0).out;
    assert!(diff.contains("+// by hand"), "{diff}");
    // What is there is not written over.
    hone.say(["archive", "checkout", "1", "mine"]).exits(2);
    assert!(hone.say(["archive", "import", "nowhere"]).exits(2).err.contains("nowhere"));
}

#[test]
fn trials_and_versions_are_exported_as_csv_and_json() {
    let hone = Hone::new();
    run_with_three_agents(&hone, "one");
    let csv = hone.say(["archive", "export", "--csv"]).exits(0).out;
    assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
    assert!(
        csv.lines().nth(1).unwrap().contains(",scored,1,0.9745,100,200,0,50,0.02,30,"),
        "{csv}"
    );
    let json = hone.say(["archive", "export", "--json", "--what", "versions"]).exits(0).json();
    assert_eq!(json["versions"].as_array().unwrap().len(), 3);
    let trials = hone.say(["archive", "export", "--json"]).exits(0).json();
    assert_eq!(trials["trials"][0]["utility"], 0.9745);
    hone.say(["archive", "export", "--what", "versions", "-o", "v.csv"]).exits(0);
    let file = std::fs::read_to_string(hone.folder().join("v.csv")).unwrap();
    assert_eq!(file.lines().count(), 4);
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let hone = Hone::new();
    assert!(hone.say(["archive", "list"]).exits(2).err.contains("hone run"));
    run_with_three_agents(&hone, "one");
    for (arguments, words) in [
        (["archive", "show", "9"].as_slice(), "agents 0 to 2"),
        (&["archive", "explain", "3"], "iterations 1, 2"),
        (&["archive", "diff", "0", "7"], "agents 0 to 2"),
        (&["archive", "list", "--run", "two"], "are one"),
        (&["archive", "import", ".", "--base", "9"], "Cargo.toml"),
    ] {
        let said = hone.say(arguments).exits(2);
        assert!(said.err.contains(words), "{words:?} is not in {}", said.err);
    }
    std::fs::create_dir_all(hone.run_folder("bare")).unwrap();
    std::fs::write(hone.run_folder("bare").join("run.json"), "{}").unwrap();
    assert!(hone.say(["archive", "list", "--run", "bare"]).exits(1).err.contains("none yet"));
}
