//! The kind `edit`: make a file equal to a target.

pub mod build;
pub mod lines;
pub mod score;
mod sequence;
pub mod sica;

use crate::block;
use crate::kind::{Collect, Kind, ProblemError};
use crate::submission::{Found, Score, ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use serde::{Deserialize, Serialize};

/// What a problem of this kind keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditData {
    /// The file, relative to the work directory.
    pub path: String,
    /// What the file shall be.
    pub target: String,
    /// Where the change comes from, such as a commit: for people.
    pub origin: String,
}

/// The formula that turns a file into a score; the suite's option `scoring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// The share of the change that is there, balanced against damage, see [`score::score`].
    Change,
    /// The paper's own formula, see [`sica::score`].
    Sica,
}

impl Scoring {
    fn of(suite: &Suite) -> Result<Self, SuiteError> {
        match suite.option("scoring") {
            None | Some("change") => Ok(Scoring::Change),
            Some("sica") => Ok(Scoring::Sica),
            Some(other) => {
                Err(SuiteError::Unknown { what: "the scoring of edits", name: other.to_owned() })
            }
        }
    }
}

/// The kind `edit`.
#[derive(Debug)]
pub struct Edit;

/// Largest file that is read back, in bytes: eight times the largest target that generators take.
const BOUND: u64 = 1 << 20;

fn base(suite: &Suite, problem: &Problem, data: &EditData) -> Result<Vec<u8>, ProblemError> {
    let broken = |what: &str| SuiteError::Problem { id: problem.id.clone(), what: what.to_owned() };
    let tree = problem.tree.as_ref().ok_or_else(|| broken("it has no files to start from"))?;
    let bytes = suite.files().file(tree, &data.path)?;
    Ok(bytes.ok_or_else(|| broken("the file to edit is not among its files"))?.to_vec())
}

impl Kind for Edit {
    fn name(&self) -> &'static str {
        "edit"
    }

    fn check(&self, suite: &Suite, problem: &Problem) -> Result<(), ProblemError> {
        Scoring::of(suite)?;
        let data: EditData = problem.data()?;
        let base = base(suite, problem, &data)?;
        let what = if base == data.target.as_bytes() {
            "the file is equal to its target from the start"
        } else if !block::fits_attribute(&data.path) {
            "the path holds characters that a statement cannot show"
        } else {
            return Ok(());
        };
        Err(SuiteError::Problem { id: problem.id.clone(), what: what.to_owned() }.into())
    }

    fn statement(&self, _: &Suite, problem: &Problem) -> Result<String, ProblemError> {
        let data: EditData = problem.data()?;
        let target = block::write("TARGET", &data.path, &data.target);
        Ok(format!(
            "Make the file `{path}` equal, byte for byte, to the target below. The work directory holds the \
             file as it is now. Change that file only; the file itself is your answer, so what you submit as \
             an answer does not count.\n\n{target}\n",
            path = data.path
        ))
    }

    fn collect(&self, _: &Suite, problem: &Problem) -> Result<Collect, ProblemError> {
        Ok(Collect::Files(vec![problem.data::<EditData>()?.path]))
    }

    fn score(
        &self,
        suite: &Suite,
        problem: &Problem,
        submission: Submission<'_>,
    ) -> Result<Scored, ScoreError> {
        let scoring = Scoring::of(suite).map_err(ProblemError::from)?;
        let data: EditData = problem.data().map_err(ProblemError::from)?;
        let base = base(suite, problem, &data)?;
        let edited = match submission.read(&data.path, BOUND)? {
            Found::File(bytes) => bytes,
            Found::Missing => return Ok(Scored::new(Score::ZERO, "the file is gone")),
            Found::Refused(why) => {
                return Ok(Scored::new(
                    Score::ZERO,
                    format!("in the place of the file there is {why}"),
                ));
            }
        };
        match scoring {
            Scoring::Change => Ok(score::score(&base, data.target.as_bytes(), &edited)),
            Scoring::Sica => {
                let [base, edited] = [&base, &edited].map(|bytes| String::from_utf8_lossy(bytes));
                Ok(sica::score(&base, &data.target, &edited))
            }
        }
    }
}
