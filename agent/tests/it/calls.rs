//! Calls that are wrong, cut or too many.

use crate::server::Reply;
use crate::trial::{Trial, agent, tool};

#[test]
fn what_is_wrong_with_a_call_is_told_to_the_model() {
    let trial = Trial::for_coder();
    let bad = [
        ("I think it is done.".to_owned(), "there was no call in your reply"),
        (tool("open files", &[]), "there is no tool `open files`; the tools are: "),
        (tool("open_files", &[]), "open_files: the argument `paths` is missing; the arguments are: paths"),
        (tool("calculate", &[("expression", "1"), ("unit", "m")]), "there is no argument `unit`"),
        (tool("view_directory", &[("depth", "deep")]), "`depth` has to be a whole number, not `deep`"),
        (tool("view_directory", &[("hidden", "maybe")]), "`hidden` has to be true or false"),
        (tool("calculate", &[("expression", "1"), ("expression", "2")]), "`expression` is given twice"),
        (tool("execute_command", &[("command", "x"), ("timeout", "NaN")]), "has to be a number"),
        (agent("nobody", &[]), "there is no sub-agent `nobody`; they are: reasoner"),
        (agent("reasoner", &[]), "reasoner: the argument `question` is missing"),
        ("<TOOL_CALL><TOOL_NAME>x</TOOL_NAME>text</TOOL_CALL>".to_owned(), "text between the tags"),
        ("<TOOL_CALL><TOOL_NAME>calculate</TOOL_NAME><TOOL_ARGS><expression>1\n</TOOL_ARGS></TOOL_CALL>".to_owned(),
            "an argument or a tag is not closed"),
    ];
    for (reply, _) in &bad {
        trial.server.script("coder", reply.as_str());
        // A call that can be carried out breaks the row of failures.
        trial.coder("calculate", &[("expression", "1")]);
    }
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    for ((reply, problem), told) in bad.iter().zip(told.iter().step_by(2)) {
        assert!(told.starts_with("<TOOL_RESULT tool=\"\" ok=\"false\">"), "{reply}: {told}");
        assert!(told.contains(problem), "{reply}: {told}");
    }
}

#[test]
fn a_negative_count_is_refused_by_the_type_of_the_argument() {
    let trial = Trial::for_coder();
    trial.coder("view_directory", &[("depth", "-1")]);
    trial.coder("return_result", &[("result", "")]);
    assert!(trial.told()[0].contains("an argument does not fit: invalid value: integer `-1`"));
}

#[test]
fn five_failures_in_a_row_end_the_job_as_a_protocol_error() {
    let trial = Trial::new();
    trial.delegate(&[]);
    for _ in 0..4 {
        trial.server.script("coder", "no call");
    }
    trial.coder("calculate", &[("expression", "1")]);
    for _ in 0..5 {
        trial.server.script("coder", "no call");
    }
    let output = trial.run();
    assert!(!output.status.success());
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(problem.contains("5 replies in a row held no call"), "{problem}");
    assert_eq!(trial.server.asked("coder").len(), 10);
    let how = "protocol_error".to_owned();
    assert_eq!(trial.endings(), [("0.1".to_owned(), how.clone()), ("0".to_owned(), how)]);
}

#[test]
fn of_several_calls_the_first_counts_and_text_after_it_is_ignored() {
    let trial = Trial::for_coder();
    let two = format!(
        "{} and then {}",
        tool("calculate", &[("expression", "1 + 1")]),
        tool("return_result", &[("result", "too early")])
    );
    // Servers that know no stop texts send all of it.
    trial.server.script("coder", raw(&two));
    trial
        .server
        .script("coder", raw(&format!("{} bye", tool("calculate", &[("expression", "3")]))));
    trial.coder("return_result", &[("result", "in time")]);
    let told = trial.told();
    assert!(told[0].contains(">2</TOOL_RESULT>"), "{}", told[0]);
    assert!(
        told[0].contains(
            "<NOTICE kind=\"warning\">1 more calls in the same reply were not carried out"
        )
    );
    assert!(told[1].contains(">3</TOOL_RESULT>") && !told[1].contains("NOTICE"));
    assert!(trial.server.asked("main")[1].message(-1).contains("in time"));
}

fn raw(text: &str) -> Reply {
    let chunk =
        serde_json::json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
    Reply::Raw(format!("data: {chunk}\r\n\r\ndata: [DONE]\r\n\r\n").into_bytes(), 5)
}

#[test]
fn a_reply_cut_by_length_is_gone_on_with_up_to_five_times() {
    let trial = Trial::for_coder();
    let call = tool("overwrite_file", &[("path", "a"), ("content", "one two three four\n")]);
    let (first, rest) = call.split_at(call.find("two").unwrap());
    let (second, third) = rest.split_at(5);
    trial.server.script("coder", Reply::Length(first.to_owned()));
    trial.server.script("coder", Reply::Length(second.to_owned()));
    trial.server.script("coder", third);
    for _ in 0..6 {
        trial.server.script("coder", Reply::Length("more and more".to_owned()));
    }
    trial.coder("return_result", &[("result", "")]);
    trial.succeed();
    assert_eq!(trial.read("a"), "one two three four\n");
    let asked = trial.server.asked("coder");
    let notice = asked[1].message(-1);
    assert!(
        notice.contains("<content> will close") || notice.contains("</content> will close"),
        "{notice}"
    );
    assert!(
        notice.contains("Go on exactly where it ends") && notice.ends_with("one </NOTICE>"),
        "{notice}"
    );
    assert_eq!(asked[1].body["messages"][2]["role"], "assistant");
    assert_eq!(asked[1].message(-2), first, "what was said stays as it was");
    assert!(asked[9].message(-1).contains("cut again and again"));
    assert_eq!(asked.len(), 10);
}

#[test]
fn reasoning_is_told_but_does_not_come_back() {
    let trial = Trial::for_coder();
    let text = tool("return_result", &[("result", "r")]);
    let chunk = serde_json::json!({"choices": [{"delta": {"content": text, "reasoning_content": "hm"}, "finish_reason": "stop"}]});
    trial.server.script("coder", Reply::Raw(format!("data: {chunk}\n\n").into_bytes(), 9));
    trial.succeed();
    let reasoning = hone_protocol::EventKind::Reasoning { text: "hm".to_owned() };
    assert!(trial.events_of("0.1").iter().any(|event| event.kind == reasoning));
}
