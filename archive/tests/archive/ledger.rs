use crate::fixture::{Fixture, PROBLEMS, plan};
use hone_archive::record::{ChildVerdict, Outcome};
use hone_archive::state::Eligibility;
use hone_archive::*;
use pretty_assertions::assert_eq;

#[test]
fn what_was_appended_reads_back_from_journal_and_commits_alike() {
    let fixture = Fixture::new();
    fixture.measure(&fixture.seed, 0.25);
    let before = fixture.archive.records().unwrap();
    assert_eq!(before.len() as u32, 3 + 2 * PROBLEMS);
    fixture.archive.commit().unwrap();
    assert_eq!(fixture.archive.records().unwrap(), before);
    let fixture = fixture.reopen();
    assert_eq!(fixture.archive.records().unwrap(), before);
    let reader = Archive::open_read_only(&fixture.path()).unwrap();
    assert_eq!(reader.records().unwrap(), before);
    assert_eq!(reader.summaries().unwrap(), fixture.archive.summaries().unwrap());
}

#[test]
fn a_reader_sees_what_another_process_appends_across_commits() {
    let fixture = Fixture::new();
    let reader = Archive::open_read_only(&fixture.path()).unwrap();
    let recorded = |archive: &Archive| archive.read(|state| state.records).unwrap();
    for round in 0..40 {
        let outcome = Outcome::InfraError;
        let record = fixture.trial(&fixture.seed, "edit", round % PROBLEMS, outcome);
        fixture.archive.append(&record).unwrap();
        if round % 3 == 0 {
            fixture.archive.commit().unwrap();
        }
        if round % 2 == 0 {
            assert_eq!(recorded(&reader), u64::from(round) + 4);
        }
    }
    assert_eq!(recorded(&reader), recorded(&fixture.archive));
    assert_eq!(recorded(&fixture.reopen().archive), 43);
}

#[test]
fn two_writers_of_one_archive_lose_nothing() {
    let fixture = Fixture::new();
    let other = Archive::open(&fixture.path()).unwrap();
    let records: Vec<Record> = (0..400)
        .map(|i| fixture.trial(&fixture.seed, "edit", i % PROBLEMS, Outcome::InfraError))
        .collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            records[..200].iter().for_each(|it| {
                other.append(it).unwrap();
            });
        });
        scope.spawn(|| {
            for part in records[200..].chunks(7) {
                fixture.archive.append_all(part).unwrap();
                fixture.archive.commit().unwrap();
            }
        });
    });
    assert_eq!(fixture.archive.records().unwrap().len(), 403);
    assert_eq!(other.records().unwrap(), fixture.archive.records().unwrap());
    assert_eq!(other.damage().unwrap(), []);
}

#[test]
fn a_summary_has_means_over_suites_with_intervals_and_counts() {
    let fixture = Fixture::new();
    for (problem, score) in [1.0, 0.0, 1.0, 0.5].into_iter().enumerate() {
        let record =
            fixture.trial(&fixture.seed, "edit", problem as u32, Outcome::Scored { score });
        fixture.archive.append(&record).unwrap();
    }
    let record = fixture.trial(&fixture.seed, "nav", 0, Outcome::TimedOut { score: 1.0 });
    fixture.archive.append(&record).unwrap();
    let summary = fixture.archive.summaries().unwrap().remove(0);
    // One dollar and 30 seconds each: 0.25·0.9 + 0.25·0.9 beside the score.
    let edit = summary.suites[0].utility.unwrap();
    assert!((edit.mean - (0.5 * 0.625 + 0.45)).abs() < 1e-12);
    let residuals: [f64; 4] = [0.375, -0.625, 0.375, -0.125];
    let error = residuals.iter().map(|it| it * it).sum::<f64>().sqrt() / 4.0;
    let score = summary.suites[0].score.unwrap();
    assert!((score.half_width.unwrap() - 1.959_963_984_540_054 * error).abs() < 1e-12);
    assert!((summary.suites[1].utility.unwrap().mean - 0.95 * 0.5).abs() < 1e-12);
    assert!((summary.utility.unwrap().mean - (edit.mean + 0.475) / 2.0).abs() < 1e-12);
    assert_eq!(summary.utility.unwrap().half_width, None, "one problem has no interval");
    assert_eq!((summary.trials.planned, summary.trials.scored), (8, 5));
    assert_eq!(summary.eligibility, Eligibility::Incomplete { missing: 3 });
    assert_eq!(summary.trials_cost, NanoUsd(5_000_000_000));
}

#[test]
fn missing_data_is_replaced_by_a_retry_and_a_score_is_never_replaced() {
    let fixture = Fixture::new();
    let score = |outcome| {
        fixture.archive.append(&fixture.trial(&fixture.seed, "edit", 0, outcome)).unwrap();
        let digest = Digest::of(b"edit");
        let read = |state: &State| {
            state.trial(AgentNumber(0), "edit", digest, "edit-0", 0).unwrap().outcome.score()
        };
        fixture.archive.read(read).unwrap()
    };
    assert_eq!(score(Outcome::InfraError), None);
    assert_eq!(score(Outcome::Scored { score: 0.5 }), Some(0.5));
    assert_eq!(score(Outcome::Scored { score: 1.0 }), Some(0.5));
    assert_eq!(score(Outcome::VerifierError), Some(0.5));
    assert_eq!(fixture.archive.read(State::spent).unwrap(), NanoUsd(4_000_000_000));
}

#[test]
fn an_iteration_is_explained_with_its_candidates_and_its_child() {
    let fixture = Fixture::new();
    fixture.measure(&fixture.seed, 0.5);
    let iteration = fixture.iterate(1, PolicyName::Best, 7);
    fixture.archive.commit().unwrap();
    let version = fixture.child(AgentNumber(0), 1, ChildVerdict::Accepted);
    let child = fixture.judge(1, Some(version.agent), ChildVerdict::Accepted);
    fixture.measure(&version, 0.75);
    let next = fixture.iterate(2, PolicyName::Best, 8);
    assert_eq!(next.base, version.agent);
    assert_eq!(next.reasons.iter().map(|it| it.weight).collect::<Vec<_>>(), [0.0, 1.0]);
    let fixture = fixture.reopen();
    let explanation = fixture.archive.explain(None, 1).unwrap();
    assert_eq!((explanation.iteration, explanation.child), (iteration, Some(child)));
    assert_eq!(fixture.archive.explain(Some("run"), 2).unwrap().child, None);
    let found = |state: &State| state.version_of("run", 1).map(|it| it.agent);
    assert_eq!(fixture.archive.read(found).unwrap(), Some(version.agent));
    assert_eq!(plan().len(), 2);
}
