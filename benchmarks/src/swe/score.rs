//! Scores anybody's predictions: what `hone bench score swe` does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::stream::{self, StreamExt};

use super::evaluate::{EvaluateError, EvaluationRequest, LOG_LIMIT, TEST_TIME, evaluate};
use super::folder::{self, FolderError};
use super::json::PyString;
use super::prediction::{ModelPatch, Prediction, Predictions};
use super::row::Row;
use super::summary::{RunSummary, SummaryError, file};
use crate::room::{RoomError, Rooms};

/// Says how to score predictions.
#[derive(Debug, Clone)]
pub struct ScoreOptions {
    /// The folder of all runs' logs, `logs/run_evaluation`.
    pub logs: PathBuf,
    /// Where the summary goes.
    pub report_dir: PathBuf,
    /// The run's id.
    pub run_id: String,
    /// What the dataset is called, for `run.json`.
    pub dataset: String,
    /// The split, for `run.json`.
    pub split: String,
    /// The time now, in ISO 8601, for `run.json`.
    pub created_at: String,
    /// The time for an instance's tests.
    pub timeout: Duration,
    /// The longest log that is accepted.
    pub log_limit: usize,
    /// How many instances run at once.
    pub workers: usize,
}

impl ScoreOptions {
    /// Makes the official options for a run.
    pub fn new(logs: PathBuf, report_dir: PathBuf, run_id: &str) -> Self {
        Self {
            logs,
            report_dir,
            run_id: run_id.to_owned(),
            dataset: String::new(),
            split: "test".to_owned(),
            created_at: String::new(),
            timeout: TEST_TIME,
            log_limit: LOG_LIMIT,
            workers: 1,
        }
    }
}

/// Tells what became of one instance, as it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A verdict of an earlier run stands.
    Kept {
        /// The instance.
        instance_id: &'a str,
    },
    /// An instance was evaluated.
    Evaluated {
        /// The instance.
        instance_id: &'a str,
        /// Whether it is resolved.
        resolved: bool,
    },
    /// The sandbox failed; the instance stays without verdict and can be run again.
    Unscored {
        /// The instance.
        instance_id: &'a str,
        /// Why.
        why: String,
    },
}

/// Is a finished run.
#[derive(Debug)]
pub struct ScoredRun {
    /// The summary's file.
    pub path: PathBuf,
    /// The summary.
    pub summary: RunSummary,
    /// Instances that the sandbox failed on. The official summary counts them among its errors.
    pub unscored: Vec<String>,
}

