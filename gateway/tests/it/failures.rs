//! What happens when a provider refuses, breaks off, stalls or talks nonsense.

use crate::agent::{Wired, ask};
use crate::model_server::{Script, anthropic_events, openai_text};
use hone_gateway::{CallError, NanoUsd, Problem, Usage};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::{Duration, Instant};

fn problem_of(error: Option<CallError>) -> Problem {
    match error {
        Some(CallError::Provider(error)) => error.problem,
        other => panic!("no problem of a provider: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_status_has_its_own_meaning_and_only_passing_ones_are_tried_again() {
    // Status, kind, requests on the wire, status for the agent, whether it ends the trial.
    let cases = [
        (400, "bad_request", 1, 400, false),
        (401, "bad_key", 1, 502, true),
        (402, "no_credit", 1, 502, true),
        (403, "forbidden", 1, 502, true),
        (404, "unknown_model", 1, 502, true),
        (408, "unavailable", 3, 502, true),
        (409, "unavailable", 3, 502, true),
        (413, "too_large", 1, 400, false),
        (429, "rate_limited", 3, 502, true),
        (500, "unavailable", 3, 502, true),
        (503, "unavailable", 3, 502, true),
        (529, "unavailable", 3, 502, true),
    ];
    for (status, kind, requests, told, stops) in cases {
        let wired = Wired::new("openai", vec![Script::error(status)]).await;
        let (got, reply) = wired.agent.chat("x").await;
        assert_eq!(got, told, "{status}: {reply}");
        assert_eq!(wired.server.seen().len(), requests, "{status}");
        let report = wired.door.close().await;
        assert_eq!(problem_of(report.last_problem).kind(), kind, "{status}");
        assert_eq!(report.stopped.is_some(), stops, "{status}");
        assert_eq!(report.reading.cost, NanoUsd::ZERO, "{status}");
        assert!(!reply["error"]["message"].as_str().unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_told_as_such() {
    let said = [
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
        r#"{"error":{"message":"Requested tokens (9000) exceed context window of 8192"}}"#,
    ];
    for body in said {
        let wired = Wired::new("openai", vec![Script::status(400, "application/json", body)]).await;
        let (status, reply) = wired.agent.chat("x").await;
        assert_eq!((status, &reply["error"]["code"]), (400, &json!("context_length_exceeded")));
        wired.server.one_request();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_cut_off_is_billed_and_not_tried_again() {
    let head = json!({"choices": [{"delta": {"content": "12345678"}}]});
    let script = Script::events(&format!("data: {head}\n\n")).then_cut();
    let wired = Wired::new("openai", vec![script]).await;
    let (status, text) = wired.agent.stream("/v1/chat/completions", ask("x")).await;
    assert_eq!(status, 200);
    assert!(text.contains("12345678") && text.contains("cut_off"), "{text}");
    assert!(!text.contains("[DONE]"));
    wired.server.one_request();
    let report = wired.door.close().await;
    assert_eq!(problem_of(report.last_problem).kind(), "cut_off");
    assert_eq!(report.stopped, None);
    let usage = Usage { input: 5, output: 2, ..Usage::default() };
    assert_eq!((report.reading.usage, report.reading.estimated), (usage, 1));
    assert_eq!(report.reading.cost, NanoUsd(5 * 1000 + 2 * 4000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_a_proper_end_is_a_cut() {
    let head = json!({"choices": [{"delta": {"content": "12345678"}}]});
    let wired = Wired::new("openai", vec![Script::events(&format!("data: {head}\n\n"))]).await;
    assert_eq!(wired.agent.chat("x").await.0, 502);
    wired.server.one_request();
    assert_eq!(wired.door.close().await.reading.calls, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_anthropic_reply_is_billed_by_what_was_counted_at_its_start() {
    let body = anthropic_events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 600,
            "cache_read_input_tokens": 400, "output_tokens": 1}}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "12345678"}}),
    ]);
    let wired = Wired::new("anthropic", vec![Script::events(&body).then_cut()]).await;
    assert_eq!(wired.agent.chat("x").await.0, 502);
    let reading = wired.door.close().await.reading;
    let usage = Usage { input: 600, cache_read: 400, cache_write: 0, output: 2 };
    assert_eq!((reading.usage, reading.estimated), (usage, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_breaks_before_its_content_is_tried_again_and_counted_tokens_are_billed() {
    let start = anthropic_events(&[json!({"type": "message_start", "message": {"usage":
        {"input_tokens": 600, "output_tokens": 0}}})]);
    let good = crate::model_server::anthropic_text("ok");
    let scripts = vec![Script::events(&start).then_cut(), Script::events(&good)];
    let wired = Wired::new("anthropic", scripts).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    assert_eq!(wired.server.seen().len(), 2);
    let reading = wired.door.close().await.reading;
    assert_eq!((reading.calls, reading.failed), (1, 1));
    assert_eq!(reading.cost, NanoUsd(600 * 1000 + 600 * 1000 + 400 * 100 + 100 * 4000));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_within_a_stream_counts_as_what_it_says() {
    let overloaded = anthropic_events(&[
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ]);
    let good = crate::model_server::anthropic_text("ok");
    let scripts = vec![Script::events(&overloaded), Script::events(&good)];
    let wired = Wired::new("anthropic", scripts).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    assert_eq!(wired.server.seen().len(), 2);
    let error = format!("data: {}\n\n", json!({"error": {"message": "bad", "code": 400}}));
    let wired = Wired::new("openai", vec![Script::events(&error)]).await;
    assert_eq!(wired.agent.chat("x").await.0, 400);
    wired.server.one_request();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_stalls_is_given_up_after_the_idle_limit() {
    // Keep-alive comments are life signs; silence is not.
    let alive = Script::events(": one\n\n")
        .pause(Duration::from_millis(200))
        .then(": two\n\n")
        .pause(Duration::from_millis(200))
        .then(&openai_text("late"));
    let wired = Wired::new("openai", vec![alive]).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    wired.server.one_request();

    let head = json!({"choices": [{"delta": {"content": "12345678"}}]});
    let stalled = Script::events(&format!("data: {head}\n\n")).then_stall();
    let wired = Wired::new("openai", vec![stalled]).await;
    let started = Instant::now();
    assert_eq!(wired.agent.chat("x").await.0, 502);
    assert!(started.elapsed() < Duration::from_secs(5));
    wired.server.one_request();
    let report = wired.door.close().await;
    assert_eq!(problem_of(report.last_problem).kind(), "cut_off");
    assert_eq!(report.reading.usage.output, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_begins_is_tried_again() {
    let scripts = vec![
        Script::events("").then_stall(),
        Script::events(&openai_text("ok")).after(Duration::from_millis(1)),
    ];
    let wired = Wired::new("openai", scripts).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    assert_eq!(wired.server.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let other = crate::model_server::ModelServer::start(vec![Script::events("")]).await;
    let script = Script::status(307, "text/plain", "").header("location", &other.base_url);
    let wired = Wired::new("openai", vec![script]).await;
    assert_eq!(wired.agent.chat("x").await.0, 502);
    assert!(other.seen().is_empty(), "the key would have gone along");
    let report = wired.door.close().await;
    assert_eq!(problem_of(report.last_problem).kind(), "redirected");
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_an_error_and_not_a_reply() {
    let cases = [
        Script::status(200, "text/html", "<html>hello</html>"),
        Script::status(200, "application/json", "[1, 2"),
        Script::status(200, "application/json", "{}"),
        Script::events("data: nonsense\n\n"),
        Script::events("data: {}\n\ndata: {\"choices\": 3}\n\n"),
        Script::events(""),
        Script::status(200, "application/json", "").bytes(vec![0xff; 1000]),
    ];
    for script in cases {
        let wired = Wired::new("openai", vec![script.clone()]).await;
        let (status, reply) = wired.agent.chat("x").await;
        assert_eq!(status, 502, "{script:?}: {reply}");
        let report = wired.door.close().await;
        assert!(matches!(problem_of(report.last_problem).kind(), "garbled" | "cut_off"));
        assert_eq!(report.stopped, None, "another call may get sense");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_honoured() {
    let limited = Script::error(429).header("retry-after", "0.4");
    let wired = Wired::new("openai", vec![limited, Script::events(&openai_text("ok"))]).await;
    let started = Instant::now();
    assert_eq!(wired.agent.chat("x").await.0, 200);
    assert!(started.elapsed() >= Duration::from_millis(400));
    let reading = wired.door.close().await.reading;
    assert!(reading.waiting_time >= Duration::from_millis(390), "{reading:?}");
    assert!(reading.model_time < Duration::from_millis(390), "waiting is not model time");
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_may_be_a_date() {
    let soon = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(3));
    let date = httpdate::parse_http_date(&soon).unwrap();
    let limited = Script::error(503).header("retry-after", &soon);
    let wired = Wired::new("openai", vec![limited, Script::events(&openai_text("ok"))]).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    assert!(std::time::SystemTime::now() >= date);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_goes_away_is_billed_for_what_came() {
    let head = json!({"choices": [{"delta": {"content": "12345678"}}]});
    let script = Script::events(&format!("data: {head}\n\n")).then_stall();
    let wired = Wired::with("openai", vec![script], |settings| settings.patience.idle = 60.0).await;
    let mut body = ask("x");
    body["stream"] = json!(true);
    let mut reply = wired.agent.post_raw("/v1/chat/completions", body.to_string().into()).await;
    assert!(reply.chunk().await.unwrap().is_some());
    drop(reply);
    let meter = wired.door.meter();
    let started = Instant::now();
    while meter.reading().calls == 0 {
        assert!(started.elapsed() < Duration::from_secs(5), "the call goes on for nobody");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(meter.reading().cost, NanoUsd(5 * 1000 + 2 * 4000));
    assert_eq!(wired.bench.gateway.balance(&hone_gateway::Account::Run).reserved, NanoUsd::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_trial_bills_the_call_in_flight() {
    let script = Script::events("").then_stall();
    let wired = Wired::with("openai", vec![script], |settings| settings.patience.idle = 60.0).await;
    let socket = wired.door.socket().to_owned();
    tokio::spawn(async move {
        crate::agent::Agent::new(&socket)
            .try_post("/v1/chat/completions", ask("x").to_string().into())
            .await
    });
    while wired.server.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let report = wired.door.close().await;
    assert_eq!(report.reading.cost, NanoUsd(5 * 1000));
    assert_eq!((report.reading.estimated, report.stopped), (1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_about_its_cost_changes_nothing() {
    let wired = Wired::new("openai", vec![Script::events(&openai_text("ok"))]).await;
    let mut body = ask("x");
    body["usage"] = json!({"prompt_tokens": 0, "completion_tokens": 0, "cost": 0});
    body["cost"] = json!(0);
    assert_eq!(wired.agent.post("/v1/chat/completions", &body).await.0, 200);
    let lies = json!({"events": [
        {"seq": 1, "time": 1, "node": "0", "type": "budget", "used_percent": 0.0, "limit": "usd"},
        {"seq": 2, "time": 1, "node": "0", "type": "warning", "text": "cost: $0.00"},
        {"seq": 3, "time": 1, "node": "0", "type": "agent_finished", "how": "complete",
            "result": "", "cost": 0, "usage": {"input": 0}},
    ]});
    assert_eq!(wired.agent.post("/v1/events", &lies).await.0, 200);
    wired.agent.post("/v1/answer", &json!({"answer": "", "summary": "$0", "cost": 0})).await;
    let reading = wired.door.close().await.reading;
    assert_eq!(reading.cost, NanoUsd(600 * 1000 + 400 * 100 + 100 * 4000));
}
