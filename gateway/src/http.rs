//! Carries bytes to a provider over HTTP.

use crate::anthropic;
use crate::completion::{ChatRequest, Dialect};
use crate::error::Problem;
use crate::keys::KeyFilter;
use crate::openai;
use crate::profile::{Profile, Quirks};
use crate::provider::{Errand, Provider, RawReply, ReplyForm};
use crate::refusal;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use std::time::{Duration, SystemTime};

/// How long the gateway waits for a provider.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patience {
    /// Seconds for a connection.
    pub connect: f64,
    /// Seconds until the head of the reply.
    pub head: f64,
    /// Seconds between two pieces of the reply.
    pub idle: f64,
}

impl Default for Patience {
    fn default() -> Self {
        // Reasoning models think for minutes before the first byte.
        Patience { connect: 10.0, head: 600.0, idle: 180.0 }
    }
}

/// Bytes of an error's body that are read.
const ERROR_BODY: usize = 64 * 1024;

/// The version of the Messages API that the gateway writes.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The client for a provider could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The client could not be set up.
    #[error("set up the client of provider `{provider}`")]
    Client {
        /// The provider.
        provider: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// The key has characters that no header may have.
    #[error("use the key in {variable}: it has characters that no header may have")]
    Key {
        /// The variable of the key.
        variable: String,
    },
}

/// A model of a provider behind HTTP.
pub struct HttpProvider {
    client: reqwest::Client,
    url: String,
    models_url: String,
    dialect: Dialect,
    quirks: Quirks,
    key: Option<SecretString>,
    headers: HeaderMap,
    patience: Patience,
}

