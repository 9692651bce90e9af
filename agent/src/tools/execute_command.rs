//! `execute_command`: runs a shell command.

use super::{Desk, Kit, Tool, ToolError};
use crate::process::Ending;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Runs a shell command in the work directory and shows its exit code and its output. Everything
/// that it starts ends with it, in the background too.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command, for `bash -c`.
    command: String,
    /// Seconds after which it is ended; 120 when left out, at most 600.
    timeout: Option<f64>,
    /// How many bytes of its output are shown, from its beginning and its end; 16384 when left out.
    cap: Option<usize>,
}

const TIMEOUT: f64 = 120.0;
const LONGEST_TIMEOUT: f64 = 600.0;

/// About 4,000 tokens.
const CAP: usize = 16 * 1024;
const LARGEST_CAP: usize = 128 * 1024;

pub(super) fn tool() -> Tool {
    Tool::new("execute_command", Kit::Change, run)
}

async fn run(arguments: Arguments, desk: &mut Desk) -> Result<String, ToolError> {
    let seconds = arguments.timeout.unwrap_or(TIMEOUT).clamp(0.1, LONGEST_TIMEOUT);
    let cap = arguments.cap.unwrap_or(CAP).min(LARGEST_CAP);
    let trial = &desk.trial;
    let outcome = trial
        .shell
        .run(&arguments.command, trial.workspace.root(), Duration::from_secs_f64(seconds), cap)
        .await
        .map_err(|error| ToolError::refused(format!("the command could not be run: {error}")))?;
    let output = outcome.output.to_text();
    match outcome.ending {
        Ending::Exited(0) => Ok(format!("exit code 0\n{output}")),
        Ending::Exited(code) => Err(ToolError::Refused(format!("exit code {code}\n{output}"))),
        Ending::Signaled(signal) => {
            Err(ToolError::Refused(format!("killed by signal {signal}\n{output}")))
        }
        Ending::TimedOut => Err(ToolError::Refused(format!(
            "ended after {seconds} seconds, with everything that it had started; give it more time \
             or less to do\n{output}"
        ))),
        Ending::NotStarted(reason) => {
            Err(ToolError::Refused(format!("the command was not started: {reason}")))
        }
    }
}
