//! A trial of 30 steps, played again to see how much of its prompts a prefix cache would serve.
//!
//! The coder works on a copy of the agent's own source: it looks around, searches, opens files,
//! watches a command, writes files as wholes, runs commands with short and long outputs.

use crate::server::Asked;
use crate::trial::Trial;
use std::path::Path;

/// Bytes of a token, about.
const TOKEN: usize = 4;

/// What one request would have cost.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Those of them that a cache would serve.
    pub cached: usize,
}

/// Plays the trial and returns the requests of its coder.
pub fn play() -> Vec<Asked> {
    let trial = Trial::for_coder();
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths =
        ["src/tools/desk.rs", "src/tools/search_text.rs", "src/node/calls.rs", "src/lib.rs"];
    for path in paths {
        trial.write(path, std::fs::read(source.join(path)).unwrap());
    }
    let mut version = 0;
    let mut edited = |path: &str| {
        version += 1;
        let text = std::fs::read_to_string(source.join(path)).unwrap();
        text.replacen("use ", &format!("// Version {version}.\nuse "), 1)
    };
    let run = |command: &str| trial.coder("execute_command", &[("command", command)]);
    let open = |paths: &str| trial.coder("open_files", &[("paths", paths)]);
    let search =
        |pattern: &str| trial.coder("search_text", &[("pattern", pattern), ("context", "2")]);
    let mut write = |path: &str| {
        trial.coder("overwrite_file", &[("path", path), ("content", &edited(path))]);
    };

    trial.coder("start_coding", &[]);
    trial.coder("view_directory", &[]);
    search("pub fn");
    open("src/lib.rs");
    search("ToolError::refused");
    open("src/tools/search_text.rs\nsrc/tools/desk.rs");
    trial.coder("explored", &[("notes", "The limits stand in search_text.rs.")]);
    trial.coder("watch", &[("command", "date +%N; cksum src/*.rs")]);
    write("src/tools/search_text.rs");
    run("grep -c '' src/tools/*.rs");
    write("src/tools/desk.rs");
    run("cat src/tools/desk.rs | head -100");
    write("src/tools/search_text.rs");
    run("seq 1 400");
    run("echo 'error: expected `;`'; exit 1");
    trial.coder("calculate", &[("expression", "12 * 7")]);
    open("src/node/calls.rs");
    write("src/node/calls.rs");
    run("ls -la src src/tools");
    trial.coder("implemented", &[("notes", "Both limits are arguments now.")]);
    run("seq 1 1000");
    search("fn call_agent");
    write("src/node/calls.rs");
    run("diff src/lib.rs src/node/calls.rs | head -50; true");
    trial.coder("tested", &[("notes", "The tests pass.")]);
    run("git status --short; true");
    trial.coder("close_files", &[("paths", "src/lib.rs")]);
    write("src/tools/desk.rs");
    trial.coder("cleaned_up", &[("notes", "Nothing is left over.")]);
    trial.coder("return_result", &[("result", "The limits are arguments now.")]);
    trial.succeed();
    trial.server.asked("coder")
}

/// Tells for each request how much of it a cache would serve that keeps the prefixes of all
/// requests before it, in blocks of so many tokens and from so many tokens on.
pub fn served(asked: &[Asked], block: usize, least: usize) -> Vec<Step> {
    let texts: Vec<String> = asked.iter().map(|asked| asked.body["messages"].to_string()).collect();
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let steps = texts.iter().enumerate().map(|(at, text)| {
        let longest = texts[..at].iter().map(|before| common(before, text)).max();
        let blocks = longest.unwrap_or_default() / TOKEN / block * block;
        Step { prompt: text.len().div_ceil(TOKEN), cached: if blocks < least { 0 } else { blocks } }
    });
    steps.collect()
}

/// Returns the share of all prompt tokens that the cache would serve.
pub fn share(steps: &[Step]) -> f64 {
    let sum = |count: fn(&Step) -> usize| steps.iter().map(count).sum::<usize>() as f64;
    sum(|step| step.cached) / sum(|step| step.prompt)
}
