//! The official summary of a whole run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::infra::Fault;
use super::json::{self, PyString, Value, write_string};
use super::json_layout::{Layout, Writer};
use super::prediction::{Prediction, Predictions};
use super::python_text::{read_text, strip};

/// Names the files that a run leaves per instance.
pub mod file {
    /// The verdict.
    pub const REPORT: &str = "report.json";
    /// The output of the test run.
    pub const TEST_OUTPUT: &str = "test_output.txt";
    /// What the harness did.
    pub const INSTANCE_LOG: &str = "run_instance.log";
    /// The proposed change.
    pub const PATCH: &str = "patch.diff";
    /// The script that ran the tests.
    pub const EVAL_SCRIPT: &str = "eval.sh";
}

/// Holds what became of the instances of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSummary {
    model: String,
    run_id: String,
    total: usize,
    submitted: BTreeSet<PyString>,
    known_submitted: usize,
    completed: BTreeSet<PyString>,
    resolved: BTreeSet<PyString>,
    unresolved: BTreeSet<PyString>,
    incomplete: BTreeSet<PyString>,
    empty_patch: BTreeSet<PyString>,
    errors: BTreeSet<PyString>,
    faults: BTreeMap<PyString, Fault>,
}

/// Says why a run has no summary; the official harness raises in the same places.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// There are no predictions, so no model to name the file after.
    #[error("there are no predictions, so the run has no summary")]
    NoPredictions,
    /// A prediction names no model.
    #[error("the prediction for {instance_id} has no `model_name_or_path`")]
    NoModel {
        /// The instance.
        instance_id: PyString,
    },
    /// A report cannot be read as text.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A report is JSON of a shape that the official harness fails on.
    #[error("{} is JSON, but its entry for {instance_id} is no object", path.display())]
    WrongShape {
        /// The file.
        path: PathBuf,
        /// The instance.
        instance_id: PyString,
    },
    /// The summary cannot be written.
    #[error("cannot write the summary {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Gives the folder of one instance: `<logs>/<run id>/<model, / → __>/<instance id>`.
pub fn instance_folder(
    logs: &Path,
    run_id: &str,
    prediction: &Prediction,
) -> Result<PathBuf, SummaryError> {
    Ok(logs
        .join(run_id)
        .join(model_folder(prediction)?)
        .join(prediction.instance_id.to_text().as_ref()))
}

fn model_folder(prediction: &Prediction) -> Result<String, SummaryError> {
    let model = prediction.model.as_ref();
    let model = model
        .ok_or_else(|| SummaryError::NoModel { instance_id: prediction.instance_id.clone() })?;
    Ok(model.to_text().replace('/', "__"))
}

impl RunSummary {
    /// Collects the reports of a run from its log folder (`logs/run_evaluation`).
    pub fn collect(
        logs: &Path,
        predictions: &Predictions,
        dataset: &[PyString],
        run_id: &str,
    ) -> Result<Self, SummaryError> {
        let mut summary = Self {
            run_id: run_id.to_owned(),
            total: dataset.len(),
            submitted: predictions.keys().cloned().collect(),
            ..Self::default()
        };
        for id in dataset {
            match predictions.get(id) {
                None => {
                    summary.incomplete.insert(id.clone());
                }
                Some(prediction) if prediction.patch.is_empty() => {
                    summary.empty_patch.insert(id.clone());
                }
                Some(prediction) => {
                    let folder = instance_folder(logs, run_id, prediction)?;
                    summary.record(id, &folder.join(file::REPORT))?;
                }
            }
        }
        let known: BTreeSet<&PyString> = dataset.iter().collect();
        summary.known_submitted = summary.submitted.iter().filter(|id| known.contains(id)).count();
        summary.find_faults(logs, predictions)?;
        let first = predictions.values().next();
        summary.model = model_folder(first.ok_or(SummaryError::NoPredictions)?)?;
        Ok(summary)
    }

    fn record(&mut self, id: &PyString, report: &Path) -> Result<(), SummaryError> {
        if !report.exists() {
            self.errors.insert(id.clone());
            return Ok(());
        }
        self.completed.insert(id.clone());
        let group = match is_resolved(id, report)? {
            Some(true) => &mut self.resolved,
            Some(false) => &mut self.unresolved,
            None => &mut self.errors,
        };
        group.insert(id.clone());
        Ok(())
    }

    /// Looks in the logs of what was not resolved for signs of a broken environment.
    fn find_faults(&mut self, logs: &Path, predictions: &Predictions) -> Result<(), SummaryError> {
        for id in self.unresolved.union(&self.errors) {
            let Some(prediction) = predictions.get(id) else {
                continue;
            };
            let folder = instance_folder(logs, &self.run_id, prediction)?;
            let mut texts = Vec::new();
            for name in [file::TEST_OUTPUT, file::INSTANCE_LOG] {
                let path = folder.join(name);
                if path.exists() {
                    let bytes = std::fs::read(&path)
                        .map_err(|source| SummaryError::Read { path, source })?;
                    let text = String::from_utf8_lossy(&bytes);
                    texts.push(
                        read_text(text.as_bytes()).map_or_else(
                            |_| text.clone().into_owned(),
                            std::borrow::Cow::into_owned,
                        ),
                    );
                }
            }
            if let Some(fault) = Fault::find(&texts.join("\n")) {
                self.faults.insert(id.clone(), fault);
            }
        }
        Ok(())
    }

