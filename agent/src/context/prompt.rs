//! The prompts that stand at the beginning: the system prompt and the core prompt.

use super::directory::{Tree, View};
use super::files::Files;
use crate::agents::{self, Agent};
use crate::markup::Block;
use crate::tools::{Argument, Tool};
use hone_protocol::{Job, Role};
use std::path::Path;

/// How calls are written, as models are told.
const CALL_RULE: &str = include_str!("call_rule.md");

/// Writes the system prompt of an agent: who it is, what it can do, how it calls. It is the same
/// in every request of every agent of the kind.
pub fn system(agent: &Agent, tools: &[&Tool], role: Role) -> String {
    let mut parts =
        vec![Block::new("AGENT").with("name", agent.name).around(agent.prompt.trim_end())];
    if !tools.is_empty() {
        let tools = tools.iter().map(|tool| entry("TOOL", tool.name, &tool.about, &tool.arguments));
        parts.push(list("TOOLS", tools));
        let agents = agents::subagents(agent, role)
            .map(|below| entry("SUBAGENT", below.name, below.about, &(below.arguments)()));
        parts.push(list("SUBAGENTS", agents));
        parts.push(Block::new("CALL_RULE").around(CALL_RULE));
    }
    parts.join("\n")
}

fn entry(tag: &str, name: &str, about: &str, arguments: &[Argument]) -> String {
    let mut lines = vec![about.to_owned()];
    lines.extend(arguments.iter().map(Argument::to_block));
    Block::new(tag).with("name", name).around(&format!("{}\n", lines.join("\n")))
}

fn list(tag: &str, entries: impl Iterator<Item = String>) -> String {
    let entries: String = entries.map(|entry| entry + "\n").collect();
    Block::new(tag).around(&entries)
}

/// Writes the core prompt: the problem, the task of a sub-agent, the open files, the directory.
pub fn core(job: &Job, task: Option<&str>, files: &Files, directory: &Path) -> String {
    let role = match job.role {
        Role::Solve => "solve",
        Role::Improve => "improve",
        Role::Repair => "repair",
    };
    let mut parts = vec![Block::new("PROBLEM").with("role", role).around(&job.statement)];
    parts.extend(task.map(|task| Block::new("TASK").around(task)));
    parts.push(Block::new("OPEN_FILES").around(&files.to_blocks()));
    let tree = Tree::read(directory, &View::default()).to_text();
    parts.push(Block::new("DIRECTORY").with("path", ".").around(&tree));
    parts.join("\n")
}
