use crate::fixture::{Fixture, change, git, time, write};
use hone_archive::record::ChildVerdict;
use hone_archive::*;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_version_keeps_bytes_executable_bits_and_links_and_leaves_build_output_out() {
    let fixture = Fixture::new();
    let source = fixture.home.path().join("source");
    write(&source, "src/target/mod.rs", "// a module called target\n");
    write(&source, "target/debug/agent", "binary");
    write(&source, "tools/target/CACHEDIR.TAG", "Signature");
    write(&source, "tools/target/x", "binary");
    write(&source, ".git/HEAD", "ref");
    write(&source, "run.sh", "#!/bin/sh\r\n\0");
    fs::create_dir_all(source.join("empty")).unwrap();
    fs::set_permissions(source.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", source.join("link")).unwrap();
    symlink("/nowhere/at all", source.join("dangling")).unwrap();
    let version = fixture
        .archive
        .add_version(&source, &[], &change("imported", None, ChildVerdict::Accepted), time(1))
        .unwrap();
    assert_eq!(version.agent, AgentNumber(1));
    let files =
        git(&fixture.path(), &["ls-tree", "-r", "--format=%(objectmode) %(path)", "agents/1"]);
    assert_eq!(files, "120000 dangling\n120000 link\n100755 run.sh\n100644 src/target/mod.rs\n");

    let copy = fixture.home.path().join("copy");
    fixture.archive.checkout(version.agent, &copy).unwrap();
    assert_eq!(fs::read(copy.join("run.sh")).unwrap(), b"#!/bin/sh\r\n\0");
    assert_eq!(fs::metadata(copy.join("run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(fs::read_link(copy.join("dangling")).unwrap().to_str(), Some("/nowhere/at all"));
    let again = fixture.archive.diff_directory(version.agent, &copy).unwrap();
    assert_eq!(again, Difference::default());
}

#[test]
fn the_same_source_parents_change_and_time_give_the_same_commit() {
    let (first, second) = (Fixture::new(), Fixture::new());
    assert_eq!(first.seed, second.seed);
    assert_eq!(
        first.child(AgentNumber(0), 1, ChildVerdict::NotBuilt),
        second.child(AgentNumber(0), 1, ChildVerdict::NotBuilt)
    );
}

#[test]
fn plain_git_shows_lineage_trailers_and_changes() {
    let fixture = Fixture::new();
    fixture.child(AgentNumber(0), 1, ChildVerdict::Accepted);
    fixture.child(AgentNumber(1), 2, ChildVerdict::FailedGate);
    fixture.archive.commit().unwrap();
    let clone = fixture.home.path().join("clone");
    let from = fixture.path();
    git(fixture.home.path(), &["clone", "-q", from.to_str().unwrap(), clone.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(clone.join("src/main.rs")).unwrap(), "fn main() {}\n");
    let log = git(
        &clone,
        &["log", "--format=%s|%(trailers:key=Hone-Verdict,valueonly)", "origin/agents/2"],
    );
    assert_eq!(
        log.replace("\n\n", "\n"),
        "change 2|failed_gate\nchange 1|accepted\nseed|accepted\n"
    );
    let diff = git(&from, &["diff", "agents/0", "agents/1"]);
    assert_eq!(fixture.archive.diff(AgentNumber(0), AgentNumber(1)).unwrap().patch, diff);
    assert!(diff.contains("+// a change"));
    assert!(git(&from, &["log", "--format=%s", "ledger"]).contains("records"));
    git(&from, &["fsck", "--strict"]);
}

#[test]
fn a_checked_out_repository_is_clean_and_has_the_ancestry() {
    let fixture = Fixture::new();
    fixture.child(AgentNumber(0), 1, ChildVerdict::Accepted);
    let directory = fixture.home.path().join("taken");
    fixture.archive.checkout_repository(AgentNumber(1), &directory).unwrap();
    assert_eq!(git(&directory, &["status", "--porcelain"]), "");
    assert_eq!(git(&directory, &["log", "--format=%s"]), "change 1\nseed\n");
    assert_eq!(git(&directory, &["branch", "--show-current"]), "agent-1\n");
    git(&directory, &["fsck", "--strict"]);
}

#[test]
fn a_failed_child_is_kept_and_is_never_a_candidate() {
    let fixture = Fixture::new();
    let failed = fixture.child(AgentNumber(0), 1, ChildVerdict::NotBuilt);
    fixture.measure(&fixture.seed, 0.2);
    fixture.measure(&failed, 0.9);
    let choice = fixture.archive.choose(PolicyName::Best, 0, &[]).unwrap().unwrap();
    assert_eq!((choice.agent, choice.reasons.len()), (AgentNumber(0), 1));
    assert_eq!(fixture.archive.choose(PolicyName::Best, 0, &[AgentNumber(0)]).unwrap(), None);
}

#[test]
fn errors_name_what_is_wrong() {
    let fixture = Fixture::new();
    let say = |error: ArchiveError| error.to_string();
    let path = fixture.path();
    assert_eq!(
        say(fixture.archive.version(AgentNumber(9)).unwrap_err()),
        "find agent 9: the archive has 1 versions"
    );
    assert!(say(Archive::create(&path).err().unwrap()).ends_with("archive.git: it exists"));
    assert!(matches!(
        Archive::open(&fixture.home.path().join("none")).err().unwrap(),
        ArchiveError::Open { .. }
    ));
    git(fixture.home.path(), &["init", "-q", "--bare", "other.git"]);
    assert!(matches!(
        Archive::open(&fixture.home.path().join("other.git")).err().unwrap(),
        ArchiveError::Foreign(_)
    ));
    assert!(matches!(
        fixture.archive.checkout(AgentNumber(0), fixture.home.path()).unwrap_err(),
        ArchiveError::Tree(TreeError::Occupied(_))
    ));
    assert_eq!(
        say(fixture.archive.explain(None, 3).unwrap_err()),
        "find iteration 3: the archive has 0 iterations"
    );
    let reader = Archive::open_read_only(&path).unwrap();
    assert_eq!(
        say(reader.commit().unwrap_err()),
        "write to an archive that is open for reading only"
    );
}
