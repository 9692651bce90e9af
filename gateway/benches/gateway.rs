//! What the gateway adds to a call: `cargo bench -p hone-gateway`.
//!
//! A model server on loopback answers at once. The same calls are made to it directly and through a
//! door, one after another; chunks of a stream are timed on their way; 64 trials run at one time;
//! and memory is read over 10,000 calls with recording on.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // A bench that fails shall say so, and it prints.

use axum::body::{Body, Bytes};
use axum::routing::post;
use axum::serve::ListenerExt;
use hone_gateway::prices::PriceEntry;
use hone_gateway::{Gateway, GatewaySettings, Keys, LineSpec, SpendRole, TrialDoor, TrialSpec};
use hone_protocol::{Job, Limits, PROTOCOL_VERSION, Role};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const CALLS: usize = 1_000;
const CHUNKS: u32 = 200;
const TRIALS: usize = 64;
const CALLS_OF_A_TRIAL: usize = 20;
const CALLS_FOR_MEMORY: usize = 10_000;

fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let epoch = Instant::now();
    let base_url = serve(epoch).await;
    let dir = tempfile::tempdir().unwrap();
    let gateway = gateway(&base_url, dir.path());
    let url = format!("{base_url}/chat/completions");

    let direct = reqwest::Client::builder().no_proxy().build().unwrap();
    let (door, client) = open(&gateway, dir.path(), "overhead");
    let inward = "http://door/v1/chat/completions";
    let mut plain = Vec::new();
    let mut through = Vec::new();
    for _ in 0..CALLS {
        plain.push(call(&direct, &url).await);
        through.push(call(&client, inward).await);
    }
    let (plain, through) = (median(&mut plain), median(&mut through));
    println!("call, direct                     {:>8.3} ms median of {CALLS}", ms(plain));
    println!("call, through the gateway        {:>8.3} ms median of {CALLS}", ms(through));
    let added = through.saturating_sub(plain);
    println!("added by the gateway             {:>8.3} ms (target: at most 2)", ms(added));

    for (name, client, url) in
        [("direct", &direct, url.as_str()), ("through the gateway", &client, inward)]
    {
        let late = chunks(client, url, epoch).await;
        let at = |percent: usize| ms(late[(late.len() - 1) * percent / 100]);
        println!(
            "chunk, {name:<20}      {:>8.3} ms median, {:.3} at 99 %, {:.3} worst of {CHUNKS} (target: at most 5 more)",
            at(50),
            at(99),
            at(100)
        );
    }
    drop(door);

    let started = Instant::now();
    let trials: Vec<_> = (0..TRIALS)
        .map(|number| {
            let (door, client) = open(&gateway, dir.path(), &format!("many{number}"));
            tokio::spawn(async move {
                for _ in 0..CALLS_OF_A_TRIAL {
                    call(&client, inward).await;
                }
                door.close().await.reading.calls
            })
        })
        .collect();
    let mut calls = 0;
    for trial in trials {
        calls += trial.await.unwrap();
    }
    let rate = calls as f64 / started.elapsed().as_secs_f64();
    println!("{TRIALS} trials at one time          {calls:>8} calls, {rate:.0} a second");

    let (door, client) = open(&gateway, dir.path(), "memory");
    for done in 1..=CALLS_FOR_MEMORY {
        call(&client, inward).await;
        if [1_000, 2_500, 5_000, CALLS_FOR_MEMORY].contains(&done) {
            println!("resident after {done:>6} calls    {:>8.1} MiB", resident_mib());
        }
    }
    drop(door);
}

