//! Small archives with fixed content.

use hone_archive::record::{
    Change, Child, ChildVerdict, Conditions, Iteration, Outcome, Reason, RunStarted, SuitePlan,
    Trial, Usage, Version,
};
use hone_archive::*;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub fn change(description: &str, iteration: Option<u32>, verdict: ChildVerdict) -> Change {
    Change {
        description: description.to_owned(),
        editor: iteration.map(|_| AgentNumber(0)),
        run: iteration.map(|_| "run".to_owned()),
        iteration,
        verdict,
    }
}

pub fn write(directory: &Path, path: &str, content: &str) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Copies a folder as a user would.
pub fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Runs git in a folder and returns what it prints.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// An archive in a directory of its own, with seed and conditions.
pub struct Fixture {
    pub home: TempDir,
    pub archive: Archive,
    pub seed: Version,
    pub conditions: ConditionsId,
}

pub const PROBLEMS: u32 = 4;

pub fn plan() -> Vec<SuitePlan> {
    let of = |suite: &str| SuitePlan {
        suite: suite.to_owned(),
        digest: Digest::of(suite.as_bytes()),
        problems: (0..PROBLEMS).map(|i| format!("{suite}-{i}")).collect(),
        epochs: 1,
    };
    vec![of("edit"), of("nav")]
}

pub fn conditions() -> Conditions {
    Conditions {
        harness: "0.1.0".to_owned(),
        models: BTreeMap::from([("main".to_owned(), "rehearsal".to_owned())]),
        prices: serde_json::json!({"input": 1}),
        limits: serde_json::json!({"seconds": 300}),
        utility: UtilitySettings::default(),
        sandbox: "bubblewrap".to_owned(),
        rehearsal: true,
    }
}

pub fn run_started() -> Record {
    Record::RunStarted(RunStarted {
        run: "run".to_owned(),
        time: time(0),
        resumed: false,
        harness: "0.1.0".to_owned(),
        seed: 7,
        configuration: serde_json::json!({"policy": "best"}),
        suites: plan(),
    })
}

impl Fixture {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::create(&home.path().join("archive.git")).unwrap();
        archive.append(&run_started()).unwrap();
        let conditions = archive.conditions(&conditions()).unwrap();
        let source = home.path().join("seed");
        write(&source, "src/main.rs", "fn main() {}\n");
        write(&source, "description.txt", "The seed.\n");
        let seed = archive
            .add_version(&source, &[], &change("seed", None, ChildVerdict::Accepted), time(0))
            .unwrap();
        Fixture { home, archive, seed, conditions }
    }

    /// Copies an archive as a user would, by copying its folder.
    pub fn copy_of(other: &Fixture) -> Self {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("archive.git");
        copy(&other.path(), &to);
        let archive = Archive::open(&to).unwrap();
        Fixture { home, archive, seed: other.seed.clone(), conditions: other.conditions }
    }

    pub fn path(&self) -> PathBuf {
        self.home.path().join("archive.git")
    }

    pub fn reopen(self) -> Self {
        let Fixture { home, archive, seed, conditions } = self;
        drop(archive);
        let archive = Archive::open(&home.path().join("archive.git")).unwrap();
        Fixture { home, archive, seed, conditions }
    }

    /// Adds a version that differs from its base in one file.
    pub fn child(&self, base: AgentNumber, iteration: u32, verdict: ChildVerdict) -> Version {
        let directory = self.home.path().join(format!("child-{iteration}"));
        self.archive.checkout(base, &directory).unwrap();
        write(&directory, &format!("src/change_{iteration}.rs"), "// a change\n");
        self.archive
            .add_version(
                &directory,
                &[base],
                &change(&format!("change {iteration}"), Some(iteration), verdict),
                time(i64::from(iteration)),
            )
            .unwrap()
    }

    pub fn trial(&self, agent: &Version, suite: &str, problem: u32, outcome: Outcome) -> Record {
        Record::Trial(Trial {
            agent: agent.agent,
            tree: agent.tree,
            suite: suite.to_owned(),
            suite_digest: Digest::of(suite.as_bytes()),
            problem: format!("{suite}-{problem}"),
            epoch: 0,
            outcome,
            usage: Usage { input: 100, cache_read: 200, cache_write: 0, output: 50 },
            cost: NanoUsd(1_000_000_000),
            seconds: 30.0,
            wall_seconds: 31.0,
            reason: String::new(),
            trace: None,
            conditions: self.conditions,
            run: "run".to_owned(),
            time: time(100),
        })
    }

    /// Measures an agent completely: the same score everywhere.
    pub fn measure(&self, agent: &Version, score: f64) {
        for plan in plan() {
            for problem in 0..PROBLEMS {
                let outcome = Outcome::Scored { score };
                self.archive.append(&self.trial(agent, &plan.suite, problem, outcome)).unwrap();
            }
        }
    }

    /// Chooses with a policy, and records the iteration.
    pub fn iterate(&self, iteration: u32, policy: PolicyName, seed: u64) -> Iteration {
        let choice = self.archive.choose(policy, seed, &[]).unwrap().unwrap();
        let record = Iteration {
            run: "run".to_owned(),
            iteration,
            time: time(i64::from(iteration)),
            base: choice.agent,
            editor: choice.agent,
            base_policy: policy.to_string(),
            editor_policy: "same".to_owned(),
            seed,
            reasons: choice.condensed(50),
            editor_reasons: Vec::<Reason>::new(),
            rescue: None,
        };
        self.archive.append(&Record::Iteration(record.clone())).unwrap();
        record
    }

    pub fn judge(
        &self,
        iteration: u32,
        agent: Option<AgentNumber>,
        verdict: ChildVerdict,
    ) -> Child {
        let child = Child {
            run: "run".to_owned(),
            iteration,
            time: time(i64::from(iteration)),
            agent,
            verdict,
            reason: "because".to_owned(),
            description: format!("change {iteration}"),
            log: None,
            repairs: 0,
            editor_ended: "complete".to_owned(),
            cost: NanoUsd(500_000_000),
            seconds: 60.0,
            wall_seconds: 61.0,
            trace: None,
        };
        self.archive.append(&Record::Child(child.clone())).unwrap();
        child
    }
}
