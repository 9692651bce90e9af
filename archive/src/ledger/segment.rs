//! Segments: batches of records as commits on `refs/heads/ledger`.
//!
//! Each commit adds one file, `records/NNNN/NNNNNNNN.jsonl`, to its parent's tree: a line that names the
//! format, then one record per line. So `git log ledger` is the history, `git show ledger:records/…` reads it,
//! and nothing that was written changes.

use crate::objects::intact;
use crate::record::FORMAT;
use crate::versions::signature;
use git2::{FileMode, ObjectType, Oid, Repository, Tree};
use jiff::Timestamp;

/// The ref of the ledger.
pub(crate) const REFERENCE: &str = "refs/heads/ledger";
/// The trailer that names a commit's unit.
const UNIT: &str = "Hone-Unit: ";
/// Units per directory: a commit writes one directory of at most this many entries.
const PER_DIRECTORY: u64 = 100;

/// The end of the ledger's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    pub commit: Oid,
    /// The number of its segment, which is also the number of segments; they are counted from 1.
    pub unit: u64,
}

/// Returns the two parts of a segment's path below `records/`.
pub(crate) fn path(unit: u64) -> (String, String) {
    (format!("{:04}", unit / PER_DIRECTORY), format!("{unit:08}.jsonl"))
}

/// Returns the first line of a segment.
pub(crate) fn header() -> String {
    format!("{{\"hone_ledger\":\"{}.{}\"}}", FORMAT.breaking, FORMAT.additive)
}

/// Tells whether a line is the header of a segment that this version reads.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    let version = value.as_ref().and_then(|value| value["hone_ledger"].as_str());
    let breaking =
        version.and_then(|version| version.split_once('.')).map(|(breaking, _)| breaking);
    breaking.and_then(|breaking| breaking.parse().ok()) == Some(FORMAT.breaking)
}

/// Reads the number of a ledger commit's segment.
pub(crate) fn unit_of(commit: &git2::Commit<'_>) -> Option<u64> {
    let message = commit.message().ok()?;
    message.lines().find_map(|line| line.strip_prefix(UNIT)?.trim().parse().ok())
}

/// Follows a commit to its segment's content; fails when any object on the way cannot be read.
pub(crate) fn check(repository: &Repository, commit: Oid) -> Result<Tip, git2::Error> {
    intact(repository, commit)?;
    let commit = repository.find_commit(commit)?;
    intact(repository, commit.tree_id())?;
    let unit = unit_of(&commit)
        .ok_or_else(|| git2::Error::from_str("the commit names no unit of the ledger"))?;
    let records = directory(repository, &commit.tree()?)?;
    let blob = blob_of(repository, &records, unit)?;
    intact(repository, blob)?;
    repository.find_blob(blob)?;
    Ok(Tip { commit: commit.id(), unit })
}

/// Returns the `records` directory of a ledger commit's tree.
pub(crate) fn directory<'a>(
    repository: &'a Repository,
    root: &Tree<'_>,
) -> Result<Tree<'a>, git2::Error> {
    let entry =
        root.get_name("records").ok_or_else(|| git2::Error::from_str("no `records` directory"))?;
    intact(repository, entry.id())?;
    repository.find_tree(entry.id())
}

/// Returns the blob of a segment.
pub(crate) fn blob_of(
    repository: &Repository,
    records: &Tree<'_>,
    unit: u64,
) -> Result<Oid, git2::Error> {
    let missing = || git2::Error::from_str(&format!("the ledger has no segment {unit}"));
    let (directory, file) = path(unit);
    let directory = records.get_name(&directory).ok_or_else(missing)?;
    intact(repository, directory.id())?;
    let directory = repository.find_tree(directory.id())?;
    directory.get_name(&file).map(|entry| entry.id()).ok_or_else(missing)
}

/// Commits records as the segment after `tip`, without moving the ref.
pub(crate) fn commit(
    repository: &Repository,
    tip: Option<Tip>,
    records: &[String],
    time: Timestamp,
) -> Result<Tip, git2::Error> {
    let mut content = header();
    content.push('\n');
    for record in records {
        content.push_str(record);
        content.push('\n');
    }
    let unit = tip.map_or(0, |tip| tip.unit) + 1;
    let parent = tip.map(|tip| repository.find_commit(tip.commit)).transpose()?;
    let blob = repository.blob(content.as_bytes())?;
    let root = parent.as_ref().map(|parent| parent.tree()).transpose()?;
    let directories = root.as_ref().map(|root| directory(repository, root)).transpose()?;
    let (directory_name, file_name) = path(unit);
    let files = directories
        .as_ref()
        .and_then(|directories| directories.get_name(&directory_name))
        .filter(|entry| entry.kind() == Some(ObjectType::Tree))
        .map(|entry| repository.find_tree(entry.id()))
        .transpose()?;

    let add = |base: Option<&Tree<'_>>, name: &str, oid: Oid, mode: FileMode| {
        let mut builder = repository.treebuilder(base)?;
        builder.insert(name, oid, mode.into())?;
        builder.write()
    };
    let files = add(files.as_ref(), &file_name, blob, FileMode::Blob)?;
    let directories = add(directories.as_ref(), &directory_name, files, FileMode::Tree)?;
    let tree = add(root.as_ref(), "records", directories, FileMode::Tree)?;

    let plural = if records.len() == 1 { "record" } else { "records" };
    let message = format!("Add {} {plural}\n\n{UNIT}{unit}\n", records.len());
    let author = signature(time)?;
    let tree = repository.find_tree(tree)?;
    let parents: Vec<_> = parent.iter().collect();
    let commit = repository.commit(None, &author, &author, &message, &tree, &parents)?;
    Ok(Tip { commit, unit })
}
