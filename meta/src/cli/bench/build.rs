//! `hone bench build`: suites from the history of source code.

use super::{Context, failures, keep};
use crate::failure::Outcome;
use hone_benchmarks::build::{BuildRequest, build};
use hone_benchmarks::origin::Origin;

/// The arguments of `hone bench build`.
#[derive(Debug, clap::Args)]
pub struct BuildArguments {
    /// What is asked of an agent
    kind: BuiltKind,
    /// A folder with a git repository, pypi:NAME, or pypi:NAME==VERSION,VERSION; none of its code is run
    #[arg(long, value_name = "SOURCE")]
    from: String,
    /// The suite's name [default: the kind and the source]
    #[arg(long)]
    name: Option<String>,
    /// The seed that problems are drawn with
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// The most problems
    #[arg(long, value_name = "K", default_value_t = 100)]
    problems: usize,
    /// The revision of a git repository to start from
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// How edits are scored
    #[arg(long, value_name = "FORMULA")]
    scoring: Option<Scoring>,
    /// Replaces a suite of the name
    #[arg(long)]
    force: bool,
}

/// The kinds that are built from source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum BuiltKind {
    /// Make a file equal to a target
    Edit,
    /// Find where a name is defined
    Nav,
}

/// Formulas for edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Scoring {
    /// The share of the required change that is there, less damage done
    Change,
    /// The formula of SICA's paper
    Sica,
}

/// Runs the command.
pub fn run(arguments: BuildArguments, context: &Context) -> Outcome {
    let kind = match arguments.kind {
        BuiltKind::Edit => "edit",
        BuiltKind::Nav => "nav",
    };
    if arguments.scoring.is_some() && arguments.kind != BuiltKind::Edit {
        return Err(crate::failure::Failure::usage("score nav problems by a formula of edits")
            .hint("Leave --scoring out."));
    }
    if arguments.problems == 0 {
        return Err(crate::failure::Failure::usage("build a suite of no problems")
            .hint("--problems takes a number from 1."));
    }
    let origin = Origin::parse(&arguments.from).map_err(|error| failures::build(error.into()))?;
    let source = match &origin {
        Origin::Git(path) => {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        }
        Origin::Pypi { package, .. } => package.clone(),
    };
    let name = arguments.name.unwrap_or_else(|| keep::name_from(&format!("{kind}-{source}")));
    keep::check_name(&name)?;
    context.console.say(&format!("building {name} from {} …", arguments.from));
    let mut suite = build(&BuildRequest {
        name: &name,
        kind,
        origin: &origin,
        revision: arguments.revision.as_deref(),
        wheels: &context.home.cache().join("wheels"),
        count: arguments.problems,
        seed: arguments.seed,
    })
    .map_err(failures::build)?;
    if let Some(scoring) = arguments.scoring {
        let scoring = match scoring {
            Scoring::Change => "change",
            Scoring::Sica => "sica",
        };
        suite = suite.with_option("scoring", scoring);
    }
    if suite.problems().len() < arguments.problems {
        context.console.say(&format!(
            "{} problems of {} asked for: {} has no more that are fit",
            suite.problems().len(),
            arguments.problems,
            arguments.from
        ));
    }
    keep::keep(context, &suite, arguments.force)
}
