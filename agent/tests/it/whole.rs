//! Whole jobs, from the statement to the answer.

use crate::trial::{Trial, tool};

#[test]
fn a_job_is_delegated_solved_and_answered() {
    let trial = Trial::new();
    trial.write("a.py", "x = 1\n");
    trial.delegate(&[("paths", "a.py")]);
    trial.coder("overwrite_file", &[("path", "a.py"), ("content", "x = 2\n")]);
    trial.coder("return_result", &[("result", "a.py:1:0")]);
    trial.succeed();

    assert_eq!(trial.read("a.py"), "x = 2\n");
    let coder = trial.server.asked("coder");
    assert_eq!(coder[0].body["model"], "main");
    assert_eq!(coder[0].body["stop"], serde_json::json!(["</TOOL_CALL>", "</AGENT_CALL>"]));
    let core = coder[0].message(1);
    assert!(
        core.starts_with(
            "<PROBLEM role=\"solve\">Make it so.</PROBLEM>\n<TASK>\n<task>Do it.</task>"
        )
    );
    assert!(core.contains("<FILE path=\"a.py\">\nx = 1\n</FILE>"), "{core}");
    let told = coder[1].message(-1);
    assert!(told.starts_with("<TOOL_RESULT tool=\"overwrite_file\" ok=\"true\" id=\"r1\">wrote a.py (1 lines)</TOOL_RESULT>\n<FILE_DIFF path=\"a.py\">\n--- a/a.py"), "{told}");
    assert_eq!(
        trial.endings(),
        [("0.1".into(), "returned".into()), ("0".into(), "complete".into())]
    );
    let main = trial.server.asked("main");
    assert!(main[1].message(-1).starts_with(
        "<AGENT_RESULT agent=\"coder\" ok=\"true\" id=\"r1\">a.py:1:0</AGENT_RESULT>"
    ));
}

#[test]
fn the_last_answer_counts_and_completing_adds_the_summary() {
    let trial = Trial::new();
    trial.server.script("main", tool("submit_answer", &[("answer", "41")]));
    trial.server.script("main", tool("submit_answer", &[("answer", "42")]));
    trial.server.script("main", tool("complete", &[("summary", "Counted.")]));
    trial.succeed();
    let answers = trial.server.answers();
    let last = answers.last().unwrap();
    assert_eq!((last.answer.as_str(), last.summary.as_str()), ("42", "Counted."));
    assert_eq!(answers.len(), 3);
}
