//! `hone bench import`: published sets and folders of tasks.

use super::{Context, failures, keep};
use crate::failure::{Failure, Outcome};
use hone_benchmarks::import::{ImportRequest, formats, import};
use hone_benchmarks::swe::import as swe;
use std::path::PathBuf;

/// The arguments of `hone bench import`.
#[derive(Debug, clap::Args)]
pub struct ImportArguments {
    /// The format of the set
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(formats()))]
    format: String,
    /// The file of rows (JSON Lines, JSON, gzip of either, Parquet; CSV but for swe), or the folder of tasks
    path: PathBuf,
    /// The suite's name [default: the file's]
    #[arg(long)]
    name: Option<String>,
    /// The seed, where a format shuffles
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// The image that programs run in (formats of the kind code)
    #[arg(long)]
    image: Option<String>,
    /// Lists of ids by name, a JSON object (swe)
    #[arg(long, value_name = "FILE")]
    subsets: Option<PathBuf>,
    /// Takes the rows of one subset only (swe)
    #[arg(long, value_name = "NAME", requires = "subsets")]
    subset: Option<String>,
    /// Corrections of test lists that were published after the rows (swe)
    #[arg(long, value_name = "FILE")]
    label_fixes: Option<PathBuf>,
    /// Shows the agent what people said of a problem before it was solved (swe)
    #[arg(long)]
    hints: bool,
    /// Replaces a suite of the name
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(arguments: ImportArguments, context: &Context) -> Outcome {
    let ImportArguments { format, path, .. } = &arguments;
    let is_swe = format == "swe";
    let only_swe =
        arguments.subsets.is_some() || arguments.label_fixes.is_some() || arguments.hints;
    if only_swe && !is_swe {
        return Err(Failure::usage(format!(
            "import {format}: --subsets, --subset, --label-fixes and --hints are for swe"
        )));
    }
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => default_name(&arguments),
    };
    keep::check_name(&name)?;
    let suite = if is_swe {
        let imported = swe::import(&swe::ImportRequest {
            name,
            rows: path.clone(),
            subsets: arguments.subsets.clone(),
            subset: arguments.subset.as_deref().map(|subset| subset.replace('_', "-")),
            label_fixes: arguments.label_fixes.clone(),
            hints: arguments.hints,
        })
        .map_err(|error| failures::import(error.into()))?;
        if !imported.corrected.is_empty() {
            context.console.say(&format!("corrected labels of {}", imported.corrected.join(", ")));
        }
        imported.suite
    } else {
        let image = arguments.image.as_deref();
        import(&ImportRequest { name: &name, format, path, seed: arguments.seed, image })
            .map_err(failures::import)?
    };
    keep::keep(context, &suite, arguments.force)
}

fn default_name(arguments: &ImportArguments) -> String {
    let file = arguments.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file = file.unwrap_or_default();
    let mut stem = file.as_str();
    for end in [".gz", ".jsonl", ".json", ".parquet", ".csv"] {
        stem = stem.strip_suffix(end).unwrap_or(stem);
    }
    let stem = match &arguments.subset {
        Some(subset) => format!("{stem}-{subset}"),
        None => stem.to_owned(),
    };
    keep::name_from(&format!("{}-{stem}", arguments.format))
}
