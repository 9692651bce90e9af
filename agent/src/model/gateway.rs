//! The calls of the protocol, over HTTP on a unix socket.

use super::chat::{Message, Reply, Request, StreamOptions};
use super::stream::{Assembler, StreamError, problem_of};
use futures_util::StreamExt as _;
use hone_protocol::{
    Answer, EVENT_HEADER, EventBatch, EventReceipt, Inbox, Job, NODE_HEADER, NodeId,
};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::time::Duration;

/// The host in the addresses; the socket decides where a request goes.
const BASE: &str = "http://gateway/v1";

/// How often a completion is tried when it fails for a reason that may pass.
const TRIES: u32 = 4;

/// The pause before the first retry; each one after that is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The connection to the gateway.
#[derive(Clone, Debug)]
pub struct Gateway {
    http: reqwest::Client,
}

/// Why a call to the gateway failed.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The gateway could not be reached, or the connection broke.
    #[error("failed to talk to the gateway")]
    Connection(#[from] reqwest::Error),
    /// The gateway refused the call.
    #[error("the gateway answered {status}: {message}")]
    Refused { status: u16, code: String, message: String },
    /// The streamed reply is not whole.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

impl GatewayError {
    /// Tells whether the same call may succeed a little later.
    fn may_pass(&self) -> bool {
        match self {
            GatewayError::Connection(_) => true,
            GatewayError::Stream(_) => !self.is_spent(),
            GatewayError::Refused { status, .. } => {
                matches!(status, 408 | 409 | 425 | 429 | 500..) && !self.is_spent()
            }
        }
    }

    /// Tells whether the trial has spent what it may spend.
    pub fn is_spent(&self) -> bool {
        match self {
            GatewayError::Refused { status, code, .. } => *status == 402 || code.contains("cap"),
            GatewayError::Stream(StreamError::Reported { code, .. }) => code.contains("cap"),
            GatewayError::Connection(_) | GatewayError::Stream(_) => false,
        }
    }

    /// Tells whether the prompt was too long for the model.
    pub fn is_too_long(&self) -> bool {
        match self {
            GatewayError::Refused { status: 400 | 413, code, message } => {
                code.contains("context") || message.contains("context")
            }
            _ => false,
        }
    }
}

impl Gateway {
    /// Prepares the connection; nothing is sent yet.
    pub fn new(socket: &Path) -> Result<Self, GatewayError> {
        Ok(Gateway { http: reqwest::Client::builder().unix_socket(socket).build()? })
    }

    /// Asks for the job.
    pub async fn job(&self) -> Result<Job, GatewayError> {
        let response = self.http.get(format!("{BASE}/job")).send().await?;
        Ok(accepted(response).await?.json().await?)
    }

    /// Hands in an answer.
    pub async fn answer(&self, answer: &Answer) -> Result<(), GatewayError> {
        self.post::<serde_json::Value>("answer", answer).await.map(|_| ())
    }

    /// Delivers events.
    pub async fn events(&self, batch: &EventBatch) -> Result<EventReceipt, GatewayError> {
        self.post("events", batch).await
    }

    /// Waits for messages with numbers above `after`.
    pub async fn inbox(&self, after: u64) -> Result<Inbox, GatewayError> {
        let response = self.http.get(format!("{BASE}/inbox?after={after}")).send().await?;
        Ok(accepted(response).await?.json().await?)
    }

    /// Asks a model for a completion, on behalf of `node`. `event` is the newest event before it.
    pub async fn complete(
        &self,
        node: &NodeId,
        event: u64,
        model: &str,
        messages: &[Message],
        stop: &[&str],
    ) -> Result<Reply, GatewayError> {
        let stream_options = StreamOptions { include_usage: true };
        let request = Request { model, messages, stop, stream: true, stream_options };
        let mut pause = FIRST_PAUSE;
        let mut tries = 1;
        loop {
            match self.complete_once(node, event, &request).await {
                Err(error) if tries < TRIES && error.may_pass() => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn complete_once(
        &self,
        node: &NodeId,
        event: u64,
        request: &Request<'_>,
    ) -> Result<Reply, GatewayError> {
        let call = self.http.post(format!("{BASE}/chat/completions"));
        let call = call.header(NODE_HEADER, &node.0).header(EVENT_HEADER, event);
        let response = call.json(request).send().await?;
        let mut body = accepted(response).await?.bytes_stream();
        let mut reply = Assembler::default();
        while let Some(bytes) = body.next().await {
            reply.push(&bytes?)?;
        }
        Ok(reply.finish()?)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, GatewayError> {
        let response = self.http.post(format!("{BASE}/{path}")).json(body).send().await?;
        Ok(accepted(response).await?.json().await?)
    }
}

async fn accepted(response: reqwest::Response) -> Result<reqwest::Response, GatewayError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.text().await?;
    let (code, message) = match serde_json::from_str::<serde_json::Value>(&body) {
        Ok(error) => problem_of(&error),
        Err(_) => (String::new(), body),
    };
    Err(GatewayError::Refused { status: status.as_u16(), code, message })
}
