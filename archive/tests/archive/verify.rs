use crate::fixture::{Fixture, change, git, time, write};
use hone_archive::record::{ChildVerdict, Iteration, Outcome};
use hone_archive::verify::FaultKind;
use hone_archive::*;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A measured seed, two iterations, a failed child; one part committed, one in the journal.
fn grown() -> Fixture {
    let fixture = Fixture::new();
    fixture.measure(&fixture.seed, 0.5);
    fixture.iterate(1, PolicyName::Dgm, 7);
    let child = fixture.child(AgentNumber(0), 1, ChildVerdict::Accepted);
    fixture.judge(1, Some(child.agent), ChildVerdict::Accepted);
    fixture.measure(&child, 0.75);
    fixture.archive.commit().unwrap();
    fixture.iterate(2, PolicyName::Best, 8);
    let failed = fixture.child(child.agent, 2, ChildVerdict::NotBuilt);
    fixture.judge(2, Some(failed.agent), ChildVerdict::NotBuilt);
    fixture
}

fn verify(fixture: &Fixture) -> Verification {
    let archive = Archive::open_read_only(&fixture.path()).unwrap();
    archive.verify(None, Thoroughness::default()).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn an_archive_as_it_was_written_verifies_before_and_after_packing() {
    let fixture = grown();
    let report = verify(&fixture);
    assert_eq!(report.faults, []);
    assert_eq!((report.versions, report.trials, report.choices_again), (3, 16, 2));
    let packed = fixture.archive.pack(|_, _| {}).unwrap();
    assert!(packed.objects > 10 && packed.bytes_after < packed.bytes_before, "{packed:?}");
    let again = verify(&fixture);
    assert_eq!(again, report);
    assert_eq!(fixture.archive.pack(|_, _| {}).unwrap().objects, packed.objects);
    git(&fixture.path(), &["fsck", "--strict"]);
    let copy = fixture.home.path().join("copy");
    fixture.archive.checkout(AgentNumber(2), &copy).unwrap();
    assert!(copy.join("src/change_1.rs").exists());
}

#[test]
fn a_flipped_byte_in_any_object_or_journal_is_found_and_named() {
    let fixture = grown();
    let objects = files(&fixture.path().join("objects"));
    let journals = files(&fixture.path().join("hone"));
    let journals = journals.into_iter().filter(|it| it.to_string_lossy().contains("journal-"));
    let mut flipped = 0;
    for path in objects.into_iter().chain(journals) {
        let whole = fs::read(&path).unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        #[allow(clippy::permissions_set_readonly_false)] // in a temporary folder
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
        for place in [whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[place] ^= 4;
            fs::write(&path, &bytes).unwrap();
            // The index may have read the record before: it is not what is verified.
            let report = verify(&fixture);
            assert!(!report.faults.is_empty(), "{} byte {place}", path.display());
            flipped += 1;
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(flipped > 50, "{flipped}");
    assert_eq!(verify(&fixture).faults, []);
}

#[test]
fn a_fault_says_in_which_agent_and_file_it_is() {
    let fixture = grown();
    let blob = git(&fixture.path(), &["rev-parse", "agents/1:src/change_1.rs"]);
    let (folder, file) = blob.trim().split_at(2);
    fs::remove_file(fixture.path().join("objects").join(folder).join(file)).unwrap();
    let report = verify(&fixture);
    assert_eq!(report.faults.len(), 1);
    let fault = report.faults[0].to_string();
    assert!(fault.starts_with("agent 1, file src/change_1.rs: "), "{fault}");
}

#[test]
fn a_segment_that_was_written_anew_breaks_the_chain() {
    let fixture = grown();
    fixture.archive.commit().unwrap();
    let run = |script: &str| {
        let output = Command::new("sh")
            .args(["-ec", script])
            .current_dir(fixture.path())
            .env("GIT_AUTHOR_NAME", "x")
            .env("GIT_AUTHOR_EMAIL", "x")
            .env("GIT_COMMITTER_NAME", "x")
            .env("GIT_COMMITTER_EMAIL", "x")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    // A forger who knows git raises a score in the newest segment and commits again, with its number.
    run(r#"
        export GIT_INDEX_FILE=$PWD/forged
        git read-tree ledger
        path=$(git ls-tree -r --name-only ledger | tail -1)
        blob=$(git show ledger:$path | sed 's/"iteration":2/"iteration":3/' | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,$path
        message=$(git log -1 --format=%B ledger)
        commit=$(echo "$message" | git commit-tree $(git write-tree) -p ledger^)
        git update-ref refs/heads/ledger $commit
    "#);
    let kinds: Vec<FaultKind> = verify(&fixture).faults.iter().map(|fault| fault.kind).collect();
    assert!(kinds.contains(&FaultKind::Chain), "{kinds:?}");
}

#[test]
fn results_that_are_not_bound_to_their_agent_are_faults() {
    let fixture = grown();
    let mut forged = fixture.trial(&fixture.seed, "edit", 0, Outcome::Scored { score: 2.0 });
    if let Record::Trial(trial) = &mut forged {
        trial.tree = TreeId([7; 20]);
        trial.conditions = ConditionsId([1; 8]);
    }
    fixture.archive.append(&forged).unwrap();
    let reasons: Vec<String> = verify(&fixture).faults.into_iter().map(|it| it.reason).collect();
    assert_eq!(reasons.len(), 3);
    for word in ["bound to the source 0707", "never stated", "between 0 and 1"] {
        assert!(reasons.iter().any(|reason| reason.contains(word)), "{word}: {reasons:?}");
    }
}

#[test]
fn a_choice_that_does_not_follow_from_the_data_is_a_fault() {
    let fixture = grown();
    let Ok(explained) = fixture.archive.explain(None, 2) else { panic!("iteration 2") };
    let honest = explained.iteration;
    let mut other = Iteration { iteration: 3, ..honest.clone() };
    other.base = AgentNumber(0);
    other.editor = AgentNumber(0);
    fixture.archive.append(&Record::Iteration(other)).unwrap();
    let mut table = Iteration { iteration: 4, ..honest };
    table.reasons[0].value += 0.1;
    fixture.archive.append(&Record::Iteration(table)).unwrap();
    let faults: Vec<String> = verify(&fixture).faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("the base 0 was chosen"), "{faults:?}");
    assert!(faults[1].contains("table of reasons"), "{faults:?}");
}

#[test]
fn traces_are_compared_with_their_digests_and_missing_ones_are_named() {
    let fixture = grown();
    let folder = fixture.home.path().join("traces");
    fs::create_dir(&folder).unwrap();
    let (good, bad, gone) = (Digest::of(b"good"), Digest::of(b"bad"), Digest::of(b"gone"));
    for (problem, digest) in [good, bad, gone].into_iter().enumerate() {
        let mut record = fixture.trial(&fixture.seed, "nav", problem as u32, Outcome::InfraError);
        if let Record::Trial(trial) = &mut record {
            trial.trace = Some(digest);
        }
        fixture.archive.append(&record).unwrap();
    }
    fs::write(folder.join(format!("{good}.jsonl.zst")), b"good").unwrap();
    fs::write(folder.join(format!("{bad}.jsonl.zst")), b"bat").unwrap();
    fs::write(folder.join("notes.txt"), b"mine").unwrap();
    let report = fixture.archive.verify(Some(&folder), Thoroughness::default()).unwrap();
    let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    assert_eq!((report.traces, faults.len()), (1, 2), "{faults:?}");
    assert!(faults.iter().any(|it| it.contains("nav-1") && it.contains("not what was written")));
    assert!(faults.iter().any(|it| it.contains("nav-2") && it.contains("missing")));
}

#[test]
fn an_index_with_other_numbers_is_a_fault_and_deleting_it_loses_nothing() {
    let fixture = grown();
    for round in 0..10 {
        let outcome = Outcome::InfraError;
        fixture.archive.append(&fixture.trial(&fixture.seed, "edit", round % 4, outcome)).unwrap();
        fixture.archive.commit().unwrap();
        fixture.archive.summaries().unwrap();
    }
    let index = fixture.path().join("hone/index");
    assert!(index.exists());
    let before = fixture.archive.summaries().unwrap();
    let mut bytes = fs::read(&index).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&index, &bytes).unwrap();
    assert_eq!(verify(&fixture).faults, [], "a damaged index is not used");
    fs::remove_file(&index).unwrap();
    assert_eq!(fixture.reopen().archive.summaries().unwrap(), before);
}

#[test]
fn rubbish_is_kept_while_it_may_belong_to_a_version_that_is_being_added() {
    let fixture = grown();
    let source = fixture.home.path().join("new");
    write(&source, "a.rs", "// not added yet\n");
    // Writes objects that no ref reaches.
    fixture.archive.diff_directory(AgentNumber(0), &source).unwrap();
    fixture.archive.pack(|_, _| {}).unwrap();
    let change = change("new", None, ChildVerdict::Accepted);
    fixture.archive.add_version(&source, &[], &change, time(9)).unwrap();
    assert_eq!(verify(&fixture).faults, []);
}
