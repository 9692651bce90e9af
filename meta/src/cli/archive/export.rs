//! `hone archive export`.

use super::Opened;
use crate::failure::{Failure, FailureKind, Outcome};
use hone_archive::export::{self, ExportError};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The arguments of `hone archive export`.
#[derive(Debug, clap::Args)]
pub(super) struct ExportArguments {
    /// What is written
    #[arg(long, value_enum, default_value_t = What::Trials)]
    what: What,
    /// Writes CSV, the default; --json writes JSON
    #[arg(long)]
    csv: bool,
    /// The file that is written [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// A row for each trial
    Trials,
    /// A row for each agent
    Versions,
}

pub(super) fn export(arguments: &ExportArguments, opened: &Opened<'_>) -> Outcome {
    opened.warn_of_damage();
    let mut to: Box<dyn Write> = match &arguments.output {
        Some(path) => {
            let file = std::fs::File::create(path).map_err(|error| {
                Failure::new(FailureKind::Usage, error).context(format!("write {}", path.display()))
            })?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(std::io::stdout().lock())),
    };
    let json = opened.context.console.json && !arguments.csv;
    let written = match (arguments.what, json) {
        (What::Trials, false) => export::trials_csv(&opened.archive, &mut to),
        (What::Trials, true) => export::trials_json(&opened.archive, &mut to),
        (What::Versions, false) => export::versions_csv(&opened.summaries()?, &mut to),
        (What::Versions, true) => export::versions_json(&opened.summaries()?, &mut to),
    };
    match written.and_then(|()| Ok(to.flush()?)) {
        Ok(()) => Ok(()),
        Err(error) if error.is_broken_pipe() => Ok(()),
        Err(ExportError::Archive(error)) => Err(opened.fail(error)),
        Err(error) => Err(Failure::new(FailureKind::Refused, error)),
    }
}
