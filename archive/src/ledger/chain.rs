//! The ledger's chain: each commit adds one segment to its parent's and changes none.

use super::segment::{self, Tip};
use super::{Ledger, LedgerError, journal};
use crate::objects::intact;
use crate::verify::{Fault, FaultKind};
use git2::{Commit, Oid, Repository, Tree};
use std::collections::HashMap;

impl Ledger {
    /// Looks for faults in commits, segments and journals, and adds them to `faults`.
    pub(crate) fn examine(&self, faults: &mut Vec<Fault>) -> Result<(), LedgerError> {
        let (tip, damage) = self.tip()?;
        if let Some(damage) = damage {
            faults.push(Fault::new(FaultKind::Chain, "the ledger's ref", damage.to_string()));
        }
        if let Some(tip) = tip {
            self.examine_chain(tip, faults);
        }
        self.examine_journals(tip, faults)
    }

    fn examine_chain(&self, tip: Tip, faults: &mut Vec<Fault>) {
        let mut commits = HashMap::new();
        let (mut unit, mut commit) = (tip.unit, find(&self.repository, tip.commit));
        loop {
            let found = match commit {
                Ok(found) => found,
                Err(error) => {
                    let reason = error.message().to_owned();
                    faults.push(Fault::new(FaultKind::Chain, commit_name(unit), reason));
                    break;
                }
            };
            commits.insert(unit, found.id());
            if let Err(reason) = check_step(&self.repository, &found, unit) {
                faults.push(Fault::new(FaultKind::Chain, commit_name(unit), reason));
            }
            if found.parent_count() == 0 {
                break;
            }
            unit = unit.saturating_sub(1);
            commit = found.parent_id(0).and_then(|parent| find(&self.repository, parent));
        }
        // A chain that was written anew does not hold the commits that were noted when they were made.
        for (unit, noted) in self.noted_units() {
            if let Some(found) = commits.get(&unit)
                && *found != noted
            {
                let reason = format!("it is {found}, and when it was made it was {noted}");
                faults.push(Fault::new(FaultKind::Chain, commit_name(unit), reason));
            }
        }
        let Ok(segments) = self.segments(tip) else { return };
        for unit in 1..=tip.unit {
            let name = format!("segment {unit} of the ledger");
            match segments.text(unit) {
                Err(error) => {
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    let reason = source.unwrap_or_else(|| error.to_string());
                    faults.push(Fault::new(FaultKind::Segment, name, reason));
                }
                Ok(text) => {
                    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
                    if !segment::is_header(header) {
                        let reason = "its first line names no format that this version reads";
                        faults.push(Fault::new(FaultKind::Segment, name, reason));
                    }
                }
            }
        }
    }

    fn examine_journals(
        &self,
        tip: Option<Tip>,
        faults: &mut Vec<Fault>,
    ) -> Result<(), LedgerError> {
        let committed = tip.map_or(0, |tip| tip.unit);
        for unit in journal::units(&self.directory)? {
            let path = journal::path(&self.directory, unit);
            for line in journal::broken_lines(&path)? {
                let name = format!("line {line} of journal {unit}");
                faults.push(Fault::new(FaultKind::Journal, name, "it fails its checksum"));
            }
            let torn = journal::read(&path)?.torn;
            if torn > 0 {
                let reason = format!("its last {torn} bytes are no whole record");
                faults.push(Fault::new(FaultKind::Journal, format!("journal {unit}"), reason));
            }
            // The journal of the newest commit stays as its second copy.
            if let Some(tip) = tip.filter(|_| unit == committed)
                && let Ok(records) = self.segments(tip).and_then(|it| it.read(unit))
                && records != journal::read(&path)?.records
            {
                let name = format!("journal {unit}");
                let reason = format!("it is not what segment {unit} of the ledger holds");
                faults.push(Fault::new(FaultKind::Journal, name, reason));
            }
        }
        Ok(())
    }
}

fn find(repository: &Repository, commit: Oid) -> Result<Commit<'_>, git2::Error> {
    intact(repository, commit)?;
    let commit = repository.find_commit(commit)?;
    intact(repository, commit.tree_id())?;
    Ok(commit)
}

fn commit_name(unit: u64) -> String {
    format!("commit {unit} of the ledger")
}

/// Checks that a commit adds exactly the file of its unit to what its parent holds.
fn check_step(repository: &Repository, commit: &Commit<'_>, unit: u64) -> Result<(), String> {
    let say = |error: git2::Error| error.message().to_owned();
    match segment::unit_of(commit) {
        Some(named) if named == unit => {}
        named => {
            let named = named.map_or("none".to_owned(), |named| named.to_string());
            return Err(format!("it names the unit {named}"));
        }
    }
    match (commit.parent_count(), unit) {
        (0, 1) => {}
        (0, _) => return Err("what came before it is missing".to_owned()),
        (1, _) if unit > 1 => {}
        (count, _) => return Err(format!("it has {count} parents")),
    }
    let root = commit.tree().map_err(say)?;
    let records = segment::directory(repository, &root).map_err(say)?;
    let (folder, file) = segment::path(unit);
    let before = match commit.parent_count() {
        0 => None,
        _ => {
            let parent = commit.parent_id(0).and_then(|parent| find(repository, parent));
            let parent = parent.and_then(|parent| parent.tree()).map_err(say)?;
            Some(segment::directory(repository, &parent).map_err(say)?)
        }
    };
    let added = difference(before.as_ref(), &records)?;
    if added != [folder.as_bytes()] {
        return Err("it changes more than one folder of segments".to_owned());
    }
    let inner_before = match &before {
        Some(before) => subfolder(repository, before, &folder)?,
        None => None,
    };
    let inner = subfolder(repository, &records, &folder)?.ok_or("it adds no segment")?;
    let kept = inner_before.as_ref().is_none_or(|before| before.get_name(&file).is_none());
    if !kept || difference(inner_before.as_ref(), &inner)? != [file.as_bytes()] {
        return Err("it changes segments that were written before".to_owned());
    }
    Ok(())
}

fn subfolder<'a>(
    repository: &'a Repository,
    tree: &Tree<'_>,
    name: &str,
) -> Result<Option<Tree<'a>>, String> {
    let entry = tree.get_name(name).map(|entry| {
        intact(repository, entry.id())?;
        repository.find_tree(entry.id())
    });
    entry.transpose().map_err(|error| error.message().to_owned())
}

/// Names the entries of a tree that are new or other than before; it is an error where one is gone.
fn difference(before: Option<&Tree<'_>>, after: &Tree<'_>) -> Result<Vec<Vec<u8>>, String> {
    let of = |tree: &Tree<'_>| -> HashMap<Vec<u8>, Oid> {
        tree.iter().map(|entry| (entry.name_bytes().to_owned(), entry.id())).collect()
    };
    let (before, after) = (before.map(of).unwrap_or_default(), of(after));
    if let Some(gone) = before.keys().find(|name| !after.contains_key(*name)) {
        return Err(format!("it takes {} away", String::from_utf8_lossy(gone)));
    }
    Ok(after.into_iter().filter(|(name, id)| before.get(name) != Some(id)).map(|it| it.0).collect())
}
