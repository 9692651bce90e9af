//! Runs a verifier in a fresh room.

use super::{Reward, TaskData};
use crate::kind::{GradingRoom, ProblemError, Root};
use crate::room::{Call, Ended, Ending, Room};
use crate::submission::{Score, ScoreError, Scored, Submission};
use crate::suite::Suite;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Where the verifier's files lie.
const TESTS: &str = "/tests";
/// Where the verifier writes its reward.
const LOGS: &str = "/logs/verifier";
/// Time for a step of the harness's own.
const STEP: Duration = Duration::from_secs(120);
/// Most bytes of the verifier's output that are kept, for people.
const OUTPUT: usize = 1 << 20;
/// Most bytes of a reward.
const REWARD: usize = 64 << 10;

/// Runs the verifier and then ends every process that it or the code under test left, before the reward is read: one that
/// waits to write a better reward does not get to it. The harness's own processes are those above this one.
const VERIFY: &str = r#"
"$@"
code=$?
keep=" 1 $$ "
at=$$
while [ "${at:-1}" -gt 1 ] 2>/dev/null; do
    above=1
    while read -r name value; do
        [ "$name" = PPid: ] && above=$value
    done < "/proc/$at/status"
    at=$above
    keep="$keep$at "
done
for folder in /proc/[0-9]*; do
    process=${folder#/proc/}
    case "$keep" in
        *" $process "*) ;;
        *) kill -9 "$process" 2>/dev/null ;;
    esac
done
exit "$code"
"#;

pub(super) async fn grade(
    suite: &Suite,
    data: &TaskData,
    root: &Root,
    id: &str,
    submission: Submission<'_>,
    room: GradingRoom<'_>,
) -> Result<Scored, ScoreError> {
    let tests = room.scratch.join("tests");
    let logs = room.scratch.join("logs");
    for folder in [&tests, &logs] {
        let io =
            |e: std::io::Error| ScoreError::Infrastructure(format!("{}: {e}", folder.display()));
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    suite.files().write_tree(&data.verifier, &tests).map_err(ProblemError::from)?;
    let (folders, label) = ([data.workdir.as_str(), TESTS, LOGS], format!("verify {id}"));
    let opened = room.rooms()?.open_root(root, &folders, &label).await?;
    let result = verify(opened.as_ref(), data, submission.dir, &tests, &logs).await;
    let closed = opened.close().await;
    let scored = result?;
    closed?;
    Ok(scored)
}

async fn verify(
    room: &dyn Room,
    data: &TaskData,
    work: &Path,
    tests: &Path,
    logs: &Path,
) -> Result<Scored, ScoreError> {
    let call = |argv: &[&str], timeout, output_limit| Call {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: "/".to_owned(),
        timeout,
        output_limit,
    };
    // What the agent deleted has to be gone here too.
    let empty = format!("mkdir -p {0} && find {0} -mindepth 1 -delete", quoted(&data.workdir));
    let ended = room.run(call(&["sh", "-c", &empty], STEP, OUTPUT)).await?;
    if ended.ending != Ending::Exited(0) {
        return Err(infrastructure("empty the work directory", &ended));
    }
    room.copy_in(work, &data.workdir).await?;
    room.copy_in(tests, TESTS).await?;
    room.copy_in(logs, LOGS).await?;
    let mut argv = vec!["sh", "-c", VERIFY, "verify"];
    argv.extend(data.command.iter().map(String::as_str));
    let time = Duration::from_secs_f64(data.verifier_seconds);
    let ended = room.run(Call { cwd: data.workdir.clone(), ..call(&argv, time, OUTPUT) }).await?;
    let code = match &ended.ending {
        Ending::Exited(code) => *code,
        Ending::TimedOut => {
            return Err(ScoreError::Verifier(format!(
                "it did not end in {} s",
                data.verifier_seconds
            )));
        }
        Ending::OutOfMemory => return Err(ScoreError::Verifier("it ran out of memory".to_owned())),
        Ending::NotStarted(_) => return Err(infrastructure("start the verifier", &ended)),
        Ending::Signaled(signal) => {
            return Err(ScoreError::Verifier(format!("signal {signal} ended it")));
        }
    };
    let said = |scored: Scored| Scored {
        details: serde_json::json!({
            "exit_code": code,
            "output": String::from_utf8_lossy(&ended.output),
            "dropped": ended.dropped,
        }),
        ..scored
    };
    if data.reward == Reward::ExitCode && code != 0 {
        return Ok(said(Scored::new(Score::ZERO, format!("the verifier ended with code {code}"))));
    }
    for (name, read) in
        [("reward.txt", read_text as fn(&[u8]) -> Option<f64>), ("reward.json", read_json)]
    {
        let path = format!("{LOGS}/{name}");
        // Only a plain file counts: a link could lead to what the agent's code wrote.
        let show = format!("[ -f {path} ] && [ ! -L {path} ] && cat {path}");
        let shown = room.run(call(&["sh", "-c", &show], STEP, REWARD)).await?;
        if shown.ending != Ending::Exited(0) {
            continue;
        }
        let score = read(&shown.output).and_then(Score::new).ok_or_else(|| {
            ScoreError::Verifier(format!("it wrote no number from 0 to 1 to {name}"))
        })?;
        return Ok(said(Scored::new(score, format!("the verifier wrote {}", score.get()))));
    }
    match data.reward {
        Reward::ExitCode => Ok(said(Scored::new(Score::ONE, "the verifier ended with code 0"))),
        Reward::File => {
            Err(ScoreError::Verifier(format!("it ended with code {code} and wrote no reward")))
        }
    }
}

fn infrastructure(step: &str, ended: &Ended) -> ScoreError {
    let said = String::from_utf8_lossy(&ended.output);
    ScoreError::Infrastructure(format!("cannot {step}: {:?} {}", ended.ending, said.trim()))
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn read_text(bytes: &[u8]) -> Option<f64> {
    std::str::from_utf8(bytes).ok()?.trim().parse().ok()
}

/// Reads `{"reward": 0.5}`, or the only number of an object.
fn read_json(bytes: &[u8]) -> Option<f64> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let object = value.as_object()?;
    let mut numbers = object.values().filter_map(Value::as_f64);
    match (object.get("reward"), numbers.next(), numbers.next()) {
        (Some(reward), ..) => reward.as_f64(),
        (None, Some(only), None) => Some(only),
        _ => None,
    }
}
