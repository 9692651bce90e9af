//! Runs the driver in a fresh room and compares what it reports.

use super::compare::{same_output, same_value};
use super::{CodeData, Form, Test};
use crate::kind::{GradingRoom, Root};
use crate::room::{Call, Ending, Room, RoomError};
use crate::submission::{Score, ScoreError, Scored};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

const DRIVER: &str = include_str!("driver.py");

/// Where the driver lies in the room.
const FOLDER: &str = "/grader";

/// Time for starting Python, beside the tests' own.
const START: Duration = Duration::from_secs(30);

/// The driver's exit code when it cannot close itself to the submission.
const NOT_CLOSED: i32 = 97;

/// Most bytes of results that are kept.
const OUTPUT: usize = 512 << 20;

impl From<RoomError> for ScoreError {
    fn from(error: RoomError) -> Self {
        ScoreError::Infrastructure(error.to_string())
    }
}

/// One line of the driver.
#[derive(Deserialize)]
struct Line {
    nonce: String,
    #[serde(default)]
    test: Option<usize>,
    #[serde(default)]
    output: Option<String>,
    #[serde(default)]
    code: i64,
    #[serde(default)]
    failed: Option<String>,
    #[serde(default)]
    end: bool,
}

pub(super) async fn grade(
    data: &CodeData,
    source: &str,
    word: &str,
    root: &Root,
    id: &str,
    room: GradingRoom<'_>,
) -> Result<Scored, ScoreError> {
    let tests: Vec<&Test> = data.public.iter().chain(&data.hidden).collect();
    let inputs: Vec<&Value> = tests.iter().map(|test| &test.input).collect();
    let mut job = json!({
        "nonce": word,
        "solution": source,
        "seconds": data.seconds,
        "tests": inputs,
        "stop": true,
    });
    match &data.form {
        Form::Program => job["mode"] = json!("program"),
        Form::Function { name } => {
            job["mode"] = json!("call");
            job["name"] = json!(name);
        }
        Form::Checked { name, prompt, test } => {
            job["mode"] = json!("check");
            job["name"] = json!(name);
            job["prompt"] = json!(prompt);
            job["test"] = json!(test);
            job["tests"] = json!([null]);
        }
    }
    let count = job["tests"].as_array().map_or(0, Vec::len);
    let folder = room.scratch.join("grader");
    let io = |e: std::io::Error| ScoreError::Infrastructure(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(io)?;
    std::fs::write(folder.join("driver.py"), DRIVER).map_err(io)?;
    std::fs::write(folder.join("job.json"), job.to_string()).map_err(io)?;
    let rooms = room.rooms()?;
    let opened = rooms.open_root(root, &[FOLDER], &format!("verify {id}")).await?;
    let result =
        run(opened.as_ref(), &folder, Duration::from_secs_f64(data.seconds) * count as u32).await;
    let closed = opened.close().await;
    let (ending, output) = result?;
    closed?;
    match ending {
        Ending::NotStarted(why) => {
            return Err(ScoreError::Infrastructure(format!(
                "python3 cannot be started ({why}); install it, or set the suite's option image"
            )));
        }
        Ending::Exited(126 | 127) if output.is_empty() => {
            let what = "there is no python3; install it, or set the suite's option image";
            return Err(ScoreError::Infrastructure(what.to_owned()));
        }
        Ending::Exited(NOT_CLOSED) => {
            let what = "processes there can look into each other, so no verdict would be safe";
            return Err(ScoreError::Infrastructure(what.to_owned()));
        }
        _ => {}
    }
    Ok(judge(data, &tests, word, count, &output))
}

async fn run(
    room: &dyn Room,
    folder: &std::path::Path,
    tests: Duration,
) -> Result<(Ending, Vec<u8>), RoomError> {
    room.copy_in(folder, FOLDER).await?;
    let argv = ["python3", "-I", &format!("{FOLDER}/driver.py"), &format!("{FOLDER}/job.json")];
    let call = Call {
        argv: argv.iter().map(ToString::to_string).collect(),
        cwd: "/tmp".to_owned(),
        timeout: START + tests,
        output_limit: OUTPUT,
    };
    let ended = room.run(call).await?;
    Ok((ended.ending, ended.output))
}

/// Counts the tests whose true results are right. A test without a result is failed: the driver's own end is
/// the submission's doing too, since nothing else runs there.
fn judge(data: &CodeData, tests: &[&Test], word: &str, count: usize, output: &[u8]) -> Scored {
    let mut passed = vec![false; count];
    let mut reason = None;
    let mut ended = false;
    for line in output.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if line.nonce != word {
            continue;
        }
        ended |= line.end;
        let Some(number) = line.test.filter(|number| *number < count) else { continue };
        let right = match (&data.form, &line.output) {
            _ if line.failed.is_some() => Err(line.failed.unwrap_or_default()),
            (_, None) => Err("it gave no result".to_owned()),
            (Form::Checked { .. }, Some(output)) => Ok(output == "passed"),
            (Form::Program, Some(_)) if line.code != 0 => {
                Err(format!("it ended with code {}", line.code))
            }
            (Form::Program, Some(output)) => Ok(tests[number]
                .output
                .as_str()
                .is_some_and(|expected| same_output(output, expected))),
            (Form::Function { .. }, Some(output)) => Ok(serde_json::from_str(output)
                .is_ok_and(|given: Value| same_value(&given, &tests[number].output))),
        };
        passed[number] = matches!(right, Ok(true));
        if !passed[number] && reason.is_none() {
            let why = right.err().unwrap_or_else(|| "the result is wrong".to_owned());
            reason = Some(format!("test {}: {why}", number + 1));
        }
    }
    let right = passed.iter().filter(|passed| **passed).count();
    let all = right == count && ended;
    let why = match (all, reason) {
        (true, _) => format!("all {count} tests passed"),
        (false, Some(reason)) => reason,
        (false, None) => "the tests did not end".to_owned(),
    };
    Scored { score: Score::of(all), why, details: json!({ "passed": right, "tests": count }) }
}
