//! A gateway for tests: it gives out a job, plays the models by a script, and keeps what it is sent.

use hone_protocol::{Answer, Event, EventBatch, EventReceipt, Inbox, Job, Message};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// One reply of a scripted model.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A text, ended before the first stop text of the request.
    Text(String),
    /// A text that the limit of tokens has cut.
    Length(String),
    /// The bytes of the stream as they are, in chunks of so many.
    Raw(Vec<u8>, usize),
    /// An error instead of a reply.
    Status(u16, String),
    /// No reply for so long, then nothing.
    Hang(Duration),
    /// A text, after this file was written behind the agent's back.
    Write(PathBuf, String, String),
    /// A text that is held back until the agent has taken the message with this number.
    AfterMessage(u64, String),
    /// A text that is held back until so many of these replies are wanted at the same time.
    Together(usize, String),
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Reply::Text(text.to_owned())
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Reply::Text(text)
    }
}

/// What a scripted completion was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The agent in the system prompt.
    pub agent: String,
    /// The whole request.
    pub body: Value,
}

impl Asked {
    /// Returns the text of a message, counted from the front, or from the back with -1 as the last.
    pub fn message(&self, index: isize) -> &str {
        let messages = self.body["messages"].as_array().unwrap();
        let length = isize::try_from(messages.len()).unwrap();
        let index = if index < 0 { length + index } else { index };
        messages[usize::try_from(index).unwrap()]["content"].as_str().unwrap()
    }
}

#[derive(Default)]
struct State {
    scripts: HashMap<String, VecDeque<Reply>>,
    asked: Vec<Asked>,
    events: Vec<Event>,
    answers: Vec<Answer>,
    messages: Vec<Message>,
    /// Messages that are delivered when an agent has been asked so often: node is in the message.
    later: Vec<(String, usize, Message)>,
    tokens_per_byte: f64,
    cost: Option<f64>,
    /// The highest number of a message that the agent has taken.
    taken: u64,
    /// Requests that wait for others.
    gathered: usize,
    /// Deliveries of events that are answered with an error first.
    refused_events: u32,
}

/// The gateway.
#[derive(Clone)]
pub struct Server {
    state: Arc<(Mutex<State>, Condvar)>,
    job: Arc<Job>,
    pub socket: PathBuf,
}

