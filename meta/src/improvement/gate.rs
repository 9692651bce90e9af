//! What a child must be able to do before it is measured: build, pass its own tests, speak the protocol, solve a
//! trivial problem of each kind, and change and rebuild its own source.

use super::binaries::{Binaries, Made};
use super::edit::{EditOrder, JobEnd, edit};
use crate::harness::Harness;
use crate::settings::JobLimits;
use crate::trial::ending::Ended;
use crate::trial::job::{JobError, Program};
use crate::trial::problem::{self, TrialOrder};
use hone_archive::record::Outcome;
use hone_archive::{AgentNumber, ConditionsId, TreeId};
use hone_benchmarks::edit::EditData;
use hone_benchmarks::files::{Entry, Files};
use hone_benchmarks::kind;
use hone_benchmarks::nav::{NavData, Place, SymbolKind};
use hone_benchmarks::suite::Draft;
use hone_benchmarks::{Problem, ProblemId, Source, Suite, SuiteError};
use hone_protocol::Role;
use hone_sandbox::{Base, SandboxError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tests that every version must have and pass, in its tree; protected.
const MANIFEST: &str = "tests/gate.txt";

/// The file of the child's own source that the self-check changes.
const OWN_FILE: &str = "src/main.rs";

/// How the gate ended.
pub enum Passage {
    /// The child passed.
    Passed,
    /// It failed.
    Failed {
        /// Why.
        reason: String,
        /// The log that shows it.
        log: String,
    },
}

/// The gate could not be held. It says nothing about the child.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// A job could not be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A file failed.
    #[error("write files of the gate")]
    File(#[from] std::io::Error),
    /// A trivial problem is broken.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A self-check failed by infrastructure.
    #[error("check the child: {0}")]
    Infrastructure(String),
    /// The money of the run is spent.
    #[error("check the child: the money of the run is spent")]
    OutOfBudget,
}

/// A child that builds.
pub struct Candidate<'a> {
    /// The number that it would get.
    pub agent: AgentNumber,
    /// The iteration.
    pub iteration: u32,
    /// Its source.
    pub source: &'a Path,
    /// Its program and build output.
    pub made: Made,
}

/// Sums what the gate's jobs took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Nano-dollars.
    pub cost: u64,
    /// Seconds, by the clock of the utility.
    pub seconds: f64,
}

/// Holds the gate.
pub async fn hold(
    harness: &Harness,
    binaries: &Binaries,
    mut child: Candidate<'_>,
    spent: &mut Spent,
) -> Result<Passage, GateError> {
    if harness.settings.gate.tests
        && let Some(failed) = own_tests(harness, binaries, &mut child).await?
    {
        return Ok(failed);
    }
    for suite in [trivial_edit()?, trivial_navigation()?] {
        if let Some(failed) = solves(harness, &child, suite, spent).await? {
            return Ok(failed);
        }
    }
    let Candidate { made: Made { program, target }, source, .. } = child;
    let base = binaries.keep_base(source, target).await?;
    let editor =
        Editor { agent: child.agent, iteration: child.iteration, source, program: &program };
    edits_itself(harness, binaries, &editor, &base, spent).await
}

/// A child that is to edit its own source.
struct Editor<'a> {
    agent: AgentNumber,
    iteration: u32,
    source: &'a Path,
    program: &'a Path,
}

async fn own_tests(
    harness: &Harness,
    binaries: &Binaries,
    child: &mut Candidate<'_>,
) -> Result<Option<Passage>, GateError> {
    let purpose = format!("agent {}", child.agent);
    let mut tests = binaries.test(harness, &purpose, child.source, &mut child.made.target).await?;
    if !tests.ending.is_success() {
        // A test that waits for the clock may fail on a machine that is busy; a broken one fails twice.
        tests = binaries.test(harness, &purpose, child.source, &mut child.made.target).await?;
    }
    let manifest = std::fs::read_to_string(child.source.join(MANIFEST)).unwrap_or_default();
    let wanted =
        manifest.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
    let passed =
        |name: &str| tests.log.lines().any(|line| line.trim() == format!("test {name} ... ok"));
    let missing: Vec<&str> = wanted.filter(|name| !passed(name)).collect();
    let reason = match (tests.ending.is_success(), missing.as_slice()) {
        (true, []) => return Ok(None),
        (true, missing) => {
            format!("tests that every version must pass did not run: {}", missing.join(", "))
        }
        (false, _) => "its own tests fail".to_owned(),
    };
    Ok(Some(Passage::Failed { reason, log: tests.log }))
}

async fn solves(
    harness: &Harness,
    child: &Candidate<'_>,
    suite: Suite,
    spent: &mut Spent,
) -> Result<Option<Passage>, GateError> {
    let mut own = harness.clone();
    own.settings = Arc::new(crate::settings::Settings {
        trial: limits(harness),
        ..(*harness.settings).clone()
    });
    let order = TrialOrder {
        agent: child.agent,
        tree: TreeId([0; 20]),
        program: Program::Agent(child.made.program.clone()),
        suite: Arc::new(suite),
        problem: 0,
        epoch: child.iteration,
        conditions: ConditionsId([0; 8]),
        attempt: 0,
    };
    let Some(done) = problem::run(&own, &order).await else {
        return Err(JobError::Interrupted(order.id()).into());
    };
    spent.cost += done.trial.cost.0;
    spent.seconds += done.trial.seconds;
    if done.out_of_budget {
        return Err(GateError::OutOfBudget);
    }
    let name = order.suite.name();
    match done.trial.outcome {
        Outcome::Scored { score } if score >= 1.0 => Ok(None),
        Outcome::InfraError | Outcome::VerifierError => {
            Err(GateError::Infrastructure(done.trial.reason))
        }
        outcome => {
            let score = outcome.score().unwrap_or_default();
            let reason = format!(
                "it does not solve the trivial problem {name}: {} with score {score:.3}",
                outcome.name()
            );
            Ok(Some(Passage::Failed { reason, log: done.trial.reason }))
        }
    }
}