/// Serves a fixed reply, or for a prompt of `stream` chunks that carry the time they were sent at.
async fn serve(epoch: Instant) -> String {
    let reply =
        json!({"choices": [{"message": {"content": "x".repeat(400)}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100}})
        .to_string();
    let answer = move |body: Bytes| {
        let reply = reply.clone();
        async move {
            let timed = body.windows(8).any(|window| window == b"\"stream\"");
            let wants_chunks = timed && body.windows(13).any(|window| window == b"CHUNKS-PLEASE");
            if !wants_chunks {
                return ([("content-type", "application/json")], Body::from(reply));
            }
            let chunks = futures::stream::unfold(0, move |number| async move {
                tokio::time::sleep(Duration::from_millis(3)).await;
                let text = match number {
                    CHUNKS => "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_owned(),
                    _ if number > CHUNKS => return None,
                    _ => {
                        let now = epoch.elapsed().as_nanos().to_string();
                        format!("data: {}\n\n", json!({"choices": [{"delta": {"content": now}}]}))
                    }
                };
                Some((Ok::<_, std::convert::Infallible>(text), number + 1))
            });
            ([("content-type", "text/event-stream")], Body::from_stream(chunks))
        }
    };
    let router = axum::Router::new().route("/v1/chat/completions", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // Without this the kernel may hold a chunk back for 40 ms, which is not the gateway's doing.
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/v1")
}

fn gateway(base_url: &str, dir: &Path) -> Gateway {
    let mut settings = GatewaySettings::of_model("vllm:bench".parse().unwrap()).unwrap();
    settings.profiles.get_mut("vllm").unwrap().base_url = base_url.to_owned();
    let price = PriceEntry { input: Some(1.0), output: Some(4.0), ..PriceEntry::default() };
    settings.prices.add_entries(&[("vllm:*".to_owned(), price)].into(), "bench").unwrap();
    settings.record = Some(dir.join("calls"));
    Gateway::new(settings, Keys::default()).unwrap()
}

fn open(gateway: &Gateway, dir: &Path, name: &str) -> (TrialDoor, reqwest::Client) {
    let job = Job {
        protocol: PROTOCOL_VERSION,
        role: Role::Solve,
        statement: String::new(),
        workdir: "/work".into(),
        archive: None,
        limits: Limits { seconds: 60.0, usd: 1.0, iterations: 50, context_tokens: 100_000 },
        models: vec!["main".into()],
    };
    let line = LineSpec::new(name, SpendRole::Benchmark);
    let socket = dir.join(format!("{name}.sock"));
    let spec = TrialSpec { line, job, socket, other_models: None, pace: None };
    // Events are not wanted.
    let (door, _) = gateway.open_trial(spec).unwrap();
    let client = reqwest::Client::builder().unix_socket(door.socket()).no_proxy().build().unwrap();
    (door, client)
}

async fn call(client: &reqwest::Client, url: &str) -> Duration {
    let prompt = "a line of a prompt, of which there are many\n".repeat(100);
    let body = json!({"model": "main", "messages": [{"role": "user", "content": prompt}]});
    let body = body.to_string();
    let started = Instant::now();
    let reply = client.post(url).body(body).send().await.unwrap();
    assert!(reply.status().is_success());
    reply.bytes().await.unwrap();
    started.elapsed()
}

/// Measures how long each chunk takes from the server to its reader, all hops included; sorted.
async fn chunks(client: &reqwest::Client, url: &str, epoch: Instant) -> Vec<Duration> {
    let body = json!({"model": "main", "stream": true,
        "messages": [{"role": "user", "content": "CHUNKS-PLEASE"}]});
    let mut reply = client.post(url).body(body.to_string()).send().await.unwrap();
    let mut late = Vec::new();
    while let Some(bytes) = reply.chunk().await.unwrap() {
        let now = epoch.elapsed();
        for line in String::from_utf8_lossy(&bytes).lines() {
            let Some(data) = line.strip_prefix("data: {") else { continue };
            let chunk: serde_json::Value = serde_json::from_str(&format!("{{{data}")).unwrap();
            let sent = chunk["choices"][0]["delta"]["content"].as_str();
            if let Some(sent) = sent.and_then(|sent| sent.parse().ok()) {
                late.push(now.saturating_sub(Duration::from_nanos(sent)));
            }
        }
    }
    assert_eq!(late.len(), CHUNKS as usize);
    late.sort();
    late
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn resident_mib() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0 / (1024.0 * 1024.0)
}
