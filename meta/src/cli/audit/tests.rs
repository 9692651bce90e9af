//! Runs of a few trials, made by the real watch, written to a real archive and read by the command.

use super::super::{Console, Context};
use super::logs::{self, Log};
use super::replay::{self, ReplayArguments};
use super::score::{self, ScoreArguments};
use super::tell;
use crate::home::{Home, RunFolder};
use crate::models;
use crate::run_file::RunFile;
use crate::settings::Settings;
use crate::trial::watching::tests::{Temper, run, subject};
use crate::trial::watching::{Achieved, Subject};
use hone_archive::record::{Outcome, Trial, Usage};
use hone_archive::{Archive, ConditionsId, Digest, NanoUsd, Record, TreeId};
use hone_overseer::audit::Verdict;
use hone_overseer::labels::{Label, Observed, Origin};
use hone_overseer::replay::Difference;
use hone_overseer::story::Filter;
use pretty_assertions::assert_eq;

/// A home with one rehearsed run in it.
struct Place {
    _directory: tempfile::TempDir,
    context: Context,
    folder: RunFolder,
}

/// Makes a run with a looping and a healthy trial.
async fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::new(directory.path().join("runs"), directory.path().join("cache"));
    let folder = home.run("r").unwrap();
    std::fs::create_dir_all(folder.root()).unwrap();
    let settings = Settings::default();
    let gateway = models::gateway_settings(&settings, None, None, &home).unwrap().open().unwrap();
    let file = RunFile {
        version: (1, 0),
        run: "r".to_owned(),
        harness: "test".to_owned(),
        time: subject().time,
        rehearsal: true,
        settings: settings.clone(),
        suites: Vec::new(),
        models: gateway.resolved().clone(),
        sandbox: "none".to_owned(),
        weaknesses: Vec::new(),
    };
    file.write(&folder).unwrap();
    let archive = Archive::create(&folder.archive()).unwrap();
    for (problem, temper) in [("looping", Temper::Stubborn), ("healthy", Temper::Healthy)] {
        add(&archive, &folder, problem, temper).await;
    }
    let console = Console::new(false, true);
    let context = Context { home, settings, set: Vec::new(), console };
    Place { _directory: directory, context, folder }
}

async fn add(archive: &Archive, folder: &RunFolder, problem: &str, temper: Temper) {
    let watched = run(temper, &format!("agent-3/nav/{problem}/0")).await.watched;
    let subject = Subject { problem: problem.to_owned(), ..subject() };
    let outcome = match watched.cancelled(Achieved::Nothing) {
        Some(_) => Outcome::Cancelled { score: 0.0 },
        None => Outcome::Scored { score: 1.0 },
    };
    let trial = Trial {
        agent: subject.agent,
        tree: TreeId([0; 20]),
        suite: subject.suite.clone(),
        suite_digest: Digest::of(b"nav"),
        problem: subject.problem.clone(),
        epoch: subject.epoch,
        outcome,
        usage: Usage::default(),
        cost: NanoUsd::default(),
        seconds: 1.0,
        wall_seconds: 1.0,
        reason: String::new(),
        trace: None,
        conditions: ConditionsId([0; 8]),
        run: subject.run.clone(),
        time: subject.time,
    };
    let tape = watched.keep_tape(&folder.traces()).unwrap();
    let audit = watched.audit(subject, tape).unwrap();
    archive.append_all(&[Record::Trial(trial), Record::Audit(audit)]).unwrap();
}

impl Place {
    fn logs(&self) -> Vec<Log> {
        logs::read(&self.folder).unwrap()
    }

    fn text(&self, filter: Filter) -> String {
        tell::as_text(&self.folder, &self.logs(), filter, false)
    }

    async fn replay(&self, arguments: &ReplayArguments, set: &[&str]) -> Vec<replay::Replay> {
        let set = set.iter().map(ToString::to_string).collect();
        let context = Context {
            home: self.context.home.clone(),
            settings: Settings::default(),
            set,
            console: self.context.console,
        };
        let (replays, failures) = replay::replays(arguments, &context).await.unwrap();
        assert!(failures.is_empty(), "{failures:?}");
        replays
    }

    fn change_tape(&self, problem: &str) {
        let log = self.logs().into_iter().find(|log| log.is_named(problem)).unwrap();
        let name = format!("{}.watch.zst", log.audit.tape.unwrap());
        std::fs::remove_file(self.folder.traces().join(name)).unwrap();
    }
}

