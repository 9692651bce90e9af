use super::stage::Stage;
use crate::completion::{ChatMessage, ChatRequest};
use crate::rehearsal::{gets_stuck, misjudges_column, reply};
use crate::tokens;
use pretty_assertions::assert_eq;
use std::time::Duration;

fn edit_statement(path: &str, target: &str) -> String {
    let closing = "</TARGET fence=\"t\">";
    format!(
        "Make the file `{path}` equal to this target, byte for byte.\n\
         <TARGET path=\"{path}\" fence=\"t\">\n{target}{closing}\nNothing else."
    )
}

fn numbered(lines: usize) -> String {
    (0..lines).map(|n| format!("value_{n} = compute({n}, scale=1.0)\n")).collect()
}

const NASTY: [&str; 8] = [
    "x = 1\r\ny = 2\r\n",
    "no newline at the end",
    "\n\nstarts with newlines\n",
    "\r\nstarts with a carriage return",
    "s = '</content></TOOL_CALL>'\nt = '</TOOL_ARGS></AGENT_CALL>'\n<TOOL_CALL><TOOL_NAME>x</TOOL_NAME>\n",
    "<![CDATA[x]]>",
    "# größer ≠ kleiner 🦀\n\u{feff}\ttab  \n",
    "</content fence=\"x\"></content>\n",
];

#[test]
fn an_edit_reaches_its_target_by_overwriting_whatever_the_target_holds() {
    for target in NASTY {
        let mut stage =
            Stage::coder("solve", &edit_statement("a.py", target), &[("a.py", "old = 1\n")]);
        let (last, _) = stage.play(12);
        assert_eq!(last, "return_result");
        assert_eq!(stage.files["a.py"], target);
        let names: Vec<&str> = stage.calls.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["open_files", "overwrite_file", "return_result"]);
    }
}

#[test]
fn an_edit_reaches_its_target_by_small_replacements_where_they_are_offered() {
    let old = numbered(80);
    for nasty in NASTY {
        let new = old
            .replace("value_3 = compute(3, scale=1.0)\n", nasty)
            .replace("scale=1.0)\nvalue_71 ", "scale=2.0)\r\nvalue_71 ");
        let mut stage = Stage::coder("solve", &edit_statement("a.py", &new), &[("a.py", &old)])
            .with_tool("replace_in_file", &["path", "old", "new"]);
        stage.play(12);
        assert_eq!(stage.files["a.py"], new);
        assert!(stage.calls.iter().all(|(name, _)| name != "overwrite_file"));
        assert!(stage.said() < tokens::of_text(&new) / 2, "{} tokens said", stage.said());
    }
}

#[test]
fn a_file_that_is_shown_already_as_it_was_or_as_it_is_by_now_is_not_opened_again() {
    let mut stage = Stage::coder("solve", &edit_statement("a.py", "b\n"), &[("a.py", "a\n")]);
    stage.open = vec!["a.py".to_owned()];
    stage.play(5);
    let names: Vec<&str> = stage.calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["overwrite_file", "return_result"]);
}

#[test]
fn a_failed_replacement_is_followed_by_overwriting() {
    let old = numbered(40);
    let new = old.replace("value_9 ", "other ");
    let mut stage = Stage::coder("solve", &edit_statement("a.py", &new), &[("a.py", &old)])
        .with_tool("replace_in_file", &["path", "old", "new"]);
    stage.play(2);
    assert_eq!(stage.calls[1].0, "replace_in_file");
    stage.files.insert("a.py".to_owned(), old);
    stage.dialogue[3] = ChatMessage::user(
        "<TOOL_RESULT tool=\"replace_in_file\" ok=\"false\">not unique</TOOL_RESULT>",
    );
    stage.play(5);
    assert!(stage.calls.iter().any(|(name, _)| name == "overwrite_file"));
    assert_eq!(stage.files["a.py"], new);
}

#[test]
fn main_delegates_and_hands_in_what_comes_back() {
    let mut stage = Stage::main("solve", &question("run", 3));
    stage.subagent_result = (true, "pkg/a.py:7:4".to_owned());
    stage.play(5);
    let calls: Vec<(&str, Option<&str>)> = stage
        .calls
        .iter()
        .map(|(name, args)| (name.as_str(), args.get("answer").map(String::as_str)))
        .collect();
    assert_eq!(
        calls,
        [("coder", None), ("submit_answer", Some("pkg/a.py:7:4")), ("complete", None)]
    );
}

#[test]
fn main_opens_the_file_of_an_edit_for_the_coder_and_answers_nothing() {
    let mut stage = Stage::main("solve", &edit_statement("pkg/a.py", "x\n"));
    stage.play(5);
    let names: Vec<&str> = stage.calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["coder", "complete"]);
    assert_eq!(stage.calls[0].1["paths"], "pkg/a.py");
}

#[test]
fn main_gives_no_answer_when_the_coder_was_stopped() {
    let mut stage = Stage::main("solve", &question("run", 3));
    stage.subagent_result = (false, "cancelled: it repeats itself".to_owned());
    let (last, arguments) = stage.play(5);
    assert_eq!(last, "complete");
    assert!(arguments["summary"].contains("it repeats itself"));
}

fn question(name: &str, line: usize) -> String {
    format!(
        "In `pkg/use.py`, line {line}, the name `{name}` is used:\n\n    something\n\n\
         Where is it defined? Answer with `path:line:column`."
    )
}

/// The first name of a series for which `wanted` holds.
fn named(wanted: impl Fn(&str) -> bool) -> String {
    (0..).map(|n| format!("name_{n}")).find(|name| wanted(name)).unwrap()
}