impl HttpProvider {
    /// Sets up one model of a provider. The client may be shared by the models of a provider.
    pub fn new(
        client: reqwest::Client,
        profile: &Profile,
        quirks: Quirks,
        key: Option<SecretString>,
        patience: Patience,
    ) -> Result<Self, HttpError> {
        let base = profile.base_url.trim_end_matches('/');
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let url = match profile.dialect {
            Dialect::OpenAi => format!("{base}/chat/completions"),
            Dialect::Anthropic => format!("{base}/messages"),
        };
        if profile.dialect == Dialect::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        if let Some(key) = &key {
            let (name, value) = match profile.dialect {
                Dialect::OpenAi => ("authorization", format!("Bearer {}", key.expose_secret())),
                Dialect::Anthropic => ("x-api-key", key.expose_secret().to_owned()),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| HttpError::Key {
                variable: profile.key_variable.clone().unwrap_or_default(),
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let models_url = format!("{base}/models");
        Ok(HttpProvider {
            client,
            url,
            models_url,
            dialect: profile.dialect,
            quirks,
            key,
            headers,
            patience,
        })
    }

    /// Makes the client of a provider: no redirects (a key would go along), no proxy but the
    /// profile's own.
    pub fn client(
        name: &str,
        profile: &Profile,
        patience: Patience,
    ) -> Result<reqwest::Client, HttpError> {
        // The first provider of cryptography to be installed stays; a program may have its own.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client_error = |source| HttpError::Client { provider: name.to_owned(), source };
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(seconds(patience.connect))
            .tcp_nodelay(true)
            .user_agent(concat!("hone/", env!("CARGO_PKG_VERSION")))
            .no_proxy();
        if let Some(proxy) = &profile.proxy {
            builder = builder.proxy(reqwest::Proxy::all(proxy).map_err(client_error)?);
        }
        builder.build().map_err(client_error)
    }
}

/// Seconds for a look whether a provider is there.
const CHECK_PATIENCE: f64 = 15.0;

impl Provider for HttpProvider {
    fn check(&self) -> BoxFuture<'static, Result<(), Problem>> {
        let request = self.client.get(&self.models_url).headers(self.headers.clone()).send();
        let filter = KeyFilter::new(self.key.clone());
        let patience = self.patience;
        Box::pin(async move {
            let response = tokio::time::timeout(seconds(CHECK_PATIENCE), request)
                .await
                .map_err(|_| Problem::Stalled { seconds: CHECK_PATIENCE })?
                .map_err(|error| Problem::Unreachable { detail: filter.text(&causes(&error)) })?;
            let status = response.status().as_u16();
            // Not every server lists its models; one that says so is there.
            if response.status().is_success() || matches!(status, 404 | 405 | 501) {
                return Ok(());
            }
            let body = error_body(response, patience).await;
            Err(refusal::of_status(status, &filter.text(&body), None))
        })
    }

    fn encode(&self, request: &ChatRequest) -> Result<Bytes, Problem> {
        let body = match self.dialect {
            Dialect::OpenAi => openai::encode(request, &self.quirks)?,
            Dialect::Anthropic => anthropic::encode(request, &self.quirks)?,
        };
        Ok(Bytes::from(body.to_string()))
    }

    fn send(&self, body: Bytes, _errand: &Errand) -> BoxFuture<'static, Result<RawReply, Problem>> {
        let request = self.client.post(&self.url).headers(self.headers.clone()).body(body).send();
        let patience = self.patience;
        let filter = KeyFilter::new(self.key.clone());
        let dialect = self.dialect;
        Box::pin(async move {
            let head = tokio::time::timeout(seconds(patience.head), request);
            let response = head
                .await
                .map_err(|_| Problem::Stalled { seconds: patience.head })?
                .map_err(|error| Problem::Unreachable { detail: filter.text(&causes(&error)) })?;
            let status = response.status().as_u16();
            if response.status().is_success() {
                return Ok(success(response, dialect, patience, filter));
            }
            if response.status().is_redirection() {
                let location = header(&response, LOCATION.as_str()).unwrap_or_default();
                let location = refusal::excerpt(&filter.text(&location));
                return Err(Problem::Redirected { status, location });
            }
            let wait = header(&response, RETRY_AFTER.as_str())
                .and_then(|value| refusal::retry_after(&value, SystemTime::now()));
            let body = error_body(response, patience).await;
            Err(refusal::of_status(status, &filter.text(&body), wait))
        })
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn header(response: &reqwest::Response, name: &str) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.to_owned())
}

/// A reply that is being received.
struct Receiving<S> {
    body: S,
    filter: KeyFilter,
}

/// Takes a reply as a stream that ends with an error when nothing arrives for too long.
fn success(
    response: reqwest::Response,
    dialect: Dialect,
    patience: Patience,
    filter: KeyFilter,
) -> RawReply {
    let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
    let form =
        if kind.starts_with("application/json") { ReplyForm::Whole } else { ReplyForm::Events };
    let state = Some(Receiving { body: response.bytes_stream(), filter });
    let body = stream::unfold(state, move |state| async move {
        let mut state = state?;
        match tokio::time::timeout(seconds(patience.idle), state.body.next()).await {
            Ok(Some(Ok(bytes))) => {
                let bytes = state.filter.take(bytes);
                Some((Ok(bytes), Some(state)))
            }
            Ok(Some(Err(error))) => {
                let detail = state.filter.text(&causes(&error));
                Some((Err(Problem::CutOff { detail }), None))
            }
            Ok(None) => Some((Ok(state.filter.rest()), None)),
            Err(_) => Some((Err(Problem::Stalled { seconds: patience.idle }), None)),
        }
    });
    RawReply { dialect, form, body: body.boxed(), model_time: None }
}

async fn error_body(response: reqwest::Response, patience: Patience) -> String {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while body.len() < ERROR_BODY {
        match tokio::time::timeout(seconds(patience.idle), stream.next()).await {
            Ok(Some(Ok(bytes))) => body.extend_from_slice(&bytes),
            // What has come so far is what there is to show.
            Ok(Some(Err(_)) | None) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Writes an error with its causes; URLs are left out, since some carry a key.
fn causes(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() {
        "no connection".to_owned()
    } else if error.is_timeout() {
        "timed out".to_owned()
    } else {
        "the connection broke".to_owned()
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    refusal::excerpt(&text)
}
