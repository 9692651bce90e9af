//! Predictions: what a model proposes for an instance.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::json::{self, JsonError, PyString, Value};

/// Is the `model_patch` of a prediction.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelPatch {
    /// The key is missing.
    Missing,
    /// It is `null`.
    Null,
    /// It is text, perhaps empty.
    Text(PyString),
    /// It is something else.
    Other(&'static str),
}

impl ModelPatch {
    /// Says whether a run passes the instance over.
    pub fn is_empty(&self) -> bool {
        match self {
            ModelPatch::Missing | ModelPatch::Null => true,
            ModelPatch::Text(text) => text.is_empty(),
            ModelPatch::Other(_) => false,
        }
    }
}

/// Is one prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The instance it is for.
    pub instance_id: PyString,
    /// Who made it, where that is said.
    pub model: Option<PyString>,
    /// The proposed change.
    pub patch: ModelPatch,
}

/// Maps instance ids to predictions in the order of first appearance; the last of two for one id counts.
pub type Predictions = IndexMap<PyString, Prediction>;

/// Says why predictions cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PredictionError {
    /// The file cannot be read.
    #[error("cannot read the predictions {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file's name says nothing about its format.
    #[error("predictions {} must end in .json or .jsonl, or be the word `gold`", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A line or the whole file is not JSON.
    #[error("predictions {}, line {line}: {source}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the reader says.
        source: JsonError,
    },
    /// The file holds neither a list nor a dictionary.
    #[error("predictions {} must be a list or a dictionary, not {kind}", path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// An entry is malformed.
    #[error("prediction {number}: {source}")]
    Malformed {
        /// Its place in the file, from 1.
        number: usize,
        /// What is wrong.
        source: MalformedPrediction,
    },
}

/// Says what is wrong with one prediction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedPrediction {
    /// It is no object.
    #[error("must be an object, not {0}")]
    NoObject(&'static str),
    /// It has no `instance_id`.
    #[error("`instance_id` is missing")]
    NoInstanceId,
    /// A key has a value of another kind.
    #[error("`{0}` must be a string, not {1}")]
    NoString(&'static str, &'static str),
}

impl Prediction {
    /// Reads one prediction.
    pub fn from_value(value: &Value) -> Result<Self, MalformedPrediction> {
        if !matches!(value, Value::Object(_)) {
            return Err(MalformedPrediction::NoObject(value.kind()));
        }
        let instance_id = match value.get("instance_id") {
            Some(Value::String(id)) => id.clone(),
            Some(other) => return Err(MalformedPrediction::NoString("instance_id", other.kind())),
            None => return Err(MalformedPrediction::NoInstanceId),
        };
        let model = match value.get("model_name_or_path") {
            Some(Value::String(model)) => Some(model.clone()),
            _ => None,
        };
        let patch = match value.get("model_patch") {
            None => ModelPatch::Missing,
            Some(Value::Null) => ModelPatch::Null,
            Some(Value::String(text)) => ModelPatch::Text(text.clone()),
            Some(other) => ModelPatch::Other(other.kind()),
        };
        Ok(Self { instance_id, model, patch })
    }

    /// Writes the prediction as one line of a predictions file, without the line end.
    pub fn to_json_line(&self) -> String {
        let mut members =
            vec![(PyString::from("instance_id"), Value::String(self.instance_id.clone()))];
        if let Some(model) = &self.model {
            members.push(("model_name_or_path".into(), Value::String(model.clone())));
        }
        match &self.patch {
            ModelPatch::Text(text) => {
                members.push(("model_patch".into(), Value::String(text.clone())));
            }
            ModelPatch::Null => members.push(("model_patch".into(), Value::Null)),
            ModelPatch::Missing | ModelPatch::Other(_) => {}
        }
        let mut line = String::new();
        Value::Object(members).write(&mut line);
        line
    }
}

/// Reads a predictions file: `.jsonl`, or `.json` with a list or a dictionary of predictions.
pub fn read_predictions(path: &Path) -> Result<Predictions, PredictionError> {
    let bytes = std::fs::read(path)
        .map_err(|source| PredictionError::Read { path: path.to_owned(), source })?;
    let values = match path.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl") => lines(path, &bytes)?,
        Some("json") => entries(path, &bytes)?,
        _ => {
            return Err(PredictionError::UnknownFormat { path: path.to_owned() });
        }
    };
    let mut predictions = Predictions::default();
    for (n, value) in values.iter().enumerate() {
        let prediction = Prediction::from_value(value)
            .map_err(|source| PredictionError::Malformed { number: n + 1, source })?;
        predictions.insert(prediction.instance_id.clone(), prediction);
    }
    Ok(predictions)
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<Value>, PredictionError> {
    bytes
        .split(|b| *b == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(n, line)| {
            json::parse(line).map_err(|source| PredictionError::NotJson {
                path: path.to_owned(),
                line: n + 1,
                source,
            })
        })
        .collect()
}

fn entries(path: &Path, bytes: &[u8]) -> Result<Vec<Value>, PredictionError> {
    let whole = json::parse(bytes).map_err(|source| PredictionError::NotJson {
        path: path.to_owned(),
        line: 1 + bytes[..source.at.min(bytes.len())].iter().filter(|b| **b == b'\n').count(),
        source,
    })?;
    match whole {
        Value::Array(items) => Ok(items),
        Value::Object(members) => {
            // A Python dict: an equal key keeps its place and takes the later value.
            let members: IndexMap<PyString, Value> = members.into_iter().collect();
            Ok(members.into_values().collect())
        }
        other => Err(PredictionError::NoList { path: path.to_owned(), kind: other.kind() }),
    }
}