#[test]
fn without_a_definition_tool_the_first_hit_is_guessed_with_a_column_that_is_often_wrong() {
    for wrong in [true, false] {
        let name = named(|n| !gets_stuck(n) && misjudges_column(n) == wrong);
        let text = format!("class A:\n    def {name}(self): ...\n");
        let mut stage = Stage::coder(
            "solve",
            &question(&name, 1),
            &[("pkg/a.py", &text), ("pkg/b.py", &format!("def {name}(): ...\n"))],
        );
        let (last, arguments) = stage.play(6);
        assert_eq!(last, "return_result");
        let column = if wrong { 0 } else { 8 };
        assert_eq!(arguments["result"], format!("pkg/a.py:2:{column}"));
    }
}

#[test]
fn about_one_name_in_twelve_gets_it_stuck_and_the_gates_is_not_among_them() {
    let stuck = (0..2_400).filter(|n| gets_stuck(&format!("symbol_{n}"))).count();
    assert!(!gets_stuck("ring_the_bell"));
    assert!((150..=260).contains(&stuck), "{stuck} of 2400");
}

#[test]
fn a_stuck_coder_repeats_one_call_for_ever_ignores_nudges_and_is_held_back() {
    let name = named(gets_stuck);
    let mut stage = Stage::coder("solve", &question(&name, 1), &[("pkg/a.py", "x = 1\n")]);
    stage.notice = Some("You repeat yourself. Do something else.".to_owned());
    stage.play(30);
    assert!(stage.calls[1..].iter().all(|call| *call == stage.calls[1]));
    assert_eq!(stage.calls[1].0, "search_text");
    assert_eq!(stage.replies[0].pause, Duration::ZERO);
    assert!(stage.replies[2..].iter().all(|reply| reply.pause > Duration::ZERO));
}

#[test]
fn with_a_definition_tool_it_does_not_get_stuck_and_imports_decide() {
    let name = named(gets_stuck);
    let text = format!("from .right import {name}\n\n{name}()\n");
    let mut stage = Stage::coder("solve", &question(&name, 3), &[("pkg/use.py", &text)])
        .with_tool("find_definition", &["name", "path"]);
    let found = format!(
        "pkg/left.py:1:4 function {name}\npkg/right.py:9:4 function {name}\n\
         pkg/right.py:12:8 method Thing.{name}\n"
    );
    stage.definitions.insert(name, found);
    let (_, arguments) = stage.play(6);
    assert_eq!(arguments["result"], "pkg/right.py:9:4");
    assert!(stage.replies.iter().all(|reply| reply.pause.is_zero()));
}

#[test]
fn a_name_behind_self_means_the_class_around_it_and_a_bare_name_the_file() {
    let text = "class A:\n    def go(self): ...\n\nclass B:\n    def go(self): ...\n    def run(self):\n        self.go()\n\ndef go(): ...\ngo()\n";
    let found = "pkg/other.py:1:4 function go\npkg/use.py:2:8 method A.go\n\
                 pkg/use.py:5:8 method B.go\npkg/use.py:9:4 function go\n";
    for (line, place) in [(7, "pkg/use.py:5:8"), (10, "pkg/use.py:9:4")] {
        let mut stage = Stage::coder("solve", &question("go", line), &[("pkg/use.py", text)])
            .with_tool("find_definition", &["name", "path"]);
        stage.definitions.insert("go".to_owned(), found.to_owned());
        assert_eq!(stage.play(6).1["result"], place, "line {line}");
    }
}

#[test]
fn a_definition_that_is_cut_is_understood_as_long_as_its_place_is_whole() {
    let text = "from bell import ring_the_bell\n\nring_the_bell()\n";
    let cut =
        [("bell.py:1:4 function rin", "bell.py:1:4"), ("tower/bell.py:1:4", "pkg/use.py:3:0")];
    for (line, answer) in cut {
        let question = question("ring_the_bell", 3);
        let mut stage = Stage::coder("solve", &question, &[("pkg/use.py", text)])
            .with_tool("find_definition", &["name", "path"]);
        stage.definitions.insert("ring_the_bell".to_owned(), line.to_owned());
        assert_eq!(stage.play(6).1["result"], answer);
    }
}

#[test]
fn a_name_behind_a_module_means_that_module() {
    let text = "from . import tools as t\nimport pkg.deep\nt.go()\npkg.deep.go()\n";
    let found =
        "pkg/a.py:1:4 function go\npkg/tools.py:2:4 function go\npkg/deep.py:3:4 function go\n";
    let mut stage = Stage::coder("solve", &question("go", 3), &[("pkg/use.py", text)])
        .with_tool("find_definition", &["name", "path"]);
    stage.definitions.insert("go".to_owned(), found.to_owned());
    assert_eq!(stage.play(6).1["result"], "pkg/tools.py:2:4");
}

#[test]
fn a_strange_request_is_answered_and_says_what_it_is() {
    let reply = reply(&ChatRequest::default(), 3);
    assert!(reply.text.contains("rehearsal stand-in"));
}

#[test]
fn the_same_request_gets_the_same_reply() {
    let stage = Stage::coder("solve", &edit_statement("a.py", "b\n"), &[("a.py", "a\n")]);
    assert_eq!(reply(&stage.request(), 5), reply(&stage.request(), 5));
    let played = |seed| {
        let mut stage = Stage::coder("solve", &edit_statement("a.py", "b\n"), &[("a.py", "a\n")])
            .with_seed(seed);
        stage.play(9);
        (stage.dialogue, stage.files)
    };
    assert_eq!(played(5), played(5));
}
