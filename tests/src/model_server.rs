//! A provider of models on loopback that answers as a test wants it, and keeps what it was asked.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Decides what is answered to a request.
pub type Answers = Arc<dyn Fn(&Value) -> Answer + Send + Sync>;

/// What is answered to a request.
pub enum Answer {
    /// A reply with its tokens.
    Text {
        /// The reply.
        text: String,
        /// Tokens of the prompt.
        prompt: u64,
        /// Tokens of the reply.
        output: u64,
    },
    /// An error.
    Status(u16),
}

/// The server; it ends with its owner.
pub struct ModelServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The body.
    pub body: Value,
    /// The header `authorization`.
    pub authorization: Option<String>,
}

#[derive(Clone)]
struct Shared {
    answers: Answers,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ModelServer {
    /// Starts a server.
    pub fn start(answers: impl Fn(&Value) -> Answer + Send + Sync + 'static) -> Self {
        let asked = Arc::default();
        let shared = Shared { answers: Arc::new(answers), asked: Arc::clone(&asked) };
        let router = Router::new()
            .route("/v1/models", get(|| async { Json(json!({ "object": "list", "data": [] })) }))
            .route("/v1/chat/completions", post(complete))
            .with_state(shared);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let started = runtime.and_then(|runtime| {
            let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
            let address = listener.local_addr()?;
            runtime.spawn(async move { axum::serve(listener, router).await });
            Ok((runtime, address))
        });
        match started {
            Ok((runtime, address)) => ModelServer { address, asked, _runtime: runtime },
            Err(error) => panic!("the model server does not start: {error}"),
        }
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns what it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn complete(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let authorization =
        headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let answer = (shared.answers)(&body);
    let streams = body["stream"] == json!(true);
    shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(Asked { body, authorization });
    match answer {
        Answer::Status(code) => {
            let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (code, Json(json!({ "error": { "message": "as the test wants it" } }))).into_response()
        }
        Answer::Text { text, prompt, output } => {
            let usage = json!({
                "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output
            });
            if !streams {
                return Json(json!({
                    "id": "1", "object": "chat.completion", "model": "test",
                    "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
                    "usage": usage,
                }))
                .into_response();
            }
            let chunk = |delta: Value, finish: Value, usage: Value| {
                let value = json!({
                    "id": "1", "object": "chat.completion.chunk", "model": "test",
                    "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }], "usage": usage,
                });
                format!("data: {value}\n\n")
            };
            let stream = [
                chunk(json!({ "role": "assistant", "content": text }), Value::Null, Value::Null),
                chunk(json!({}), json!("stop"), usage),
                "data: [DONE]\n\n".to_owned(),
            ];
            let mut response = Body::from(stream.concat()).into_response();
            response.headers_mut().insert(
                header::CONTENT_TYPE,
                header::HeaderValue::from_static("text/event-stream"),
            );
            response
        }
    }
}
