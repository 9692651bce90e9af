//! Drives SWE-bench grading from the command line without the `hone` program:
//! `grade --log L --instance I --prediction P [--status-map]`, `grade --batch CASES [--status-map]`, and
//! `summary --logs DIR --predictions F --dataset F --run-id ID --report-dir DIR`.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use hone_benchmarks::swe::batch::{Answer, CaseFiles};
use hone_benchmarks::swe::command::{self, SummaryRequest};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: failed to {error}");
            ExitCode::from(1)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_default();
    let (mut options, mut answer) = (HashMap::new(), Answer::Report);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--status-map" => answer = Answer::StatusMap,
            _ => {
                let value = words.next().ok_or("read the options: a value is missing")?;
                options.insert(word, value);
            }
        }
    }
    let path = |name: &str| {
        options.get(name).map(PathBuf::from).ok_or(format!("read the options: {name} is missing"))
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match (verb.as_str(), options.contains_key("--batch")) {
        ("grade", true) => {
            let cases = BufReader::new(std::fs::File::open(path("--batch")?)?);
            let tally = command::batch(cases, &mut out, answer)?;
            return Ok(ExitCode::from(u8::from(tally.failed > 0)));
        }
        ("grade", false) => {
            let files = CaseFiles {
                log: path("--log")?,
                instance: path("--instance")?,
                prediction: path("--prediction")?,
            };
            out.write_all(command::grade(&files, answer)?.as_bytes())?;
        }
        ("summary", _) => {
            let written = command::summary(&SummaryRequest {
                logs: path("--logs")?,
                predictions: path("--predictions")?,
                dataset: path("--dataset")?,
                run_id: options.get("--run-id").cloned().unwrap_or_default(),
                report_dir: path("--report-dir")?,
            })?;
            out.write_all(written.summary.words().as_bytes())?;
            writeln!(out, "Report written to {}", written.path.display())?;
        }
        _ => return Err("read the options: the verbs are grade and summary".into()),
    }
    Ok(ExitCode::SUCCESS)
}
