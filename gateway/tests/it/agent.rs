//! An agent as the door sees it: an HTTP client on a unix socket.

use hone_gateway::settings::GatewaySettings;
use hone_gateway::{Gateway, Keys, LineSpec, ModelName, SpendRole, TrialDoor, TrialSpec};
use hone_protocol::{Event, Job, Limits, PROTOCOL_VERSION, Role};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

pub struct Agent {
    client: reqwest::Client,
}

impl Agent {
    pub fn new(socket: &Path) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().unix_socket(socket).no_proxy().build().unwrap();
        Agent { client }
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        read(self.client.get(format!("http://door{path}")).send().await.unwrap()).await
    }

    pub async fn try_get(&self, path: &str) -> reqwest::Result<reqwest::Response> {
        self.client.get(format!("http://door{path}")).send().await
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.post(format!("http://door{path}")).body(body.to_string());
        read(request.send().await.unwrap()).await
    }

    pub async fn post_raw(&self, path: &str, body: Vec<u8>) -> reqwest::Response {
        self.client.post(format!("http://door{path}")).body(body).send().await.unwrap()
    }

    /// Posts a body of which the door may not read all; returns the status when it is told.
    pub async fn try_post(&self, path: &str, body: Vec<u8>) -> Option<u16> {
        let sent = self.client.post(format!("http://door{path}")).body(body).send().await;
        sent.ok().map(|reply| reply.status().as_u16())
    }

    /// Asks for a streamed completion and returns all of the body.
    pub async fn stream(&self, path: &str, mut body: Value) -> (u16, String) {
        body["stream"] = json!(true);
        let reply = self.post_raw(path, body.to_string().into_bytes()).await;
        (reply.status().as_u16(), reply.text().await.unwrap())
    }

    /// Asks the OpenAI way for a whole completion.
    pub async fn chat(&self, text: &str) -> (u16, Value) {
        self.post("/v1/chat/completions", &ask(text)).await
    }
}

async fn read(reply: reqwest::Response) -> (u16, Value) {
    let status = reply.status().as_u16();
    let text = reply.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

pub fn ask(text: &str) -> Value {
    json!({"model": "main", "messages": [{"role": "user", "content": text}]})
}

pub fn job() -> Job {
    Job {
        protocol: PROTOCOL_VERSION,
        role: Role::Solve,
        statement: "do it".into(),
        workdir: "/work".into(),
        archive: None,
        limits: Limits { seconds: 60.0, usd: 1.0, iterations: 50, context_tokens: 100_000 },
        models: vec!["main".into(), "fast".into()],
    }
}

/// A temporary folder with a gateway in it.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub gateway: Gateway,
}

impl Bench {
    pub fn new(settings: GatewaySettings, keys: Keys) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Bench { dir, gateway: Gateway::new(settings, keys).unwrap() }
    }

    pub fn rehearsal() -> Self {
        Bench::new(GatewaySettings::of_model(ModelName::rehearsal()).unwrap(), Keys::default())
    }

    pub fn socket(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.sock"))
    }

    pub fn open(&self, name: &str) -> (TrialDoor, mpsc::Receiver<Event>, Agent) {
        self.open_with(LineSpec::new(name, SpendRole::Benchmark))
    }

    pub fn open_with(&self, line: LineSpec) -> (TrialDoor, mpsc::Receiver<Event>, Agent) {
        let socket = self.socket(&line.id);
        let spec = TrialSpec { line, job: job(), socket, other_models: None };
        let (door, events) = self.gateway.open_trial(spec).unwrap();
        let agent = Agent::new(door.socket());
        (door, events, agent)
    }
}
