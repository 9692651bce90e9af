//! `hone archive verify`, `merge` and `gc`.

use super::Opened;
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use crate::session::RunLock;
use hone_archive::{Archive, ArchiveError, Digest, Thoroughness};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The arguments of `hone archive verify`.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyArguments {
    /// Makes every choice of a policy again, not only a thousand of them
    #[arg(long)]
    all: bool,
}

/// The arguments of `hone archive merge`.
#[derive(Debug, clap::Args)]
pub(super) struct MergeArguments {
    /// The other archive: a run's name, a run's folder, or a repository
    other: String,
}

pub(super) fn verify(arguments: &VerifyArguments, opened: &Opened<'_>) -> Outcome {
    let thoroughness = match arguments.all {
        true => Thoroughness { choices: usize::MAX },
        false => Thoroughness::default(),
    };
    let traces = opened.folder.traces();
    let report = opened.archive.verify(Some(&traces), thoroughness);
    let report = report.map_err(|error| opened.fail(error))?;
    let dropped = opened.archive.damage().map_err(|error| opened.fail(error))?;
    let console = &opened.context.console;
    if console.json {
        opened.print("verification", json!({ "report": report, "dropped": dropped }))?;
    } else {
        let merged = match report.choices_merged {
            0 => String::new(),
            merged => format!(" ({merged} came by a merge, which verified them)"),
        };
        console.data(&format!(
            "{} records, {} versions, {} trials, {} traces; {} of {} choices made again{merged}",
            report.records,
            report.versions,
            report.trials,
            report.traces,
            report.choices_again,
            report.choices
        ))?;
        for fault in &report.faults {
            console.data(&format!("fault: {fault}"))?;
        }
        for damage in &dropped {
            console.say(&format!("note: {damage}"));
        }
    }
    match report.faults.len() {
        0 => Ok(()),
        count => {
            let plural = if count == 1 { "" } else { "s" };
            let name = opened.folder.name();
            let text = format!("verify the archive of the run {name}: {count} fault{plural}");
            Err(Failure::refused(text)
                .hint("Bring back what is named above from a copy; the rest can be trusted."))
        }
    }
}

pub(super) fn merge(arguments: &MergeArguments, opened: &Opened<'_>) -> Outcome {
    let (path, traces) = locate(&arguments.other, opened)?;
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    if same(&path).is_some() && same(&path) == same(&opened.folder.archive()) {
        return Err(Failure::usage(format!("merge {}: it is this archive", arguments.other)));
    }
    if RunLock::is_taken(&opened.folder) {
        let text = format!("merge into the run {}: it is being driven", opened.folder.name());
        return Err(
            Failure::refused(text).hint("Wait for its end, or stop it with `hone run stop`.")
        );
    }
    let other = Archive::open_read_only(&path).map_err(|error| {
        Failure::new(FailureKind::Usage, error)
            .hint("Name a run, a run's folder, or a repository that Hone made.")
    })?;
    let merged = opened.archive.merge(&other, &arguments.other, jiff::Timestamp::now());
    let merged = merged.map_err(|error| match error {
        ArchiveError::Unrelated { .. } => Failure::new(FailureKind::Refused, error)
            .hint("Only archives that grew from the same seed can be compared, and so merged."),
        ArchiveError::Unsound { .. } => Failure::new(FailureKind::Refused, error)
            .hint("`hone archive verify` on the other one names all faults."),
        error => opened.fail(error),
    })?;
    let copied = match traces {
        Some(traces) => copy_traces(&traces, &opened.folder.traces())
            .or_fail(FailureKind::Infrastructure)
            .map_err(|failure| failure.context("copy the traces"))?,
        None => 0,
    };
    if opened.context.console.json {
        return opened.print("merge", json!({ "merged": merged, "traces": copied }));
    }
    let mut text = format!(
        "{} records and {} agents taken in, {copied} traces copied\n",
        merged.records,
        merged.versions.len()
    );
    for (from, to) in &merged.renumbered {
        text.push_str(&format!("its agent {from} is agent {to} here\n"));
    }
    for (from, to) in &merged.renamed {
        text.push_str(&format!("its run {from} is {to} here\n"));
    }
    opened.context.console.data(&text)
}

/// Finds an archive and its traces by the name of a run or by a path.
fn locate(other: &str, opened: &Opened<'_>) -> Outcome<(PathBuf, Option<PathBuf>)> {
    let path = Path::new(other);
    if path.join("archive.git").is_dir() {
        return Ok((path.join("archive.git"), Some(path.join("traces"))));
    }
    if path.join("HEAD").is_file() {
        let beside = path.parent().map(|parent| parent.join("traces"));
        return Ok((path.to_owned(), beside.filter(|traces| traces.is_dir())));
    }
    let folder = opened.context.home.existing_run(Some(other))?;
    Ok((folder.archive(), Some(folder.traces())))
}

/// Copies the traces that are not there yet. Their name says whether they came over whole.
fn copy_traces(from: &Path, to: &Path) -> std::io::Result<usize> {
    let mut copied = 0;
    if !from.is_dir() {
        return Ok(copied);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let digest = name.split('.').next().and_then(|name| name.parse::<Digest>().ok());
        let Some(digest) = digest.filter(|_| !to.join(&name).exists()) else { continue };
        let bytes = std::fs::read(entry.path())?;
        if Digest::of(&bytes) != digest {
            let text = format!("{} is not what was written", entry.path().display());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text));
        }
        let mut file = tempfile::NamedTempFile::new_in(to)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        file.as_file().sync_data()?;
        file.persist(to.join(&name))?;
        copied += 1;
    }
    Ok(copied)
}

pub(super) fn gc(opened: &Opened<'_>) -> Outcome {
    let packed = opened.archive.pack(|_, _| {}).map_err(|error| opened.fail(error))?;
    if opened.context.console.json {
        return opened.print("gc", json!({ "packed": packed }));
    }
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    opened.context.console.data(&format!(
        "{} objects packed; {:.1} MB before, {:.1} MB after",
        packed.objects,
        megabytes(packed.bytes_before),
        megabytes(packed.bytes_after)
    ))
}
