//! A server that nobody here wrote; run by hand with the address of one that plays a small model, such as
//! `HONE_MODEL_SERVER=http://127.0.0.1:8089/v1 cargo nextest run -p hone-gateway --run-ignored only`.

use crate::agent::{Bench, ask, settings_of};
use hone_gateway::Keys;
use hone_gateway::http::Patience;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server: HONE_MODEL_SERVER"]
async fn a_local_server_answers_whole_and_streamed_in_both_dialects_and_refuses_long_prompts() {
    let server = std::env::var("HONE_MODEL_SERVER").expect("HONE_MODEL_SERVER is the base URL");
    let mut settings = settings_of("llamacpp", &server);
    settings.patience = Patience::default();
    let bench = Bench::new(settings, Keys::default());
    assert!(bench.gateway.check().await.iter().all(|(_, checked)| checked.is_ok()));
    let (door, _events, agent) = bench.open("t1");
    let short = |text: &str| {
        let mut body = ask(text);
        body["max_tokens"] = json!(24);
        body
    };
    let (status, reply) = agent.post("/v1/chat/completions", &short("Once upon a time")).await;
    assert_eq!(status, 200, "{reply}");
    assert!(reply["choices"][0]["message"]["content"].is_string(), "{reply}");
    let (status, text) = agent.stream("/v1/chat/completions", short("Count: one two")).await;
    assert!(status == 200 && text.ends_with("data: [DONE]\n\n"), "{text}");
    let (status, text) = agent.stream("/v1/messages", short("Count: one two")).await;
    assert!(status == 200 && text.contains("message_stop"), "{text}");
    let long = short(&"word ".repeat(40_000));
    // A server may say so, or break a stream off that it has begun.
    let (status, reply) = agent.post("/v1/chat/completions", &long).await;
    let told = reply["error"]["code"].as_str().unwrap_or_default();
    assert!(
        matches!((status, told), (400, "context_length_exceeded") | (502, "cut_off")),
        "{reply}"
    );
    let report = door.close().await;
    assert_eq!((report.reading.calls, report.stopped), (3, None));
}
