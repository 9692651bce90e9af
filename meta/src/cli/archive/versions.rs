//! `hone archive diff`, `checkout` and `import`.

use super::Opened;
use crate::display::first_line;
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use hone_archive::record::{Change, ChildVerdict};
use hone_archive::{AgentNumber, ArchiveError};
use serde_json::json;
use std::path::PathBuf;

/// The arguments of `hone archive diff`.
#[derive(Debug, clap::Args)]
pub(super) struct DiffArguments {
    /// The agent; it is compared with its base where no other is named
    a: u32,
    /// The agent that it is compared with
    b: Option<u32>,
    /// Lists the files alone
    #[arg(long)]
    stat: bool,
}

/// The arguments of `hone archive checkout`.
#[derive(Debug, clap::Args)]
pub(super) struct CheckoutArguments {
    /// The agent
    agent: u32,
    /// The folder, which is empty or does not exist [default: ./agent-N]
    folder: Option<PathBuf>,
}

/// The arguments of `hone archive import`.
#[derive(Debug, clap::Args)]
pub(super) struct ImportArguments {
    /// The folder of the agent's source
    folder: PathBuf,
    /// The agent that it was made from; it is a root of its own where none is named
    #[arg(long, value_name = "N")]
    base: Option<u32>,
    /// What is special about it [default: the source's description.txt]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

pub(super) fn diff(arguments: &DiffArguments, opened: &Opened<'_>) -> Outcome {
    let a = opened.check(arguments.a)?;
    let (from, to) = match arguments.b {
        Some(b) => (a, opened.check(b)?),
        None => {
            let version = opened.archive.version(a).map_err(|error| opened.fail(error))?;
            let Some(base) = version.parents.first() else {
                return Err(Failure::usage(format!("show what agent {a} changed: it has no base"))
                    .hint("Name two agents to compare them."));
            };
            (*base, a)
        }
    };
    let difference = opened.archive.diff(from, to).map_err(|error| opened.fail(error))?;
    if opened.context.console.json {
        return opened.print("diff", json!({ "from": from, "to": to, "difference": difference }));
    }
    if !arguments.stat {
        return opened.context.console.data(&difference.patch);
    }
    let mut text = String::new();
    for file in &difference.files {
        text.push_str(&format!("{:<12}  {}\n", file.how.replace('_', " "), file.path));
    }
    let (files, more) = (difference.files.len(), difference.insertions);
    let less = difference.deletions;
    text.push_str(&format!("{files} files, {more} lines added, {less} taken away\n"));
    opened.context.console.data(&text)
}

pub(super) fn checkout(arguments: &CheckoutArguments, opened: &Opened<'_>) -> Outcome {
    let agent = opened.check(arguments.agent)?;
    let folder = arguments.folder.clone().unwrap_or_else(|| format!("agent-{agent}").into());
    opened.archive.checkout_repository(agent, &folder).map_err(|error| match error {
        ArchiveError::Tree(error) => Failure::new(FailureKind::Usage, error)
            .hint("Name a folder that is empty or does not exist, where files can be written."),
        error => opened.fail(error),
    })?;
    if opened.context.console.json {
        return opened.print("checkout", json!({ "agent": agent, "folder": folder }));
    }
    let text = format!("agent {agent} with its ancestry is in {}", folder.display());
    opened.context.console.say(&text);
    Ok(())
}

pub(super) fn import(arguments: &ImportArguments, opened: &Opened<'_>) -> Outcome {
    let folder = &arguments.folder;
    if !folder.join("Cargo.toml").is_file() {
        let text = format!("import {}: it holds no Cargo.toml", folder.display());
        return Err(Failure::usage(text).hint(
            "An agent's source is a cargo workspace; `hone archive checkout` makes one to start from.",
        ));
    }
    let parents: Vec<AgentNumber> =
        arguments.base.map(|base| opened.check(base)).transpose()?.into_iter().collect();
    let description = match &arguments.description {
        Some(text) => text.clone(),
        None => match std::fs::read_to_string(folder.join("description.txt")) {
            Ok(text) => text.trim().to_owned(),
            Err(_) => format!("imported from {}", name_of(folder)),
        },
    };
    let change = Change {
        description,
        editor: None,
        run: None,
        iteration: None,
        verdict: ChildVerdict::Accepted,
    };
    let now = jiff::Timestamp::now();
    let version = opened.archive.add_version(folder, &parents, &change, now);
    let version = version.map_err(|error| match error {
        ArchiveError::Tree(error) => Failure::new(FailureKind::Usage, error),
        error => opened.fail(error),
    })?;
    opened.archive.commit().or_fail(FailureKind::Infrastructure)?;
    if opened.context.console.json {
        return opened.print("imported", json!({ "version": version }));
    }
    opened.context.console.data(&format!(
        "agent {}: {}",
        version.agent,
        first_line(&version.change.description, 70)
    ))?;
    opened.context.console.say(&format!(
        "`hone run --resume {}` measures it; until then no policy chooses it",
        opened.folder.name()
    ));
    Ok(())
}

fn name_of(folder: &std::path::Path) -> String {
    let name = std::path::absolute(folder).ok();
    let name = name.as_deref().and_then(|path| path.file_name());
    name.map_or("a folder".to_owned(), |name| name.to_string_lossy().into_owned())
}
