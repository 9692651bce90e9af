//! The kind `code`: a function or a program against public and hidden tests.
//!
//! The submission runs in a fresh sandbox, in processes of its own. What its output should be never enters the sandbox,
//! and assertions, where a published set has them (HumanEval), run in a process that the submission cannot look into.
//! Results carry a word that the submission never saw. So exiting early, printing what a test runner prints, or
//! patching a test module gains nothing.

pub mod compare;
mod grade;
pub mod import;
mod unpickle;

use crate::digest::Digest;
use crate::kind::{Collect, Environment, GradingRoom, Kind, ProblemError, Root};
use crate::submission::{Found, Score, ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Where the agent writes its program.
pub const SOLUTION: &str = "solution.py";

/// Largest program that is taken, in bytes.
const LARGEST: u64 = 1 << 20;

/// What a submission is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Form {
    /// A program that reads standard input and writes standard output.
    Program,
    /// A function, or a method of a class `Solution`, that is called with JSON values.
    Function {
        /// Its name.
        name: String,
    },
    /// A function that a piece of code checks with assertions.
    Checked {
        /// Its name.
        name: String,
        /// The code before the function: imports and helpers that the check may use.
        prompt: String,
        /// The code that defines `check(candidate)`.
        test: String,
    },
}

/// A test of a program or a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Standard input as a text, or a list of arguments.
    pub input: Value,
    /// Standard output as a text, or the value returned.
    pub output: Value,
}

/// What a problem of this kind keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeData {
    /// What is asked.
    pub question: String,
    /// Code to start from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub starter: String,
    /// What the submission is.
    pub form: Form,
    /// Tests that the agent is shown.
    #[serde(default)]
    pub public: Vec<Test>,
    /// Tests that it is not shown.
    #[serde(default)]
    pub hidden: Vec<Test>,
    /// Seconds that each test may take.
    pub seconds: f64,
}

/// The kind `code`.
#[derive(Debug)]
pub struct Code;

fn root(suite: &Suite) -> Root {
    suite.option("image").map_or(Root::Host, |image| Root::Image(image.to_owned()))
}

impl Kind for Code {
    fn name(&self) -> &'static str {
        "code"
    }

    fn check(&self, _: &Suite, problem: &Problem) -> Result<(), ProblemError> {
        let data: CodeData = problem.data()?;
        let tests = data.public.len() + data.hidden.len();
        let what = match &data.form {
            _ if !(data.seconds.is_finite() && data.seconds > 0.0) => "its tests have no time",
            Form::Checked { name, test, .. } if !name.is_empty() && test.contains("def check(") => {
                return Ok(());
            }
            Form::Checked { .. } => "its test does not define check",
            _ if tests == 0 => "it has no tests",
            Form::Program
                if data
                    .public
                    .iter()
                    .chain(&data.hidden)
                    .any(|t| !t.input.is_string() || !t.output.is_string()) =>
            {
                "a test of a program needs a text as input and as output"
            }
            Form::Function { name } if name.is_empty() => "it names no function",
            Form::Function { .. }
                if data.public.iter().chain(&data.hidden).any(|t| !t.input.is_array()) =>
            {
                "a test of a function needs a list of arguments"
            }
            _ => return Ok(()),
        };
        Err(SuiteError::Problem { id: problem.id.clone(), what: what.to_owned() }.into())
    }

    fn statement(&self, _: &Suite, problem: &Problem) -> Result<String, ProblemError> {
        let data: CodeData = problem.data()?;
        let form = match &data.form {
            Form::Program => "It reads standard input and writes standard output.".to_owned(),
            Form::Function { name } => format!(
                "It defines the function `{name}`, or a class `Solution` with that method. Nothing is read from standard \
                 input."
            ),
            Form::Checked { name, .. } => {
                format!(
                    "It defines the function `{name}`, with all imports and helpers that it needs."
                )
            }
        };
        let start =
            if data.starter.is_empty() { "" } else { " The code to start from is there already." };
        let shown = match data.public.len() {
            0 => String::new(),
            count => format!(" {count} of the tests are in `tests/`, as JSON."),
        };
        Ok(format!(
            "{}\n\nWrite the program in Python 3 to `{SOLUTION}`. {form}{start}{shown} Hidden tests judge it, each with {} \
             seconds; all have to pass. Only the standard library is there.\n",
            data.question.trim_end(),
            data.seconds
        ))
    }

    fn environment(&self, suite: &Suite, _: &Problem) -> Result<Environment, ProblemError> {
        Ok(Environment { root: root(suite), ..Environment::default() })
    }

    fn set_up(&self, _: &Suite, problem: &Problem, dir: &Path) -> Result<(), ProblemError> {
        let data: CodeData = problem.data()?;
        let write = |path: &Path, text: &str| {
            let io = |source| SuiteError::Io { path: path.to_owned(), source };
            std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(io)?;
            std::fs::write(path, text).map_err(io)
        };
        if !data.starter.is_empty() {
            write(&dir.join(SOLUTION), &data.starter)?;
        }
        for (number, test) in data.public.iter().enumerate() {
            let text = serde_json::json!(test).to_string();
            write(&dir.join(format!("tests/{}.json", number + 1)), &text)?;
        }
        Ok(())
    }

    fn collect(&self, _: &Suite, _: &Problem) -> Result<Collect, ProblemError> {
        Ok(Collect::Files(vec![SOLUTION.to_owned()]))
    }

    fn grade<'a>(
        &'a self,
        suite: &'a Suite,
        problem: &'a Problem,
        submission: Submission<'a>,
        room: GradingRoom<'a>,
    ) -> BoxFuture<'a, Result<Scored, ScoreError>> {
        Box::pin(async move {
            let data: CodeData = problem.data().map_err(ProblemError::from)?;
            let zero = |why: String| Ok(Scored::new(Score::ZERO, why));
            let source = match submission.read(SOLUTION, LARGEST)? {
                Found::File(bytes) => bytes,
                Found::Missing => return zero(format!("there is no {SOLUTION}")),
                Found::Refused(why) => return zero(format!("{SOLUTION} is {why}")),
            };
            let Ok(source) = String::from_utf8(source) else {
                return zero(format!("{SOLUTION} is no UTF-8"));
            };
            let word = Digest::of(&uuid_like(room.scratch)).to_string();
            grade::grade(&data, &source, &word, &root(suite), &problem.id.0, room).await
        })
    }
}

/// Returns bytes that nobody can guess: the system's randomness, by way of the hasher's keys, and the place.
fn uuid_like(scratch: &Path) -> Vec<u8> {
    use std::hash::{BuildHasher, Hasher};
    let mut bytes = scratch.as_os_str().as_encoded_bytes().to_vec();
    for _ in 0..4 {
        let hasher = std::collections::hash_map::RandomState::new().build_hasher();
        bytes.extend(hasher.finish().to_le_bytes());
    }
    bytes
}
