//! A planted key is found on the wire to its provider, and nowhere else: not in the sandbox, not in what is said,
//! and not in anything that is written.

use hone_tests::hone::{Hone, Said, git};
use hone_tests::model_server::{Answer, ModelServer};
use std::path::{Path, PathBuf};

const KEY: &str = "sk-planted-7f1d0c2be94a";

/// What the agent prints after it has looked around; shows that the search below sees what agents do.
const LOOKED: &str = "LOOKED-AROUND";

/// Prints the environment of every process in the sandbox.
const LOOK: &str = "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null; env; \
     echo LOOKED-\"\"AROUND";

/// Lets the main agent send a coder, and the coder look around.
fn look_around(body: &serde_json::Value) -> Answer {
    let body = body.to_string();
    let text = if body.contains(LOOKED) {
        "I have seen enough.".to_owned()
    } else if body.contains("execute_command") {
        call("TOOL", "execute_command", "command", LOOK)
    } else {
        call("AGENT", "coder", "task", "Look around.")
    };
    Answer::Text { text, prompt: 100, output: 10 }
}

fn call(kind: &str, name: &str, argument: &str, value: &str) -> String {
    format!(
        "<{kind}_CALL>\n<{kind}_NAME>{name}</{kind}_NAME>\n<{kind}_ARGS>\n\
         <{argument}>{value}</{argument}>\n</{kind}_ARGS>\n</{kind}_CALL>"
    )
}

fn is_nowhere_but_on_the_wire(sandbox: &str) {
    let server = ModelServer::start(look_around);
    let hone = Hone::new();
    std::fs::write(hone.folder().join(".env"), format!("OPENAI_API_KEY={KEY}\n")).unwrap();
    let (url, run) = (server.url(), ["--run", "r", "--sandbox", sandbox, "-n", "0"]);
    let model = ["run", "--model", "openai:any", "--base-url", &url, "--suite", "edit"];
    let mut command = hone.command(model.iter().chain(&run).chain(&["--problems", "1"]));
    command.env("ANTHROPIC_API_KEY", KEY).env("SOME_OTHER_VARIABLE", KEY).env("RUST_LOG", "trace");
    let said = Said::from(command.output().unwrap()).exits(0);
    std::fs::remove_file(hone.folder().join(".env")).unwrap();

    let asked = server.asked();
    let bearer = format!("Bearer {KEY}");
    assert!(asked.iter().all(|it| it.authorization.as_deref() == Some(bearer.as_str())));
    let bodies: String = asked.iter().map(|it| it.body.to_string()).collect();
    assert!(bodies.contains(LOOKED), "the agent did not look around:\n{bodies}\n{}", said.err);
    assert!(bodies.contains("HONE_SOCKET="), "it saw no environment");
    assert!(!bodies.contains(KEY), "the agent saw the key");

    assert!(!said.out.contains(KEY) && !said.err.contains(KEY), "{}\n{}", said.out, said.err);
    let mut seen = 0;
    for (path, bytes) in everything_written(hone.folder()) {
        seen += usize::from(contains(&bytes, LOOKED));
        assert!(!contains(&bytes, KEY), "the key is in {}", path.display());
    }
    assert!(seen > 0, "the search does not see what is written");
    let archive = hone.run_folder("r").join("archive.git");
    let objects = git(&archive, &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(objects.contains("openai:any"), "the search does not see into the archive");
    assert!(!objects.contains(KEY), "the key is in the archive");
}

/// Reads every file, and those that are compressed as what they hold.
fn everything_written(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(everything_written(&path));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let plain = match path.extension().is_some_and(|extension| extension == "zst") {
                true => zstd::decode_all(bytes.as_slice()).unwrap(),
                false => bytes,
            };
            files.push((path, plain));
        }
    }
    files
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_planted_key_is_nowhere_but_on_the_wire_in_bubblewrap() {
    is_nowhere_but_on_the_wire("bubblewrap");
}

#[test]
fn a_planted_key_is_nowhere_but_on_the_wire_in_docker() {
    let engine = std::process::Command::new("docker").args(["version", "--format", "ok"]).output();
    let answers = engine.is_ok_and(|said| said.status.success());
    if !answers && std::env::var("HONE_REQUIRE_DOCKER").is_err() {
        return;
    }
    is_nowhere_but_on_the_wire("docker");
}
