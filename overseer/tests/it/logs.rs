//! What is written down: it verifies, reads as a story, can be judged again, and is never its own label.

use crate::corpus::Expect;
use crate::stage::{Scripted, Stage, Temper, reply, sensible};
use hone_overseer::audit::{Entry, LineSink, from_lines, to_lines};
use hone_overseer::calibration::{Outcome, calibration};
use hone_overseer::decisions::{DecisionPoint, RowError, all_points, check_row, check_rows};
use hone_overseer::labels::{
    Censoring, Label, LabelError, Observed, Origin, Truth, check_labels, labels,
};
use hone_overseer::replay::{
    Difference, ReplayError, differences, opening, render_differences, replay, verify,
};
use hone_overseer::score::{Judged, TrialLog, render_scores, score, score_logs};
use hone_overseer::story::{Filter, render_story, story, to_csv};
use hone_overseer::tape::TapeLine;
use hone_overseer::{AuditSink, Decision, NoJudge, Prompt, Record, Settings, Verdict, Watched};
use pretty_assertions::assert_eq;
use std::path::PathBuf;
use std::time::Duration;

/// A trial with some healthy calls and then a loop, which is nudged and cancelled.
async fn looping_trial() -> Watched {
    let mut stage = Stage::open(Settings::default(), sensible(), Temper::Stubborn);
    stage.set_reading(|reading| {
        reading.cost_limit_nano_usd = 1_000_000_000;
        reading.cost_nano_usd = 100_000_000;
        reading.seconds = 10.0;
        reading.seconds_limit = 100.0;
    });
    for step in 0..3 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stage.call("0", "search_text", &format!("s{step}"), true, &format!("a.py:{step}:s")).await;
    }
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if !stage.call("0", "search_text", "def f", true, "a.py:3:def f").await {
            break;
        }
    }
    stage.close().await
}

/// Leaves out the digests of views, which change with every word of the view.
fn without_digests(told: &str) -> String {
    let mut parts = told.split("[view ");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| text + "[view …" + &part[8..])
}