/// Lets the child change a copy of its own source, and builds what comes out.
async fn edits_itself(
    harness: &Harness,
    binaries: &Binaries,
    child: &Editor<'_>,
    base: &Base,
    spent: &mut Spent,
) -> Result<Passage, GateError> {
    let work = harness.directory("gate")?;
    let source = work.path().join("source");
    copy_tree(child.source, &source)?;
    let before = std::fs::read_to_string(source.join(OWN_FILE)).unwrap_or_default();
    let target_text = format!("{before}\n// A line that the self-check of a version wrote.\n");
    let suite = edit_suite("self-edit", OWN_FILE, &before, &target_text)?;
    let statement = kind::of(&suite)?.statement(&suite, &suite.problems()[0]);
    let statement = statement.map_err(|error| GateError::Infrastructure(error.to_string()))?;
    let done = edit(
        harness,
        binaries,
        EditOrder {
            id: format!("iteration-{}/gate/self-edit", child.iteration),
            role: Role::Solve,
            editor: child.agent,
            iteration: child.iteration,
            program: child.program,
            statement,
            limits: limits(harness),
            source: &source,
            view: None,
        },
    )
    .await?;
    let JobEnd { ended, reason, cost, seconds, .. } = done.close().await?;
    spent.cost += cost.0;
    spent.seconds += seconds;
    match ended {
        Ended::OutOfBudget => return Err(GateError::OutOfBudget),
        Ended::Infrastructure => return Err(GateError::Infrastructure(reason)),
        _ => {}
    }
    let after = std::fs::read_to_string(source.join(OWN_FILE)).unwrap_or_default();
    if after != target_text {
        return Ok(Passage::Failed {
            reason: format!(
                "it cannot change its own source: {OWN_FILE} is not what was asked for"
            ),
            log: format!("the job ended: {}. {reason}", ended.name()),
        });
    }
    let program = work.path().join("program");
    match binaries.build(harness, "its own edit", &source, &program, base).await? {
        Ok(_) => Ok(Passage::Passed),
        Err(log) => Ok(Passage::Failed {
            reason: "what it made of its own source does not build".to_owned(),
            log,
        }),
    }
}

/// Returns what a job of the gate may use: a small part of what an editor may.
fn limits(harness: &Harness) -> JobLimits {
    let gate = &harness.settings.gate;
    JobLimits { seconds: gate.seconds, usd: gate.usd, ..harness.settings.trial }
}

fn trivial_edit() -> Result<Suite, SuiteError> {
    let before = "Things to bring:\n- bread\n- salt\n";
    edit_suite("gate-edit", "list.txt", before, "Things to bring:\n- bread\n- pepper\n")
}

fn edit_suite(name: &str, path: &str, before: &str, target: &str) -> Result<Suite, SuiteError> {
    let data = EditData {
        path: path.to_owned(),
        target: target.to_owned(),
        origin: "the gate".to_owned(),
    };
    suite(name, "edit", &[(path, before)], data)
}

fn trivial_navigation() -> Result<Suite, SuiteError> {
    let module = "def greeting():\n    return \"hello\"\n\n\nprint(greeting())\n";
    let place = |line, column| Place { path: "hello.py".to_owned(), line, column };
    let data = NavData {
        name: "greeting".to_owned(),
        defined: "greeting".to_owned(),
        symbol: SymbolKind::Function,
        usage: place(5, 6),
        source: "print(greeting())".to_owned(),
        answer: place(1, 4),
    };
    suite("gate-nav", "nav", &[("hello.py", module)], data)
}

fn suite(
    name: &str,
    kind: &str,
    contents: &[(&str, &str)],
    data: impl serde::Serialize,
) -> Result<Suite, SuiteError> {
    let mut files = Files::default();
    let tree = contents
        .iter()
        .map(|(path, text)| {
            let content = files.add_content(text.as_bytes());
            ((*path).to_owned(), Entry { content, executable: false })
        })
        .collect();
    let tree = files.add_tree(tree)?;
    let id = ProblemId("self-check".to_owned());
    let data = serde_json::to_value(data)
        .map_err(|error| SuiteError::Problem { id: id.clone(), what: error.to_string() })?;
    Suite::new(Draft {
        name: name.to_owned(),
        kind: kind.to_owned(),
        about: "what the gate asks of a child".to_owned(),
        source: Source::Builtin,
        seed: 0,
        options: Default::default(),
        subsets: Default::default(),
        problems: vec![Problem { id, group: None, tree: Some(tree), data }],
        files,
    })
}

/// Copies a source tree; links are copied as links.
pub fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target): (_, PathBuf) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
