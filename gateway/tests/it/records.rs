//! Recordings, replays, and keys that must not be in them.

use crate::agent::{Bench, KEY, Wired, ask, keys, settings_of};
use crate::model_server::{ModelServer, Script, openai_text};
use hone_gateway::tape::{Exchange, Outcome, TapeReader};
use hone_gateway::{
    CallError, GatewaySettings, Keys, LineSpec, ModelName, NanoUsd, SpendRole, TrialReport,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;

fn read(path: &Path) -> Vec<Exchange> {
    TapeReader::open(path).unwrap().map(Result::unwrap).collect()
}

/// Plays a small trial: replies whole and streamed, a failure, a retry, a cut, and a cap.
async fn trial(bench: &Bench) -> (Vec<(u16, String)>, TrialReport) {
    let line = LineSpec {
        cap: Some(NanoUsd(5_000_000)),
        ..LineSpec::new("1/edit/p 1", SpendRole::Benchmark)
    };
    let socket = bench.socket("t");
    let spec = hone_gateway::TrialSpec {
        line,
        job: crate::agent::job(),
        socket,
        other_models: None,
        pace: None,
    };
    let (door, _events) = bench.gateway.open_trial(spec).unwrap();
    let agent = crate::agent::Agent::new(door.socket());
    let mut heard = Vec::new();
    for number in 0..6 {
        let text = format!("call {number}");
        if number % 2 == 0 {
            heard.push(agent.stream("/v1/chat/completions", ask(&text)).await);
        } else {
            let (status, reply) = agent.chat(&text).await;
            heard.push((status, reply.to_string()));
        }
    }
    (heard, door.close().await)
}

fn scripts() -> Vec<Script> {
    let head = json!({"choices": [{"delta": {"content": "12345678"}}]});
    vec![
        Script::events(&openai_text("one")),
        Script::error(400),
        Script::error(503),
        Script::events(&openai_text("three")).in_pieces(3),
        Script::events(&format!("data: {head}\n\n")).then_cut(),
        Script::events(&openai_text("five")),
    ]
}

fn replaying(recordings: &Path) -> GatewaySettings {
    let mut settings = GatewaySettings::of_model("replay:RUN".parse().unwrap()).unwrap();
    settings.replay = Some(recordings.to_owned());
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_trial_is_replayed_byte_for_byte_with_the_same_cost() {
    let server = ModelServer::start(scripts()).await;
    let recordings = tempfile::tempdir().unwrap();
    let mut settings = settings_of("openai", &server.base_url);
    settings.record = Some(recordings.path().to_owned());
    let (heard, report) = trial(&Bench::new(settings, keys())).await;
    let statuses: Vec<u16> = heard.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 400, 200, 502, 200, 200]);
    assert_eq!(report.recording_error, None);

    let exchanges = read(report.recording.as_ref().unwrap());
    let outcomes: Vec<&str> = exchanges
        .iter()
        .map(|exchange| match &exchange.head.outcome {
            Outcome::Done => "done",
            Outcome::Failed { problem, .. } => problem.kind(),
            Outcome::Abandoned => "abandoned",
            Outcome::Capped { .. } => "capped",
        })
        .collect();
    assert_eq!(outcomes, ["done", "bad_request", "done", "cut_off", "done", "done"]);
    assert_eq!(exchanges[2].head.tries.len(), 1);
    let asked: Value = serde_json::from_slice(&exchanges[1].asked).unwrap();
    assert_eq!(asked, ask("call 1"));
    assert_eq!(exchanges[0].reply, openai_text("one").as_bytes());
    let sent: Value = serde_json::from_slice(&exchanges[0].sent).unwrap();
    assert_eq!(sent, server.seen()[0].body);

    let second = tempfile::tempdir().unwrap();
    let mut settings = replaying(recordings.path());
    settings.record = Some(second.path().to_owned());
    let requests = server.seen().len();
    let (replayed, again) = trial(&Bench::new(settings, Keys::default())).await;
    assert_eq!(replayed, heard);
    assert_eq!(server.seen().len(), requests, "no provider was asked");
    assert_eq!(again.reading.cost, report.reading.cost);
    assert_eq!(again.reading.usage, report.reading.usage);
    assert_eq!((again.reading.calls, again.reading.estimated), (5, 1));
    // A recording of a replay can be replayed in its turn.
    let copies = read(again.recording.as_ref().unwrap());
    assert_eq!(copies, exchanges);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_is_replayed_with_the_same_cost_time_and_refusal_at_the_cap() {
    let recordings = tempfile::tempdir().unwrap();
    let mut settings = GatewaySettings::of_model(ModelName::rehearsal()).unwrap();
    settings.record = Some(recordings.path().to_owned());
    let (heard, report) = trial(&Bench::new(settings, Keys::default())).await;
    assert!(heard.iter().any(|(status, _)| *status == 402), "{heard:?}");
    let (replayed, again) = trial(&Bench::new(replaying(recordings.path()), Keys::default())).await;
    assert_eq!(replayed, heard);
    assert_eq!(again.stopped, report.stopped);
    let numbers = |report: &TrialReport| {
        let reading = report.reading;
        (reading.calls, reading.usage, reading.cost, reading.model_time)
    };
    assert_eq!(numbers(&again), numbers(&report));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_differs_from_the_recording_says_at_which_byte() {
    let recordings = tempfile::tempdir().unwrap();
    let mut settings = GatewaySettings::of_model(ModelName::rehearsal()).unwrap();
    settings.record = Some(recordings.path().to_owned());
    let bench = Bench::new(settings, Keys::default());
    let (door, _events, agent) = bench.open("t1");
    assert_eq!(agent.chat("the same").await.0, 200);
    door.close().await;

    let bench = Bench::new(replaying(recordings.path()), Keys::default());
    let (door, _events, agent) = bench.open("t1");
    let (status, reply) = agent.chat("the sane").await;
    assert_eq!(status, 502);
    let at = ask("the same").to_string().find("me\"").unwrap();
    let message = reply["error"]["message"].as_str().unwrap();
    let wanted = format!(
        "replay: the recording does not hold this call: the request differs from recorded call 1 \
         at byte {at}: recorded `me\"}}]}}`, now `ne\"}}]}}`"
    );
    assert_eq!(message, wanted);
    let report = door.close().await;
    assert!(report.stopped.is_some());
    // A trial that was not recorded cannot be opened.
    let spec = LineSpec::new("t2", SpendRole::Benchmark);
    assert!(bench.gateway.open_desk(spec).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_the_same_time_are_replayed_in_any_order() {
    let recordings = tempfile::tempdir().unwrap();
    let mut settings = GatewaySettings::of_model(ModelName::rehearsal()).unwrap();
    settings.record = Some(recordings.path().to_owned());
    let bench = Bench::new(settings, Keys::default());
    let (door, _events, agent) = bench.open("t1");
    for text in ["a", "b", "c"] {
        agent.chat(text).await;
    }
    door.close().await;
    let bench = Bench::new(replaying(recordings.path()), Keys::default());
    let (_door, _events, agent) = bench.open("t1");
    for text in ["c", "a", "b"] {
        assert_eq!(agent.chat(text).await.0, 200);
    }
    assert_eq!(agent.chat("a").await.0, 502, "each recorded call is played once");
}

/// Reads every file below a folder, tapes unpacked.
fn everything_in(dir: &Path, found: &mut Vec<u8>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything_in(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "zst") {
            found.extend(zstd::decode_all(std::fs::File::open(&path).unwrap()).unwrap());
        } else if path.is_file() {
            found.extend(std::fs::read(&path).unwrap());
        }
    }
}

/// Collects what is logged.
#[derive(Clone, Default)]
struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_key_is_found_nowhere_but_on_the_wire() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    // A provider that echoes the key wherever it can.
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    let mut shown = String::new();
    let recordings = tempfile::tempdir().unwrap();
    for (provider, header) in [("openai", "authorization"), ("anthropic", "x-api-key")] {
        let scripts = vec![
            Script::status(401, "application/json", &echo.to_string()),
            Script::status(503, "text/plain", KEY),
            Script::status(302, "text/plain", KEY).header("location", &format!("http://{KEY}/")),
            Script::events(&format!("data: {echo}\n\n")),
            Script::status(200, "application/json", KEY),
            Script::events(&openai_text(&format!("my key is {KEY}"))),
        ];
        let count = scripts.len();
        let wired = Wired::with(provider, scripts, |settings| {
            settings.record = Some(recordings.path().join(provider));
            settings.retry.tries = 1;
        })
        .await;
        for _ in 0..count {
            let (_, reply) = wired.agent.chat("x").await;
            shown.push_str(&reply.to_string());
        }
        let (_, text) = wired.agent.stream("/v1/chat/completions", ask("x")).await;
        shown.push_str(&text);
        let seen = wired.server.seen();
        assert!(seen[0].header(header).unwrap().ends_with(KEY), "the key goes to the provider");
        shown.push_str(&format!("{:?}", wired.bench.gateway.resolved()));
        shown.push_str(&serde_json::to_string(wired.bench.gateway.resolved()).unwrap());
        shown.push_str(&format!("{:?}", keys()));
        let report = wired.door.close().await;
        shown.push_str(&format!("{report:?}"));
        if let Some(CallError::Provider(error)) = &report.last_problem {
            shown.push_str(&format!("{error} {error:?} {}", error.hint()));
        }
    }
    assert!(!shown.contains(KEY), "{shown}");
    assert!(shown.contains("[key]"), "the place of the key is marked");
    let mut written = Vec::new();
    everything_in(recordings.path(), &mut written);
    assert!(written.len() > 1000);
    let written = String::from_utf8_lossy(&written);
    assert!(!written.contains(KEY), "{written}");
    assert!(written.contains("[key]"));
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(!log.contains(KEY), "{log}");
}
