//! Imports published sets and task folders: what `hone bench import` calls.

use crate::rows::RowsError;
use crate::suite::{Suite, SuiteError};
use crate::swe::import::{ImportError as SweError, ImportRequest as SweRequest};
use crate::tasks::import::TasksError;
use crate::{code, qa, swe, tasks};
use std::path::Path;

/// Why a set cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Rows cannot be made into problems.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Rows of SWE-bench cannot be made into problems.
    #[error(transparent)]
    Swe(#[from] SweError),
    /// Folders cannot be made into problems.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// The suite cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// No format has this name.
    #[error("find the format {name:?}: there are {known}")]
    Format {
        /// The name.
        name: String,
        /// The names of all formats.
        known: String,
    },
}

/// What to import.
#[derive(Clone, Copy, Debug)]
pub struct ImportRequest<'a> {
    /// The name of the suite.
    pub name: &'a str,
    /// The format, see [`formats`].
    pub format: &'a str,
    /// The file of rows, or the folder of tasks.
    pub path: &'a Path,
    /// The seed, where a format shuffles.
    pub seed: u64,
    /// The image that programs run in, for formats of the kind `code`.
    pub image: Option<&'a str>,
}

/// Returns the names of all formats.
pub fn formats() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = vec!["swe", "tasks"];
    names.extend(qa::import::PRESETS.iter().map(|(name, _)| *name));
    names.extend(code::import::PRESETS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names
}

/// Imports a set. Nothing is written; save the suite for that. SWE-bench has more to choose, see [`swe::import`].
pub fn import(request: &ImportRequest<'_>) -> Result<Suite, ImportError> {
    let &ImportRequest { name, format, path, seed, image } = request;
    if let Some(preset) = qa::import::Preset::find(format) {
        return Ok(qa::import::import(name, preset, path, seed)?);
    }
    if let Some(preset) = code::import::Preset::find(format) {
        return Ok(code::import::import(name, preset, path, image)?);
    }
    match format {
        "tasks" => Ok(tasks::import::import(name, path)?),
        "swe" => {
            let request = SweRequest {
                name: name.to_owned(),
                rows: path.to_owned(),
                ..SweRequest::default()
            };
            Ok(swe::import::import(&request)?.suite)
        }
        _ => Err(ImportError::Format { name: format.to_owned(), known: formats().join(", ") }),
    }
}

#[cfg(test)]
mod tests {
    use super::{ImportError, ImportRequest, formats, import};
    use std::path::Path;

    #[test]
    fn every_format_is_known_and_a_missing_file_is_an_error() {
        for format in formats() {
            let path = Path::new("/no/such/rows");
            let request = ImportRequest { name: "s", format, path, seed: 0, image: None };
            let error = import(&request).unwrap_err();
            assert!(!matches!(error, ImportError::Format { .. }), "{format}");
            assert!(error.to_string().contains("/no/such/rows"), "{format}: {error}");
        }
        let path = Path::new("x");
        let request = ImportRequest { name: "s", format: "gsm", path, seed: 0, image: None };
        let error = import(&request).unwrap_err().to_string();
        assert!(error.starts_with("find the format \"gsm\": there are aime, code"), "{error}");
    }
}
