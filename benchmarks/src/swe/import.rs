//! Turns dataset rows into a suite: what `hone bench import` calls for SWE-bench.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::dataset::{DatasetError, parse_rows};
use super::json::{self, JsonError, PyString, Value};
use super::row::Row;
use crate::digest::Digest;
use crate::files::Files;
use crate::suite::{Draft, Problem, ProblemId, Source, Suite, SuiteError};

/// Says what to import.
#[derive(Debug, Clone, Default)]
pub struct ImportRequest {
    /// The suite's name.
    pub name: String,
    /// The rows: JSON Lines, a JSON list, gzip of either, or Parquet.
    pub rows: PathBuf,
    /// Lists of ids by name, a JSON object; those that lie within the rows become subsets.
    pub subsets: Option<PathBuf>,
    /// Take the rows of this subset only.
    pub subset: Option<String>,
    /// Corrections of test lists that were published after the rows.
    pub label_fixes: Option<PathBuf>,
    /// Show the agent what people said of the problem.
    pub hints: bool,
}

/// Is an imported suite and what was changed on the way.
#[derive(Debug)]
pub struct Imported {
    /// The suite.
    pub suite: Suite,
    /// Ids of rows whose labels were corrected.
    pub corrected: Vec<String>,
}

/// Says why rows cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The rows cannot be read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A file beside the rows cannot be read.
    #[error("read {what} in {}: {source}", path.display())]
    Read {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file beside the rows is not JSON.
    #[error("read {what} in {}: it is {source}", path.display())]
    NotJson {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: JsonError,
    },
    /// A file beside the rows has another shape than it should.
    #[error("read {what} in {}: {wrong}", path.display())]
    Shape {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        wrong: String,
    },
    /// No subset has this name.
    #[error("find the subset {name:?} in {}; it has: {known}", path.display())]
    NoSubset {
        /// The name.
        name: String,
        /// The file.
        path: PathBuf,
        /// The names that there are.
        known: String,
    },
    /// A subset names rows that are not there.
    #[error("take the subset {name:?}: {missing} is not among the rows")]
    MissingRow {
        /// The subset.
        name: String,
        /// The first id that is missing.
        missing: String,
    },
    /// A correction does not fit its row.
    #[error("correct the labels of {instance_id}: {wrong}")]
    Fix {
        /// The row.
        instance_id: String,
        /// What is wrong.
        wrong: String,
    },
    /// The suite cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
}

/// Imports rows. Nothing is written; save the suite for that.
pub fn import(request: &ImportRequest) -> Result<Imported, ImportError> {
    let path = &request.rows;
    let bytes =
        std::fs::read(path).map_err(|source| DatasetError::Read { path: path.clone(), source })?;
    let digest = Digest::of(&bytes);
    let mut rows = parse_rows(path, bytes)?;
    let ids = check_rows(path, &rows)?;
    let corrected = match &request.label_fixes {
        Some(fixes) => correct(&mut rows, &ids, fixes)?,
        None => Vec::new(),
    };
    let subsets = match &request.subsets {
        Some(path) => read_subsets(path)?,
        None => IndexMap::new(),
    };
    if let Some(name) = &request.subset {
        let path = request.subsets.clone().unwrap_or_default();
        let wanted = subsets.get(name).ok_or_else(|| ImportError::NoSubset {
            name: name.clone(),
            path,
            known: subsets.keys().cloned().collect::<Vec<_>>().join(", "),
        })?;
        if let Some(missing) = wanted.iter().find(|id| !ids.contains_key(id.as_str())) {
            return Err(ImportError::MissingRow { name: name.clone(), missing: missing.clone() });
        }
        let mut kept: Vec<usize> =
            wanted.iter().filter_map(|id| ids.get(id.as_str()).copied()).collect();
        kept.sort_unstable();
        kept.dedup();
        rows = kept.into_iter().map(|n| rows[n].clone()).collect();
    }
    let problems = rows.iter().map(problem).collect::<Result<Vec<_>, _>>()?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = IndexMap::new();
    if request.hints {
        options.insert("hints".to_owned(), "shown".to_owned());
    }
    let suite = Suite::new(Draft {
        name: request.name.clone(),
        kind: "swe".to_owned(),
        about: format!("{} instances of SWE-bench, imported from {file}.", problems.len()),
        source: Source::Rows { file, digest },
        seed: 0,
        options,
        subsets: within(subsets, &problems),
        problems,
        files: Files::default(),
    })?;
    Ok(Imported { suite, corrected })
}

/// Checks every row and gives their places by id.
fn check_rows(path: &Path, rows: &[Value]) -> Result<HashMap<String, usize>, DatasetError> {
    if rows.is_empty() {
        return Err(DatasetError::Empty { path: path.to_owned() });
    }
    let mut ids = HashMap::new();
    for (n, row) in rows.iter().enumerate() {
        let checked = Row::from_value(row).map_err(|source| DatasetError::Row {
            path: path.to_owned(),
            row: n + 1,
            instance_id: row.get("instance_id").and_then(Value::as_string).map(PyString::to_string),
            source,
        })?;
        if let Some(first) = ids.insert(checked.instance_id, n) {
            return Err(DatasetError::Duplicate {
                path: path.to_owned(),
                row: n + 1,
                first: first + 1,
                instance_id: checked.labels.instance_id,
            });
        }
    }
    Ok(ids)
}

