//! The tools for files: opening, closing, writing, viewing, searching; and `calculate`.

use crate::server::Reply;
use crate::trial::{Trial, tool};
use hone_protocol::EventKind;

#[test]
fn opening_shows_a_file_once_and_says_what_cannot_be_opened() {
    let trial = Trial::for_coder();
    trial.write("a/b.py", "x = 1\n");
    trial.write("bytes", [0xFF, 0xFE]);
    trial.write("large", "x".repeat(300 * 1024));
    trial.coder("open_files", &[("paths", "a/b.py\nmissing.py")]);
    trial.coder("open_files", &[("paths", "./a/../a/b.py")]);
    for path in ["a", "bytes", "large", "../outside", ""] {
        trial.coder("open_files", &[("paths", path)]);
    }
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(
        told[0].starts_with(
            "<TOOL_RESULT tool=\"open_files\" ok=\"true\" id=\"r1\">\nopened a/b.py (1 lines)\n\
             missing.py was not opened: there is no such file; look with view_directory</TOOL_RESULT>\n\
             <FILE path=\"a/b.py\">\nx = 1\n</FILE>\n<STATUS "
        ),
        "{}",
        told[0]
    );
    assert!(told[1].contains("a/b.py is open already and has not changed"));
    assert!(!told[1].contains("<FILE"));
    assert!(told[2].contains("ok=\"false\"") && told[2].contains("it is a directory"));
    assert!(told[3].contains("not UTF-8"));
    assert!(told[4].contains("307200 bytes, more than the 262144"));
    assert!(told[5].contains("outside of the work directory"));
    assert!(told[6].contains("name at least one path"));
}

#[test]
fn a_file_is_overwritten_only_when_it_is_open_and_as_it_was_seen() {
    let trial = Trial::for_coder();
    trial.write("a.py", "x = 1\n");
    trial.coder("overwrite_file", &[("path", "a.py"), ("content", "x = 2\n")]);
    trial.coder("open_files", &[("paths", "a.py")]);
    let write = |content| tool("overwrite_file", &[("path", "a.py"), ("content", content)]);
    // The file changes while the model thinks.
    let behind = Reply::Write(trial.work("a.py"), "x = 5\n".to_owned(), write("x = 3\n"));
    trial.server.script("coder", behind);
    trial.server.script("coder", write("x = 6\n"));
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("a.py exists and is not open; open it first with open_files"));
    assert!(
        told[2].contains("ok=\"false\"")
            && told[2].contains("a.py has changed on disk since you saw it")
    );
    assert!(told[2].contains("-x = 1\n+x = 5\n</FILE_DIFF>"), "{}", told[2]);
    assert!(told[3].contains("wrote a.py (1 lines)"));
    let diff = "<FILE_DIFF path=\"a.py\">\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 5\n+x = 6\n</FILE_DIFF>";
    assert!(told[3].contains(diff), "{}", told[3]);
    assert_eq!(trial.read("a.py"), "x = 6\n");
}

