//! Reads what providers say when they refuse: statuses, bodies and `Retry-After`.

use crate::error::Problem;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Bytes of a provider's text that are kept in an error.
const EXCERPT: usize = 500;

/// Longer waits than this are taken for a mistake of the provider.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Cuts a text to what an error shows.
pub(crate) fn excerpt(text: &str) -> String {
    let text = text.trim();
    if text.len() <= EXCERPT {
        return text.to_owned();
    }
    let end = (0..=EXCERPT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Turns a reply with an error status into a problem.
pub(crate) fn of_status(status: u16, body: &str, retry_after: Option<Duration>) -> Problem {
    let value: Option<Value> = serde_json::from_str(body).ok();
    let error = value.as_ref().and_then(|value| value.get("error"));
    let detail = error.map_or_else(|| excerpt(body), message);
    let code = error.map(codes).unwrap_or_default();
    classify(status, &code, detail, retry_after)
}

/// Turns an error that arrived inside of a reply into a problem.
pub(crate) fn of_error_value(error: &Value) -> Problem {
    let code = codes(error);
    let status =
        error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = status.unwrap_or(match code.as_str() {
        code if code.contains("overloaded") => 529,
        code if code.contains("rate_limit") => 429,
        code if code.contains("invalid_request") => 400,
        code if code.contains("authentication") => 401,
        _ => 500,
    });
    classify(status, &code, message(error), None)
}

fn classify(status: u16, code: &str, detail: String, retry_after: Option<Duration>) -> Problem {
    let said = detail.to_lowercase();
    let no_credit = code.contains("insufficient_quota")
        || code.contains("billing")
        || said.contains("credit balance")
        || said.contains("insufficient balance");
    let too_long = code.contains("context_length")
        || code.contains("context_window")
        || said.contains("prompt is too long")
        || said.contains("maximum context length")
        || said.contains("context length")
        || said.contains("context window")
        || said.contains("context size");
    match status {
        400 | 402 | 403 | 429 if no_credit => Problem::NoCredit { detail },
        400 | 413 | 422 | 500 if too_long => Problem::ContextTooLong { detail },
        401 => Problem::BadKey { detail },
        402 => Problem::NoCredit { detail },
        403 => Problem::Forbidden { detail },
        404 => Problem::UnknownModel { detail },
        413 => Problem::TooLarge { detail },
        429 => Problem::RateLimited { detail, retry_after },
        408 | 409 | 425 | 500.. => Problem::Unavailable { status, detail, retry_after },
        _ => Problem::BadRequest { status, detail },
    }
}

fn message(error: &Value) -> String {
    match error {
        Value::String(text) => excerpt(text),
        _ => match error.get("message").and_then(Value::as_str) {
            Some(text) => excerpt(text),
            None => excerpt(&error.to_string()),
        },
    }
}

fn codes(error: &Value) -> String {
    ["type", "code", "status"]
        .iter()
        .filter_map(|name| error.get(name)?.as_str())
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Reads `Retry-After`: seconds (also with a fraction) or a date.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Err(_) => {
            let date = httpdate::parse_http_date(value).ok()?;
            date.duration_since(now).unwrap_or(Duration::ZERO)
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Fri, 15 May 2026 15:34:00 GMT").unwrap();
        assert_eq!(retry_after("2", now), Some(Duration::from_secs(2)));
        assert_eq!(retry_after("0.5", now), Some(Duration::from_millis(500)));
        let date = "Fri, 15 May 2026 15:34:21 GMT";
        assert_eq!(retry_after(date, now), Some(Duration::from_secs(21)));
        let past = "Fri, 15 May 2026 15:33:21 GMT";
        assert_eq!(retry_after(past, now), Some(Duration::ZERO));
        assert_eq!(retry_after("-1", now), None);
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn a_refusal_is_known_by_its_status_and_its_text() {
        let kind = |status, body: &str| of_status(status, body, None).kind();
        assert_eq!(kind(401, ""), "bad_key");
        assert_eq!(kind(402, ""), "no_credit");
        assert_eq!(kind(403, ""), "forbidden");
        assert_eq!(kind(404, ""), "unknown_model");
        assert_eq!(kind(408, ""), "unavailable");
        assert_eq!(kind(409, ""), "unavailable");
        assert_eq!(kind(413, ""), "too_large");
        assert_eq!(kind(429, ""), "rate_limited");
        assert_eq!(kind(503, "<html>"), "unavailable");
        assert_eq!(kind(529, ""), "unavailable");
        assert_eq!(kind(400, r#"{"error":{"message":"no"}}"#), "bad_request");
        assert_eq!(kind(429, r#"{"error":{"code":"insufficient_quota"}}"#), "no_credit");
        assert_eq!(
            kind(400, r#"{"error":{"message":"Your credit balance is too low"}}"#),
            "no_credit"
        );
        assert_eq!(
            kind(400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#),
            "context_too_long"
        );
        assert_eq!(
            kind(400, r#"{"error":{"message":"prompt is too long: 9 > 8"}}"#),
            "context_too_long"
        );
    }
}
