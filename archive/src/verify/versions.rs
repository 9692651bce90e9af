//! Versions: commits, trees and files that git can read, bound to what the ledger says of them.

use super::{Fault, FaultKind, Verification};
use crate::objects::intact;
use crate::record::Version;
use crate::state::State;
use crate::versions::reference_name;
use git2::{ObjectType, Oid, Repository};
use std::collections::HashSet;

/// Reads every object of every version; git checks that each has the name of its content.
pub(super) fn verify(repository: &Repository, state: &State, report: &mut Verification) {
    let mut seen = HashSet::new();
    for version in state.versions.values() {
        let name = format!("agent {}", version.agent);
        if let Err(reason) = check_commit(repository, version, state) {
            report.faults.push(Fault::new(FaultKind::Version, name.clone(), reason));
        }
        if let Ok(tree) = version.tree.oid() {
            check_tree(repository, tree, &name, "", &mut seen, report);
        }
        let reference = reference_name(version.agent);
        match repository.refname_to_id(&reference) {
            Ok(target) if version.commit.oid().is_ok_and(|commit| commit == target) => {}
            Ok(target) => report.faults.push(Fault::new(
                FaultKind::Reference,
                reference,
                format!("it points to {target}, agent {} is {}", version.agent, version.commit),
            )),
            Err(error) => {
                report.faults.push(Fault::new(FaultKind::Reference, reference, error.message()));
            }
        }
        report.versions += 1;
    }
    // A version that no record tells of was not made by Hone.
    let Ok(references) = repository.references_glob("refs/heads/agents/*") else { return };
    for reference in references.flatten() {
        let name = reference.name().unwrap_or_default().to_owned();
        let number = name.rsplit('/').next().and_then(|number| number.parse().ok());
        if !number.is_some_and(|number| state.versions.contains_key(&crate::AgentNumber(number))) {
            let reason = "no record tells of it";
            report.faults.push(Fault::new(FaultKind::Reference, name, reason));
        }
    }
}

fn check_commit(repository: &Repository, version: &Version, state: &State) -> Result<(), String> {
    let say = |error: git2::Error| error.message().to_owned();
    let oid = version.commit.oid().map_err(say)?;
    intact(repository, oid).map_err(say)?;
    let commit = repository.find_commit(oid).map_err(say)?;
    if crate::TreeId::from(commit.tree_id()) != version.tree {
        return Err("its commit has another tree than its record".to_owned());
    }
    let parents: Vec<crate::CommitId> = commit.parent_ids().map(Into::into).collect();
    let bases: Vec<_> = version
        .parents
        .iter()
        .filter_map(|base| state.versions.get(base))
        .map(|base| base.commit)
        .collect();
    if parents != bases || bases.len() != version.parents.len() {
        return Err("the parents of its commit are not its bases".to_owned());
    }
    let message = commit.message().map_err(say)?;
    let verdict = message.lines().rev().find_map(|line| line.strip_prefix("Hone-Verdict: "));
    if verdict != Some(version.change.verdict.name()) {
        return Err("its commit names another verdict than its record".to_owned());
    }
    Ok(())
}

fn check_tree(
    repository: &Repository,
    tree: Oid,
    name: &str,
    path: &str,
    seen: &mut HashSet<Oid>,
    report: &mut Verification,
) {
    if !seen.insert(tree) {
        return;
    }
    let found = match intact(repository, tree).and_then(|()| repository.find_tree(tree)) {
        Ok(found) => found,
        Err(error) => {
            let what = format!("{name}, folder /{path}");
            report.faults.push(Fault::new(FaultKind::Version, what, error.message()));
            return;
        }
    };
    for entry in &found {
        let path = format!("{path}{}", String::from_utf8_lossy(entry.name_bytes()));
        if entry.kind() == Some(ObjectType::Tree) {
            check_tree(repository, entry.id(), name, &format!("{path}/"), seen, report);
        } else if seen.insert(entry.id())
            && let Err(error) = intact(repository, entry.id())
                .and_then(|()| repository.find_blob(entry.id()).map(drop))
        {
            let what = format!("{name}, file {path}");
            report.faults.push(Fault::new(FaultKind::Version, what, error.message()));
        }
    }
}
