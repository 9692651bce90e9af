//! Evaluates one patch in a fresh container, step by step as the official harness does.

use std::path::Path;
use std::time::Duration;

use super::eval_script::eval_script;
use super::grade::{GradeError, grade};
use super::history::WORK;
use super::json::PyString;
use super::patch::{ATTEMPTS, CLEAN, PATCH_FILE, REVERSE_CHECK};
use super::prediction::{ModelPatch, Prediction};
use super::row::Row;
use super::summary::file;
use crate::room::{Call, Ended, Ending, Room, RoomError, Rooms};

/// The official time for an instance's tests.
pub const TEST_TIME: Duration = Duration::from_secs(1800);
/// The longest log that is kept whole. The longest that SWE-bench itself produced is below 25 MB.
pub const LOG_LIMIT: usize = 512 << 20;
/// Where the script of the tests lies, as in the official harness.
const SCRIPT_FOLDER: &str = "/";
const STEP_TIME: Duration = Duration::from_secs(300);
const STEP_OUTPUT: usize = 4 << 20;

/// Says what to evaluate and within which bounds.
#[derive(Debug, Clone)]
pub struct EvaluationRequest<'a> {
    /// The instance.
    pub row: &'a Row,
    /// Who made the patch.
    pub model: &'a str,
    /// The patch.
    pub patch: &'a [u8],
    /// The time for the tests.
    pub timeout: Duration,
    /// The longest log that is accepted, in bytes.
    pub log_limit: usize,
    /// What the container is for.
    pub label: &'a str,
}

/// Says what an evaluation found.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The log was graded.
    Graded {
        /// Whether the instance counts as resolved.
        resolved: bool,
        /// The official report.
        report: String,
    },
    /// No attempt applied the patch.
    NotApplied,
    /// The tests took too long.
    TimedOut,
    /// The log is longer than the limit; what is kept of it is no whole account.
    LogTooLong,
    /// The log cannot be graded; the official harness fails on it too.
    Ungradable(GradeError),
}

/// Is a finished evaluation.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The verdict.
    pub verdict: Verdict,
    /// The log of the test run, where it came so far.
    pub log: Option<Vec<u8>>,
    /// What the harness did, for people.
    pub steps: String,
    /// The script that was run.
    pub script: String,
}

impl Evaluation {
    /// Says whether the instance counts as resolved.
    pub fn is_resolved(&self) -> bool {
        matches!(self.verdict, Verdict::Graded { resolved: true, .. })
    }
}

/// Says why there is no verdict. The trial is unscored.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The sandbox failed.
    #[error("evaluate {instance_id}: {source}")]
    Room {
        /// The instance.
        instance_id: String,
        /// What failed.
        source: RoomError,
    },
    /// A file of the harness cannot be written.
    #[error("evaluate {instance_id}: write the patch: {source}")]
    Scratch {
        /// The instance.
        instance_id: String,
        /// Why.
        source: std::io::Error,
    },
    /// A step of the harness, not of the tests, did not end.
    #[error("evaluate {instance_id}: `{step}` {what}")]
    Step {
        /// The instance.
        instance_id: String,
        /// The command.
        step: String,
        /// How it ended.
        what: String,
    },
}

/// Evaluates a patch. The container is gone afterwards, whatever happens.
pub async fn evaluate(
    rooms: &dyn Rooms,
    request: &EvaluationRequest<'_>,
) -> Result<Evaluation, EvaluateError> {
    let failed =
        |source| EvaluateError::Room { instance_id: request.row.instance_id.clone(), source };
    let room = rooms.open(&request.row.image, request.label).await.map_err(failed)?;
    let mut steps = Steps::new(&*room, &request.row.instance_id);
    let evaluated = run(&mut steps, request).await;
    let text = std::mem::take(&mut steps.text);
    room.close().await.map_err(failed)?;
    let (verdict, log, script) = evaluated?;
    Ok(Evaluation { verdict, log, steps: text, script })
}

async fn run(
    steps: &mut Steps<'_>,
    request: &EvaluationRequest<'_>,
) -> Result<(Verdict, Option<Vec<u8>>, String), EvaluateError> {
    let script = eval_script(&request.row.eval_script);
    steps.put_files(request.patch, &script).await?;
    if !steps.apply().await? {
        return Ok((Verdict::NotApplied, None, script));
    }
    let before = steps.difference().await?;
    steps.say(&format!("Git diff before:\n{before}"));
    let ended =
        steps.call("exec /bin/bash /eval.sh 2>&1", "/", request.timeout, request.log_limit).await?;
    steps.say(&format!("Test runtime: {:.2} seconds", ended.elapsed.as_secs_f64()));
    let mut log = String::from_utf8_lossy(&ended.output).into_owned().into_bytes();
    match ended.ending {
        Ending::TimedOut => {
            let seconds = request.timeout.as_secs();
            log.extend_from_slice(
                format!("\n\nTimeout error: {seconds} seconds exceeded.").as_bytes(),
            );
            steps.say(&format!("Test timed out after {seconds} seconds."));
            return Ok((Verdict::TimedOut, Some(log), script));
        }
        Ending::NotStarted(why) => return Err(steps.broken("/eval.sh", &why)),
        Ending::Exited(_) | Ending::Signaled(_) | Ending::OutOfMemory => {}
    }
    if ended.dropped > 0 {
        steps.say(&format!("The log is {} bytes longer than what is kept.", ended.dropped));
        return Ok((Verdict::LogTooLong, Some(log), script));
    }
    let after = steps.difference().await?;
    steps.say(&format!("Git diff after:\n{after}"));
    if after != before {
        steps.say("Git diff changed after running eval script");
    }
    steps.say(&format!("Grading answer for {}...", request.row.instance_id));
    let prediction = Prediction {
        instance_id: request.row.labels.instance_id.clone(),
        model: Some(PyString::from(request.model)),
        patch: ModelPatch::Text(String::from_utf8_lossy(request.patch).into_owned().into()),
    };
    let verdict = match grade(&request.row.labels, &prediction, &log) {
        Ok(report) => {
            let resolved = report.is_resolved();
            steps.say(&format!(
                "report: {}\nResult for {}: resolved: {resolved}",
                report.to_json_line(),
                request.row.instance_id
            ));
            Verdict::Graded { resolved, report: report.to_json() }
        }
        Err(error) => {
            steps.say(&format!("Error in evaluating: {error}"));
            Verdict::Ungradable(error)
        }
    };
    Ok((verdict, Some(log), script))
}

