//! What the judge is shown, and when.

use crate::stage::{Scripted, Stage, Temper, reply};
use hone_overseer::audit::Entry;
use hone_overseer::judge::TokenOdds;
use hone_overseer::settings::ViewLimits;
use hone_overseer::{Judge, JudgeError, Prompt, Record, Reply, Settings};
use hone_protocol::EventKind;
use pretty_assertions::assert_eq;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A judge that keeps what it was shown.
fn keeping(answer: fn(usize) -> String) -> (impl Judge, Arc<Mutex<Vec<Prompt>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let kept = shown.clone();
    let judge = Scripted(move |prompt: &Prompt| {
        let mut kept = kept.lock().unwrap();
        kept.push(prompt.clone());
        answer(kept.len())
    });
    (judge, shown)
}

fn look_times(records: &[Record]) -> Vec<(u64, String)> {
    records
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::Look(look) => Some((record.at_ms / 1_000, look.why.clone())),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_view_has_metadata_first_and_then_the_newest_events() {
    let (judge, shown) = keeping(|_| reply("0", false, "", ""));
    let mut stage = Stage::open(Settings::default(), judge, Temper::Stubborn);
    stage.set_reading(|reading| {
        reading.calls = 7;
        reading.prompt_tokens = 9_000;
        reading.output_tokens = 400;
        reading.cost_nano_usd = 12_300_000;
        reading.cost_limit_nano_usd = 1_000_000_000;
    });
    stage.start("0.1", "coder");
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.call("0.1", "search_text", "def f", true, "a.py:3:<b>").await;
    }
    stage.close().await;
    insta::assert_snapshot!(shown.lock().unwrap()[0].user, @r#"
    <JOB role="solve">"Find the definition of f."</JOB>
    <TRIAL look="1" why="detector exact_repeat" elapsed_seconds="4.0">
    <METER calls="7" prompt_tokens="9000" output_tokens="400" cost_usd="0.0123" cost_percent="1.2" time_percent="0.0"/>
    <NODE id="0" agent="main" state="running" calls="1" errors="0" files_changed="0" silent_seconds="4.0"/>
    <NODE id="0.1" agent="coder" state="running" calls="4" errors="0" files_changed="0" silent_seconds="0.0"/>
    <REPEAT node="0.1" period="1" rounds="4" calls="search_text"/>
    <HIT detector="exact_repeat" node="0.1" count="4" threshold="4" after_nudge="false" proposes="nudge">"4 equal calls with equal results: search_text argument=\"def f\""</HIT>
    <EVENTS omitted="0">
    #1 +0.0s 0 agent_started main "do it"
    #2 +0.0s 0.1 agent_started coder "do it"
    #3 +1.0s 0.1 tool_call 1 search_text "{argument: \"def f\"}"
    #4 +1.0s 0.1 tool_result 1 ok "a.py:3:\u003cb\u003e"
    #5 +2.0s 0.1 tool_call 2 search_text "{argument: \"def f\"}"
    #6 +2.0s 0.1 tool_result 2 ok "a.py:3:\u003cb\u003e"
    #7 +3.0s 0.1 tool_call 3 search_text "{argument: \"def f\"}"
    #8 +3.0s 0.1 tool_result 3 ok "a.py:3:\u003cb\u003e"
    #9 +4.0s 0.1 tool_call 4 search_text "{argument: \"def f\"}"
    #10 +4.0s 0.1 tool_result 4 ok "a.py:3:\u003cb\u003e"
    </EVENTS>
    </TRIAL>
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_view_is_bounded_and_keeps_the_end() {
    let (judge, shown) = keeping(|_| reply("0", false, "", ""));
    let view = ViewLimits { tokens: 1_500, ..ViewLimits::default() };
    let settings = Settings { view, ..Settings::default() };
    let mut stage = Stage::open(settings, judge, Temper::Stubborn);
    for step in 0..300 {
        let node = format!("0.{step}");
        if step % 3 == 0 {
            stage.start(&node, "coder");
        }
        let text = format!("{step} {}", "ü<x> ".repeat(2_000));
        stage.call("0", "search_text", &text, true, &text).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    stage.close().await;
    let shown = shown.lock().unwrap();
    assert!(shown.len() > 5);
    for prompt in shown.iter() {
        assert!(prompt.user.len() <= 1_500 * 4 + 2_000, "{}", prompt.user.len());
        assert!(prompt.user.ends_with("</EVENTS>\n</TRIAL>\n"));
        // The judge's own prefix caches: nothing before the view ever changes.
        assert_eq!(prompt.system, shown[0].system);
        let job = |prompt: &Prompt| prompt.user.lines().next().unwrap().to_owned();
        assert_eq!(job(prompt), job(&shown[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn it_looks_after_fifteen_seconds_and_then_as_the_judge_asks() {
    let (judge, _) = keeping(|look| {
        let seconds = [60, 1, 10_000][(look - 1).min(2)];
        reply("0", false, "", "")
            .replace("\"next_look_seconds\":30", &format!("\"next_look_seconds\":{seconds}"))
    });
    let mut stage = Stage::open(Settings::default(), judge, Temper::Stubborn);
    for step in 0..600 {
        stage.call("0", "search_text", &format!("s{step}"), true, &format!("{step}")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let watched = stage.close().await;
    let times: Vec<u64> = look_times(&watched.records).into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [15, 75, 80, 580]);
}

#[tokio::test(start_paused = true)]
async fn sub_agents_cause_looks_but_no_flood_of_them() {
    let (judge, _) = keeping(|_| reply("0", false, "", ""));
    let mut stage = Stage::open(Settings::default(), judge, Temper::Stubborn);
    for number in 1..=20 {
        let node = format!("0.{number}");
        let task = format!("write part {number}");
        stage.event(&node, EventKind::AgentStarted { agent: "coder".to_owned(), task });
        stage.call(&node, "search_text", &node, true, &node).await;
        stage.finish(&node, "complete");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let watched = stage.close().await;
    let looks = look_times(&watched.records);
    assert_eq!(looks.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [5, 10, 15]);
    assert!(looks.iter().all(|(_, why)| why.starts_with("sub-agent")), "{looks:?}");
}

struct Sure;

impl Judge for Sure {
    fn ask(
        &self,
        _prompt: Prompt,
    ) -> futures::future::BoxFuture<'static, Result<Reply, JudgeError>> {
        let odds = |token: &str, alternatives: &[(&str, f64)]| TokenOdds {
            token: token.to_owned(),
            alternatives: alternatives
                .iter()
                .map(|(text, p)| ((*text).to_owned(), f64::ln(*p)))
                .collect(),
        };
        let tokens = vec![
            odds("{\"progress\": \"", &[]),
            odds("slow", &[("slow", 0.6), ("good", 0.3), ("none", 0.1)]),
            odds("\", \"looping\":", &[]),
            odds(" false", &[(" false", 0.72), (" true", 0.18), (" maybe", 0.1)]),
            odds("}", &[]),
        ];
        let text = "{\"progress\": \"slow\", \"looping\": false}".to_owned();
        let model = "sure".to_owned();
        Box::pin(async move { Ok(Reply { text, model, cost_nano_usd: 0, tokens }) })
    }
}

#[tokio::test(start_paused = true)]
async fn probabilities_come_from_log_probabilities_where_there_are_any() {
    let mut stage = Stage::open(Settings::default(), Sure, Temper::Stubborn);
    tokio::time::sleep(Duration::from_secs(16)).await;
    stage.call("0", "search_text", "s", true, "x").await;
    let watched = stage.close().await;
    let rounded = |point: &str| -> Vec<f64> {
        let row = watched.decisions.iter().find(|row| row.point.point == point).unwrap();
        row.probabilities.iter().map(|p| (p * 100.0).round() / 100.0).collect()
    };
    assert_eq!(rounded("overseer.looping"), [0.2, 0.8]);
    assert_eq!(rounded("overseer.progress"), [0.3, 0.6, 0.1]);
    // One vote among three options, with one added to each.
    assert_eq!(rounded("overseer.action"), [0.5, 0.25, 0.25]);
}
