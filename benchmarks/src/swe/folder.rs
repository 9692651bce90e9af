//! The official folder of a run: `logs/run_evaluation/<run id>/<model, / → __>/<instance id>/`.

use std::path::{Path, PathBuf};

use super::evaluate::{Evaluation, Verdict};
use super::json::write_string;
use super::prediction::Prediction;
use super::summary::{SummaryError, file, instance_folder};

/// Says why a run's folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A name cannot be used as a folder.
    #[error("keep the logs of run {run_id:?}: {what} cannot name a folder")]
    BadName {
        /// The run.
        run_id: String,
        /// What was to be the name.
        what: String,
    },
    /// The prediction has no model.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// A file cannot be written.
    #[error("write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Gives the folder of one instance, and refuses names that lead elsewhere.
pub fn place(logs: &Path, run_id: &str, prediction: &Prediction) -> Result<PathBuf, FolderError> {
    let model = prediction.model.as_ref().map(|model| model.to_text().replace('/', "__"));
    let names = [run_id.to_owned(), prediction.instance_id.to_string(), model.unwrap_or_default()];
    for name in names {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(FolderError::BadName { run_id: run_id.to_owned(), what: name });
        }
    }
    Ok(instance_folder(logs, run_id, prediction)?)
}

/// Writes what an evaluation left. `report.json` comes last, and only where there is a verdict: its presence says
/// that the instance is done.
pub fn write(folder: &Path, patch: &[u8], evaluation: &Evaluation) -> Result<(), FolderError> {
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(|source| FolderError::Write { path, source })
    };
    std::fs::create_dir_all(folder)
        .map_err(|source| FolderError::Write { path: folder.to_owned(), source })?;
    write(file::PATCH, patch)?;
    write(file::EVAL_SCRIPT, evaluation.script.as_bytes())?;
    write(file::INSTANCE_LOG, evaluation.steps.as_bytes())?;
    if let Some(log) = &evaluation.log {
        write(file::TEST_OUTPUT, log)?;
    }
    if let Verdict::Graded { report, .. } = &evaluation.verdict {
        let partial = format!(".{}.partial", file::REPORT);
        write(&partial, report.as_bytes())?;
        let path = folder.join(file::REPORT);
        std::fs::rename(folder.join(partial), &path)
            .map_err(|source| FolderError::Write { path, source })?;
    }
    Ok(())
}

/// Writes `run.json`, which says what a run was graded against.
pub fn write_run(
    logs: &Path,
    run_id: &str,
    dataset: &str,
    split: &str,
    created_at: &str,
) -> Result<(), FolderError> {
    let folder = logs.join(run_id);
    let path = folder.join("run.json");
    let mut text = String::from("{\n");
    for (name, value) in [
        ("dataset", Some(dataset)),
        ("split", Some(split)),
        ("task_repo", None),
        ("created_at", Some(created_at)),
    ] {
        text.push_str(&format!("  \"{name}\": "));
        match value {
            Some(value) => write_string(&mut text, value.as_bytes()),
            None => text.push_str("null"),
        }
        text.push_str(if name == "created_at" { "\n}\n" } else { ",\n" });
    }
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|source| FolderError::Write { path, source })
}
