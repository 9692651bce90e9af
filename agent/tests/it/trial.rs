//! A trial in a temporary directory: the agent's program against the scripted gateway.

use crate::server::Server;
use hone_protocol::{Event, EventKind, Job, Limits, NodeId, PROTOCOL_VERSION, Role};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

pub struct Trial {
    pub server: Server,
    directory: TempDir,
}

impl Trial {
    /// Prepares a trial whose job `change` has adjusted.
    pub fn with(change: impl FnOnce(&mut Job)) -> Self {
        let directory = TempDir::new().unwrap();
        let workdir = directory.path().join("work");
        std::fs::create_dir(&workdir).unwrap();
        let mut job = Job {
            protocol: PROTOCOL_VERSION,
            role: Role::Solve,
            statement: "Make it so.".to_owned(),
            workdir: workdir.display().to_string(),
            archive: None,
            limits: Limits { seconds: 60.0, usd: 1.0, iterations: 40, context_tokens: 100_000 },
            models: vec!["main".to_owned(), "reasoner".to_owned(), "fast".to_owned()],
        };
        change(&mut job);
        let server = Server::start(&directory.path().join("gateway.sock"), job);
        Trial { server, directory }
    }

    pub fn new() -> Self {
        Trial::with(|_| {})
    }

    /// Lets `main` hand everything to the coder and complete, so that `coder` can be scripted.
    pub fn for_coder() -> Self {
        let trial = Trial::new();
        trial.delegate(&[]);
        trial
    }

    pub fn delegate(&self, more: &[(&str, &str)]) {
        let mut arguments = vec![("task", "Do it.")];
        arguments.extend(more);
        self.server.script("main", agent("coder", &arguments));
        self.server.script("main", tool("complete", &[]));
    }

    pub fn work(&self, path: &str) -> PathBuf {
        self.directory.path().join("work").join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.work(path).parent().unwrap()).unwrap();
        std::fs::write(self.work(path), content).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.work(path)).unwrap()
    }

    pub fn coder(&self, tool_name: &str, arguments: &[(&str, &str)]) {
        self.server.script("coder", tool(tool_name, arguments));
    }

    pub fn spawn(&self) -> Child {
        Command::new(env!("CARGO_BIN_EXE_hone-agent"))
            .env("HONE_SOCKET", &self.server.socket)
            .current_dir(self.directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs the agent to its end.
    pub fn run(&self) -> Output {
        self.spawn().wait_with_output().unwrap()
    }

    /// Runs the agent and expects that it ends well.
    pub fn succeed(&self) {
        let output = self.run();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs the agent and returns what the coder was told after each of its replies.
    pub fn told(&self) -> Vec<String> {
        self.succeed();
        let asked = self.server.asked("coder");
        asked.iter().skip(1).map(|asked| asked.message(-1).to_owned()).collect()
    }

    /// Returns how the nodes ended, in the order in which they did.
    pub fn endings(&self) -> Vec<(String, String)> {
        let events = self.server.events().into_iter();
        events
            .filter_map(|event| match event.kind {
                EventKind::AgentFinished { how, .. } => Some((event.node.0, how)),
                _ => None,
            })
            .collect()
    }

    pub fn events_of(&self, node: &str) -> Vec<Event> {
        let node = NodeId(node.to_owned());
        self.server.events().into_iter().filter(|event| event.node == node).collect()
    }
}

fn call(kind: &str, name: &str, arguments: &[(&str, &str)]) -> String {
    let arguments: Vec<_> = arguments
        .iter()
        .map(|(name, value)| hone_agent::markup::Block::new(name).argument(value))
        .collect();
    format!(
        "I call.\n<{kind}_CALL>\n<{kind}_NAME>{name}</{kind}_NAME>\n<{kind}_ARGS>\n{}\n</{kind}_ARGS>\n</{kind}_CALL>",
        arguments.join("\n")
    )
}

/// Writes the call of a tool, as a model does by the rule.
pub fn tool(name: &str, arguments: &[(&str, &str)]) -> String {
    call("TOOL", name, arguments)
}

/// Writes the call of a sub-agent.
pub fn agent(name: &str, arguments: &[(&str, &str)]) -> String {
    call("AGENT", name, arguments)
}
