//! The trait of a kind of benchmark, and the list of all kinds.

use crate::digest::Digest;
use crate::room::Rooms;
use crate::submission::{ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use futures::future::BoxFuture;
use std::path::Path;

/// Every kind there is. A new kind is one file and one line here.
static KINDS: &[&dyn Kind] = &[
    &crate::code::Code,
    &crate::edit::Edit,
    &crate::nav::Nav,
    &crate::qa::Qa,
    &crate::swe::kind::Swe,
    &crate::tasks::Tasks,
];

/// Returns the kind with a name.
pub fn find(name: &str) -> Option<&'static dyn Kind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// Returns the kind of a suite.
pub fn of(suite: &Suite) -> Result<&'static dyn Kind, SuiteError> {
    let name = &suite.manifest().kind;
    find(name).ok_or_else(|| SuiteError::Unknown { what: "the kind", name: name.clone() })
}

/// Checks every problem of a suite.
pub fn check_all(suite: &Suite) -> Result<(), SuiteError> {
    let kind = of(suite)?;
    for problem in suite.problems() {
        kind.check(suite, problem).map_err(|error| match error {
            ProblemError::Suite(error) => error,
            other => SuiteError::Problem { id: problem.id.clone(), what: other.to_string() },
        })?;
    }
    Ok(())
}

/// Returns the names of all kinds.
pub fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name())
}

/// Why a problem cannot be put before an agent.
#[derive(Debug, thiserror::Error)]
pub enum ProblemError {
    /// Its data, or the suite, is broken.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The machine lacks something that the problem needs, such as an image; the text says how to get it.
    #[error("prepare problem {id}: {what}")]
    Missing {
        /// The problem.
        id: String,
        /// What is missing, and how to get it.
        what: String,
    },
}

impl From<crate::files::FilesError> for ProblemError {
    fn from(source: crate::files::FilesError) -> Self {
        ProblemError::Suite(source.into())
    }
}

/// The root file system that a problem is worked on in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The programs of the host, read-only.
    Host,
    /// A container image.
    Image(String),
    /// An image to be built from a tree of the suite's files that holds a `Dockerfile`; write it out with
    /// [`crate::files::Files::write_tree`].
    Dockerfile(Digest),
}

/// Where and how an agent works on a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The root file system.
    pub root: Root,
    /// The absolute path of the work directory. With [`Root::Host`] the directory of
    /// [`Kind::set_up`] is put there; an image may hold it already.
    pub workdir: String,
    /// Variables for the agent and for what it runs.
    pub variables: Vec<(String, String)>,
    /// A shell script that the harness runs in the sandbox before the agent starts.
    pub prepare: Option<String>,
}

impl Default for Environment {
    fn default() -> Self {
        Environment {
            root: Root::Host,
            workdir: "/work".to_owned(),
            variables: Vec::new(),
            prepare: None,
        }
    }
}

/// What to take out of a sandbox after the agent has ended and before the sandbox goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collect {
    /// Nothing: the answer is all.
    Answer,
    /// These files, by their paths relative to the work directory; one that is missing is no error.
    Files(Vec<String>),
    /// The whole work directory.
    Workdir,
    /// What a shell script leaves in a folder. The harness runs it in the sandbox after every
    /// process of the agent is gone, and copies the folder out.
    Script {
        /// The script, run with `sh -c` in the work directory.
        script: String,
        /// The absolute path of the folder in the sandbox.
        folder: String,
    },
}

/// Where scoring that runs something may run it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct GradingRoom<'a> {
    /// A directory for the scorer's own files, empty at first; the caller removes it.
    pub scratch: &'a Path,
    /// Fresh sandboxes; kinds whose scoring is a pure function do without.
    pub rooms: Option<&'a dyn Rooms>,
}

impl<'a> GradingRoom<'a> {
    /// Makes a room without sandbox, enough for kinds whose scoring is a pure function.
    pub fn new(scratch: &'a Path) -> Self {
        GradingRoom { scratch, rooms: None }
    }

    /// Adds fresh sandboxes.
    pub fn with_rooms(self, rooms: &'a dyn Rooms) -> Self {
        GradingRoom { rooms: Some(rooms), ..self }
    }

    /// Returns the sandboxes, or says that scoring needs them.
    pub fn rooms(&self) -> Result<&'a dyn Rooms, ScoreError> {
        let missing = || ScoreError::Infrastructure("scoring this kind needs a sandbox".to_owned());
        self.rooms.ok_or_else(missing)
    }
}

/// A kind of benchmark.
pub trait Kind: Send + Sync {
    /// Returns the name, as manifests give it.
    fn name(&self) -> &'static str;

    /// Checks that a problem has all that the kind needs; done for each problem of a suite before a run.
    fn check(&self, suite: &Suite, problem: &Problem) -> Result<(), ProblemError>;

    /// Returns what the agent is told, verbatim.
    fn statement(&self, suite: &Suite, problem: &Problem) -> Result<String, ProblemError>;

    /// Returns where the agent works.
    fn environment(&self, _: &Suite, _: &Problem) -> Result<Environment, ProblemError> {
        Ok(Environment::default())
    }

    /// Fills the directory, empty so far, that becomes the work directory.
    fn set_up(&self, suite: &Suite, problem: &Problem, dir: &Path) -> Result<(), ProblemError> {
        match &problem.tree {
            Some(tree) => Ok(suite.files().write_tree(tree, dir)?),
            None => Ok(()),
        }
    }

    /// Returns what to take out of the sandbox.
    fn collect(&self, suite: &Suite, problem: &Problem) -> Result<Collect, ProblemError>;

    /// Scores a submission without running anything. Kinds that have to run something leave this out and
    /// override [`Kind::grade`].
    fn score(
        &self,
        suite: &Suite,
        problem: &Problem,
        submission: Submission<'_>,
    ) -> Result<Scored, ScoreError> {
        let _ = (suite, problem, submission);
        Err(ScoreError::Verifier(format!("{} problems are scored in a sandbox", self.name())))
    }

    /// Scores a submission: what a trial calls.
    fn grade<'a>(
        &'a self,
        suite: &'a Suite,
        problem: &'a Problem,
        submission: Submission<'a>,
        room: GradingRoom<'a>,
    ) -> BoxFuture<'a, Result<Scored, ScoreError>> {
        let _ = room;
        Box::pin(async move { self.score(suite, problem, submission) })
    }
}
