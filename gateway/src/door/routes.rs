//! The protocol of the door.

use super::events::read_batch;
use super::{Door, Held};
use crate::completion::{ChatRequest, Dialect};
use crate::error::Problem;
use crate::line::{CallError, Delivery, collect};
use crate::provider::ReplyPart;
use crate::{anthropic, json, openai};
use axum::body::{Body, to_bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures::stream;
use hone_protocol::{Answer, EVENT_HEADER, EventReceipt, Inbox, Job, NODE_HEADER, NodeId};
use serde::Deserialize;
use serde_json::{Value, json as value};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// The largest body of a completion: some two million tokens.
const MOST_PROMPT: usize = 8 * 1024 * 1024;

/// The largest batch of events.
const MOST_EVENTS: usize = 4 * 1024 * 1024;

/// The largest answer.
const MOST_ANSWER: usize = 8 * 1024 * 1024;

/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(60);

/// How long an inbox request is held open.
const POLL: Duration = Duration::from_secs(20);

pub(super) fn router(door: Arc<Door>) -> Router {
    Router::new()
        .route("/v1/job", get(job))
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/events", post(events))
        .route("/v1/inbox", get(inbox))
        .route("/v1/answer", post(answer))
        .with_state(door)
}

/// Reads a body and makes sense of it. Only a few are taken in at one time: JSON grows when it is
/// read, and an agent that sends many large bodies at once must not eat the harness's memory.
async fn take_in<T>(
    door: &Door,
    body: Body,
    most: usize,
    read: impl FnOnce(&Bytes) -> T,
) -> Result<(T, Bytes), Response> {
    let Ok(_turn) = door.bodies.acquire().await else {
        return Err(refuse(StatusCode::GONE, "the trial is over"));
    };
    match tokio::time::timeout(BODY_PATIENCE, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok((read(&bytes), bytes)),
        Ok(Err(_)) => Err(refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body broke off, or has more than {most} bytes"),
        )),
        Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

async fn job(State(door): State<Arc<Door>>) -> Json<Job> {
    door.connected.send_replace(true);
    Json(door.job.clone())
}

async fn models(State(door): State<Arc<Door>>) -> Json<Value> {
    let models =
        door.job.models.iter().map(
            |alias| value!({"id": alias, "object": "model", "created": 0, "owned_by": "hone"}),
        );
    Json(value!({"object": "list", "data": models.collect::<Vec<_>>()}))
}

async fn events(State(door): State<Arc<Door>>, body: Body) -> Result<Json<EventReceipt>, Response> {
    let read = |body: &Bytes| read_json(body).and_then(|body| read_batch(&body));
    match take_in(&door, body, MOST_EVENTS, read).await?.0 {
        Ok(batch) => Ok(Json(door.events.take(batch).await)),
        Err(detail) => Err(refuse(StatusCode::BAD_REQUEST, &detail)),
    }
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
    /// Milliseconds to hold the request open, where the agent wants less than usual.
    wait: Option<u64>,
}

async fn inbox(State(door): State<Arc<Door>>, Query(query): Query<After>) -> Json<Inbox> {
    let wait = query.wait.map_or(POLL, |wait| Duration::from_millis(wait).min(POLL));
    let fetched = tokio::time::timeout(wait, door.inbox.fetch(query.after)).await;
    Json(fetched.unwrap_or_default())
}

async fn answer(State(door): State<Arc<Door>>, body: Body) -> Result<Json<Value>, Response> {
    let read = |body: &Bytes| json::read::<Answer>(&String::from_utf8_lossy(body));
    match take_in(&door, body, MOST_ANSWER, read).await?.0 {
        Ok(answer) => {
            *door.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            Ok(Json(value!({})))
        }
        Err(error) => Err(refuse(StatusCode::BAD_REQUEST, &format!("no answer: {error}"))),
    }
}

fn read_json(body: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(body);
    json::read(&text).map_err(|error| format!("the body is no JSON: {error}"))
}

fn refuse(status: StatusCode, detail: &str) -> Response {
    (status, Json(value!({"error": {"message": detail, "type": "invalid_request_error"}})))
        .into_response()
}

async fn chat(State(door): State<Arc<Door>>, headers: HeaderMap, body: Body) -> Response {
    match take_in(&door, body, MOST_PROMPT, |body| openai::parse(body)).await {
        Ok((request, body)) => {
            complete(&door, Caller::of(&headers), Dialect::OpenAi, request, body).await
        }
        Err(refusal) => refusal,
    }
}

async fn messages(State(door): State<Arc<Door>>, headers: HeaderMap, body: Body) -> Response {
    match take_in(&door, body, MOST_PROMPT, |body| anthropic::parse(body)).await {
        Ok((request, body)) => {
            complete(&door, Caller::of(&headers), Dialect::Anthropic, request, body).await
        }
        Err(refusal) => refusal,
    }
}

/// What an agent says about a call of its own.
struct Caller {
    node: Option<NodeId>,
    /// The newest event before the call.
    event: u64,
}

impl Caller {
    fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Caller {
            node: text(NODE_HEADER).map(|node| NodeId(node.to_owned())),
            event: text(EVENT_HEADER).and_then(|event| event.parse().ok()).unwrap_or(0),
        }
    }
}

async fn complete(
    door: &Arc<Door>,
    caller: Caller,
    dialect: Dialect,
    request: Result<ChatRequest, String>,
    body: Bytes,
) -> Response {
    let mut request = match request {
        Ok(request) => request,
        Err(detail) => return error(dialect, 400, "invalid_request_error", "bad_request", &detail),
    };
    let asked = request.model.clone();
    match door.alias(&asked) {
        Ok(alias) => request.model = alias,
        Err(problem) => return call_error(dialect, &problem),
    }
    if let Some(pace) = &door.pace {
        // The harness holds the call up, so it is not the agent's time.
        let _waiting = door.line.meter.wait();
        let held = Held { event: door.events.reach(caller.event).await, node: caller.node };
        pace(held).await;
    }
    let streamed = request.stream;
    let mut deliveries = door.line.start(request, body);
    if !streamed {
        let completion = match collect(&mut deliveries).await {
            Ok(completion) => completion,
            Err(problem) => return call_error(dialect, &problem),
        };
        return Json(match dialect {
            Dialect::OpenAi => openai::whole(REPLY_ID, &asked, &completion),
            Dialect::Anthropic => anthropic::whole(REPLY_ID, &asked, &completion),
        })
        .into_response();
    }
    // Until the first piece, a failure can still be told by the status.
    match deliveries.recv().await {
        Some(Err(problem)) => call_error(dialect, &problem),
        None => call_error(dialect, &CallError::Closed),
        first => stream_reply(dialect, &asked, first, deliveries),
    }
}

/// The same for each reply, so that a replayed run sees the same bytes.
const REPLY_ID: &str = "hone-reply";

/// Writes a reply in the agent's dialect.
enum Writer {
    OpenAi(openai::StreamWriter),
    Anthropic(anthropic::StreamWriter),
}

impl Writer {
    fn write(&mut self, part: &ReplyPart) -> String {
        match self {
            Writer::OpenAi(writer) => writer.write(part),
            Writer::Anthropic(writer) => writer.write(part),
        }
    }

    fn done(&mut self) -> String {
        match self {
            Writer::OpenAi(writer) => writer.done(),
            Writer::Anthropic(writer) => writer.done(),
        }
    }

    fn failed(&self, problem: &CallError) -> String {
        let (_, kind, code) = describe(problem);
        let body = error_body(self.dialect(), kind, code, &problem.to_string());
        match self {
            Writer::OpenAi(_) => format!("data: {body}\n\n"),
            Writer::Anthropic(_) => format!("event: error\ndata: {body}\n\n"),
        }
    }

    fn dialect(&self) -> Dialect {
        match self {
            Writer::OpenAi(_) => Dialect::OpenAi,
            Writer::Anthropic(_) => Dialect::Anthropic,
        }
    }
}

fn stream_reply(
    dialect: Dialect,
    model: &str,
    first: Option<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
) -> Response {
    let writer = match dialect {
        Dialect::OpenAi => Writer::OpenAi(openai::StreamWriter::new(REPLY_ID, model)),
        Dialect::Anthropic => Writer::Anthropic(anthropic::StreamWriter::new(REPLY_ID, model)),
    };
    let state = Some((writer, first, deliveries, false));
    let body = stream::unfold(state, |state| async move {
        let (mut writer, first, mut deliveries, whole) = state?;
        let delivery = match first {
            Some(delivery) => Some(delivery),
            None => deliveries.recv().await,
        };
        let (text, state) = match delivery {
            Some(Ok(part)) => {
                let whole = whole || matches!(part, ReplyPart::Usage(_));
                (writer.write(&part), Some((writer, None, deliveries, whole)))
            }
            Some(Err(problem)) => (writer.failed(&problem), None),
            None if whole => (writer.done(), None),
            None => (writer.failed(&CallError::Closed), None),
        };
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), state))
    });
    let mut response = Response::new(Body::from_stream(body));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

