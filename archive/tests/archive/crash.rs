//! What a crash at any moment leaves: every acknowledged record, and an archive that opens and verifies.

use crate::fixture::{Fixture, copy, git};
use hone_archive::record::{ChildVerdict, Outcome};
use hone_archive::*;
use pretty_assertions::assert_eq;
use rand::{RngExt, SeedableRng};
use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Names the archive that [`writer`] appends to. Set only in the processes that the test below starts.
const ARCHIVE: &str = "HONE_TEST_WRITER_ARCHIVE";

/// Appends until it is killed, and prints the identity of each record after it was acknowledged.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(ARCHIVE) else { return };
    let archive = Archive::open(Path::new(&path)).unwrap();
    let records = archive.records().unwrap();
    let trial = records.iter().find(|it| matches!(it.record, Record::Trial(_))).unwrap();
    let source = tempfile::tempdir().unwrap();
    for round in 0_u64.. {
        let id = archive.append(&trial.record).unwrap();
        println!("acknowledged {id}");
        if round % 50 == 20 {
            archive.commit().unwrap();
        }
        if round % 30 == 10 {
            let text = format!("// {} {round}\n", std::process::id());
            fs::write(source.path().join("main.rs"), text).unwrap();
            let change = crate::fixture::change("grown", None, ChildVerdict::Accepted);
            let time = crate::fixture::time(round as i64);
            let version =
                archive.add_version(source.path(), &[AgentNumber(0)], &change, time).unwrap();
            println!("added {}", version.commit);
        }
    }
}

fn start_writer(archive: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::writer", "--nocapture", "--test-threads=1"])
        .env(ARCHIVE, archive)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn four_writers_killed_a_hundred_times_lose_no_acknowledged_record() {
    let fixture = Fixture::new();
    fixture.measure(&fixture.seed, 0.5);
    let path = fixture.path();
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let (mut acknowledged, mut added) = (HashSet::new(), HashSet::new());
    for round in 0..25 {
        // A hundred kills: each of the four writers at a moment of its own.
        let mut writers: Vec<Child> = (0..4).map(|_| start_writer(&path)).collect();
        for writer in &mut writers {
            std::thread::sleep(Duration::from_millis(random.random_range(20..250)));
            writer.kill().unwrap(); // SIGKILL
        }
        for mut writer in writers {
            for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
                let line = line.unwrap();
                if let Some((_, id)) = line.split_once("acknowledged ") {
                    acknowledged.extend(id.parse::<RecordId>());
                }
                if let Some(commit) = line.strip_prefix("added ") {
                    added.extend(commit.parse::<CommitId>());
                }
            }
            writer.wait().unwrap();
        }
        let archive = Archive::open(&path).unwrap();
        let report = archive.verify(None, Thoroughness::default()).unwrap();
        assert_eq!(report.faults, [], "round {round}");
        let ids: HashSet<RecordId> =
            archive.records().unwrap().iter().map(|entry| entry.id).collect();
        let lost: Vec<_> = acknowledged.difference(&ids).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
        let there: HashSet<CommitId> =
            archive.read(|state| state.versions.values().map(|it| it.commit).collect()).unwrap();
        assert!(added.is_subset(&there), "round {round}");
    }
    assert!(acknowledged.len() > 200, "only {} records were appended", acknowledged.len());
    git(&path, &["fsck"]);
}

fn newest_files(folder: &Path, count: usize) -> Vec<PathBuf> {
    fn all(folder: &Path, found: &mut Vec<(std::time::SystemTime, PathBuf)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let data = entry.metadata().unwrap();
            if data.is_dir() {
                all(&entry.path(), found);
            } else {
                found.push((data.modified().unwrap(), entry.path()));
            }
        }
    }
    let mut found = Vec::new();
    all(folder, &mut found);
    found.sort();
    found.reverse();
    found.truncate(count);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Cuts one file at each of its bytes, and opens the archive each time.