fn problem(row: &Value) -> Result<Problem, ImportError> {
    let text = |column| {
        row.get(column).map(|value| match value {
            Value::String(text) => text.to_string(),
            _ => String::new(),
        })
    };
    let id = ProblemId(text("instance_id").unwrap_or_default());
    let mut line = String::new();
    row.write(&mut line);
    let data = serde_json::from_str(&line)
        .map_err(|source| SuiteError::Problem { id: id.clone(), what: source.to_string() })?;
    Ok(Problem { id, group: text("repo"), tree: None, data })
}

fn read_json(what: &'static str, path: &Path) -> Result<Value, ImportError> {
    let bytes = std::fs::read(path).map_err(|source| ImportError::Read {
        what,
        path: path.to_owned(),
        source,
    })?;
    json::parse(&bytes).map_err(|source| ImportError::NotJson {
        what,
        path: path.to_owned(),
        source,
    })
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let Value::Array(items) = value else { return None };
    items.iter().map(|item| item.as_string()?.as_str().map(str::to_owned)).collect()
}

/// Reads lists of ids; a name's underscores become hyphens, as in names of suites.
fn read_subsets(path: &Path) -> Result<IndexMap<String, Vec<String>>, ImportError> {
    let what = "the subsets";
    let shape = |wrong: String| ImportError::Shape { what, path: path.to_owned(), wrong };
    let Value::Object(members) = read_json(what, path)? else {
        return Err(shape("it must be an object of lists".to_owned()));
    };
    members
        .iter()
        .map(|(name, ids)| {
            let ids = strings(ids).ok_or_else(|| shape(format!("{name} is no list of ids")))?;
            Ok((name.to_text().replace('_', "-"), ids))
        })
        .collect()
}

/// Keeps the subsets whose rows are all there and that are not the whole suite.
fn within(
    subsets: IndexMap<String, Vec<String>>,
    problems: &[Problem],
) -> IndexMap<String, Vec<ProblemId>> {
    let there: HashMap<&str, ()> = problems.iter().map(|p| (p.id.0.as_str(), ())).collect();
    subsets
        .into_iter()
        .filter(|(_, ids)| ids.len() < problems.len() && !ids.is_empty())
        .filter(|(_, ids)| ids.iter().all(|id| there.contains_key(id.as_str())))
        .map(|(name, ids)| (name, ids.into_iter().map(ProblemId).collect()))
        .collect()
}

/// Corrects the test lists of rows and gives the ids of those that changed.
///
/// A row that is right already stays as it is; one that fits neither the old nor the new list is an error.
fn correct(
    rows: &mut [Value],
    ids: &HashMap<String, usize>,
    path: &Path,
) -> Result<Vec<String>, ImportError> {
    let what = "the corrections";
    let shape =
        |wrong: &str| ImportError::Shape { what, path: path.to_owned(), wrong: wrong.to_owned() };
    let Value::Array(fixes) = read_json(what, path)? else {
        return Err(shape("it must be a list"));
    };
    let mut corrected = Vec::new();
    for fix in &fixes {
        let text = |key| fix.get(key).and_then(Value::as_string).and_then(PyString::as_str);
        let list = |key| fix.get(key).and_then(strings);
        let (Some(id), Some(field)) = (text("instance_id"), text("field")) else {
            return Err(shape("a correction needs instance_id and field"));
        };
        let (Some(removed), Some(added)) = (list("removed_by_fix"), list("added_by_fix")) else {
            return Err(shape("a correction needs removed_by_fix and added_by_fix"));
        };
        if !["FAIL_TO_PASS", "PASS_TO_PASS"].contains(&field) {
            return Err(shape("a correction's field is neither FAIL_TO_PASS nor PASS_TO_PASS"));
        }
        let Some(row) = ids.get(id).and_then(|n| rows.get_mut(*n)) else { continue };
        let after = fix.get("n_after");
        if correct_list(row, field, &removed, &added, after)
            .map_err(|wrong| ImportError::Fix { instance_id: id.to_owned(), wrong })?
        {
            corrected.push(id.to_owned());
        }
    }
    Ok(corrected)
}

fn correct_list(
    row: &mut Value,
    field: &str,
    removed: &[String],
    added: &[String],
    after: Option<&Value>,
) -> Result<bool, String> {
    let Value::Object(members) = row else { return Ok(false) };
    let Some((_, column)) = members.iter_mut().rev().find(|(name, _)| name.as_str() == Some(field))
    else {
        return Ok(false);
    };
    let (inside_string, list) = match &*column {
        Value::String(text) => {
            (true, json::parse(text.as_bytes()).map_err(|error| error.to_string())?)
        }
        other => (false, other.clone()),
    };
    let mut tests = strings(&list).ok_or("the column is no list of tests")?;
    let old = tests.clone();
    tests.retain(|test| !removed.contains(test));
    for test in added {
        if !tests.contains(test) {
            tests.push(test.clone());
        }
    }
    if let Some(Value::Number(count)) = after
        && *count != tests.len().to_string()
    {
        return Err(format!("{field} should have {count} tests afterwards, not {}", tests.len()));
    }
    let changed = tests != old;
    let list = Value::Array(tests.into_iter().map(|test| Value::String(test.into())).collect());
    *column = match inside_string {
        true => {
            let mut text = String::new();
            list.write(&mut text);
            Value::String(text.into())
        }
        false => list,
    };
    Ok(changed)
}