/// Says why predictions cannot be scored. Nothing was started then.
#[derive(Debug, thiserror::Error)]
pub enum ScoreRunError {
    /// Predictions are for instances that the dataset does not have.
    #[error("score the predictions: the dataset has no {}", list(missing))]
    UnknownInstances {
        /// Their ids.
        missing: Vec<String>,
    },
    /// Images are missing.
    #[error("score the predictions: {} of {wanted} images are missing. {}", missing.len(), first(missing))]
    NoImages {
        /// What the engine says of each.
        missing: Vec<RoomError>,
        /// How many are needed.
        wanted: usize,
    },
    /// The engine failed.
    #[error("score the predictions: {0}")]
    Room(RoomError),
    /// A patch is no text.
    #[error("score the predictions: `model_patch` of {instance_id} must be text")]
    NoText {
        /// The instance.
        instance_id: String,
    },
    /// The logs cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The run cannot be summarised.
    #[error(transparent)]
    Summary(#[from] SummaryError),
}

fn list(ids: &[String]) -> String {
    let shown = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    match ids.len() {
        0..=5 => shown,
        more => format!("{shown} and {} more", more - 5),
    }
}

fn first(missing: &[RoomError]) -> String {
    missing.first().map(|error| format!("To {error}")).unwrap_or_default()
}

/// Makes the predictions that the word `gold` stands for.
pub fn gold(rows: &[Row]) -> Predictions {
    rows.iter()
        .map(|row| {
            let prediction = Prediction {
                instance_id: row.labels.instance_id.clone(),
                model: Some("gold".into()),
                patch: ModelPatch::Text(row.patch.as_str().into()),
            };
            (row.labels.instance_id.clone(), prediction)
        })
        .collect()
}

/// Scores predictions and writes the official files. Verdicts that are there already stand.
///
/// All images are provided before anything runs; where one is missing, nothing runs and nothing is written.
pub async fn score(
    rooms: &dyn Rooms,
    rows: &[Row],
    predictions: &Predictions,
    options: &ScoreOptions,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<ScoredRun, ScoreRunError> {
    let mut work = Vec::new();
    check_ids(rows, predictions)?;
    for row in rows {
        let Some(prediction) = predictions.get(&row.labels.instance_id) else { continue };
        let patch = match &prediction.patch {
            ModelPatch::Text(patch) if !patch.is_empty() => patch,
            ModelPatch::Text(_) | ModelPatch::Null | ModelPatch::Missing => continue,
            ModelPatch::Other(_) => {
                return Err(ScoreRunError::NoText { instance_id: row.instance_id.clone() });
            }
        };
        let folder = folder::place(&options.logs, &options.run_id, prediction)?;
        if folder.join(file::REPORT).exists() {
            progress(Progress::Kept { instance_id: &row.instance_id });
        } else {
            work.push(Work { row, prediction, patch, folder });
        }
    }
    provide(rooms, &work).await?;
    folder::write_run(
        &options.logs,
        &options.run_id,
        &options.dataset,
        &options.split,
        &options.created_at,
    )?;
    let outcomes: Vec<Result<Option<String>, ScoreRunError>> =
        stream::iter(work.iter().map(|work| work.run(rooms, options, progress)))
            .buffer_unordered(options.workers.max(1))
            .collect()
            .await;
    let mut unscored = Vec::new();
    for outcome in outcomes {
        unscored.extend(outcome?);
    }
    unscored.sort();
    let ids: Vec<PyString> = rows.iter().map(|row| row.labels.instance_id.clone()).collect();
    let summary = RunSummary::collect(&options.logs, predictions, &ids, &options.run_id)?;
    let path = summary.save(&options.report_dir)?;
    Ok(ScoredRun { path, summary, unscored })
}

fn check_ids(rows: &[Row], predictions: &Predictions) -> Result<(), ScoreRunError> {
    let known: std::collections::HashSet<&PyString> =
        rows.iter().map(|row| &row.labels.instance_id).collect();
    let missing: Vec<String> =
        predictions.keys().filter(|id| !known.contains(id)).map(PyString::to_string).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(ScoreRunError::UnknownInstances { missing }),
    }
}

async fn provide(rooms: &dyn Rooms, work: &[Work<'_>]) -> Result<(), ScoreRunError> {
    let mut images: Vec<&str> = work.iter().map(|work| work.row.image.as_str()).collect();
    images.sort_unstable();
    images.dedup();
    let mut missing = Vec::new();
    for image in &images {
        match rooms.provide(image).await {
            Ok(()) => {}
            Err(error @ RoomError::NoImage { .. }) => missing.push(error),
            Err(error) => return Err(ScoreRunError::Room(error)),
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(ScoreRunError::NoImages { missing, wanted: images.len() }),
    }
}

/// Is one instance that is to be evaluated.
struct Work<'a> {
    row: &'a Row,
    prediction: &'a Prediction,
    patch: &'a PyString,
    folder: PathBuf,
}

impl Work<'_> {
    /// Evaluates the instance and writes its folder; gives its id where the sandbox failed.
    async fn run(
        &self,
        rooms: &dyn Rooms,
        options: &ScoreOptions,
        progress: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Option<String>, ScoreRunError> {
        let instance_id = self.row.instance_id.as_str();
        let model = self.prediction.model.as_ref().map(PyString::to_string).unwrap_or_default();
        let label = format!("sweb.eval.{}.{}", instance_id.to_lowercase(), options.run_id);
        let request = EvaluationRequest {
            row: self.row,
            model: &model,
            patch: self.patch.as_bytes(),
            timeout: options.timeout,
            log_limit: options.log_limit,
            label: &label,
        };
        match evaluate(rooms, &request).await {
            Ok(evaluation) => {
                folder::write(Path::new(&self.folder), self.patch.as_bytes(), &evaluation)?;
                let resolved = evaluation.is_resolved();
                progress(Progress::Evaluated { instance_id, resolved });
                Ok(None)
            }
            Err(
                error @ (EvaluateError::Room { .. }
                | EvaluateError::Scratch { .. }
                | EvaluateError::Step { .. }),
            ) => {
                progress(Progress::Unscored { instance_id, why: error.to_string() });
                Ok(Some(instance_id.to_owned()))
            }
        }
    }
}