fn call_error(dialect: Dialect, problem: &CallError) -> Response {
    let (status, kind, code) = describe(problem);
    error(dialect, status, kind, code, &problem.to_string())
}

fn error(dialect: Dialect, status: u16, kind: &str, code: &str, message: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    (status, Json(error_body(dialect, kind, code, message))).into_response()
}

fn error_body(dialect: Dialect, kind: &str, code: &str, message: &str) -> Value {
    match dialect {
        Dialect::OpenAi => value!({"error": {"message": message, "type": kind, "code": code}}),
        Dialect::Anthropic => {
            value!({"type": "error", "error": {"type": kind, "message": message, "code": code}})
        }
    }
}

/// Returns the status, type and code under which an agent hears of an error. The gateway has
/// tried again by itself, so no status asks the agent to.
fn describe(problem: &CallError) -> (u16, &'static str, &'static str) {
    match problem {
        CallError::UnknownModel { .. } => (404, "not_found_error", "model_not_found"),
        CallError::Capped(_) => (402, "cost_cap", "cost_cap"),
        CallError::TooManyCalls { .. } => (402, "call_cap", "call_cap"),
        CallError::ContextTooLong { .. } => {
            (400, "invalid_request_error", "context_length_exceeded")
        }
        CallError::Closed => (410, "trial_over", "trial_over"),
        CallError::Provider(error) => match &error.problem {
            Problem::ContextTooLong { .. } | Problem::TooLarge { .. } => {
                (400, "invalid_request_error", "context_length_exceeded")
            }
            Problem::BadRequest { .. } | Problem::Untranslatable { .. } => {
                (400, "invalid_request_error", error.problem.kind())
            }
            other => (502, "provider_error", other.kind()),
        },
    }
}
