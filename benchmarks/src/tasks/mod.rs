//! The kind `tasks`: a folder for each problem, with a verifier of its own.
//!
//! The agent's work directory is taken out of its sandbox and put into a fresh one, from the same root file system; then the
//! verifier's files come in and the verifier runs. So nothing that the agent left outside of the work directory, and no
//! process of its, is there when it is judged.

mod grade;
pub mod import;

use crate::digest::Digest;
use crate::kind::{Collect, Environment, GradingRoom, Kind, ProblemError, Root};
use crate::submission::{ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// How a verifier says what the work is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reward {
    /// By its exit code; where that is 0, by a number in `reward.txt` if it wrote one.
    ExitCode,
    /// By `reward.txt` or `reward.json` alone, as Harbor and Terminal-Bench have it.
    File,
}

/// What a problem of this kind keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskData {
    /// What the agent is told.
    pub instruction: String,
    /// The image; without it the image of `dockerfile`, and without both the host's programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The tree with a `Dockerfile` that the image is built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dockerfile: Option<Digest>,
    /// The absolute path of the work directory.
    pub workdir: String,
    /// A shell script that runs before the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// The verifier's files, which are put into `/tests`.
    pub verifier: Digest,
    /// The verifier's command.
    pub command: Vec<String>,
    /// How it says what the work is worth.
    pub reward: Reward,
    /// Seconds that it may take.
    pub verifier_seconds: f64,
}

/// The kind `tasks`.
#[derive(Debug)]
pub struct Tasks;

fn root(data: &TaskData) -> Root {
    match (&data.image, data.dockerfile) {
        (Some(image), _) => Root::Image(image.clone()),
        (None, Some(tree)) => Root::Dockerfile(tree),
        (None, None) => Root::Host,
    }
}

impl Kind for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn check(&self, suite: &Suite, problem: &Problem) -> Result<(), ProblemError> {
        let data: TaskData = problem.data()?;
        suite.files().tree(&data.verifier)?;
        if let Some(tree) = &data.dockerfile {
            suite.files().tree(tree)?;
        }
        let what = if data.instruction.trim().is_empty() {
            "it has no instruction"
        } else if !data.workdir.starts_with('/') || data.workdir == "/" {
            "its work directory is no absolute path below /"
        } else if !(data.verifier_seconds.is_finite() && data.verifier_seconds > 0.0) {
            "its verifier has no time"
        } else if data.command.is_empty() {
            "its verifier has no command"
        } else {
            return Ok(());
        };
        Err(SuiteError::Problem { id: problem.id.clone(), what: what.to_owned() }.into())
    }

    fn statement(&self, _: &Suite, problem: &Problem) -> Result<String, ProblemError> {
        Ok(problem.data::<TaskData>()?.instruction)
    }

    fn environment(&self, _: &Suite, problem: &Problem) -> Result<Environment, ProblemError> {
        let data: TaskData = problem.data()?;
        let root = root(&data);
        Ok(Environment {
            root,
            workdir: data.workdir,
            variables: Vec::new(),
            prepare: data.prepare,
        })
    }

    fn collect(&self, _: &Suite, _: &Problem) -> Result<Collect, ProblemError> {
        Ok(Collect::Workdir)
    }

    fn grade<'a>(
        &'a self,
        suite: &'a Suite,
        problem: &'a Problem,
        submission: Submission<'a>,
        room: GradingRoom<'a>,
    ) -> BoxFuture<'a, Result<Scored, ScoreError>> {
        Box::pin(async move {
            let data: TaskData = problem.data().map_err(ProblemError::from)?;
            grade::grade(suite, &data, &root(&data), &problem.id.0, submission, room).await
        })
    }
}