#[test]
fn a_change_on_disk_is_shown_as_a_diff_at_the_next_step() {
    let trial = Trial::for_coder();
    trial.write("a.py", "x = 1\n");
    trial.write("b.py", "y\n");
    trial.coder("open_files", &[("paths", "a.py\nb.py")]);
    trial.coder("execute_command", &[("command", "echo 'x = 9' > a.py; rm b.py")]);
    trial.coder("overwrite_file", &[("path", "a.py"), ("content", "x = 10\n")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[1].contains("-x = 1\n+x = 9\n"), "{}", told[1]);
    assert!(told[1].contains("b.py is no longer open: there is no such file"));
    assert!(told[2].contains("-x = 9\n+x = 10\n"));
}

#[test]
fn new_files_are_made_with_their_directories_and_are_open_afterwards() {
    let trial = Trial::for_coder();
    trial.coder("overwrite_file", &[("path", "new/deep/a.txt"), ("content", "\r\n</content>\0é")]);
    trial.coder("overwrite_file", &[("path", "new/deep/a.txt"), ("content", "two")]);
    trial.coder("overwrite_file", &[("path", "new/deep/a.txt"), ("content", "two")]);
    trial.coder("overwrite_file", &[("path", "new"), ("content", "x")]);
    trial.coder("overwrite_file", &[("path", "."), ("content", "x")]);
    trial.coder("overwrite_file", &[("path", "../x"), ("content", "x")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("created new/deep/a.txt (2 lines); it is open"));
    assert!(!told[0].contains("<FILE_DIFF"), "what the model has just written is not shown again");
    assert!(told[1].contains("wrote new/deep/a.txt"));
    assert!(told[2].contains("has exactly this content already"));
    assert!(told[3].contains("it is a directory"));
    assert!(told[4].contains("name a file, not the work directory"));
    assert!(told[5].contains("outside of the work directory"));
    assert_eq!(trial.read("new/deep/a.txt"), "two");
    let edits = trial.events_of("0.1").into_iter().filter_map(|event| match event.kind {
        EventKind::FileEdited { diff, .. } => Some(diff),
        _ => None,
    });
    assert_eq!(edits.count(), 2);
}

#[test]
fn a_file_about_the_call_syntax_is_written_byte_by_byte() {
    let content = "<TOOL_CALL>\n<TOOL_NAME>x</TOOL_NAME><TOOL_ARGS><content>\r\n</content></TOOL_ARGS>\n</TOOL_CALL>\n<![CDATA[ ]]>\0\n";
    let trial = Trial::for_coder();
    let call = tool("overwrite_file", &[("path", "syntax.md"), ("content", content)]);
    // The stop text stands in the content: the reply comes in two pieces.
    let (first, rest) = call.split_once("</TOOL_CALL>").unwrap();
    trial.server.script("coder", first);
    trial.server.script("coder", rest);
    trial.coder("return_result", &[("result", "done")]);
    trial.succeed();
    assert_eq!(trial.read("syntax.md"), content);
    let asked = trial.server.asked("coder");
    assert!(asked[1].message(-1).starts_with("<NOTICE kind=\"limit\">"));
    assert!(asked[1].message(-1).contains("inside the argument `content`"));
    assert_eq!(asked[1].body.get("stop"), None, "the rest would be stopped again");
    assert_eq!(asked[2].body["stop"][0], "</TOOL_CALL>");
}

#[test]
fn closing_takes_a_file_from_the_open_ones() {
    let trial = Trial::for_coder();
    trial.write("a.py", "x = 1\n");
    trial.coder("open_files", &[("paths", "a.py")]);
    trial.coder("close_files", &[("paths", "./a.py")]);
    trial.coder("close_files", &[("paths", "a.py")]);
    trial.coder("overwrite_file", &[("path", "a.py"), ("content", "x = 2\n")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[1].contains("closed a.py"));
    assert!(told[2].contains("not open: a.py"));
    assert!(told[3].contains("exists and is not open"));
    let events = trial.events_of("0.1");
    assert!(events.iter().any(|e| e.kind == EventKind::FileClosed { path: "a.py".to_owned() }));
}

#[test]
fn a_directory_is_drawn_with_depth_hidden_files_and_collapsed_entries() {
    let trial = Trial::for_coder();
    trial.write("a/b/c/d/e.py", "");
    trial.write(".hidden", "");
    trial.write(".gitignore", "ignored\n");
    trial.write("ignored", "");
    for number in 0..9 {
        trial.write(&format!("many/{number}"), "");
    }
    trial.coder("view_directory", &[]);
    trial.coder("view_directory", &[("path", "a"), ("depth", "1")]);
    trial.coder("view_directory", &[("hidden", "true"), ("depth", "1")]);
    trial.coder("view_directory", &[("path", "many"), ("collapse", "2")]);
    trial.coder("view_directory", &[("path", "ignored")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    let shown = |text: &str| {
        let (_, value) = text.split_once('>').unwrap();
        value.split_once("</TOOL_RESULT>").unwrap().0.trim_start_matches('\n').to_owned()
    };
    assert!(shown(&told[0]).starts_with("a/\n  b/\n    c/\nmany/\n  0\n  1\n"), "{}", told[0]);
    assert_eq!(shown(&told[1]), "b/");
    assert_eq!(shown(&told[2]), ".gitignore\n.hidden\na/\nignored\nmany/");
    assert_eq!(shown(&told[3]), "0\n1\n[… 7 more entries …]");
    assert!(told[4].contains("is not a directory"));
}

#[test]
fn search_finds_literals_and_patterns_with_context_and_says_what_it_left_out() {
    let trial = Trial::for_coder();
    trial.write("a.py", "one\ndef f(x):\r\n    return (x)\n");
    trial.write("b/c.py", "f(1)\n");
    trial.write("binary", b"f(1)\0");
    trial.write("many.txt", "hit\n".repeat(600));
    trial.write("wide.txt", format!("wide {}", "é".repeat(4_000)));
    trial.coder("search_text", &[("pattern", "f(")]);
    trial.coder("search_text", &[("pattern", "^def \\w+"), ("regex", "true"), ("context", "1")]);
    trial.coder("search_text", &[("pattern", "f("), ("path", "b/c.py")]);
    trial.coder("search_text", &[("pattern", "hit")]);
    trial.coder("search_text", &[("pattern", "(unclosed"), ("regex", "true")]);
    trial.coder("search_text", &[("pattern", "nowhere to be found")]);
    trial.coder("search_text", &[("pattern", "x"), ("path", "missing")]);
    trial.coder("search_text", &[("pattern", "wide")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    // How much is shown may change; that nothing is lost in silence may not.
    assert!(told[0].contains("a.py:2:def f(x)"), "{}", told[0]);
    assert_eq!(shown_and_left_out(&told[0], ":"), 2, "the binary file does not count");
    assert!(told[1].contains("a.py-1-one\na.py:2:def f(x)"), "{}", told[1]);
    assert!(told[1].contains("\na.py-3-    retu"), "{}", told[1]);
    assert!(told[2].contains(">b/c.py:1:f(1)</TOOL_RESULT>"));
    assert_eq!(shown_and_left_out(&told[3], ":hit"), 600);
    assert!(told[3].len() < 4_000);
    assert!(told[4].contains("ok=\"false\"") && told[4].contains("the pattern cannot be used"));
    assert!(told[5].contains("nothing was found"));
    assert!(told[6].contains("missing does not exist"));
    assert!(told[7].contains("[… line cut …]") && told[7].len() < 4_000);
}

/// Counts the matches that a search shows, by what stands in their lines, and those left out.
fn shown_and_left_out(told: &str, mark: &str) -> usize {
    let result = told.split_once("</TOOL_RESULT>").unwrap().0;
    let is_match = |line: &&str| !line.starts_with(['[', '<']) && line.contains(mark);
    let shown = result.lines().filter(is_match).count();
    let shown = shown + usize::from(!result.contains(">\n"));
    let left_out = result.split_once(" more matches left out").map(|(before, _)| {
        let digits = before.rsplit_once(' ').unwrap().1;
        digits.parse::<usize>().unwrap()
    });
    shown + left_out.unwrap_or_default()
}

#[test]
fn text_files_of_any_kind_can_be_changed() {
    let trial = Trial::for_coder();
    let paths = ["src/lib.rs", "Cargo.toml", "a.py", "README.md", "no_extension", ".hidden"];
    for path in paths {
        trial.write(path, "old\n");
    }
    trial.coder("open_files", &[("paths", &paths.join("\n"))]);
    for path in paths {
        trial.coder("overwrite_file", &[("path", path), ("content", "new\n")]);
    }
    trial.coder("return_result", &[("result", "")]);
    trial.succeed();
    for path in paths {
        assert_eq!(trial.read(path), "new\n", "{path}");
    }
}

#[test]
fn calculate_computes_and_says_what_it_cannot_read() {
    let trial = Trial::for_coder();
    trial.coder("calculate", &[("expression", "(3 + 4.5) * 2 ^ 10 / 7 % 3")]);
    trial.coder("calculate", &[("expression", "2 + two")]);
    trial.coder("return_result", &[("result", "")]);
    let told = trial.told();
    assert!(told[0].contains("ok=\"true\" id=\"r1\">2.142857"), "{}", told[0]);
    assert!(told[1].contains("ok=\"false\" id=\"r2\">a number should stand at `two`"));
}
