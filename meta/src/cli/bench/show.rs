//! `hone bench show`: a suite, or one of its problems as an agent sees it.

use super::choose::ChoiceArguments;
use super::table::table;
use super::{Context, failures};
use crate::failure::{Failure, FailureKind, Outcome};
use hone_benchmarks::kind::{self, Root};
use hone_benchmarks::{Collect, Kind, Problem, ProblemError, Source, Split, Suite};
use serde::Serialize;
use serde_json::{Value, json};

/// The arguments of `hone bench show`.
#[derive(Debug, clap::Args)]
pub struct ShowArguments {
    /// The suite: a name, a path, or NAME/SUBSET
    suite: String,
    /// The problem to show
    problem: Option<String>,
    /// Shows the problem's data too, the solution included
    #[arg(long, requires = "problem")]
    solution: bool,
    #[command(flatten)]
    choice: ChoiceArguments,
}

/// Runs the command.
pub fn run(arguments: ShowArguments, context: &Context) -> Outcome {
    let suite = failures::open(context, &arguments.suite)?;
    let kind = kind::of(&suite).map_err(failures::suite)?;
    match &arguments.problem {
        Some(id) => {
            let problem = suite.problem(id).ok_or_else(|| {
                Failure::usage(format!("find the problem {id} in the suite {}", suite.name()))
                    .hint(format!("`hone bench show {}` lists its problems.", arguments.suite))
            })?;
            show_problem(kind, &suite, problem, arguments.solution, context)
        }
        None => show_suite(&arguments.choice.take(&suite)?, context),
    }
}

#[derive(Debug, Serialize)]
struct ShownSuite<'a> {
    name: &'a str,
    kind: &'a str,
    about: &'a str,
    source: &'a Source,
    seed: u64,
    options: Value,
    digest: String,
    subsets: Value,
    problems: Vec<ShownProblem<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownProblem<'a> {
    id: &'a str,
    group: Option<&'a str>,
    split: &'static str,
    digest: String,
}

fn side(split: Split) -> &'static str {
    match split {
        Split::Search => "search",
        Split::HeldOut => "held_out",
    }
}

fn show_suite(suite: &Suite, context: &Context) -> Outcome {
    let manifest = suite.manifest();
    let problems: Vec<ShownProblem<'_>> = suite
        .problems()
        .iter()
        .map(|problem| ShownProblem {
            id: &problem.id.0,
            group: problem.group.as_deref(),
            split: side(suite.split(problem)),
            digest: problem.digest().to_string(),
        })
        .collect();
    if context.console.json {
        let shown = ShownSuite {
            name: suite.name(),
            kind: &manifest.kind,
            about: &manifest.about,
            source: &manifest.source,
            seed: manifest.seed,
            options: json!(manifest.options),
            digest: suite.digest().to_string(),
            subsets: json!(manifest.subsets),
            problems,
        };
        return context.console.json("suite", &shown);
    }
    let held_out = problems.iter().filter(|problem| problem.split == "held_out").count();
    let options: Vec<String> =
        manifest.options.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let mut text = format!(
        "{}: {}\nkind {}, {} problems, {held_out} of them held out, seed {}, digest {}\n",
        suite.name(),
        manifest.about,
        manifest.kind,
        problems.len(),
        manifest.seed,
        suite.digest()
    );
    text.push_str(&format!("source: {}\n", source(&manifest.source)));
    if !options.is_empty() {
        text.push_str(&format!("options: {}\n", options.join(", ")));
    }
    for (name, ids) in &manifest.subsets {
        text.push_str(&format!("subset {name}: {} problems\n", ids.len()));
    }
    text.push('\n');
    let rows = problems.iter().map(|problem| {
        vec![
            problem.id.to_owned(),
            problem.group.unwrap_or_default().to_owned(),
            problem.split.replace('_', " "),
        ]
    });
    text.push_str(&table(&["PROBLEM", "GROUP", "SIDE"], rows));
    context.console.data(&text)
}

fn source(source: &Source) -> String {
    match source {
        Source::Builtin => "part of the program".to_owned(),
        Source::Git { repository, revision } => {
            format!("git repository {repository} at {revision}")
        }
        Source::Pypi { package, releases } => {
            let versions: Vec<&str> = releases.iter().map(|r| r.version.as_str()).collect();
            format!("releases of {package}: {}", versions.join(", "))
        }
        Source::Rows { file, digest } => format!("rows of {file}, digest {digest}"),
        Source::Folder { name } => format!("the folder {name}"),
    }
}

fn problem_failure(error: ProblemError) -> Failure {
    match error {
        ProblemError::Suite(error) => failures::suite(error),
        missing @ ProblemError::Missing { .. } => {
            Failure::new(FailureKind::Infrastructure, missing)
        }
    }
}

fn show_problem(
    kind: &dyn Kind,
    suite: &Suite,
    problem: &Problem,
    solution: bool,
    context: &Context,
) -> Outcome {
    kind.check(suite, problem).map_err(problem_failure)?;
    let statement = kind.statement(suite, problem).map_err(problem_failure)?;
    let environment = kind.environment(suite, problem).map_err(problem_failure)?;
    let collect = kind.collect(suite, problem).map_err(problem_failure)?;
    let root = match &environment.root {
        Root::Host => "the host's programs".to_owned(),
        Root::Image(image) => format!("the image {image}"),
        Root::Dockerfile(tree) => format!("an image built from the Dockerfile in {tree}"),
    };
    let collect = match &collect {
        Collect::Answer => "the answer".to_owned(),
        Collect::Files(paths) => format!("files: {}", paths.join(", ")),
        Collect::Workdir => "the work directory".to_owned(),
        Collect::Script { folder, .. } => format!("what a script leaves in {folder}"),
    };
    let files: Vec<&String> = match &problem.tree {
        Some(tree) => suite
            .files()
            .tree(tree)
            .map_err(|error| failures::suite(error.into()))?
            .keys()
            .collect(),
        None => Vec::new(),
    };
    if context.console.json {
        let mut shown = json!({
            "id": problem.id,
            "suite": suite.name(),
            "kind": kind.name(),
            "group": problem.group,
            "split": side(suite.split(problem)),
            "digest": problem.digest().to_string(),
            "root": root,
            "workdir": environment.workdir,
            "collect": collect,
            "files": files,
            "statement": statement,
        });
        if solution && let Some(shown) = shown.as_object_mut() {
            shown.insert("data".to_owned(), problem.data.clone());
        }
        return context.console.json("problem", &shown);
    }
    let mut text = format!(
        "{} of {} ({}, {})\nworks in {} on {root}\ncollected: {collect}\n",
        problem.id,
        suite.name(),
        kind.name(),
        side(suite.split(problem)).replace('_', " "),
        environment.workdir
    );
    if !files.is_empty() {
        let shown: Vec<&str> = files.iter().take(8).map(|path| path.as_str()).collect();
        let more = files.len().saturating_sub(shown.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        text.push_str(&format!("files: {}{more}\n", shown.join(", ")));
    }
    text.push_str(&format!("\n{statement}\n"));
    if solution {
        let data = serde_json::to_string_pretty(&problem.data).unwrap_or_default();
        text.push_str(&format!("\ndata, which an agent never sees:\n{data}\n"));
    }
    context.console.data(&text)
}
