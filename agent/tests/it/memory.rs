//! Working memory: watched commands, forgetting, the gauge.

use crate::trial::Trial;

#[test]
fn a_watched_command_is_run_again_at_each_step_and_stands_at_the_end() {
    let trial = Trial::for_coder();
    trial.write("log", "one\n");
    trial.coder("watch", &[("command", "cat log")]);
    trial.coder("execute_command", &[("command", "echo two > log")]);
    trial.coder("forget", &[("ids", "w1")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("watched as w1"));
    assert!(told[0].contains("\n<WATCH id=\"w1\" command=\"cat log\" ending=\"exit code 0\">\none\n</WATCH>\n<STATUS "), "{}", told[0]);
    assert!(told[1].contains("two\n</WATCH>\n<STATUS ") && !told[1].contains("one\n</WATCH>"));
    assert!(!told[2].contains("WATCH"));
}

#[test]
fn a_watched_output_is_cut_at_its_cap_and_marked() {
    let trial = Trial::for_coder();
    trial.write("long", "#".repeat(5_000));
    trial.write("exact", "y".repeat(1_024));
    trial.write("wide", "é".repeat(60));
    trial.coder("watch", &[("command", "cat long")]);
    trial.coder("watch", &[("command", "cat exact")]);
    trial.coder("watch", &[("command", "cat wide"), ("cap", "51")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    let last = told.last().unwrap();
    assert_eq!(last.matches('#').count(), 1_024, "{last}");
    assert!(last.contains("[… 3976 of 5000 bytes left out …]"));
    assert!(last.contains(&format!("ending=\"exit code 0\">{}</WATCH>", "y".repeat(1_024))));
    assert!(last.contains("[… 70 of 120 bytes left out …]"), "{last}");
    assert!(!last.contains('\u{FFFD}'));
}

#[test]
fn results_are_forgotten_several_at_a_time_and_unknown_ids_are_refused() {
    let trial = Trial::for_coder();
    trial.coder("calculate", &[("expression", "111111")]);
    trial.coder("calculate", &[("expression", "222222")]);
    trial.coder("calculate", &[("expression", "333333")]);
    trial.coder("forget", &[("ids", "r1\nr9")]);
    trial.coder("forget", &[("ids", "r1\nr3")]);
    trial.coder("forget", &[("ids", "r1")]);
    trial.coder("forget", &[("ids", "")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[3].contains("nothing is remembered as r9"));
    assert!(told[4].contains("forgot r1, r3"));
    assert!(told[5].contains("nothing is remembered as r1"));
    assert!(told[6].contains("name at least one id"));
    let asked = trial.server.asked("coder");
    let all = |step: usize| asked[step].body["messages"].to_string();
    assert!(all(4).contains(">111111</TOOL_RESULT>"), "nothing is forgotten when an id is wrong");
    let after = all(5);
    assert!(!after.contains(">111111</TOOL_RESULT>") && !after.contains(">333333</TOOL_RESULT>"));
    assert!(after.contains(">222222</TOOL_RESULT>"));
    assert_eq!(after.matches("(forgotten)").count(), 2);
}

#[test]
fn only_so_many_commands_are_watched() {
    let trial = Trial::for_coder();
    for _ in 0..9 {
        trial.coder("watch", &[("command", "true")]);
    }
    trial.coder("return_result", &[("result", "")]);
    assert!(trial.told()[8].contains("8 commands are watched already; forget one first"));
}

#[test]
fn the_status_shows_how_full_the_context_is_by_what_the_gateway_counts() {
    let trial = Trial::with(|job| job.limits.context_tokens = 10_000);
    trial.delegate(&[]);
    trial.coder("calculate", &[("expression", "1")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    let asked = trial.server.asked("coder");
    let bytes: usize = (0..asked[1].body["messages"].as_array().unwrap().len())
        .map(|at| asked[1].message(at as isize).len())
        .sum();
    let status = told[0].rsplit_once("<STATUS context=\"").unwrap().1;
    let (percent, rest) = status.split_once('"').unwrap();
    assert_eq!(rest.split_once("time=\"").unwrap().1.split_once('"').unwrap().0.len(), 8);
    let percent: f64 = percent.parse().unwrap();
    let counted = bytes as f64 * 0.25 / 100.0;
    assert!((percent - counted).abs() < 0.5, "{percent} {counted}");
}
