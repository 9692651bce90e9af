//! What `hone bench grade` and `hone bench summary` do, without the command line.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use super::batch::{Answer, BatchTally, CaseError, CaseFiles, grade_batch, grade_files};
use super::dataset::{DatasetError, instance_ids};
use super::prediction::{PredictionError, read_predictions};
use super::summary::{RunSummary, SummaryError};

/// Grades one log and gives the text of the official `report.json` (or the status map), without a line end.
pub fn grade(files: &CaseFiles, answer: Answer) -> Result<String, CaseError> {
    grade_files(files, answer, false)
}

/// Grades the cases that a file lists, on two threads or as many as the machine has.
pub fn batch(
    cases: impl BufRead + Send,
    out: &mut dyn Write,
    answer: Answer,
) -> io::Result<BatchTally> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    grade_batch(cases, out, answer, workers)
}

/// Says what to summarise.
#[derive(Debug, Clone)]
pub struct SummaryRequest {
    /// The folder of all runs' logs, `logs/run_evaluation`.
    pub logs: PathBuf,
    /// The predictions: a file, or the word `gold`.
    pub predictions: PathBuf,
    /// The dataset's rows.
    pub dataset: PathBuf,
    /// The run's id.
    pub run_id: String,
    /// Where the summary goes.
    pub report_dir: PathBuf,
}

/// Is a summary that was written.
#[derive(Debug)]
pub struct WrittenSummary {
    /// The file.
    pub path: PathBuf,
    /// What the file says.
    pub summary: RunSummary,
}

/// Says why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryCommandError {
    /// The predictions cannot be read.
    #[error(transparent)]
    Predictions(#[from] PredictionError),
    /// The dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The run cannot be summarised.
    #[error(transparent)]
    Summary(#[from] SummaryError),
}

/// Writes the summary of a run.
pub fn summary(request: &SummaryRequest) -> Result<WrittenSummary, SummaryCommandError> {
    let dataset = instance_ids(&request.dataset)?;
    let predictions = match request.predictions == Path::new("gold") {
        true => super::dataset::gold_predictions(&request.dataset)?,
        false => read_predictions(&request.predictions)?,
    };
    let summary = RunSummary::collect(&request.logs, &predictions, &dataset, &request.run_id)?;
    let path = summary.save(&request.report_dir)?;
    Ok(WrittenSummary { path, summary })
}
