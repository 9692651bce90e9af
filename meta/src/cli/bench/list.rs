//! `hone bench list`: the suites that there are.

use super::table::table;
use super::{Context, failures};
use crate::failure::Outcome;
use hone_benchmarks::{Source, Split};
use serde::Serialize;

/// The arguments of `hone bench list`.
#[derive(Debug, clap::Args)]
pub struct ListArguments {}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    kind: String,
    problems: usize,
    held_out: usize,
    digest: String,
    seed: u64,
    options: serde_json::Value,
    subsets: Vec<String>,
    source: Source,
    about: String,
}

/// Runs the command.
pub fn run(_: ListArguments, context: &Context) -> Outcome {
    let library = failures::library(context);
    let mut listed = Vec::new();
    for name in library.names() {
        let suite = match library.open(&name) {
            Ok(suite) => suite,
            Err(error) => {
                let failure = failures::suite(error).context(format!("open the suite {name}"));
                context.console.failure(&failure);
                continue;
            }
        };
        let manifest = suite.manifest();
        listed.push(Listed {
            // The folder is the name that a suite is called by.
            name,
            kind: manifest.kind.clone(),
            problems: suite.problems().len(),
            held_out: suite.problems().iter().filter(|p| suite.split(p) == Split::HeldOut).count(),
            digest: suite.digest().to_string(),
            seed: manifest.seed,
            options: serde_json::json!(manifest.options),
            subsets: manifest.subsets.keys().cloned().collect(),
            source: manifest.source.clone(),
            about: manifest.about.clone(),
        });
    }
    if context.console.json {
        return context.console.json("suites", &listed);
    }
    let rows = listed.into_iter().map(|suite| {
        vec![
            suite.name,
            suite.kind,
            suite.problems.to_string(),
            suite.held_out.to_string(),
            suite.digest.chars().take(12).collect(),
            suite.subsets.join(" "),
            suite.about,
        ]
    });
    context.console.data(&table(
        &["SUITE", "KIND", "PROBLEMS", "HELD OUT", "DIGEST", "SUBSETS", "ABOUT"],
        rows,
    ))
}