/// Runs the steps in a room and keeps an account of them.
struct Steps<'a> {
    room: &'a dyn Room,
    instance_id: &'a str,
    text: String,
}

impl<'a> Steps<'a> {
    fn new(room: &'a dyn Room, instance_id: &'a str) -> Self {
        let mut steps = Self { room, instance_id, text: String::new() };
        steps.say(&format!("Container for {instance_id} started"));
        steps
    }

    fn say(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn failed(&self, source: RoomError) -> EvaluateError {
        EvaluateError::Room { instance_id: self.instance_id.to_owned(), source }
    }

    fn broken(&self, step: &str, what: &str) -> EvaluateError {
        EvaluateError::Step {
            instance_id: self.instance_id.to_owned(),
            step: step.to_owned(),
            what: what.to_owned(),
        }
    }

    async fn put_files(&mut self, patch: &[u8], script: &str) -> Result<(), EvaluateError> {
        let scratch =
            |source| EvaluateError::Scratch { instance_id: self.instance_id.to_owned(), source };
        let folder = tempfile::tempdir().map_err(scratch)?;
        for (name, content, to) in [
            (file::PATCH, patch, Path::new(PATCH_FILE).parent().unwrap_or(Path::new("/tmp"))),
            (file::EVAL_SCRIPT, script.as_bytes(), Path::new(SCRIPT_FOLDER)),
        ] {
            let one = folder.path().join(format!("for-{name}"));
            std::fs::create_dir(&one).map_err(scratch)?;
            std::fs::write(one.join(name), content).map_err(scratch)?;
            let to = to.to_string_lossy();
            self.room.copy_in(&one, &to).await.map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    async fn call(
        &self,
        script: &str,
        cwd: &str,
        timeout: Duration,
        output_limit: usize,
    ) -> Result<Ended, EvaluateError> {
        let argv = ["/bin/bash", "-c", script].map(str::to_owned).to_vec();
        let call = Call { argv, cwd: cwd.to_owned(), timeout, output_limit };
        self.room.run(call).await.map_err(|source| self.failed(source))
    }

    /// Runs a short command of the harness; gives its exit code and output.
    async fn step(&self, script: &str) -> Result<(i32, String), EvaluateError> {
        let ended =
            self.call(&format!("{{ {script}; }} 2>&1"), WORK, STEP_TIME, STEP_OUTPUT).await?;
        let output = String::from_utf8_lossy(&ended.output).into_owned();
        match ended.ending {
            Ending::Exited(code) => Ok((code, output)),
            Ending::Signaled(signal) => Ok((128 + signal, output)),
            Ending::TimedOut => {
                Err(self.broken(script, &format!("did not end in {} s", STEP_TIME.as_secs())))
            }
            Ending::OutOfMemory => Err(self.broken(script, "ran out of memory")),
            Ending::NotStarted(why) => Err(self.broken(script, &format!("did not start: {why}"))),
        }
    }

    /// Tries the official ways to apply the patch, and says whether one did.
    async fn apply(&mut self) -> Result<bool, EvaluateError> {
        let mut said = String::new();
        for (n, attempt) in ATTEMPTS.iter().enumerate() {
            if n > 0 {
                self.step(CLEAN).await?;
            }
            let (code, output) = self.step(&format!("{attempt} {PATCH_FILE}")).await?;
            if code == 0 {
                self.say(&format!(">>>>> Applied Patch:\n{output}"));
                return Ok(true);
            }
            self.say(&format!("Failed to apply patch to container: {attempt}"));
            said = output;
        }
        if self.step(&format!("{REVERSE_CHECK} {PATCH_FILE}")).await?.0 == 0 {
            self.say(">>>>> Applied Patch: verified already applied");
            return Ok(true);
        }
        self.say(&format!(">>>>> Patch Apply Failed:\n{said}"));
        Ok(false)
    }

    async fn difference(&self) -> Result<String, EvaluateError> {
        let (_, output) = self.step("git -c core.fileMode=false diff").await?;
        Ok(output.trim().to_owned())
    }
}
