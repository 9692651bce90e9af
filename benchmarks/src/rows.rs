//! Rows of published datasets: JSON Lines, a JSON list, either of them gzipped, Parquet, or CSV with a heading.

use crate::swe::dataset::{DatasetError, read_rows};
use serde_json::Value;
use std::path::Path;

/// Why rows cannot be made into problems.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] DatasetError),
    /// The file is no CSV.
    #[error("read {file} as CSV")]
    Csv {
        /// The name of the file.
        file: String,
        /// Where and why.
        #[source]
        source: csv::Error,
    },
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
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) {
        return read_csv(path, &file).map_err(|source| RowsError::Csv { file, source });
    }
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

/// Reads a file with a heading; every value is a text.
fn read_csv(path: &Path, file: &str) -> Result<Vec<Row>, csv::Error> {
    let mut reader = csv::Reader::from_path(path)?;
    let heading = reader.headers()?.clone();
    let heading: Vec<&str> =
        heading.iter().map(|name| name.trim_start_matches('\u{feff}')).collect();
    let mut rows = Vec::new();
    for (at, record) in reader.records().enumerate() {
        let record = record?;
        let columns = heading.iter().zip(&record);
        let value: serde_json::Map<String, Value> =
            columns.map(|(name, text)| ((*name).to_owned(), Value::from(text))).collect();
        rows.push(Row { file: file.to_owned(), number: at + 1, value: value.into() });
    }
    Ok(rows)
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