    /// Gives the ids of resolved instances.
    pub fn resolved(&self) -> &BTreeSet<PyString> {
        &self.resolved
    }

    /// Gives the ids of instances that have no valid report.
    pub fn errors(&self) -> &BTreeSet<PyString> {
        &self.errors
    }

    /// Gives the official name of the summary: `<model, / → __>.<run id>.json`.
    pub fn file_name(&self) -> String {
        format!("{}.{}.json", self.model, self.run_id)
    }

    fn faults_of_kind(&self, environmental: bool) -> Vec<&PyString> {
        self.faults
            .iter()
            .filter(|(_, fault)| fault.is_environmental() == environmental)
            .map(|(id, _)| id)
            .collect()
    }

    /// Writes the summary as the official file holds it, line end included.
    pub fn to_json(&self) -> String {
        let (infra, ambiguous) = (self.faults_of_kind(true), self.faults_of_kind(false));
        let mut out = Writer::new(Layout::Indented);
        out.open('{');
        for (n, (name, count)) in [
            ("total", self.total),
            ("submitted", self.submitted.len()),
            ("completed", self.completed.len()),
            ("resolved", self.resolved.len()),
            ("unresolved", self.unresolved.len()),
            ("infra_failure", infra.len()),
            ("ambiguous_failure", ambiguous.len()),
            ("empty_patch", self.empty_patch.len()),
            ("error", self.errors.len()),
        ]
        .into_iter()
        .enumerate()
        {
            out.name(format!("{name}_instances").as_bytes(), n == 0);
            out.text.push_str(&count.to_string());
        }
        for (name, ids) in [
            ("completed_ids", &self.completed),
            ("incomplete_ids", &self.incomplete),
            ("empty_patch_ids", &self.empty_patch),
            ("submitted_ids", &self.submitted),
            ("resolved_ids", &self.resolved),
            ("unresolved_ids", &self.unresolved),
        ] {
            out.name(name.as_bytes(), false);
            out.list(&ids.iter().collect::<Vec<_>>());
        }
        out.name(b"infra_failure_ids", false);
        out.list(&infra);
        out.name(b"ambiguous_failure_ids", false);
        out.list(&ambiguous);
        out.name(b"failure_reasons", false);
        if self.faults.is_empty() {
            out.text.push_str("{}");
        } else {
            out.open('{');
            for (n, (id, fault)) in self.faults.iter().enumerate() {
                out.name(id.as_bytes(), n == 0);
                write_string(&mut out.text, fault.name().as_bytes());
            }
            out.close('}');
        }
        out.name(b"error_ids", false);
        out.list(&self.errors.iter().collect::<Vec<_>>());
        out.name(b"schema_version", false);
        out.text.push('2');
        out.close('}');
        out.text.push('\n');
        out.text
    }

    /// Writes the summary's numbers for people, as the official harness prints them.
    pub fn words(&self) -> String {
        format!(
            "Total instances: {}\nInstances submitted: {}\nInstances completed: {}\nInstances incomplete: {}\n\
             Instances resolved: {}\nInstances unresolved: {}\nInstances with likely infrastructure failures: {}\n\
             Instances with ambiguous failures: {}\nInstances with empty patches: {}\nInstances with errors: {}\n",
            self.total,
            self.known_submitted,
            self.completed.len(),
            self.incomplete.len(),
            self.resolved.len(),
            self.unresolved.len(),
            self.faults_of_kind(true).len(),
            self.faults_of_kind(false).len(),
            self.empty_patch.len(),
            self.errors.len()
        )
    }

    /// Writes the summary into a folder, which is made where it is missing, and gives the file.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, SummaryError> {
        let path = folder.join(self.file_name());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, self.to_json()))
            .map_err(|source| SummaryError::Write { path: path.clone(), source })?;
        Ok(path)
    }
}

/// Reads `resolved` out of a report; nothing where the report is empty, no JSON, or lacks the key.
fn is_resolved(id: &PyString, path: &Path) -> Result<Option<bool>, SummaryError> {
    let wrong = || SummaryError::WrongShape { path: path.to_owned(), instance_id: id.clone() };
    let unreadable = |source| SummaryError::Read { path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = read_text(&bytes)
        .map_err(|e| unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, e)))?;
    let Ok(report) = json::parse(strip(&text).as_bytes()) else {
        return Ok(None);
    };
    let Value::Object(members) = report else {
        return Err(wrong());
    };
    let entry = members.into_iter().rev().find(|(name, _)| name == id).map(|(_, entry)| entry);
    match entry {
        None => Ok(None),
        Some(entry @ Value::Object(_)) => Ok(entry.get("resolved").map(Value::is_truthy)),
        Some(_) => Err(wrong()),
    }
}