fn named(trial: &str) -> ReplayArguments {
    ReplayArguments { trial: Some(trial.to_owned()), ..ReplayArguments::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_story_of_a_run_tells_the_nudge_and_the_cancel_and_leaves_quiet_trials_out() {
    let place = place().await;
    let text = place.text(Filter::default());
    assert!(text.starts_with("agent-3/nav/looping/0: cancelled, score 0.00\n"), "{text}");
    assert!(!text.contains("healthy"), "{text}");
    let order = [
        "detector exact_repeat on node 0.1",
        "sends a nudge to node 0.1",
        "the nudge to node 0.1 arrived",
        "sends a cancel of node 0.1",
        "the cancel of node 0.1 arrived",
    ];
    let places: Vec<usize> = order.iter().map(|part| text.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_choose_parts_of_the_story() {
    let place = place().await;
    let cancels = place.text(Filter { cancels: true, ..Filter::default() });
    assert!(cancels.contains("sends a cancel of node 0.1"), "{cancels}");
    assert!(!cancels.contains("nudge to node") && !cancels.contains("detector exact_repeat on"));
    let nudges = place.text(Filter { nudges: true, ..Filter::default() });
    assert!(nudges.contains("sends a nudge to node 0.1"), "{nudges}");
    assert!(!nudges.contains("sends a cancel"), "{nudges}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_log_has_the_verdict_and_the_score_of_its_own_trial() {
    let place = place().await;
    let logs = place.logs();
    let seen: Vec<_> = logs
        .iter()
        .map(|log| (log.trial.as_str(), log.ended.as_ref().unwrap().outcome.name(), log.score()))
        .collect();
    assert_eq!(
        seen,
        [
            ("agent-3/nav/looping/0", "cancelled", Some(0.0)),
            ("agent-3/nav/healthy/0", "scored", Some(1.0)),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_log_and_the_verdicts_follow_from_the_tapes() {
    let place = place().await;
    let check = ReplayArguments { check: true, ..ReplayArguments::default() };
    for replay in place.replay(&check, &[]).await {
        assert_eq!((replay.differs_at, replay.fits_trial, replay.again), (None, true, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_is_judged_again_with_other_settings_and_the_differences_are_shown() {
    let place = place().await;
    let replays = place.replay(&named("looping"), &["overseer.thresholds.exact_repeat=40"]).await;
    let again = replays[0].again.as_ref().unwrap();
    let gone: Vec<&str> = again
        .differences
        .iter()
        .filter_map(|difference| match difference {
            Difference::Gone { mark } => Some(mark.what.as_str()),
            _ => None,
        })
        .collect();
    assert!(gone.contains(&"detector exact_repeat 0.1 proposes nudge"), "{gone:?}");
    assert_eq!(again.verdict, Verdict::LetRun);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_trial_that_is_judged_again_shows_no_differences() {
    let place = place().await;
    let replays = place.replay(&named("healthy"), &[]).await;
    assert_eq!(replays[0].again.as_ref().unwrap().differences, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_without_a_judge_costs_nothing_and_finds_the_loop_by_its_detectors() {
    let place = place().await;
    let arguments = ReplayArguments { no_judge: true, ..named("looping") };
    let replays = place.replay(&arguments, &[]).await;
    let again = replays[0].again.as_ref().unwrap();
    assert_eq!(again.cost_nano_usd, 0);
    let lost = |difference: &Difference| matches!(difference, Difference::Gone { mark } if mark.what.starts_with("detector"));
    assert!(!again.differences.iter().any(lost), "{:?}", again.differences);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_changed_does_not_follow_from_its_tape() {
    let place = place().await;
    let mut log = place.logs().remove(0);
    log.records.remove(3);
    let replay = replay::judge_again(&place.folder, &log, None).await.unwrap();
    assert_eq!(replay.differs_at, Some(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_verdict_with_no_cancel_in_its_log_is_told() {
    let place = place().await;
    let mut log = place.logs().remove(1);
    log.ended.as_mut().unwrap().outcome = Outcome::Cancelled { score: 0.0 };
    let replay = replay::judge_again(&place.folder, &log, None).await.unwrap();
    assert!(!replay.fits_trial);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_scored_and_its_decisions_and_labels_are_exported() {
    let place = place().await;
    let scored = score::score(place.logs(), &place.folder, Vec::new()).unwrap();
    assert_eq!((scored.scores.trials, scored.scores.healthy_trials), (2, 1));
    assert_eq!(scored.scores.cancelled_nodes, 1);
    assert_eq!(scored.scores.false_alarms_per_healthy_trial, Some(0.0));
    assert_eq!(scored.scores.seconds_to_nudge.len(), 1);
    assert!(scored.scores.saved_at_most_nano_usd > 0);
    let to = place.folder.root().join("export");
    let arguments = ScoreArguments { export: Some(to.clone()), ..ScoreArguments::default() };
    score::run(&arguments, &place.context).unwrap();
    let rows = |name: &str| std::fs::read_to_string(to.join(name)).unwrap().lines().count();
    assert_eq!(rows("decisions.jsonl"), scored.decisions.len());
    assert_eq!(rows("labels.jsonl"), scored.labels.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_label_stands_above_the_outcomes() {
    let place = place().await;
    let scored = score::score(place.logs(), &place.folder, Vec::new()).unwrap();
    let looping = scored.decisions.iter().find(|row| row.point.point == "overseer.looping");
    let label = Label {
        decision: looping.unwrap().id.clone(),
        observed: Observed::Option { option: "looping".to_owned() },
        origin: Origin::Person { name: "ada".to_owned() },
    };
    let before = scored.scores.judge.right;
    let scored = score::score(place.logs(), &place.folder, vec![label]).unwrap();
    assert_eq!(scored.scores.judge.right, before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_whose_tape_is_gone_is_left_out_of_scores_and_cannot_be_replayed() {
    let place = place().await;
    place.change_tape("healthy");
    let scored = score::score(place.logs(), &place.folder, Vec::new()).unwrap();
    assert_eq!((scored.missing, scored.scores.trials), (1, 1));
    let failure = replay::replays(&named("healthy"), &place.context).await.unwrap().1;
    assert_eq!(failure.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_trial_is_an_error_that_names_some_known_ones() {
    let place = place().await;
    let failure = logs::read_named(&place.folder, "nothing").unwrap_err();
    assert!(failure.hint.unwrap().contains("agent-3/nav/looping/0"));
}
