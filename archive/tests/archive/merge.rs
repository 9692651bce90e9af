use crate::fixture::{Fixture, run_started};
use hone_archive::record::{ChildVerdict, Outcome};
use hone_archive::*;
use pretty_assertions::assert_eq;

/// Two archives of one seed that went different ways.
fn two() -> (Fixture, Fixture) {
    let (ours, theirs) = (Fixture::new(), Fixture::new());
    for (fixture, iteration, score) in [(&ours, 1, 0.5), (&theirs, 2, 0.75)] {
        fixture.measure(&fixture.seed, 0.25);
        fixture.iterate(iteration, PolicyName::Best, 7);
        let child = fixture.child(AgentNumber(0), iteration, ChildVerdict::Accepted);
        fixture.judge(iteration, Some(child.agent), ChildVerdict::Accepted);
        fixture.measure(&child, score);
    }
    (ours, theirs)
}

fn merge(into: &Fixture, other: &Fixture) -> Result<Merge, ArchiveError> {
    let other = Archive::open_read_only(&other.path()).unwrap();
    into.archive.merge(&other, "other", crate::fixture::time(900))
}

fn check(fixture: &Fixture) {
    let report = fixture.archive.verify(None, Thoroughness::default()).unwrap();
    assert_eq!(report.faults, []);
}

#[test]
fn versions_keep_their_commit_and_change_their_number_only_where_it_is_taken() {
    let (ours, theirs) = two();
    let merged = merge(&ours, &theirs).unwrap();
    assert_eq!(merged.versions, [AgentNumber(2)]);
    assert_eq!(merged.renumbered, [(AgentNumber(1), AgentNumber(2))].into());
    assert_eq!(merged.renamed, [("run".to_owned(), "run-2".to_owned())].into());
    let (before, after) =
        (theirs.archive.version(AgentNumber(1)), ours.archive.version(AgentNumber(2)));
    let (before, after) = (before.unwrap(), after.unwrap());
    assert_eq!((before.commit, before.tree), (after.commit, after.tree));
    assert_eq!((after.parents, after.change.run), (vec![AgentNumber(0)], Some("run-2".to_owned())));
    let summaries = ours.archive.summaries().unwrap();
    assert_eq!(summaries.len(), 3);
    assert_eq!(summaries[2].utility, theirs.archive.summaries().unwrap()[1].utility);
    assert_eq!(
        ours.archive.explain(Some("run-2"), 2).unwrap().child.unwrap().agent,
        Some(AgentNumber(2))
    );
    check(&ours);
    let fixture = ours.reopen();
    assert_eq!(fixture.archive.summaries().unwrap(), summaries);
    let copy = fixture.home.path().join("copy");
    fixture.archive.checkout(AgentNumber(2), &copy).unwrap();
    assert!(copy.join("src/change_2.rs").exists());
}

#[test]
fn nothing_doubles_when_an_archive_is_merged_again_or_back() {
    let (ours, theirs) = two();
    merge(&ours, &theirs).unwrap();
    let records = ours.archive.records().unwrap();
    assert_eq!(merge(&ours, &theirs).unwrap().records, 0);
    assert_eq!(ours.archive.records().unwrap(), records);
    // The other archive gets ours, with the note of the merge; what it has itself stays as it is.
    let back = merge(&theirs, &ours).unwrap();
    assert_eq!(back.versions, [AgentNumber(3)]);
    let commits = |fixture: &Fixture| {
        let read = |state: &State| {
            let mut commits: Vec<CommitId> = state.versions.values().map(|it| it.commit).collect();
            commits.sort();
            commits
        };
        fixture.archive.read(read).unwrap()
    };
    assert_eq!(commits(&ours), commits(&theirs));
    check(&theirs);
    assert_eq!(merge(&theirs, &ours).unwrap().records, 0);
}

#[test]
fn a_copy_that_went_on_gives_only_what_is_new() {
    let (ours, _) = two();
    ours.archive.commit().unwrap();
    let copy = Fixture::copy_of(&ours);
    copy.iterate(2, PolicyName::Best, 9);
    let child = copy.child(AgentNumber(1), 2, ChildVerdict::FailedGate);
    copy.judge(2, Some(child.agent), ChildVerdict::FailedGate);
    let merged = merge(&ours, &copy).unwrap();
    assert_eq!((merged.records, merged.versions), (3, vec![AgentNumber(2)]));
    assert!(merged.renumbered.is_empty() && merged.renamed.is_empty());
    check(&ours);
}

#[test]
fn both_went_on_with_one_run_and_the_other_part_becomes_a_run_of_its_own() {
    let (ours, _) = two();
    ours.archive.commit().unwrap();
    let copy = Fixture::copy_of(&ours);
    for (fixture, seed) in [(&copy, 9), (&ours, 10)] {
        fixture.iterate(2, PolicyName::Best, seed);
    }
    let merged = merge(&ours, &copy).unwrap();
    assert_eq!(merged.renamed, [("run".to_owned(), "run-2".to_owned())].into());
    assert_eq!(ours.archive.explain(Some("run"), 2).unwrap().iteration.seed, 10);
    assert_eq!(ours.archive.explain(Some("run-2"), 2).unwrap().iteration.seed, 9);
    check(&ours);
    assert_eq!(merge(&ours, &copy).unwrap().records, 0);
}

#[test]
fn the_plan_of_a_merged_run_does_not_change_what_agents_are_measured_on() {
    let (ours, theirs) = two();
    let mut started = run_started();
    if let Record::RunStarted(started) = &mut started {
        started.run = "another".to_owned();
        started.suites.truncate(1);
    }
    theirs.archive.append(&started).unwrap();
    let before = ours.archive.read(|state| state.plan.clone()).unwrap();
    merge(&ours, &theirs).unwrap();
    assert_eq!(ours.archive.read(|state| state.plan.clone()).unwrap(), before);
    assert_eq!(before.len(), 2);
}

#[test]
fn archives_without_a_common_version_and_damaged_ones_are_refused() {
    let (ours, theirs) = two();
    let empty = ours.home.path().join("empty.git");
    let empty = Archive::create(&empty).unwrap();
    let refused = ours.archive.merge(&empty, "empty", crate::fixture::time(1)).unwrap_err();
    assert!(matches!(refused, ArchiveError::Unrelated { .. }), "{refused}");
    let mut forged = theirs.trial(&theirs.seed, "edit", 0, Outcome::Scored { score: 1.0 });
    if let Record::Trial(trial) = &mut forged {
        trial.tree = TreeId([1; 20]);
    }
    theirs.archive.append(&forged).unwrap();
    let refused = merge(&ours, &theirs).unwrap_err();
    assert!(matches!(refused, ArchiveError::Unsound { count: 1, .. }), "{refused}");
    assert_eq!(ours.archive.summaries().unwrap().len(), 2);
}
