//! `hone bench verify`: whether suites are whole and unchanged.

use super::{Context, failures};
use crate::failure::{Failure, Outcome};
use serde::Serialize;

/// The arguments of `hone bench verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArguments {
    /// The suites, by name or path [default: all]
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Verified {
    name: String,
    digest: Option<String>,
    problems: usize,
    /// What is wrong with it; nothing where it is whole.
    wrong: Option<String>,
}

/// Runs the command.
pub fn run(arguments: VerifyArguments, context: &Context) -> Outcome {
    let names = match arguments.suites.is_empty() {
        true => failures::library(context).names(),
        false => arguments.suites,
    };
    let mut verified = Vec::new();
    for name in names {
        let suite = failures::open(context, &name);
        let checked = suite.and_then(|suite| match suite.verify() {
            Ok(()) => Ok(suite),
            Err(error) => Err(failures::suite(error)),
        });
        let result = match checked {
            Ok(suite) => Verified {
                name,
                digest: Some(suite.digest().to_string()),
                problems: suite.problems().len(),
                wrong: None,
            },
            Err(failure) => {
                let wrong = Some(format!("{:#}", failure.error));
                let failure = failure.context(format!("verify the suite {name}"));
                context.console.failure(&failure);
                Verified { name, digest: None, problems: 0, wrong }
            }
        };
        if !context.console.json
            && let Some(digest) = &result.digest
        {
            let Verified { name, problems, .. } = &result;
            context
                .console
                .data(&format!("{name} is whole: {problems} problems, digest {digest}"))?;
        }
        verified.push(result);
    }
    if context.console.json {
        context.console.json("suites", &verified)?;
    }
    match verified.iter().filter(|suite| suite.wrong.is_some()).count() {
        0 => Ok(()),
        wrong => Err(Failure::refused(format!("verify {wrong} of {} suites", verified.len()))),
    }
}
