//! Keeps a new suite in the home.

use super::{Context, failures};
use crate::failure::{Failure, Outcome};
use hone_benchmarks::{Split, Suite};
use serde::Serialize;
use std::path::PathBuf;

/// Checks the name of a new suite.
pub fn check_name(name: &str) -> Outcome {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
        false => Ok(()),
        true => Err(Failure::usage(format!("name a suite {name:?}")).hint(
            "A suite's name has letters, digits, `-`, `_` and `.`, and does not begin with `.`.",
        )),
    }
}

/// Makes a name out of a file's or a package's.
pub fn name_from(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = text.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    name.trim_matches(['-', '.']).to_ascii_lowercase()
}

/// What is said of a suite that was kept.
#[derive(Debug, Serialize)]
pub struct Kept {
    name: String,
    path: PathBuf,
    digest: String,
    problems: usize,
    held_out: usize,
    /// Whether the same suite was there already.
    unchanged: bool,
}

/// Saves a suite in the home and says so. Another suite of the name stays, unless `replace` is set.
pub fn keep(context: &Context, suite: &Suite, replace: bool) -> Outcome {
    check_name(suite.name())?;
    let path = failures::library(context).place(suite.name());
    let old = path.join("suite.json").is_file().then(|| Suite::open(&path));
    let unchanged =
        matches!(&old, Some(Ok(old)) if old.manifest() == suite.manifest() && old.verify().is_ok());
    if old.is_some() && !unchanged && !replace {
        let what = match &old {
            Some(Ok(old)) => format!("another one with the digest {} has that name", old.digest()),
            _ => "something that cannot be read has that name".to_owned(),
        };
        return Err(Failure::refused(format!("keep the suite {}: {what}", suite.name()))
            .hint("Choose a name with --name, or replace it with --force."));
    }
    if !unchanged {
        suite.save(&path).map_err(failures::suite)?;
    }
    let held_out = suite.problems().iter().filter(|p| suite.split(p) == Split::HeldOut).count();
    let kept = Kept {
        name: suite.name().to_owned(),
        path,
        digest: suite.digest().to_string(),
        problems: suite.problems().len(),
        held_out,
        unchanged,
    };
    if context.console.json {
        return context.console.json("suite", &kept);
    }
    context.console.data(&format!(
        "{} {}: {} problems, {} of them held out, digest {}, in {}",
        if unchanged { "unchanged" } else { "kept" },
        kept.name,
        kept.problems,
        kept.held_out,
        kept.digest,
        kept.path.display()
    ))
}
