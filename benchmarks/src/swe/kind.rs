//! SWE-bench as a kind of benchmark: an agent repairs a repository, hidden tests judge the patch.

use super::evaluate::{EvaluationRequest, LOG_LIMIT, TEST_TIME, Verdict, evaluate};
use super::guard::objection;
use super::history::{EXTRACTED, EXTRACTED_FILE, WORK, cut_history, extract_patch};
use super::patch::counted;
use super::row::Row;
use crate::kind::{Collect, Environment, GradingRoom, Kind, ProblemError, Root};
use crate::room::Rooms;
use crate::submission::{Found, Score, ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use futures::future::BoxFuture;

/// The largest patch that is accepted.
const PATCH_LIMIT: u64 = 64 << 20;

/// Is the kind `swe`.
#[derive(Debug)]
pub struct Swe;

fn row(problem: &Problem) -> Result<Row, SuiteError> {
    Row::from_problem(&problem.data)
        .map_err(|source| SuiteError::Problem { id: problem.id.clone(), what: source.to_string() })
}

impl Kind for Swe {
    fn name(&self) -> &'static str {
        "swe"
    }

    fn check(&self, _: &Suite, problem: &Problem) -> Result<(), ProblemError> {
        row(problem)?;
        Ok(())
    }

    fn statement(&self, suite: &Suite, problem: &Problem) -> Result<String, ProblemError> {
        let row = row(problem)?;
        let mut text = format!(
            "The repository {} lies in {WORK}, its environment is active. Solve the issue below by changing the \
             repository's source, so that hidden tests of the described behaviour pass and tests that pass now still \
             do. What counts is the state of the files when you end; there is nothing to commit. Changes of test \
             files, and of files that steer a test run (conftest.py, pytest.ini, setup.cfg and the like), do not \
             count.\n\n<ISSUE>\n{}\n</ISSUE>\n",
            row.repository, row.problem_statement
        );
        if suite.option("hints") == Some("shown") && !row.hints.is_empty() {
            text.push_str(&format!("\n<HINTS>\n{}\n</HINTS>\n", row.hints));
        }
        Ok(text)
    }

    fn environment(&self, _: &Suite, problem: &Problem) -> Result<Environment, ProblemError> {
        let conda = "/opt/miniconda3";
        let environment = format!("{conda}/envs/testbed");
        let path = format!(
            "{environment}/bin:{conda}/condabin:{conda}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        );
        let variables = [
            ("PATH", path.as_str()),
            ("CONDA_PREFIX", &environment),
            ("CONDA_DEFAULT_ENV", "testbed"),
            ("CONDA_SHLVL", "2"),
            ("CONDA_PREFIX_1", conda),
            ("CONDA_EXE", "/opt/miniconda3/bin/conda"),
            ("CONDA_PYTHON_EXE", "/opt/miniconda3/bin/python"),
            ("CONDA_PROMPT_MODIFIER", "(testbed) "),
        ];
        Ok(Environment {
            root: Root::Image(row(problem)?.image),
            workdir: WORK.to_owned(),
            variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            prepare: Some(cut_history()),
        })
    }

    fn collect(&self, _: &Suite, _: &Problem) -> Result<Collect, ProblemError> {
        Ok(Collect::Script { script: extract_patch(), folder: EXTRACTED.to_owned() })
    }

    fn grade<'a>(
        &'a self,
        _: &'a Suite,
        problem: &'a Problem,
        submission: Submission<'a>,
        room: GradingRoom<'a>,
    ) -> BoxFuture<'a, Result<Scored, ScoreError>> {
        Box::pin(async move { score_trial(room.rooms()?, problem, submission).await })
    }
}

/// Scores a submission in a fresh room: 1 where the instance is resolved and nothing speaks against the log, else 0.
///
/// The details hold the prediction's patch, the official report, and what did not count.
pub async fn score_trial(
    rooms: &dyn Rooms,
    problem: &Problem,
    submission: Submission<'_>,
) -> Result<Scored, ScoreError> {
    let row = row(problem).map_err(ProblemError::from)?;
    let patch = match submission.read(EXTRACTED_FILE, PATCH_LIMIT)? {
        Found::File(patch) => patch,
        Found::Missing => {
            return Err(ScoreError::Infrastructure("no patch was extracted".to_owned()));
        }
        Found::Refused(why) => return Ok(Scored::new(Score::ZERO, format!("the patch is {why}"))),
    };
    let (counting, left_out) = counted(&patch, &row.test_patch, &row.patch);
    let details = |report: Option<&str>| {
        serde_json::json!({
            "instance_id": row.instance_id,
            "model_patch": String::from_utf8_lossy(&patch),
            "left_out": left_out,
            "report": report.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok()),
        })
    };
    let zero =
        |why: String, report| Ok(Scored { score: Score::ZERO, why, details: details(report) });
    if counting.is_empty() {
        let why = match patch.is_empty() {
            true => "nothing was changed".to_owned(),
            false => format!("nothing that counts was changed; left out: {}", left_out.join(", ")),
        };
        return zero(why, None);
    }
    let request = EvaluationRequest {
        row: &row,
        model: "hone",
        patch: &counting,
        timeout: TEST_TIME,
        log_limit: LOG_LIMIT,
        label: &format!("verify {}", row.instance_id),
    };
    let evaluation = evaluate(rooms, &request)
        .await
        .map_err(|error| ScoreError::Infrastructure(error.to_string()))?;
    let log = evaluation.log.unwrap_or_default();
    match evaluation.verdict {
        Verdict::NotApplied => zero("the patch does not apply".to_owned(), None),
        Verdict::TimedOut => {
            zero(format!("the tests did not end in {} s", TEST_TIME.as_secs()), None)
        }
        Verdict::LogTooLong => zero(format!("the tests printed more than {LOG_LIMIT} bytes"), None),
        Verdict::Ungradable(error) => zero(error.to_string(), None),
        Verdict::Graded { resolved: false, report } => {
            zero("not resolved".to_owned(), Some(&report))
        }
        Verdict::Graded { resolved: true, report } => match objection(&row.labels, &log, true) {
            Some(objection) => zero(format!("not accepted: {objection}"), Some(&report)),
            None => Ok(Scored {
                score: Score::ONE,
                why: "resolved".to_owned(),
                details: details(Some(&report)),
            }),
        },
    }
}
