//! Reads the rows of a dataset: JSON Lines, a JSON list, either of them gzipped, or the published Parquet.

use std::io::Read;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::json::{self, JsonError, PyString, Value};
use super::labels::{LabelError, string};
use super::prediction::{ModelPatch, Prediction, Predictions};

/// A compressed dataset may grow to this many bytes; SWE-bench itself is below 300 MB.
const UNPACKED_LIMIT: u64 = 4 << 30;

/// Says why rows cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The file cannot be read, or is cut.
    #[error("read the rows in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A row is not JSON.
    #[error("read row {row} of {}: it is {source}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: usize,
        /// What the reader says.
        source: JsonError,
    },
    /// The Parquet file is damaged or uses what is not supported.
    #[error("read the rows in {}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: ParquetError,
    },
    /// A row is malformed.
    #[error("read row {row}{} of {}: {source}", named(instance_id), path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: usize,
        /// Its id, where it has one.
        instance_id: Option<String>,
        /// What is wrong.
        source: LabelError,
    },
    /// Two rows have one id.
    #[error("read row {row} of {}: row {first} has the instance_id {instance_id} already", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The second row, from 1.
        row: usize,
        /// The first row.
        first: usize,
        /// Their id.
        instance_id: PyString,
    },
    /// There are no rows.
    #[error("read the rows in {}: there are none", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

fn named(instance_id: &Option<String>) -> String {
    instance_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default()
}

/// Reads all rows of a file, whatever their columns.
pub fn read_rows(path: &Path) -> Result<Vec<Value>, DatasetError> {
    let read = |source| DatasetError::Read { path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(read)?;
    parse_rows(path, bytes)
}

pub(super) fn parse_rows(path: &Path, mut bytes: Vec<u8>) -> Result<Vec<Value>, DatasetError> {
    let read = |source| DatasetError::Read { path: path.to_owned(), source };
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut unpacked = Vec::new();
        let mut reader =
            flate2::read::MultiGzDecoder::new(bytes.as_slice()).take(UNPACKED_LIMIT + 1);
        reader.read_to_end(&mut unpacked).map_err(read)?;
        if unpacked.len() as u64 > UNPACKED_LIMIT {
            let what = format!("it unpacks to more than {UNPACKED_LIMIT} bytes");
            return Err(read(std::io::Error::new(std::io::ErrorKind::FileTooLarge, what)));
        }
        bytes = unpacked;
    }
    if bytes.starts_with(b"PAR1") {
        return parquet_rows(bytes)
            .map_err(|source| DatasetError::Parquet { path: path.to_owned(), source });
    }
    let not_json = |row, source| DatasetError::NotJson { path: path.to_owned(), row, source };
    if bytes.trim_ascii_start().starts_with(b"[") {
        return match json::parse(&bytes).map_err(|source| not_json(1, source))? {
            Value::Array(rows) => Ok(rows),
            other => Ok(vec![other]),
        };
    }
    bytes
        .split(|b| *b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .enumerate()
        .map(|(n, line)| json::parse(line).map_err(|source| not_json(n + 1, source)))
        .collect()
}

fn parquet_rows(bytes: Vec<u8>) -> Result<Vec<Value>, ParquetError> {
    let size = bytes.len() as u64;
    let read = move || {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes))?;
        check_places(&reader, size)?;
        let mut rows = Vec::new();
        for row in reader.get_row_iter(None)? {
            rows.push(object(&row?));
        }
        Ok(rows)
    };
    // The reader asserts what a damaged file may break; a damaged file is an error like any other.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".to_owned())))
}

/// Checks that every column lies within the file, which the reader takes for granted.
fn check_places(
    reader: &SerializedFileReader<bytes::Bytes>,
    size: u64,
) -> Result<(), ParquetError> {
    let outside = || ParquetError::General("a column lies outside of the file".to_owned());
    for group in reader.metadata().row_groups() {
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let start = u64::try_from(start).map_err(|_| outside())?;
            let length = u64::try_from(column.compressed_size()).map_err(|_| outside())?;
            if start.checked_add(length).is_none_or(|end| end > size) {
                return Err(outside());
            }
        }
    }
    Ok(())
}

fn object(row: &parquet::record::Row) -> Value {
    let members = row.get_column_iter().map(|(name, field)| (name.as_str().into(), value(field)));
    Value::Object(members.collect())
}

fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(b) => Value::Bool(*b),
        Field::Byte(_)
        | Field::Short(_)
        | Field::Int(_)
        | Field::Long(_)
        | Field::UByte(_)
        | Field::UShort(_)
        | Field::UInt(_)
        | Field::ULong(_) => Value::Number(field.to_string()),
        Field::Float(number) if number.is_finite() => Value::Number(number.to_string()),
        Field::Double(number) if number.is_finite() => Value::Number(number.to_string()),
        Field::Str(text) => Value::String(text.as_str().into()),
        Field::ListInternal(list) => Value::Array(list.elements().iter().map(value).collect()),
        Field::Group(row) => object(row),
        // Times, bytes, maps and odd numbers: the text that the reader gives.
        other => Value::String(other.to_string().into()),
    }
}

/// Reads the ids of a dataset in its order, for a summary.
pub fn instance_ids(path: &Path) -> Result<Vec<PyString>, DatasetError> {
    let rows = read_rows(path)?;
    rows.iter().enumerate().map(|(n, row)| column(path, n, row, "instance_id")).collect()
}

/// Makes the predictions that the word `gold` stands for: each row's reference patch.
pub fn gold_predictions(path: &Path) -> Result<Predictions, DatasetError> {
    let rows = read_rows(path)?;
    let predictions = rows.iter().enumerate().map(|(n, row)| {
        let instance_id = column(path, n, row, "instance_id")?;
        let patch = ModelPatch::Text(column(path, n, row, "patch")?);
        let model = Some("gold".into());
        Ok((instance_id.clone(), Prediction { instance_id, model, patch }))
    });
    predictions.collect()
}

fn column(
    path: &Path,
    number: usize,
    row: &Value,
    column: &'static str,
) -> Result<PyString, DatasetError> {
    string(row, column).cloned().map_err(|source| DatasetError::Row {
        path: path.to_owned(),
        row: number + 1,
        instance_id: row.get("instance_id").and_then(Value::as_string).map(ToString::to_string),
        source,
    })
}
