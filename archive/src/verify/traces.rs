//! Traces: files that are named by the digest of their content.

use super::{Fault, FaultKind, Verification};
use crate::identity::Digest;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Computes the digest of every file in a folder whose name begins with one, and looks for those that records
/// name. Other files are not Hone's, and left alone.
pub(super) fn verify(folder: &Path, named: &BTreeMap<Digest, String>, report: &mut Verification) {
    let mut found = HashSet::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => Some(entries),
        Err(error) => {
            if !named.is_empty() {
                let what = folder.display().to_string();
                report.faults.push(Fault::new(FaultKind::Trace, what, error.to_string()));
            }
            return;
        }
    };
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let digest = name.to_str().and_then(|name| name.split('.').next());
        let Some(digest) = digest.and_then(|digest| digest.parse::<Digest>().ok()) else {
            continue;
        };
        found.insert(digest);
        let who = named.get(&digest).map_or("", String::as_str);
        let what = match who {
            "" => format!("the file {}", name.to_string_lossy()),
            who => format!("{who}, the file {}", name.to_string_lossy()),
        };
        let reason = match std::fs::read(entry.path()) {
            Ok(bytes) if Digest::of(&bytes) == digest => {
                report.traces += 1;
                continue;
            }
            Ok(_) => "it is not what was written".to_owned(),
            Err(error) => error.to_string(),
        };
        report.faults.push(Fault::new(FaultKind::Trace, what, reason));
    }
    for (digest, who) in named.iter().filter(|(digest, _)| !found.contains(digest)) {
        let what = format!("{who}, {digest}");
        report.faults.push(Fault::new(FaultKind::Trace, what, "its file is missing"));
    }
}