#[tokio::test(start_paused = true)]
async fn the_log_of_a_looping_trial_reads_as_a_story() {
    let watched = looping_trial().await;
    let told = render_story(&story(&watched.records, Filter::default()));
    insta::assert_snapshot!(without_digests(&told), @r#"
    trial t1
         0.0s  #0     the watch begins (solve; overseer on)
         7.0s  #15    detector exact_repeat on node 0: 4 equal calls with equal results: search_text argument="def f" (proposes nudge; 4 of 4; events 8 to 14)
         7.0s  #15    look 1 (detector exact_repeat): no progress, node 0 is looping [view …, 0.0s, $0.0000]
         7.0s  #15    the judge (look 1) sends a nudge to node 0 because seen; it says: Try another search.
         7.0s  #15    the nudge to node 0 is message 1
         8.0s  #16    the nudge to node 0 arrived (event 16)
        10.0s  #22    detector exact_repeat on node 0, after a nudge: 7 equal calls with equal results: search_text argument="def f" (proposes cancel; 7 of 4; events 8 to 21)
        10.0s  #22    look 2 (detector exact_repeat): no progress, node 0 is looping [view …, 0.0s, $0.0000]
        10.0s  #22    the judge (look 2) sends a cancel of node 0 because it goes on after a nudge; it says: it goes on after a nudge
        10.0s  #22    the cancel of node 0 is message 2
        11.0s  #23    the cancel of node 0 arrived (event 23)
        11.0s  #24    after the nudge to node 0: the loop went on in the next 3 calls, first search_text argument="def f"; the node ended
        11.0s  #24    after the cancel of node 0: no further call was made; the node ended
        11.0s  #24    the trial was ended by a cancel: it goes on after a nudge (2 looks, $0.0000; $0.9000 saved at its pace)
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_filter_tells_its_part_of_the_story_alone() {
    let watched = looping_trial().await;
    let cancels = Filter { cancels: true, ..Filter::default() };
    insta::assert_snapshot!(to_csv(&story(&watched.records, cancels)), @r#"
    trial,at_ms,event,record,part,node,text
    t1,10000,22,9,cancel,0,the judge (look 2) sends a cancel of node 0 because it goes on after a nudge; it says: it goes on after a nudge
    t1,10000,22,10,cancel,0,the cancel of node 0 is message 2
    t1,11000,23,11,cancel,0,the cancel of node 0 arrived (event 23)
    t1,11000,24,13,cancel,0,after the cancel of node 0: no further call was made; the node ended
    "#);
}

#[tokio::test(start_paused = true)]
async fn the_log_reproduces_the_verdict_and_a_changed_log_does_not() {
    let watched = looping_trial().await;
    // As it comes back from disk.
    let records: Vec<Record> = from_lines(&to_lines(&watched.records).unwrap()).unwrap();
    let tape: Vec<TapeLine> = from_lines(&to_lines(&watched.tape).unwrap()).unwrap();
    assert_eq!(verify(&records, &tape), Ok(watched.verdict));

    let mut changed = records.clone();
    let place = changed.iter().position(|r| matches!(r.entry, Entry::Intervention(_))).unwrap();
    if let Entry::Intervention(made) = &mut changed[place].entry {
        made.reason = "no reason".to_owned();
    }
    let record = changed[place].record;
    assert_eq!(verify(&changed, &tape), Err(ReplayError::Differs { record }));
    assert_eq!(verify(&records[1..], &tape), Err(ReplayError::NotOpened));
}

#[tokio::test(start_paused = true)]
async fn every_watch_verifies_whatever_the_judge_did() {
    let judge = Scripted(|prompt: &Prompt| match prompt.user.len() % 3 {
        0 => "garbage".to_owned(),
        1 => reply("0", true, "do better", ""),
        _ => reply("0.9", true, "", "no"),
    });
    let mut stage = Stage::open(Settings::default(), judge, Temper::Stubborn);
    for step in 0..50 {
        tokio::time::sleep(Duration::from_millis(1_700)).await;
        stage.call("0", "search_text", &format!("s{}", step % 7), step % 5 != 0, "x").await;
    }
    let watched = stage.close().await;
    assert_eq!(verify(&watched.records, &watched.tape), Ok(watched.verdict));
}

#[tokio::test(start_paused = true)]
async fn a_trial_judged_again_with_other_settings_shows_the_differences() {
    let watched = looping_trial().await;
    let (brief, settings) = opening(&watched.records).unwrap();
    let same = replay(brief.clone(), settings.clone(), &watched.tape, &sensible()).await;
    let unchanged =
        differences((&watched.records, &watched.verdict), (&same.records, &same.verdict));
    // Without a judge that is waited for, nothing is decided later; the nudge counts at once.
    assert!(
        unchanged.iter().all(|difference| matches!(difference, Difference::Moved { .. })),
        "{}",
        render_differences(&unchanged)
    );

    let mut patient = settings;
    patient.thresholds.exact_repeat = 100;
    let again = replay(brief, patient, &watched.tape, &sensible()).await;
    assert_eq!(again.verdict, Verdict::LetRun);
    let changed =
        differences((&watched.records, &watched.verdict), (&again.records, &again.verdict));
    insta::assert_snapshot!(render_differences(&changed), @r#"
    - detector exact_repeat 0 proposes nudge (7.0s, event 15): 4 equal calls with equal results: search_text argument="def f"
    - judged looping 0 (7.0s, event 15): detector exact_repeat
    - nudge 0 (7.0s, event 15): seen
    - detector exact_repeat 0 proposes cancel (10.0s, event 22): 7 equal calls with equal results: search_text argument="def f"
    - judged looping 0 (10.0s, event 22): detector exact_repeat
    - cancel 0 (10.0s, event 22): it goes on after a nudge
    ~ verdict (cancelled → let run)
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_log_on_disk_is_whole_lines_and_a_cut_one_is_read_up_to_the_cut() {
    let watched = looping_trial().await;
    let mut bytes = Vec::new();
    let mut sink = LineSink(&mut bytes);
    for record in &watched.records {
        sink.append(record).unwrap();
    }
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(from_lines::<Record>(&text).unwrap(), watched.records);
    let cut = &text[..text.len() - 5];
    assert_eq!(from_lines::<Record>(cut).unwrap(), watched.records[..watched.records.len() - 1]);
    assert!(from_lines::<Record>("{\"record\": 1}\n").is_err());
}

#[tokio::test(start_paused = true)]
async fn the_oldest_files_that_were_ever_written_can_be_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/format-1.0");
    if std::env::var_os("HONE_BLESS").is_some() && !folder.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in looping_trial().await.files().unwrap() {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let records: Vec<Record> = from_lines(&read("audit.jsonl")).unwrap();
    let decisions: Vec<Decision> = from_lines(&read("decisions.jsonl")).unwrap();
    let tape: Vec<TapeLine> = from_lines(&read("tape.jsonl")).unwrap();
    assert!(!records.is_empty() && !tape.is_empty());
    assert_eq!(check_rows(&decisions, &all_points()), Ok(()));
    assert_eq!(story(&records, Filter::default()).len(), records.len());
}

#[tokio::test(start_paused = true)]
async fn decisions_are_rows_that_pass_the_check_and_carry_no_label() {
    let watched = looping_trial().await;
    assert_eq!(check_rows(&watched.decisions, &all_points()), Ok(()));
    let rows: Vec<Decision> = from_lines(&to_lines(&watched.decisions).unwrap()).unwrap();
    assert_eq!(rows, watched.decisions);
    for row in &rows {
        let json = serde_json::to_value(row).unwrap();
        let names: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert!(!names.iter().any(|name| name.contains("label") || name.contains("observed")));
    }
    let points: Vec<&str> = rows.iter().map(|row| row.point.point.as_str()).collect();
    for point in
        ["overseer.looping", "overseer.action", "detector.exact_repeat", "detector.silence"]
    {
        assert!(points.contains(&point), "{point} has no row");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_row_is_refused() {
    let good = looping_trial().await.decisions.remove(0);
    let broken = |change: &dyn Fn(&mut Decision)| {
        let mut row = good.clone();
        change(&mut row);
        check_row(&row).unwrap_err()
    };
    let id = good.id.clone();
    assert!(matches!(broken(&|row| row.probabilities[0] = 0.7), RowError::Probabilities { .. }));
    assert!(matches!(broken(&|row| row.chosen = "maybe".to_owned()), RowError::Chosen { .. }));
    assert!(matches!(broken(&|row| row.state = serde_json::json!({})), RowError::Empty { .. }));
    assert_eq!(
        broken(&|row| row.point.options.truncate(1)),
        RowError::OptionCount { id: id.clone(), count: 1 }
    );
    assert!(matches!(
        broken(&|row| row.point.options[1] = row.point.options[0].clone()),
        RowError::DoubleOption { .. }
    ));
    assert_eq!(broken(&|row| row.point.question.push('!')), RowError::Digest { id });
}

#[tokio::test(start_paused = true)]
async fn options_in_another_order_need_a_new_version() {
    let mut rows = looping_trial().await.decisions;
    let row = rows.iter_mut().find(|row| row.point.point == "overseer.action").unwrap();
    row.point.options.reverse();
    row.probabilities.reverse();
    row.point_digest = row.point.digest();
    let changed = Err(RowError::Changed { point: "overseer.action".to_owned(), version: 1 });
    assert_eq!(check_rows(&rows, &all_points()), changed);

    let row = rows.iter_mut().find(|row| row.point.point == "overseer.action").unwrap();
    row.point.version = 2;
    row.point_digest = row.point.digest();
    let rows: Vec<Decision> = rows
        .into_iter()
        .filter(|row| row.point.point != "overseer.action" || row.point.version == 2)
        .collect();
    assert_eq!(check_rows(&rows, &all_points()), Ok(()));
}

#[test]
fn the_decision_points_are_those_that_were_frozen() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("decision_points.json");
    let mut frozen: Vec<DecisionPoint> =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap_or("[]".to_owned())).unwrap();
    if std::env::var_os("HONE_BLESS").is_some() {
        // Only new points and new versions are added; what was frozen stays.
        for point in all_points() {
            let known = |other: &DecisionPoint| {
                other.point == point.point && other.version == point.version
            };
            if !frozen.iter().any(known) {
                frozen.push(point);
            }
        }
        std::fs::write(&file, serde_json::to_string_pretty(&frozen).unwrap() + "\n").unwrap();
    }
    for point in all_points() {
        assert!(
            frozen.contains(&point),
            "{} version {} is not as frozen: give it a new version",
            point.point,
            point.version
        );
    }
}

fn observed<'a>(labels: &'a [Label], point: &str) -> Vec<&'a Observed> {
    labels
        .iter()
        .filter(|label| label.decision.contains(&format!("/{point}/")))
        .map(|label| &label.observed)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_cancel_cut_off_is_censored() {
    let watched = looping_trial().await;
    let truth = Truth::of(&watched.tape, &watched.records);
    let made = labels(&watched.decisions, &truth, Some(0.0));
    assert_eq!(check_labels(&made, &watched.decisions, &truth), Ok(()));
    let censored = Observed::Censored { why: Censoring::Cancelled };
    for point in ["overseer.looping", "overseer.progress", "detector.exact_repeat"] {
        let all = observed(&made, point);
        assert!(!all.is_empty() && all.iter().all(|one| **one == censored), "{point}: {all:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn labels_come_from_what_happened_later_and_never_from_the_decision() {
    // A judge that is always wrong about an agent that loops, and one about an agent that does not.
    for (looping, says) in [(true, false), (false, true)] {
        let judge = Scripted(move |_: &Prompt| reply("0", says, "", ""));
        let settings = Settings {
            rules: hone_overseer::settings::Rules {
                insist_factor: 0,
                ..hone_overseer::settings::Rules::default()
            },
            ..Settings::default()
        };
        let mut stage = Stage::open(settings, judge, Temper::Stubborn);
        for step in 0..40 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let argument = if looping { "same".to_owned() } else { format!("s{step}") };
            stage.call("0", "search_text", &argument, true, &argument).await;
        }
        stage.finish("0", "complete");
        let watched = stage.close().await;
        let truth = Truth::of(&watched.tape, &watched.records);
        let made = labels(&watched.decisions, &truth, None);
        assert_eq!(check_labels(&made, &watched.decisions, &truth), Ok(()));
        let right = if looping { "looping" } else { "not_looping" };
        let seen = observed(&made, "overseer.looping");
        let first = Observed::Option { option: right.to_owned() };
        assert_eq!(seen.first(), Some(&&first));
        let trial = Judged {
            records: &watched.records,
            decisions: &watched.decisions,
            labels: &made,
            truth: &truth,
            score: None,
        };
        let scores = score(&[trial]);
        assert_eq!(scores.judge.right, 0);
        assert!(scores.judge.wrong + scores.judge.missed > 0);
        if looping {
            let tally = scores.detectors[&hone_overseer::DetectorId::ExactRepeat];
            assert_eq!((tally.right, tally.wrong, tally.precision), (1, 0, Some(1.0)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_label_that_rests_on_nothing_later_is_refused() {
    let watched = looping_trial().await;
    let truth = Truth::of(&watched.tape, &watched.records);
    let decision = watched.decisions.iter().find(|row| row.event > 0).unwrap();
    let label = |option: &str, origin: Origin| Label {
        decision: decision.id.clone(),
        observed: Observed::Option { option: option.to_owned() },
        origin,
    };
    let check = |label: Label| check_labels(&[label], &watched.decisions, &truth);
    let chosen = decision.chosen.as_str();
    let own = Origin::LoopRule { from_event: decision.event, to_event: decision.event };
    assert!(matches!(check(label(chosen, own)), Err(LabelError::NoOutcome { .. })));
    let by_score = Origin::Score { score: 1.0 };
    assert!(matches!(check(label(chosen, by_score)), Err(LabelError::NotCensored { .. })));
    let person = Origin::Person { name: "Ada".to_owned() };
    assert_eq!(check(label(chosen, person.clone())), Ok(()));
    assert!(matches!(check(label("maybe", person)), Err(LabelError::NoOption { .. })));
}

#[tokio::test]
async fn scores_over_the_corpus_have_no_false_alarm() {
    let mut logs = Vec::new();
    for (case, tape) in crate::corpus::load() {
        let brief = hone_overseer::Brief { trial: case.name.clone(), ..Default::default() };
        let replayed = replay(brief, crate::corpus::settings(), &tape, &NoJudge).await;
        logs.push(TrialLog {
            records: replayed.records,
            decisions: replayed.decisions,
            tape,
            // What the corpus says of a trial stands for a verifier's score.
            score: Some(if case.expect == Expect::Healthy { 1.0 } else { 0.0 }),
            people: Vec::new(),
        });
    }
    let (scores, _) = score_logs(&logs).unwrap();
    assert_eq!((scores.healthy_trials, scores.false_alarms_per_healthy_trial), (10, Some(0.0)));
    insta::assert_snapshot!(render_scores(&scores), @r#"
    35 trials, 10 healthy; 0 trials and 0 nodes cancelled; 0.00 false alarms per healthy trial
                       right wrong missed quiet censored unlabelled precision recall
    exact_repeat           1     0      0    32        0          2      1.00   1.00
    alternation            3     0      0    32        0          0      1.00   1.00
    same_error             1     0      0    34        0          0      1.00   1.00
    no_progress            2     1      0    29        0          3      0.67   1.00
    spend_runaway          0     0      0     0        0         35         –      –
    unreported_calls       0     0      0     0        0         35         –      –
    node_storm             0     0      0     0        0         35         –      –
    waiting_command        0     0      0     0        0         35         –      –
    silence                0     0      0     0        0         35         –      –
    unreturned             0     0      0     0        0         35         –      –
    grader_write           0     0      0     0        0         35         –      –
    outside_read           0     0      0     0        0         35         –      –
    git_history            0     0      0     0        0         35         –      –
    success_marker         0     0      0     0        0         35         –      –
    protected_write        0     0      0     0        0         35         –      –
    judge (looping)        0     0      0     0        0          0         –      –
    loop start to nudge: 14.40 s in the median of 8
    cancels saved at most $0.0000, $0.0000 at the agents' pace; the judge cost $0.0000
    judge: no labelled decisions
    "#);
}

#[derive(serde::Deserialize)]
struct Cases {
    cases: Vec<CalibrationCase>,
}

#[derive(serde::Deserialize)]
struct CalibrationCase {
    rows: Vec<CalibrationRow>,
    nll: f64,
    ece: f64,
    accuracy: f64,
}

#[derive(serde::Deserialize)]
struct CalibrationRow {
    p_observed: f64,
    confidence: f64,
    correct: u8,
}

/// The folder with the cases that all implementations share, where this machine has one.
fn cases() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("HONE_CASES") {
        return Some(folder.into());
    }
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|folder| folder.join("shared/cases")).find(|folder| folder.is_dir())
}

#[test]
fn calibration_conformance() {
    let Some(folder) = cases() else {
        println!("no folder of cases on this machine");
        return;
    };
    let file = folder.join("calibration.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let all: Cases = serde_json::from_str(&text).unwrap();
    assert!(!all.cases.is_empty(), "no cases in {}", file.display());
    for (number, case) in all.cases.iter().enumerate() {
        let outcomes: Vec<Outcome> = case
            .rows
            .iter()
            .map(|row| Outcome {
                p_observed: row.p_observed,
                confidence: row.confidence,
                correct: row.correct == 1,
            })
            .collect();
        let fit = calibration(&outcomes).unwrap();
        for (name, ours, theirs) in [
            ("nll", fit.nll, case.nll),
            ("ece", fit.ece, case.ece),
            ("accuracy", fit.accuracy, case.accuracy),
        ] {
            assert!((ours - theirs).abs() < 1e-6, "case {number}: {name} {ours}, not {theirs}");
        }
    }
    println!("calibration conformance: {} cases", all.cases.len());
}
