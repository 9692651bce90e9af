//! A model server on loopback that plays what a test tells it, byte by byte if need be, and keeps
//! what it was sent.

use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What a request was.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A reply, step by step.
#[derive(Clone, Debug)]
pub struct Script {
    head: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Closes the connection in the middle of the body.
    Cut,
}

impl Script {
    pub fn status(status: u16, kind: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n");
        Script { head, steps: vec![Step::Send(body.into())] }
    }

    pub fn json(body: &Value) -> Self {
        Self::status(200, "application/json", &body.to_string())
    }

    pub fn events(body: &str) -> Self {
        Self::status(200, "text/event-stream", body)
    }

    pub fn error(status: u16) -> Self {
        Self::status(status, "application/json", r#"{"error":{"message":"no"}}"#)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Sends the body in pieces of so many bytes.
    pub fn in_pieces(mut self, size: usize) -> Self {
        let whole = std::mem::take(&mut self.steps);
        for step in whole {
            match step {
                Step::Send(bytes) => {
                    self.steps.extend(bytes.chunks(size).map(|piece| Step::Send(piece.to_vec())));
                }
                other => self.steps.push(other),
            }
        }
        self
    }

    pub fn bytes(mut self, bytes: Vec<u8>) -> Self {
        self.steps = vec![Step::Send(bytes)];
        self
    }

    pub fn then_cut(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }

    pub fn then_stall(mut self) -> Self {
        self.steps.push(Step::Pause(Duration::from_secs(600)));
        self
    }

    pub fn pause(mut self, pause: Duration) -> Self {
        self.steps.push(Step::Pause(pause));
        self
    }

    pub fn then(mut self, body: &str) -> Self {
        self.steps.push(Step::Send(body.into()));
        self
    }

    pub fn after(mut self, pause: Duration) -> Self {
        self.steps.insert(0, Step::Pause(pause));
        self
    }
}

#[derive(Default)]
struct State {
    scripts: VecDeque<Script>,
    last: Option<Script>,
    seen: Vec<Seen>,
}

pub struct ModelServer {
    pub base_url: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server that plays the scripts in order, and the last one for ever.
    pub async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { scripts: scripts.into(), ..State::default() }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move { serve(stream, state).await });
            }
        });
        ModelServer { base_url, state, task }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    pub fn one_request(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "one completion is one request on the wire");
        seen[0].clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    while let Some(seen) = read_request(&mut stream).await {
        let script = {
            let mut state = state.lock().unwrap();
            state.seen.push(seen);
            if let Some(next) = state.scripts.pop_front() {
                state.last = Some(next);
            }
            state.last.clone().unwrap()
        };
        if play(&mut stream, script).await.is_none() {
            return;
        }
    }
}

async fn play(stream: &mut BufReader<TcpStream>, script: Script) -> Option<()> {
    let mut steps = script.steps.into_iter().peekable();
    while let Some(Step::Pause(pause)) = steps.peek() {
        tokio::time::sleep(*pause).await;
        steps.next();
    }
    let head = format!("{}transfer-encoding: chunked\r\n\r\n", script.head);
    stream.write_all(head.as_bytes()).await.ok()?;
    for step in steps {
        match step {
            Step::Send(bytes) if bytes.is_empty() => {}
            Step::Send(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(&bytes);
                chunk.extend_from_slice(b"\r\n");
                stream.write_all(&chunk).await.ok()?;
                stream.flush().await.ok()?;
            }
            Step::Pause(pause) => tokio::time::sleep(pause).await,
            Step::Cut => return None,
        }
    }
    stream.write_all(b"0\r\n\r\n").await.ok()
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap();
        }
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Seen { path, headers, body })
}

/// Writes an OpenAI stream.
pub fn openai_events(deltas: &[Value], finish: &str, usage: Option<Value>) -> String {
    let mut text = String::new();
    for delta in deltas {
        let chunk =
            serde_json::json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    text.push_str(&format!("data: {end}\n\n"));
    if let Some(usage) = usage {
        let end = serde_json::json!({"choices": [], "usage": usage});
        text.push_str(&format!("data: {end}\n\n"));
    }
    text.push_str("data: [DONE]\n\n");
    text
}

/// Writes an OpenAI stream of one text with a count of 1,000 prompt tokens, 400 of them cached,
/// and 100 output tokens.
pub fn openai_text(text: &str) -> String {
    let usage = serde_json::json!({"prompt_tokens": 1000, "completion_tokens": 100,
        "total_tokens": 1100, "prompt_tokens_details": {"cached_tokens": 400}});
    openai_events(&[serde_json::json!({"content": text})], "stop", Some(usage))
}

/// Writes an Anthropic stream out of its data, one event each.
pub fn anthropic_events(events: &[Value]) -> String {
    events
        .iter()
        .map(|data| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap()))
        .collect()
}

/// Writes an Anthropic stream of one text with the same count as [`openai_text`].
pub fn anthropic_text(text: &str) -> String {
    use serde_json::json;
    anthropic_events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 600,
            "cache_read_input_tokens": 400, "cache_creation_input_tokens": 0, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 100}}),
        json!({"type": "message_stop"}),
    ])
}