impl Server {
    pub fn start(socket: &Path, job: Job) -> Self {
        let state = State { tokens_per_byte: 0.25, ..State::default() };
        let server = Server {
            state: Arc::new((Mutex::new(state), Condvar::new())),
            job: Arc::new(job),
            socket: socket.to_owned(),
        };
        let listener = UnixListener::bind(socket).unwrap();
        let accepting = server.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (server, connection) = (accepting.clone(), connection.unwrap());
                std::thread::spawn(move || server.serve(connection));
            }
        });
        server
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state.0.lock().unwrap());
        self.state.1.notify_all();
        result
    }

    pub fn script(&self, agent: &str, reply: impl Into<Reply>) {
        let reply = reply.into();
        self.with(|state| state.scripts.entry(agent.to_owned()).or_default().push_back(reply));
    }

    /// Delivers a message as soon as `agent` has been asked `times` times.
    pub fn message_when(&self, agent: &str, times: usize, message: Message) {
        self.with(|state| state.later.push((agent.to_owned(), times, message)));
    }

    pub fn cost(&self, usd: f64) {
        self.with(|state| state.cost = Some(usd));
    }

    pub fn refuse_events(&self, times: u32) {
        self.with(|state| state.refused_events = times);
    }

    pub fn asked(&self, agent: &str) -> Vec<Asked> {
        self.with(|state| state.asked.iter().filter(|a| a.agent == agent).cloned().collect())
    }

    pub fn events(&self) -> Vec<Event> {
        self.with(|state| state.events.clone())
    }

    pub fn answers(&self) -> Vec<Answer> {
        self.with(|state| state.answers.clone())
    }

    fn serve(&self, mut connection: UnixStream) {
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        while let Some((line, body)) = read_request(&mut reader) {
            let (status, reply) = match line.split(' ').nth(1).unwrap() {
                "/v1/job" => (200, serde_json::to_string(&*self.job).unwrap()),
                "/v1/events" => self.take_events(&body),
                "/v1/answer" => {
                    let answer = serde_json::from_slice(&body).unwrap();
                    self.with(|state| state.answers.push(answer));
                    (200, "{}".to_owned())
                }
                "/v1/chat/completions" => {
                    if self.complete(&mut connection, &body).is_err() {
                        return;
                    }
                    continue;
                }
                path => match path.strip_prefix("/v1/inbox?after=") {
                    Some(after) => (200, self.inbox(after.parse().unwrap())),
                    None => (404, "{}".to_owned()),
                },
            };
            if write_response(&mut connection, status, &reply).is_err() {
                return;
            }
        }
    }

    /// Holds a reply back until something has come to pass.
    fn hold(&self, text: String, until: impl Fn(&State) -> bool) -> String {
        let guard = self.state.0.lock().unwrap();
        let wait = Duration::from_secs(10);
        let (guard, waited) =
            self.state.1.wait_timeout_while(guard, wait, |state| !until(state)).unwrap();
        drop(guard);
        if waited.timed_out() { "It did not come to pass.".to_owned() } else { text }
    }

    fn take_events(&self, body: &[u8]) -> (u16, String) {
        let batch: EventBatch = serde_json::from_slice(body).unwrap();
        self.with(|state| {
            // Every other refusal comes after the events were taken: only the receipt is lost.
            let refused = state.refused_events;
            state.refused_events = refused.saturating_sub(1);
            if refused % 2 == 1 {
                return (500, "{}".to_owned());
            }
            for event in batch.events {
                let next = state.events.len() as u64 + 1;
                assert!(event.seq <= next, "event {} came before event {next}", event.seq);
                if event.seq == next {
                    state.events.push(event);
                }
            }
            if refused > 0 {
                return (500, "{}".to_owned());
            }
            let receipt = EventReceipt { seq: state.events.len() as u64 };
            (200, serde_json::to_string(&receipt).unwrap())
        })
    }

    fn inbox(&self, after: u64) -> String {
        self.with(|state| state.taken = state.taken.max(after));
        let guard = self.state.0.lock().unwrap();
        let wait = Duration::from_secs(2);
        let none = |state: &mut State| !state.messages.iter().any(|message| message.id > after);
        let (state, _) = self.state.1.wait_timeout_while(guard, wait, none).unwrap();
        let messages = state.messages.iter().filter(|m| m.id > after).cloned().collect();
        serde_json::to_string(&Inbox { messages }).unwrap()
    }

    fn complete(&self, connection: &mut UnixStream, body: &[u8]) -> std::io::Result<()> {
        let body: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(body["stream"], true);
        assert_eq!(body["stream_options"]["include_usage"], true);
        let system = body["messages"][0]["content"].as_str().unwrap();
        let agent = system.split('"').nth(1).unwrap_or_default().to_owned();
        let prompt: usize = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].as_str().unwrap().len())
            .sum();
        let (reply, rate, cost) = self.with(|state| {
            state.asked.push(Asked { agent: agent.clone(), body: body.clone() });
            let times = state.asked.iter().filter(|asked| asked.agent == agent).count();
            let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut state.later)
                .into_iter()
                .partition(|(of, at, _)| *of == agent && *at == times);
            state.later = later;
            state.messages.extend(now.into_iter().map(|(_, _, m)| m));
            let script = state.scripts.get_mut(&agent);
            (script.and_then(VecDeque::pop_front), state.tokens_per_byte, state.cost)
        });
        let tokens = |bytes: usize| (bytes as f64 * rate).ceil() as u64;
        let stream = |text: &str, reason: &str| {
            let mut usage =
                json!({"prompt_tokens": tokens(prompt), "completion_tokens": tokens(text.len())});
            if let Some(cost) = cost {
                usage["cost"] = json!(cost);
            }
            let chunk = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
            format!(
                "data: {}\n\ndata: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
                chunk(json!({"content": text}), Value::Null),
                chunk(json!({}), json!(reason)),
                json!({"choices": [], "usage": usage})
            )
        };
        let (bytes, step) = match reply {
            None => (stream("The script is at its end.", "stop").into_bytes(), usize::MAX),
            Some(Reply::Text(text)) => {
                let stops = body["stop"].as_array().cloned().unwrap_or_default();
                let stop = stops.iter().filter_map(|stop| text.find(stop.as_str().unwrap())).min();
                (stream(&text[..stop.unwrap_or(text.len())], "stop").into_bytes(), 97)
            }
            Some(Reply::Write(path, content, text)) => {
                std::fs::write(path, content).unwrap();
                (stream(&text, "stop").into_bytes(), usize::MAX)
            }
            Some(Reply::AfterMessage(number, text)) => {
                let text = self.hold(text, |state| state.taken >= number);
                (stream(&text, "stop").into_bytes(), usize::MAX)
            }
            Some(Reply::Together(count, text)) => {
                self.with(|state| state.gathered += 1);
                let text = self.hold(text, |state| state.gathered >= count);
                (stream(&text, "stop").into_bytes(), usize::MAX)
            }
            Some(Reply::Length(text)) => (stream(&text, "length").into_bytes(), usize::MAX),
            Some(Reply::Raw(bytes, step)) => (bytes, step),
            Some(Reply::Status(status, body)) => return write_response(connection, status, &body),
            Some(Reply::Hang(time)) => {
                std::thread::sleep(time);
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
        };
        write!(
            connection,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )?;
        for part in bytes.chunks(step.min(bytes.len().max(1))) {
            write!(connection, "{:x}\r\n", part.len())?;
            connection.write_all(part)?;
            write!(connection, "\r\n")?;
        }
        write!(connection, "0\r\n\r\n")
    }
}

fn read_request(reader: &mut BufReader<UnixStream>) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|count| *count > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, body))
}

fn write_response(connection: &mut UnixStream, status: u16, body: &str) -> std::io::Result<()> {
    write!(
        connection,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
