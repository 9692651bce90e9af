//! `hone bench grade`: from the log of a test run to the official report.

use super::Context;
use crate::failure::{Failure, FailureKind, OrFail, Outcome};
use hone_benchmarks::swe::batch::{Answer, CaseFiles};
use hone_benchmarks::swe::command;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

/// The arguments of `hone bench grade`.
#[derive(Debug, clap::Args)]
pub struct GradeArguments {
    /// The log of the test run
    #[arg(long, value_name = "FILE", required_unless_present = "batch")]
    log: Option<PathBuf>,
    /// The dataset's row, a JSON object
    #[arg(long, value_name = "FILE", required_unless_present = "batch")]
    instance: Option<PathBuf>,
    /// The prediction, a JSON object
    #[arg(long, value_name = "FILE", required_unless_present = "batch")]
    prediction: Option<PathBuf>,
    /// A file with a JSON line a case (case_id, log, instance, prediction), or - for standard input
    #[arg(long, value_name = "CASES", conflicts_with_all = ["log", "instance", "prediction"])]
    batch: Option<PathBuf>,
    /// Prints the map from test to status in place of the report
    #[arg(long)]
    status_map: bool,
}

/// Runs the command.
pub fn run(arguments: GradeArguments, context: &Context) -> Outcome {
    let answer = match arguments.status_map {
        true => Answer::StatusMap,
        false => Answer::Report,
    };
    if let Some(cases) = &arguments.batch {
        return batch(cases, answer);
    }
    let given = |path: Option<PathBuf>| path.unwrap_or_default();
    let files = CaseFiles {
        log: given(arguments.log),
        instance: given(arguments.instance),
        prediction: given(arguments.prediction),
    };
    let text = command::grade(&files, answer).or_fail(FailureKind::Refused)?;
    context.console.data(&text)
}

fn batch(cases: &Path, answer: Answer) -> Outcome {
    let lines: Box<dyn BufRead + Send> = match cases == Path::new("-") {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => {
            let file = std::fs::File::open(cases).or_fail(FailureKind::Usage);
            let file =
                file.map_err(|f| f.context(format!("read the cases {}", cases.display())))?;
            Box::new(BufReader::new(file))
        }
    };
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    match command::batch(lines, &mut out, answer) {
        Ok(tally) if tally.failed == 0 => Ok(()),
        Ok(tally) => {
            let all = tally.answered + tally.failed;
            let what = format!("grade {} of {all} cases: their lines say why", tally.failed);
            Err(Failure::refused(what))
        }
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(FailureKind::Refused, error)
            .context(format!("grade the cases {}", cases.display()))),
    }
}
