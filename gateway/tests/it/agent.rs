//! An agent as the door sees it: an HTTP client on a unix socket.

use crate::model_server::{ModelServer, Script};
use hone_gateway::http::Patience;
use hone_gateway::outage::OutageSettings;
use hone_gateway::prices::PriceEntry;
use hone_gateway::settings::{GatewaySettings, RetrySettings};
use hone_gateway::{Gateway, Keys, LineSpec, ModelName, SpendRole, TrialDoor, TrialSpec};
use hone_protocol::{EVENT_HEADER, Event, Job, Limits, NODE_HEADER, PROTOCOL_VERSION, Role};
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

    /// Asks for a completion on behalf of a node, after the event with a number.
    pub async fn chat_as(&self, node: &str, event: u64) -> (u16, Value) {
        let request = self.client.post("http://door/v1/chat/completions");
        let request = request.header(NODE_HEADER, node).header(EVENT_HEADER, event);
        read(request.body(ask("hello").to_string()).send().await.unwrap()).await
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
        let spec = TrialSpec { line, job: job(), socket, other_models: None, pace: None };
        let (door, events) = self.gateway.open_trial(spec).unwrap();
        let agent = Agent::new(door.socket());
        (door, events, agent)
    }
}

/// The key that tests plant.
pub const KEY: &str = "sk-planted-4cc1d3a7";

/// Settings of one model behind a loopback server, with quick tries and a price of 1, 0.1, 1.25
/// and 4 USD for a million tokens of the four classes.
pub fn settings_of(provider: &str, base_url: &str) -> GatewaySettings {
    let model: ModelName = format!("{provider}:test-model").parse().unwrap();
    let mut settings = GatewaySettings::of_model(model.clone()).unwrap();
    settings.profiles.get_mut(provider).unwrap().base_url = base_url.to_owned();
    let price = PriceEntry {
        input: Some(1.0),
        cache_read: Some(0.1),
        cache_write: Some(1.25),
        output: Some(4.0),
        ..PriceEntry::default()
    };
    let entries = [(model.to_string(), price)].into();
    settings.prices.add_entries(&entries, "the test").unwrap();
    settings.retry = RetrySettings { tries: 3, first_wait: 0.01, longest_wait: 0.05 };
    settings.patience = Patience { connect: 2.0, head: 2.0, idle: 0.3 };
    settings.outage = OutageSettings { probe: 0.05, give_up: Some(0.0) };
    settings
}

pub fn keys() -> Keys {
    let mut keys = Keys::default();
    for variable in
        ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"]
    {
        keys.insert(variable, secrecy::SecretString::from(KEY));
    }
    keys
}

/// A gateway before a loopback server, with one open trial.
pub struct Wired {
    pub bench: Bench,
    pub server: ModelServer,
    pub door: TrialDoor,
    pub agent: Agent,
    _events: mpsc::Receiver<Event>,
}

impl Wired {
    pub async fn new(provider: &str, scripts: Vec<Script>) -> Self {
        Self::with(provider, scripts, |_| {}).await
    }

    pub async fn with(
        provider: &str,
        scripts: Vec<Script>,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let server = ModelServer::start(scripts).await;
        let mut settings = settings_of(provider, &server.base_url);
        change(&mut settings);
        let bench = Bench::new(settings, keys());
        let (door, events, agent) = bench.open("t1");
        Wired { bench, server, door, agent, _events: events }
    }
}
