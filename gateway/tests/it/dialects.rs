//! What is sent to providers of each dialect, what is read from them, and what it costs.

use crate::agent::{Wired, ask};
use crate::model_server::{Script, anthropic_events, anthropic_text, openai_events, openai_text};
use hone_gateway::completion::Effort;
use hone_gateway::{NanoUsd, Usage};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// 600 new tokens at 1 USD, 400 cached at 0.10, 100 of output at 4, for a million each.
const HAND_COMPUTED: NanoUsd = NanoUsd(600 * 1000 + 400 * 100 + 100 * 4000);

fn text(reply: &Value) -> &str {
    reply["choices"][0]["message"]["content"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openai_stream_in_single_bytes_is_read_and_priced_to_the_nano_dollar() {
    let body = format!(": hello\n\n{}", openai_text("Grüße 😀"));
    let wired = Wired::new("openai", vec![Script::events(&body).in_pieces(1)]).await;
    let (status, reply) = wired.agent.chat("x").await;
    assert_eq!((status, text(&reply)), (200, "Grüße 😀"));
    assert_eq!(reply["usage"]["prompt_tokens"], 1000);
    let seen = wired.server.one_request();
    assert_eq!(seen.path, "/v1/chat/completions");
    let wanted = json!({
        "model": "test-model", "messages": [{"role": "user", "content": "x"}],
        "max_completion_tokens": 8192, "stream": true, "stream_options": {"include_usage": true},
    });
    assert_eq!(seen.body, wanted);
    let reading = wired.door.close().await.reading;
    let usage = Usage { input: 600, cache_read: 400, cache_write: 0, output: 100 };
    assert_eq!((reading.usage, reading.cost, reading.estimated), (usage, HAND_COMPUTED, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anthropic_stream_in_single_bytes_is_read_and_priced_to_the_nano_dollar() {
    let script = Script::events(&anthropic_text("Grüße 😀")).in_pieces(1);
    let wired = Wired::new("anthropic", vec![script]).await;
    let mut body = ask("x");
    body["stop"] = json!(["</CALL>", "\n"]);
    body["temperature"] = json!(0.5);
    let (status, reply) = wired.agent.post("/v1/chat/completions", &body).await;
    assert_eq!((status, text(&reply)), (200, "Grüße 😀"));
    let seen = wired.server.one_request();
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    let cached = json!({"type": "ephemeral"});
    let wanted = json!({
        "model": "test-model", "max_tokens": 8192,
        "messages": [{"role": "user",
            "content": [{"type": "text", "text": "x", "cache_control": cached}]}],
        "stop_sequences": ["</CALL>"], "temperature": 0.5, "stream": true,
    });
    assert_eq!(seen.body, wanted);
    let reading = wired.door.close().await.reading;
    let usage = Usage { input: 600, cache_read: 400, cache_write: 0, output: 100 };
    assert_eq!((reading.usage, reading.cost, reading.estimated), (usage, HAND_COMPUTED, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_convention_of_counting_comes_down_to_four_disjoint_classes() {
    let openai = |usage: Value| openai_events(&[json!({"content": "x"})], "stop", Some(usage));
    let cases = [
        (
            "reasoning is part of the completion",
            openai(json!({"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
                "prompt_tokens_details": {"cached_tokens": 400},
                "completion_tokens_details": {"reasoning_tokens": 60}})),
            Usage { input: 600, cache_read: 400, cache_write: 0, output: 100 },
        ),
        (
            "reasoning stands beside the completion",
            openai(json!({"prompt_tokens": 1000, "completion_tokens": 40, "total_tokens": 1100,
                "prompt_tokens_details": {"cached_tokens": 400}})),
            Usage { input: 600, cache_read: 400, cache_write: 0, output: 100 },
        ),
        (
            "DeepSeek's names",
            openai(json!({"prompt_tokens": 1000, "completion_tokens": 100,
                "prompt_cache_hit_tokens": 400, "prompt_cache_miss_tokens": 600})),
            Usage { input: 600, cache_read: 400, cache_write: 0, output: 100 },
        ),
        (
            "cache writes of OpenRouter",
            openai(json!({"prompt_tokens": 1000, "completion_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 500}})),
            Usage { input: 100, cache_read: 400, cache_write: 500, output: 100 },
        ),
        (
            "counts that contradict each other",
            openai(json!({"prompt_tokens": 10, "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 500}})),
            Usage { input: 0, cache_read: 10, cache_write: 0, output: 1 },
        ),
    ];
    for (name, body, usage) in cases {
        let wired = Wired::new("openai", vec![Script::events(&body)]).await;
        assert_eq!(wired.agent.chat("x").await.0, 200, "{name}");
        let reading = wired.door.close().await.reading;
        assert_eq!((reading.usage, reading.estimated), (usage, 0), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_counts_cache_writes_apart() {
    let body = anthropic_events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 100,
            "cache_read_input_tokens": 400, "cache_creation_input_tokens": 500, "output_tokens": 1}}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "x"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "stop_sequence",
            "stop_sequence": "</CALL>"}, "usage": {"output_tokens": 100}}),
        json!({"type": "message_stop"}),
    ]);
    let wired = Wired::new("anthropic", vec![Script::events(&body)]).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    let reading = wired.door.close().await.reading;
    let usage = Usage { input: 100, cache_read: 400, cache_write: 500, output: 100 };
    assert_eq!(reading.usage, usage);
    assert_eq!(reading.cost, NanoUsd(100 * 1000 + 400 * 100 + 500 * 1250 + 100 * 4000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_without_usage_is_settled_at_the_estimate_and_marked() {
    let body = openai_events(&[json!({"content": "12345678"})], "stop", None);
    let wired = Wired::new("openai", vec![Script::events(&body)]).await;
    assert_eq!(wired.agent.chat(&"x".repeat(400)).await.0, 200);
    let reading = wired.door.close().await.reading;
    let usage = Usage { input: 104, output: 2, ..Usage::default() };
    assert_eq!((reading.usage, reading.estimated), (usage, 1));
    assert_eq!(reading.cost, NanoUsd(104 * 1000 + 2 * 4000));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_reply_is_a_reply() {
    for usage in [None, Some(json!({"prompt_tokens": 5, "completion_tokens": 0}))] {
        let body = openai_events(&[json!({"content": ""})], "stop", usage);
        let wired = Wired::new("openai", vec![Script::events(&body)]).await;
        let (status, reply) = wired.agent.chat("x").await;
        assert_eq!((status, text(&reply)), (200, ""));
        wired.server.one_request();
        assert_eq!(wired.door.close().await.reading.calls, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_surrogates_in_a_reply_become_replacement_characters() {
    let body = r#"data: {"choices":[{"delta":{"content":"a\ud83d"}}]}

data: {"choices":[{"delta":{"content":"b \ud83d\ude00"},"finish_reason":"stop"}]}

data: [DONE]

"#;
    let wired = Wired::new("openai", vec![Script::events(body)]).await;
    let (status, reply) = wired.agent.chat("x").await;
    assert_eq!((status, text(&reply)), (200, "a\u{fffd}b 😀"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_surrogates_of_an_agent_do_not_break_its_request() {
    let wired = Wired::new("openai", vec![Script::events(&openai_text("ok"))]).await;
    let body = r#"{"model":"main","messages":[{"role":"user","content":"a\ud83d"}]}"#;
    let reply = wired.agent.post_raw("/v1/chat/completions", body.into()).await;
    assert_eq!(reply.status(), 200);
    let seen = wired.server.one_request();
    assert_eq!(seen.body["messages"][0]["content"], "a\u{fffd}");
}

#[tokio::test(flavor = "multi_thread")]
async fn native_tool_calls_pass_in_both_dialects_and_across() {
    let openai = openai_events(
        &[
            json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                "function": {"name": "add", "arguments": "{\"a\""}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
            json!({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "sub",
                "arguments": "{}"}}]}),
        ],
        "tool_calls",
        None,
    );
    let anthropic = anthropic_events(&[
        json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "tool_use", "id": "c1", "name": "add", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": "{\"a\""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": ":1}"}}),
        json!({"type": "content_block_start", "index": 1, "content_block":
            {"type": "tool_use", "id": "c2", "name": "sub", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]);
    for (provider, body) in [("openai", openai), ("anthropic", anthropic)] {
        let wired = Wired::new(provider, vec![Script::events(&body)]).await;
        let mut request = ask("x");
        request["tools"] = json!([{"type": "function", "function": {"name": "add",
            "description": "d", "parameters": {"type": "object"}}}]);
        let (_, reply) = wired.agent.post("/v1/chat/completions", &request).await;
        let choice = &reply["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{provider}");
        let wanted = json!([
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}},
            {"id": "c2", "type": "function", "function": {"name": "sub", "arguments": "{}"}},
        ]);
        assert_eq!(choice["message"]["tool_calls"], wanted, "{provider}");
        let request = json!({"model": "main", "max_tokens": 99,
        "tools": [{"name": "add", "description": "d", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c0", "name": "add", "input": {"a": 2}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c0", "content": "2"}]},
        ]});
        let (status, reply) = wired.agent.post("/v1/messages", &request).await;
        let wanted = json!([
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
            {"type": "tool_use", "id": "c2", "name": "sub", "input": {}},
        ]);
        assert_eq!((status, &reply["content"]), (200, &wanted), "{provider}");
        assert_eq!(reply["stop_reason"], "tool_use");
        let sent = &wired.server.seen()[1].body;
        if provider == "openai" {
            let wanted = json!([
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c0",
                    "type": "function", "function": {"name": "add", "arguments": "{\"a\":2}"}}]},
                {"role": "tool", "tool_call_id": "c0", "content": "2"},
            ]);
            assert_eq!(sent["messages"], wanted);
        } else {
            assert_eq!(sent["messages"][1]["content"][0]["input"], json!({"a": 2}));
            assert_eq!(sent["tools"], request["tools"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_messages_reply_has_whole_blocks_in_order() {
    let body = openai_events(
        &[
            json!({"reasoning_content": "hm"}),
            json!({"content": "a"}),
            json!({"content": "b"}),
            json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f",
                "arguments": "{}"}}]}),
        ],
        "tool_calls",
        Some(json!({"prompt_tokens": 10, "completion_tokens": 4})),
    );
    let wired = Wired::new("openai", vec![Script::events(&body)]).await;
    let request = json!({"model": "main", "max_tokens": 99, "messages":
        [{"role": "user", "content": "x"}]});
    let (status, text) = wired.agent.stream("/v1/messages", request).await;
    assert_eq!(status, 200);
    let kinds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let block = ["content_block_start", "content_block_delta"];
    let wanted = [
        &["message_start"][..],
        &block,
        &["content_block_stop"],
        &block,
        &["content_block_delta", "content_block_stop"],
        &block,
        &["content_block_stop", "message_delta", "message_stop"],
    ]
    .concat();
    assert_eq!(kinds, wanted);
    let usage = r#""usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}"#;
    assert!(text.contains(usage), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_model_is_told_as_such() {
    let openai = openai_events(&[json!({"refusal": "I will not"})], "stop", None);
    let wired = Wired::new("openai", vec![Script::events(&openai)]).await;
    let (_, reply) = wired.agent.chat("x").await;
    assert_eq!(text(&reply), "I will not");
    let anthropic = anthropic_events(&[
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal"},
            "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]);
    let wired = Wired::new("anthropic", vec![Script::events(&anthropic)]).await;
    let (status, reply) = wired.agent.chat("x").await;
    assert_eq!((status, &reply["choices"][0]["finish_reason"]), (200, &json!("content_filter")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_reply_to_a_streaming_request_is_read_too() {
    let body = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    let wired = Wired::new("openai", vec![Script::json(&body)]).await;
    let (_, reply) = wired.agent.chat("x").await;
    assert_eq!((text(&reply), &reply["choices"][0]["finish_reason"]), ("hi", &json!("length")));
    let body = json!({"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1}});
    let wired = Wired::new("anthropic", vec![Script::json(&body)]).await;
    let (_, reply) = wired.agent.chat("x").await;
    assert_eq!(text(&reply), "hi");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_text_that_the_provider_does_not_know_is_kept_by_the_gateway() {
    let body = openai_events(
        &[json!({"content": "do </CA"}), json!({"content": "LL> and more"})],
        "stop",
        Some(json!({"prompt_tokens": 10, "completion_tokens": 4})),
    );
    let scripts = vec![Script::events(&body)];
    let wired = Wired::with("openai", scripts, |settings| {
        let model = "openai:gpt-5-test".parse().unwrap();
        settings
            .prices
            .add_entries(
                &[(
                    "openai:*".to_owned(),
                    hone_gateway::prices::PriceEntry { free: true, ..Default::default() },
                )]
                .into(),
                "t",
            )
            .unwrap();
        settings.models.get_mut(&"main".into()).unwrap().models = vec![model];
    })
    .await;
    let mut request = ask("x");
    request["stop"] = json!(["</CALL>"]);
    request["temperature"] = json!(0.3);
    request["reasoning_effort"] = json!("high");
    let (_, reply) = wired.agent.post("/v1/chat/completions", &request).await;
    assert_eq!(text(&reply), "do ");
    let sent = wired.server.one_request().body;
    assert_eq!((sent.get("stop"), sent.get("temperature")), (None, None));
    assert_eq!(sent["reasoning_effort"], "high");
    assert_eq!(wired.door.close().await.reading.usage.output, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_effort_is_sent_in_each_providers_way() {
    let send = async |provider: &str, model: &str, reply: &str| {
        let wired = Wired::with(provider, vec![Script::events(reply)], |settings| {
            let free = hone_gateway::prices::PriceEntry { free: true, ..Default::default() };
            settings.prices.add_entries(&[(format!("{provider}:*"), free)].into(), "t").unwrap();
            let alias = settings.models.get_mut(&"main".into()).unwrap();
            alias.models = vec![format!("{provider}:{model}").parse().unwrap()];
            alias.effort = Some(Effort::Medium);
            alias.temperature = Some(0.2);
        })
        .await;
        assert_eq!(wired.agent.chat("x").await.0, 200);
        wired.server.one_request().body
    };
    let sent = send("openai", "gpt-5", &openai_text("x")).await;
    assert_eq!(sent["reasoning_effort"], "medium");
    let sent = send("openai", "gpt-4.1", &openai_text("x")).await;
    assert_eq!((sent.get("reasoning_effort"), &sent["temperature"]), (None, &json!(0.2)));
    let sent = send("openrouter", "any", &openai_text("x")).await;
    assert_eq!(sent["reasoning"], json!({"effort": "medium"}));
    let sent = send("anthropic", "claude-sonnet-4-5", &anthropic_text("x")).await;
    assert_eq!(sent["thinking"], json!({"type": "enabled", "budget_tokens": 8192}));
    assert_eq!((&sent["max_tokens"], sent.get("temperature")), (&json!(8192 + 8192), None));
    let sent = send("anthropic", "claude-opus-4-7", &anthropic_text("x")).await;
    assert_eq!(sent["thinking"], json!({"type": "adaptive"}));
    assert_eq!(
        (&sent["output_config"]["effort"], sent.get("temperature")),
        (&json!("medium"), None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_breakpoints_stand_on_the_system_prompt_and_the_last_two_user_turns() {
    let wired = Wired::new("anthropic", vec![Script::events(&anthropic_text("x"))]).await;
    let turn = |role: &str, text: &str| json!({"role": role, "content": text});
    let request = json!({"model": "main", "messages": [
        turn("system", "s"), turn("user", "1"), turn("assistant", "a"), turn("user", "2"),
        turn("assistant", "b"), turn("user", "3"),
    ]});
    assert_eq!(wired.agent.post("/v1/chat/completions", &request).await.0, 200);
    let sent = wired.server.one_request().body;
    let marked = |block: &Value| block.get("cache_control").is_some();
    assert!(marked(&sent["system"][0]));
    let turns: Vec<bool> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| marked(&turn["content"][0]))
        .collect();
    assert_eq!(turns, [false, false, true, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_thoughts_go_back_to_the_provider_that_sealed_them() {
    let body = anthropic_events(&[
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "signature_delta", "signature": "sig"}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": "ok"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]);
    let wired = Wired::new("anthropic", vec![Script::events(&body)]).await;
    let ask = |messages: Value| json!({"model": "main", "max_tokens": 99, "messages": messages});
    let user = json!({"role": "user", "content": "x"});
    let (_, reply) = wired.agent.post("/v1/messages", &ask(json!([user]))).await;
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    assert_eq!(reply["content"], json!([thought, {"type": "text", "text": "ok"}]));
    let turn = json!({"role": "assistant", "content": reply["content"]});
    wired.agent.post("/v1/messages", &ask(json!([user, turn, user]))).await;
    assert_eq!(wired.server.seen()[1].body["messages"][1], turn);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_reply_is_read() {
    let body = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]});
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, body.to_string().as_bytes()).unwrap();
    let script =
        Script::json(&body).header("content-encoding", "gzip").bytes(packed.finish().unwrap());
    let wired = Wired::new("openai", vec![script]).await;
    let (status, reply) = wired.agent.chat("x").await;
    assert_eq!((status, text(&reply)), (200, "hi"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_goes_on_after_a_stop_text_is_left_and_billed_for_what_came() {
    let start = anthropic_events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 600,
            "output_tokens": 1}}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "done<END>"}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "x".repeat(8000)}}),
    ]);
    let wired = Wired::new("anthropic", vec![Script::events(&start).then_stall()]).await;
    let mut request = ask("x");
    request["stop"] = json!(["<END>"]);
    let (status, reply) = wired.agent.post("/v1/chat/completions", &request).await;
    assert_eq!((status, text(&reply)), (200, "done"));
    let reading = wired.door.close().await.reading;
    let usage = Usage { input: 600, output: 1 + 2000, ..Usage::default() };
    assert_eq!((reading.usage, reading.estimated), (usage, 1));
}
