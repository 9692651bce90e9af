//! The ways in which a job or an agent ends.

use crate::server::Reply;
use crate::trial::{Trial, agent, tool};
use hone_protocol::{EventKind, PROTOCOL_VERSION};
use std::time::Duration;

fn stderr(trial: &Trial) -> String {
    let output = trial.run();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_agent_that_gives_up_tells_its_parent_why() {
    let trial = Trial::for_coder();
    trial.coder("early_exit", &[("reason", "The file is missing.")]);
    trial.succeed();
    let told = trial.server.asked("main")[1].message(-1).to_owned();
    assert!(told.starts_with("<AGENT_RESULT agent=\"coder\" ok=\"false\" id=\"r1\">it gave up: The file is missing.</AGENT_RESULT>"), "{told}");
    assert_eq!(trial.endings()[0], ("0.1".into(), "early_exit".into()));
}

#[test]
fn a_main_agent_that_gives_up_ends_the_job_without_an_answer() {
    let trial = Trial::new();
    trial.server.script("main", tool("early_exit", &[("reason", "No.")]));
    trial.succeed();
    assert_eq!(trial.endings(), [("0".into(), "early_exit".into())]);
    assert_eq!(trial.server.answers(), []);
}

#[test]
fn an_agent_ends_at_its_step_limit_and_is_told_before() {
    let trial = Trial::with(|job| job.limits.iterations = 20);
    trial.delegate(&[]);
    for _ in 0..30 {
        trial.coder("calculate", &[("expression", "1")]);
    }
    trial.succeed();
    let asked = trial.server.asked("coder");
    assert_eq!(asked.len(), 20);
    let told: Vec<_> = asked
        .iter()
        .enumerate()
        .filter(|(_, asked)| asked.message(-1).contains("of the steps is gone"))
        .map(|(step, _)| step)
        .collect();
    assert_eq!(told, [10, 16, 18, 19]);
    assert!(asked[18].message(-1).contains("90 % of the steps is gone. Wind down now"));
    let result = trial.server.asked("main")[1].message(-1).to_owned();
    assert!(result.contains("ok=\"false\"") && result.contains("used up its 20 steps"), "{result}");
    assert_eq!(trial.endings()[0], ("0.1".into(), "iteration_limit".into()));
    let budget = trial.events_of("0.1").into_iter().filter_map(|event| match event.kind {
        EventKind::Budget { used_percent, limit } => Some((used_percent, limit)),
        _ => None,
    });
    let steps = |percent| (percent, "steps".to_owned());
    assert_eq!(budget.collect::<Vec<_>>(), [steps(50.0), steps(80.0), steps(90.0), steps(95.0)]);
}

#[test]
fn the_time_of_the_job_ends_it_even_while_a_model_or_a_command_is_slow() {
    let trial = Trial::with(|job| job.limits.seconds = 0.5);
    trial.delegate(&[]);
    trial.server.script("coder", Reply::Hang(Duration::from_secs(20)));
    assert!(stderr(&trial).contains("the time of the job is up"));
    assert_eq!(trial.endings().last(), Some(&("0".into(), "time_limit".into())));
}

#[test]
fn an_agent_is_told_how_much_of_the_time_is_gone() {
    let trial = Trial::with(|job| job.limits.seconds = 4.0);
    trial.delegate(&[]);
    trial.coder("execute_command", &[("command", "sleep 2.1")]);
    trial.coder("return_result", &[("result", "")]);
    assert!(trial.told()[0].contains("<NOTICE kind=\"limit\">50 % of the time is gone."));
}

#[test]
fn an_agent_is_told_how_much_of_the_money_is_gone() {
    let trial = Trial::for_coder();
    trial.server.cost(0.26);
    trial.coder("calculate", &[("expression", "1")]);
    trial.coder("calculate", &[("expression", "1")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("50 % of the cost is gone"), "{}", told[0]);
    assert!(!told[1].contains("50 %"));
}

#[test]
fn a_gateway_that_says_the_money_is_spent_ends_the_job() {
    let trial = Trial::new();
    let body = r#"{"error":{"message":"the trial has reached its cap","code":"cap_reached"}}"#;
    trial.server.script("main", Reply::Status(402, body.to_owned()));
    let problem = stderr(&trial);
    assert!(problem.contains("spent what it may spend"), "{problem}");
    assert!(problem.contains("the trial has reached its cap"), "{problem}");
    assert_eq!(trial.endings(), [("0".into(), "cost_limit".into())]);
    assert_eq!(trial.server.asked("main").len(), 1, "it is not tried again");
}

#[test]
fn a_reply_that_breaks_off_for_want_of_money_ends_the_job_at_once() {
    let trial = Trial::new();
    let chunk = b"data: {\"error\":{\"message\":\"no more money\",\"code\":\"cost_cap\"}}\n\n";
    trial.server.script("main", Reply::Raw(chunk.to_vec(), 8));
    assert!(stderr(&trial).contains("no more money"));
    assert_eq!(trial.endings(), [("0".into(), "cost_limit".into())]);
    assert_eq!(trial.server.asked("main").len(), 1);
}

#[test]
fn a_completion_that_fails_for_a_while_is_tried_again() {
    let trial = Trial::new();
    trial.server.script("main", Reply::Status(503, "busy".to_owned()));
    trial.server.script("main", Reply::Raw(b"data: {\"choices\":[]}\n\n".to_vec(), 4));
    trial.server.script("main", tool("complete", &[]));
    trial.succeed();
    assert_eq!(trial.server.asked("main").len(), 3);
}

#[test]
fn a_gateway_that_refuses_ends_the_job_with_its_words() {
    let trial = Trial::new();
    trial
        .server
        .script("main", Reply::Status(404, r#"{"error":{"message":"no such model"}}"#.into()));
    let problem = stderr(&trial);
    assert!(problem.contains("the gateway answered 404: no such model"), "{problem}");
    assert_eq!(trial.endings(), [("0".into(), "gateway_error".into())]);
}

#[test]
fn a_newer_protocol_a_missing_socket_and_an_odd_argument_are_refused() {
    let trial = Trial::with(|job| job.protocol = PROTOCOL_VERSION + 1);
    assert!(stderr(&trial).contains("the job is written for protocol 2, this agent speaks 1"));

    let run = |change: &dyn Fn(&mut std::process::Command)| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hone-agent"));
        change(command.env_remove("HONE_SOCKET"));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(run(&|_| {}), "hone-agent: HONE_SOCKET is not set\n");
    assert!(
        run(&|command| {
            command.arg("--help");
        })
        .contains("unexpected argument --help")
    );
    let nowhere = run(&|command| {
        command.env("HONE_SOCKET", "/nowhere/gateway.sock");
    });
    assert!(nowhere.contains("failed to get the job"), "{nowhere}");
}

#[test]
fn events_are_numbered_without_gaps_and_survive_a_gateway_that_refuses_some() {
    let trial = Trial::for_coder();
    trial.server.refuse_events(3);
    for _ in 0..5 {
        trial.coder("calculate", &[("expression", "1")]);
    }
    trial.server.script("coder", agent("reasoner", &[("question", "Why?")]));
    trial.server.script("reasoner", "Because.");
    trial.coder("return_result", &[("result", "")]);
    trial.succeed();
    let events = trial.server.events();
    assert_eq!(
        events.iter().map(|event| event.seq).collect::<Vec<_>>(),
        (1..=events.len() as u64).collect::<Vec<_>>()
    );
    assert!(matches!(events.last().unwrap().kind, EventKind::AgentFinished { .. }));
}
