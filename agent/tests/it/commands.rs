//! `execute_command`: exit codes, output, time, and the end of everything that was started.

use crate::trial::Trial;
use std::time::{Duration, Instant};

#[test]
fn a_command_shows_its_exit_code_and_both_outputs_in_order() {
    let trial = Trial::for_coder();
    trial.coder("execute_command", &[("command", "echo out; echo err >&2; echo end; pwd; exit 3")]);
    trial.coder("execute_command", &[("command", "cat; kill -9 $$")]);
    trial.coder("execute_command", &[("command", "printf 'a\\377b'")]);
    trial.coder(
        "execute_command",
        &[("command", "printf 'é'; env | grep HONE_SOCKET || echo none")],
    );
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    let directory = trial.work("").canonicalize().unwrap();
    let wanted =
        format!("ok=\"false\" id=\"r1\">\nexit code 3\nout\nerr\nend\n{}\n", directory.display());
    assert!(told[0].contains(&wanted), "{}", told[0]);
    assert!(told[1].contains("killed by signal 9"), "{}", told[1]);
    assert!(told[2].contains("exit code 0\na\u{FFFD}b<"), "{}", told[2]);
    assert!(told[3].contains("exit code 0\nénone"), "{}", told[3]);
}

#[test]
fn long_output_keeps_its_head_and_tail_up_to_the_cap() {
    let trial = Trial::for_coder();
    trial.coder("execute_command", &[("command", "seq 1 100000"), ("cap", "200")]);
    trial.coder("execute_command", &[("command", "seq 1 100000")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("exit code 0\n1\n2\n3\n"));
    assert!(told[0].contains("[… 588695 of 588895 bytes left out …]"), "{}", told[0]);
    assert!(told[0].contains("\n100000\n</TOOL_RESULT>"));
    assert!(told[1].contains("[… 572511 of 588895 bytes left out …]"));
}

#[test]
fn a_grandchild_in_its_own_session_does_not_hold_up_or_outlive_a_timeout() {
    let trial = Trial::for_coder();
    // It holds the pipe, ignores SIGTERM, has left its group and its session, and has no parent.
    let mark = format!("31.{}", std::process::id());
    let command = format!(
        "(setsid env -i sh -c \"trap '' TERM; sleep {mark}; sleep {mark}\" &) ; sleep {mark}"
    );
    trial.coder("execute_command", &[("command", &command), ("timeout", "0.5")]);
    trial.coder("return_result", &[("result", "")]);
    let start = Instant::now();
    let told = trial.told();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(told[0].contains("ended after 0.5 seconds, with everything that it had started"));
    assert_eq!(processes_with(&mark), 0);
}

#[test]
fn what_a_command_leaves_in_the_background_ends_with_it() {
    let trial = Trial::for_coder();
    let mark = format!("32.{}", std::process::id());
    trial.coder("execute_command", &[("command", &format!("setsid sleep {mark} & echo started"))]);
    trial.coder("return_result", &[("result", "")]);
    let start = Instant::now();
    let told = trial.told();
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(told[0].contains("exit code 0\nstarted"));
    assert_eq!(processes_with(&mark), 0);
}

#[test]
fn a_command_ends_when_the_agent_is_killed() {
    let trial = Trial::for_coder();
    let mark = format!("33.{}", std::process::id());
    trial.coder("execute_command", &[("command", &format!("sleep {mark}"))]);
    let mut agent = trial.spawn();
    wait_until(|| processes_with(&mark) > 0);
    agent.kill().unwrap();
    agent.wait().unwrap();
    wait_until(|| processes_with(&mark) == 0);
}

#[test]
fn a_command_that_cannot_be_started_says_so() {
    let trial = Trial::for_coder();
    trial.coder("execute_command", &[("command", "echo a\0b")]);
    trial.coder("execute_command", &[("command", "no-such-program")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("a command cannot hold a NUL byte"));
    assert!(told[1].contains("exit code 127"));
}

/// Counts the processes whose command line holds a text.
pub fn processes_with(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}

pub fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(5), "it did not come to pass");
        std::thread::sleep(Duration::from_millis(5));
    }
}
