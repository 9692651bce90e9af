//! Finds the conformance data, which is no part of the repository.

use std::io::Read;
use std::path::{Path, PathBuf};

use hone_benchmarks::swe::json::{self, Value};

/// Gives the folder of SWE-bench data: `HONE_SWEBENCH`, which must be there, else `../shared/swebench` beside the
/// repository.
pub fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("HONE_SWEBENCH") {
        Some(folder) => {
            let folder = PathBuf::from(folder);
            assert!(folder.is_dir(), "HONE_SWEBENCH names no folder: {}", folder.display());
            folder
        }
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/swebench"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no conformance data in {}: nothing ran", folder.display());
    None
}

/// Reads a JSON Lines file, gzipped or not.
pub fn lines(path: &Path) -> Vec<Value> {
    let mut bytes = std::fs::read(path).unwrap();
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
        bytes = text;
    }
    bytes
        .split(|b| *b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(|line| json::parse(line).unwrap())
        .collect()
}

/// Gives the case files of a folder: those of whole runs, or the others.
pub fn case_files(folder: &Path, whole_runs: bool) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("grading"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"))
                && name.starts_with("run_reports") == whole_runs
        })
        .collect();
    files.sort();
    files
}

/// Writes JSON with sorted names, so that equal values have equal text.
pub fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            Value::Object(members) => {
                let mut members: Vec<_> =
                    members.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(members)
            }
            other => other.clone(),
        }
    }
    let mut text = String::new();
    sorted(value).write(&mut text);
    text
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_string).and_then(|text| text.as_str()).unwrap()
}
