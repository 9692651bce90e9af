//! Rows of published datasets: JSON Lines, a JSON list, either of them gzipped, or Parquet.

use crate::swe::dataset::{DatasetError, read_rows};
use serde_json::Value;
use std::path::Path;

/// Why rows cannot be made into problems.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] DatasetError),
    /// A row lacks a column, or has something else in it.
    #[error("read row {row} of {file}: the column {column} {what}")]
    Column {
        /// The name of the file.
        file: String,
        /// The number of the row, counted from 1.
        row: usize,
        /// The column.
        column: String,
        /// What is wrong with it.
        what: String,
    },
    /// The suite cannot be made.
    #[error(transparent)]
    Suite(#[from] crate::suite::SuiteError),
}

/// One row, with its place for messages.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub file: String,
    pub number: usize,
    pub value: Value,
}

/// Reads all rows of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Row>, RowsError> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rows = read_rows(path)?;
    let mut result = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut text = String::new();
        row.write(&mut text);
        let value = serde_json::from_str(&text).unwrap_or(Value::Null);
        result.push(Row { file: file.clone(), number: at + 1, value });
    }
    Ok(result)
}

impl Row {
    /// Makes an error about a column.
    pub fn wrong(&self, column: &str, what: impl Into<String>) -> RowsError {
        RowsError::Column {
            file: self.file.clone(),
            row: self.number,
            column: column.to_owned(),
            what: what.into(),
        }
    }

    /// Returns the first of several columns that is there, as text; numbers are taken as they are written.
    pub fn text(&self, columns: &[&str]) -> Result<String, RowsError> {
        let found = columns.iter().find_map(|column| Some((column, self.value.get(column)?)));
        match found {
            Some((_, Value::String(text))) => Ok(text.clone()),
            Some((_, Value::Number(number))) => Ok(number.to_string()),
            Some((column, _)) => Err(self.wrong(column, "holds no text")),
            None => Err(self.wrong(columns.first().unwrap_or(&""), "is missing")),
        }
    }

    /// Returns a column as text where it is there.
    pub fn optional(&self, column: &str) -> Option<String> {
        self.value.get(column).and_then(Value::as_str).map(str::to_owned)
    }
}