fn cut_everywhere(fixture: &Fixture, file: &Path, records: &HashSet<RecordId>, keeps_all: bool) {
    let place = tempfile::tempdir().unwrap();
    let relative = file.strip_prefix(fixture.path()).unwrap();
    let whole = fs::read(file).unwrap();
    for length in 0..whole.len() {
        let path = place.path().join(format!("{length}.git"));
        copy(&fixture.path(), &path);
        fs::remove_file(path.join(relative)).unwrap();
        fs::write(path.join(relative), &whole[..length]).unwrap();
        let name = format!("{} cut at {length} of {}", relative.display(), whole.len());
        let reader = Archive::open_read_only(&path).unwrap_or_else(|it| panic!("{name}: {it}"));
        reader.summaries().unwrap_or_else(|it| panic!("{name}: {it}"));
        drop(reader);
        let archive = Archive::open(&path).unwrap_or_else(|it| panic!("{name}: {it}"));
        let left: HashSet<RecordId> =
            archive.records().unwrap().iter().map(|entry| entry.id).collect();
        assert!(left.is_subset(records), "{name}");
        if keeps_all {
            assert_eq!(&left, records, "{name}");
        } else if left.len() < records.len()
            && whole[..length].last().is_some_and(|it| *it != b'\n')
        {
            // What is cut at the end of a line looks as if the rest had never been written.
            assert!(!archive.damage().unwrap().is_empty(), "{name}: nothing tells of the loss");
        }
        // It goes on from there.
        let more = fixture.trial(&fixture.seed, "nav", 0, Outcome::InfraError);
        let id = archive.append(&more).unwrap_or_else(|it| panic!("{name}: {it}"));
        archive.commit().unwrap_or_else(|it| panic!("{name}: {it}"));
        drop(archive);
        let archive = Archive::open(&path).unwrap();
        assert!(archive.records().unwrap().iter().any(|entry| entry.id == id), "{name}");
        drop(archive);
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn the_newest_journal_cut_at_any_byte_costs_at_most_its_own_records() {
    let fixture = Fixture::new();
    fixture.archive.append(&fixture.trial(&fixture.seed, "edit", 0, Outcome::InfraError)).unwrap();
    fixture.archive.commit().unwrap();
    fixture.archive.append(&fixture.trial(&fixture.seed, "edit", 1, Outcome::InfraError)).unwrap();
    let records = fixture.archive.records().unwrap().iter().map(|entry| entry.id).collect();
    let file = fixture.path().join("hone/journal-00000002");
    cut_everywhere(&fixture, &file, &records, false);
}

#[test]
fn the_newest_commit_of_the_ledger_cut_at_any_byte_loses_nothing() {
    let fixture = Fixture::new();
    fixture.archive.append(&fixture.trial(&fixture.seed, "edit", 0, Outcome::InfraError)).unwrap();
    fixture.archive.commit().unwrap();
    fixture.archive.append(&fixture.trial(&fixture.seed, "edit", 1, Outcome::InfraError)).unwrap();
    fixture.archive.commit().unwrap();
    let records: HashSet<RecordId> =
        fixture.archive.records().unwrap().iter().map(|entry| entry.id).collect();
    // Commit, trees and segment of the newest unit, the ref, and the notes beside the journal.
    let mut files = newest_files(&fixture.path().join("objects"), 3);
    files.push(fixture.path().join("refs/heads/ledger"));
    files.push(fixture.path().join("hone/tips"));
    for file in files {
        cut_everywhere(&fixture, &file, &records, true);
    }
}

#[test]
fn a_full_disk_fails_the_append_and_keeps_what_was_acknowledged() {
    let fixture = Fixture::new();
    // A file that may not grow any more is what a full disk looks like to a writer.
    let script = r#"trap '' XFSZ; ulimit -f 16; exec "$0" --exact crash::writer --nocapture"#;
    let before = fixture.archive.records().unwrap().len();
    fixture.measure(&fixture.seed, 0.5);
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(ARCHIVE, fixture.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let acknowledged: Vec<RecordId> = said
        .lines()
        .filter_map(|line| line.split_once("acknowledged ")?.1.trim().parse().ok())
        .collect();
    assert!(!acknowledged.is_empty(), "{said}");
    let fixture = fixture.reopen();
    let ids: Vec<RecordId> =
        fixture.archive.records().unwrap().iter().map(|entry| entry.id).collect();
    assert!(acknowledged.iter().all(|id| ids.contains(id)));
    assert!(ids.len() > before);
    assert_eq!(fixture.archive.verify(None, Thoroughness::default()).unwrap().faults, []);
}
