//! Fall-over, and waiting while a provider is down.

use crate::agent::{Bench, Wired, keys, settings_of};
use crate::model_server::{ModelServer, Script, openai_text};
use hone_gateway::outage::OutageSettings;
use hone_gateway::settings::Caps;
use hone_gateway::{
    Account, CallError, GatewayError, LineSpec, NanoUsd, Problem, SpendRole, StopReason,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;

fn good() -> Script {
    Script::events(&openai_text("ok"))
}

/// Waits for ever, and looks every 50 ms.
const PATIENT: OutageSettings = OutageSettings { probe: 0.05, give_up: None };

#[tokio::test(flavor = "multi_thread")]
async fn the_next_model_of_an_alias_answers_when_one_cannot() {
    for status in [401, 402, 404, 503] {
        let down = ModelServer::start(vec![Script::error(status)]).await;
        let up = ModelServer::start(vec![good()]).await;
        let mut settings = settings_of("openai", &down.base_url);
        settings.profiles.get_mut("vllm").unwrap().base_url = up.base_url.clone();
        let free = hone_gateway::prices::PriceEntry { free: true, ..Default::default() };
        settings.prices.add_entries(&[("vllm:*".to_owned(), free)].into(), "t").unwrap();
        let models = &mut settings.models.get_mut(&"main".into()).unwrap().models;
        models.push("vllm:other".parse().unwrap());
        let bench = Bench::new(settings, keys());
        let (door, _events, agent) = bench.open("t1");
        assert_eq!(agent.chat("x").await.0, 200, "{status}");
        assert_eq!(up.one_request().body["model"], "other");
        assert_eq!(up.one_request().header("authorization"), None, "no key for the other");
        let report = door.close().await;
        assert_eq!((report.reading.calls, report.stopped), (1, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_while_its_provider_is_down_and_goes_on_by_itself() {
    let scripts = vec![
        Script::error(503),
        Script::error(503),
        Script::error(503),
        Script::error(402),
        good(),
    ];
    let wired = Wired::with("openai", scripts, |settings| settings.outage = PATIENT).await;
    let mut outages = wired.bench.gateway.outages();
    let call = tokio::spawn(async move { (wired.agent.chat("x").await.0, wired.door) });
    let kind = {
        let posted = outages.wait_for(Option::is_some).await.unwrap();
        let outage = posted.as_ref().unwrap();
        assert_eq!(outage.error.provider, "openai");
        outage.error.problem.kind()
    };
    assert!(matches!(kind, "unavailable" | "no_credit"));
    let (status, door) = call.await.unwrap();
    assert_eq!(status, 200);
    assert_eq!(*outages.borrow(), None, "the outage is over");
    let report = door.close().await;
    assert_eq!((report.reading.calls, report.reading.failed, report.stopped), (1, 4, None));
    assert!(report.reading.waiting_time >= Duration::from_millis(95));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_can_let_a_waiting_run_try_at_once() {
    let scripts = vec![Script::error(402), good()];
    let forever = OutageSettings { probe: 3600.0, give_up: None };
    let wired = Wired::with("openai", scripts, |settings| settings.outage = forever).await;
    let gateway = wired.bench.gateway.clone();
    let call = tokio::spawn(async move { wired.agent.chat("x").await.0 });
    let mut outages = gateway.outages();
    outages.wait_for(Option::is_some).await.unwrap();
    while !call.is_finished() {
        gateway.try_now();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(call.await.unwrap(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_nobody_hears_of_is_unreachable() {
    let wired = Wired::with("openai", vec![good()], |settings| {
        settings.profiles.get_mut("openai").unwrap().base_url = "http://127.0.0.1:1/v1".into();
    })
    .await;
    assert_eq!(wired.agent.chat("x").await.0, 502);
    let report = wired.door.close().await;
    let Some(StopReason::Provider(error)) = report.stopped else { panic!("{report:?}") };
    assert!(matches!(error.problem, Problem::Unreachable { .. }), "{error}");
    assert!(error.to_string().starts_with("openai: unreachable: no connection"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_trial_can_be_closed() {
    let wired = Wired::with("openai", vec![Script::error(402)], |settings| {
        settings.outage = OutageSettings { probe: 3600.0, give_up: None };
    })
    .await;
    let mut outages = wired.bench.gateway.outages();
    let agent = wired.agent;
    let call = tokio::spawn(async move { agent.chat("x").await.0 });
    outages.wait_for(Option::is_some).await.unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(2), wired.door.close()).await.unwrap();
    assert_eq!(closed.stopped, None);
    let _ = call.await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_a_price_or_a_key_stops_the_run_before_it_starts() {
    let mut settings = settings_of("openai", "http://127.0.0.1:1");
    settings.models.get_mut(&"main".into()).unwrap().models =
        vec!["ollama:qwen3:8b".parse().unwrap()];
    let error = hone_gateway::Gateway::new(settings, keys()).err().unwrap();
    assert_eq!(error.to_string(), "find a price for ollama:qwen3:8b");
    assert!(error.hint().unwrap().contains("[prices.\"ollama:qwen3:8b\"]"));
    let settings = settings_of("openai", "http://127.0.0.1:1");
    let error = hone_gateway::Gateway::new(settings, hone_gateway::Keys::default()).err().unwrap();
    assert!(matches!(error, GatewayError::Key(_)));
    assert_eq!(error.to_string(), "openai: no key: the variable OPENAI_API_KEY is not set");
    let mut settings = settings_of("openai", "http://127.0.0.1:1");
    let main = settings.models[&"main".into()].clone();
    settings.models.insert("mian".into(), main);
    let error = hone_gateway::Gateway::new(settings, keys()).err().unwrap();
    assert!(error.to_string().starts_with("set the alias `mian`: the aliases are main,"));
}

#[tokio::test(flavor = "multi_thread")]
async fn caps_of_role_and_run_hold_over_all_trials_and_desks() {
    let server = ModelServer::start(vec![good()]).await;
    let mut settings = settings_of("openai", &server.base_url);
    // A call costs 1,040,000 nano-dollars, and may cost 35,000,000 at most.
    settings.caps = Caps {
        run: Some(NanoUsd::from_usd(0.1)),
        roles: [(SpendRole::Overseer, NanoUsd(3_200_000))].into(),
    };
    let bench = Bench::new(settings, keys());
    let desk = bench.gateway.open_desk(LineSpec::new("judge", SpendRole::Overseer)).unwrap();
    let request =
        || hone_gateway::ChatRequest::new("overseer", vec![hone_gateway::ChatMessage::user("x")]);
    let first = desk.complete(request()).await.unwrap();
    assert_eq!(first.text, "ok");
    let sent = &server.seen()[0].body;
    let affordable = sent["max_completion_tokens"].as_u64().unwrap();
    assert!(affordable < 8192, "the reply is limited to what the purse holds: {affordable}");
    desk.complete(request()).await.unwrap();
    let error = loop {
        match desk.complete(request()).await {
            Ok(_) => assert!(server.seen().len() < 5),
            Err(error) => break error,
        }
    };
    let CallError::Capped(capped) = &error else { panic!("{error}") };
    assert_eq!(capped.account, Account::Role(SpendRole::Overseer));
    assert_eq!(
        error.to_string(),
        "the cap of the role overseer is reached: $0.00312 of $0.0032 are spent, and the call \
         may cost $0.00103025"
    );
    assert_eq!(server.seen().len(), 3);
    let (_door, _events, agent) = bench.open("t1");
    assert_eq!(agent.chat("x").await.0, 200, "other roles go on");
    let run = bench.gateway.balance(&Account::Run);
    assert_eq!((run.settled, run.reserved), (NanoUsd(4 * 1_040_000), NanoUsd::ZERO));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_calls_are_on_the_wire_at_one_time_than_the_profile_allows() {
    let scripts = vec![good().after(Duration::from_millis(30))];
    let wired = Wired::with("openai", scripts, |settings| {
        settings.profiles.get_mut("openai").unwrap().connections = 2;
    })
    .await;
    let agent = std::sync::Arc::new(wired.agent);
    let started = std::time::Instant::now();
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let agent = std::sync::Arc::clone(&agent);
            tokio::spawn(async move { agent.chat("x").await.0 })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert!(started.elapsed() >= Duration::from_millis(90), "three rounds of two");
    let reading = wired.door.close().await.reading;
    assert!(reading.waiting_time >= Duration::from_millis(50));
    assert_eq!(json!(reading.calls), json!(6));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_tells_a_bad_key_and_a_dead_provider_without_a_completion() {
    for (script, kind) in [
        (Script::json(&json!({"data": []})), None),
        (Script::error(404), None),
        (Script::error(401), Some("bad_key")),
        (Script::error(503), Some("unavailable")),
    ] {
        let wired = Wired::new("openai", vec![script]).await;
        let checked = wired.bench.gateway.check().await;
        assert_eq!(checked.len(), 1, "five aliases lead to one model");
        let problem = checked[0].1.as_ref().err().map(|error| error.problem.kind());
        assert_eq!(problem, kind);
        assert_eq!(wired.server.one_request().path, "/v1/models");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_that_many_calls_meet_is_waited_for_together() {
    let mut scripts = vec![Script::error(429).header("retry-after", "0.3"); 8];
    scripts.push(good());
    let wired = Wired::with("openai", scripts, |settings| settings.retry.tries = 5).await;
    let agent = std::sync::Arc::new(wired.agent);
    let started = std::time::Instant::now();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let agent = std::sync::Arc::clone(&agent);
            tokio::spawn(async move { agent.chat("x").await.0 })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(wired.server.seen().len(), 16, "nobody knocked while the provider wanted peace");
    let reading = wired.door.close().await.reading;
    assert_eq!((reading.calls, reading.failed), (8, 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn absurd_counts_of_a_provider_overflow_nothing() {
    let most = u64::MAX;
    let usage = json!({"prompt_tokens": most, "completion_tokens": most, "total_tokens": most,
        "prompt_tokens_details": {"cached_tokens": most}});
    let body = crate::model_server::openai_events(&[json!({"content": "x"})], "stop", Some(usage));
    let wired = Wired::new("openai", vec![Script::events(&body)]).await;
    assert_eq!(wired.agent.chat("x").await.0, 200);
    assert_eq!(wired.agent.stream("/v1/messages", crate::agent::ask("x")).await.0, 200);
    assert_eq!(wired.door.close().await.reading.calls, 2);
}
