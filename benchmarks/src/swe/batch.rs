//! Grades many logs at once: a JSON line a case in, a JSON line a case out, in the order of the cases.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};

use super::grade::{GradeError, grade, grade_without_log};
use super::json::{self, JsonError, PyString, Value, write_string};
use super::labels::{LabelError, Labels};
use super::log::{LogError, LogReading, read_log};
use super::prediction::{MalformedPrediction, Prediction};
use super::python_text::read_text;
use super::status::{StatusMap, status_map_json};

/// Says what is printed of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The official report.
    Report,
    /// The status map that the parser read; empty where the log is ungraded.
    StatusMap,
}

/// Names the three files of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFiles {
    /// The log of the test run.
    pub log: PathBuf,
    /// The dataset row, a JSON object.
    pub instance: PathBuf,
    /// The prediction, a JSON object.
    pub prediction: PathBuf,
}

/// Counts what a batch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchTally {
    /// Cases that have an answer.
    pub answered: usize,
    /// Cases that have an error instead.
    pub failed: usize,
}

/// Says why a case has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// A line of the batch is not JSON.
    #[error("line {line} of the batch is {source}")]
    BadLine {
        /// The line, from 1.
        line: usize,
        /// What the reader says.
        source: JsonError,
    },
    /// A line of the batch lacks a key.
    #[error("line {line} of the batch has no path under `{key}`")]
    NoPath {
        /// The line, from 1.
        line: usize,
        /// The key.
        key: &'static str,
    },
    /// A file cannot be read.
    #[error("cannot read {what} {}: {source}", path.display())]
    Read {
        /// What the file should be.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not JSON.
    #[error("{what} {} is {source}", path.display())]
    NotJson {
        /// What the file should be.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the reader says.
        source: JsonError,
    },
    /// The row is malformed.
    #[error("the instance is malformed: {0}")]
    Labels(#[from] LabelError),
    /// The prediction is malformed.
    #[error("the prediction is malformed: {0}")]
    Prediction(#[from] MalformedPrediction),
    /// The log cannot be graded.
    #[error(transparent)]
    Grade(#[from] GradeError),
}

/// Grades one case and gives what is to be printed.
pub fn grade_files(files: &CaseFiles, answer: Answer, line: bool) -> Result<String, CaseError> {
    let labels = Labels::from_row(&read_json("the instance", &files.instance)?)?;
    let prediction = Prediction::from_value(&read_json("the prediction", &files.prediction)?)?;
    if answer == Answer::StatusMap {
        let log = read_file("the log", &files.log)?;
        let log = read_text(&log).map_err(GradeError::from)?;
        let map = match read_log(&log, labels.parser).map_err(|e: LogError| GradeError::from(e))? {
            LogReading::Graded(map) => map,
            LogReading::Ungraded => StatusMap::default(),
        };
        return Ok(status_map_json(&map));
    }
    let log;
    let report = match grade_without_log(&prediction)? {
        Some(report) => report,
        None => {
            log = read_file("the log", &files.log)?;
            grade(&labels, &prediction, &log)?
        }
    };
    Ok(match line {
        true => report.to_json_line(),
        false => report.to_json(),
    })
}

fn read_file(what: &'static str, path: &Path) -> Result<Vec<u8>, CaseError> {
    std::fs::read(path).map_err(|source| CaseError::Read { what, path: path.to_owned(), source })
}

fn read_json(what: &'static str, path: &Path) -> Result<Value, CaseError> {
    json::parse(&read_file(what, path)?).map_err(|source| CaseError::NotJson {
        what,
        path: path.to_owned(),
        source,
    })
}

/// Grades every case that `cases` lists, on `workers` threads, and writes each answer as soon as its turn comes.
///
/// A case that fails has a line with an `error`; only reading `cases` or writing `out` ends the batch early.
pub fn grade_batch(
    cases: impl BufRead + Send,
    out: &mut (impl Write + ?Sized),
    answer: Answer,
    workers: usize,
) -> io::Result<BatchTally> {
    let workers = workers.max(1);
    let source = Mutex::new(CaseLines { lines: cases.split(b'\n'), line: 0, turn: 0 });
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(workers * 64);
        for _ in 0..workers {
            let (sender, source) = (sender.clone(), &source);
            scope.spawn(move || {
                loop {
                    let next = source.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let done = match next {
                        Ok(None) => break,
                        Ok(Some((turn, line, text))) => {
                            Ok((turn, answer_line(line, &text, answer)))
                        }
                        Err(error) => Err(error),
                    };
                    let ended = done.is_err();
                    if sender.send(done).is_err() || ended {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut tally = BatchTally::default();
        let (mut waiting, mut turn) = (BTreeMap::new(), 0);
        for done in receiver {
            let (at, answered) = done?;
            waiting.insert(at, answered);
            while let Some((text, ok)) = waiting.remove(&turn) {
                out.write_all(String::as_bytes(&text))?;
                match ok {
                    true => tally.answered += 1,
                    false => tally.failed += 1,
                }
                turn += 1;
            }
        }
        out.flush()?;
        Ok(tally)
    })
}

struct CaseLines<R> {
    lines: io::Split<R>,
    line: usize,
    turn: usize,
}

impl<R: BufRead> CaseLines<R> {
    /// Gives the next line that is not blank, with its turn and its number in the file.
    fn take(&mut self) -> io::Result<Option<(usize, usize, Vec<u8>)>> {
        for text in self.lines.by_ref() {
            let text = text?;
            self.line += 1;
            if !text.trim_ascii().is_empty() {
                self.turn += 1;
                return Ok(Some((self.turn - 1, self.line, text)));
            }
        }
        Ok(None)
    }
}

fn answer_line(line: usize, text: &[u8], answer: Answer) -> (String, bool) {
    let case = json::parse(text);
    let case_id = case.as_ref().ok().and_then(|case| case.get("case_id"));
    let mut out = String::from("{\"case_id\": ");
    case_id.unwrap_or(&Value::Null).write(&mut out);
    let graded = match &case {
        Ok(case) => paths(line, case).and_then(|files| grade_files(&files, answer, true)),
        Err(source) => Err(CaseError::BadLine { line, source: source.clone() }),
    };
    let ok = graded.is_ok();
    match graded {
        Ok(json) => {
            out.push_str(match answer {
                Answer::Report => ", \"report\": ",
                Answer::StatusMap => ", \"status_map\": ",
            });
            out.push_str(&json);
        }
        Err(error) => {
            out.push_str(", \"error\": ");
            write_string(&mut out, error.to_string().as_bytes());
        }
    }
    out.push_str("}\n");
    (out, ok)
}

fn paths(line: usize, case: &Value) -> Result<CaseFiles, CaseError> {
    let path = |key: &'static str| {
        case.get(key)
            .and_then(Value::as_string)
            .and_then(PyString::as_str)
            .map(PathBuf::from)
            .ok_or(CaseError::NoPath { line, key })
    };
    Ok(CaseFiles {
        log: path("log")?,
        instance: path("instance")?,
        prediction: path("prediction")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn case(dir: &Path, name: &str, log: &str) -> String {
        let path = |file: &str| dir.join(format!("{name}.{file}"));
        std::fs::write(path("log"), log).unwrap();
        std::fs::write(
            path("instance"),
            r#"{"instance_id": "a", "repo": "pallets/flask", "FAIL_TO_PASS": "[\"t\"]", "PASS_TO_PASS": []}"#,
        )
        .unwrap();
        std::fs::write(path("prediction"), r#"{"instance_id": "a", "model_patch": ""}"#).unwrap();
        format!(
            r#"{{"case_id": "{name}", "log": {:?}, "instance": {:?}, "prediction": {:?}}}"#,
            path("log"),
            path("instance"),
            path("prediction")
        )
    }

    #[test]
    fn a_bad_case_has_its_own_error_and_the_others_their_answer() {
        let dir = tempfile::tempdir().unwrap();
        let log = ">>>>> Start Test Output\nPASSED t\n>>>>> End Test Output\n";
        let mut cases: Vec<String> =
            (0..200).map(|n| case(dir.path(), &format!("c{n}"), log)).collect();
        cases.insert(1, "{\"case_id\": 7}\n\n".to_owned());
        cases.insert(2, "not json".to_owned());
        let mut out = Vec::new();
        let tally =
            grade_batch(cases.join("\n").as_bytes(), &mut out, Answer::StatusMap, 2).unwrap();
        assert_eq!(tally, BatchTally { answered: 200, failed: 2 });
        let out = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines[..4],
            [
                r#"{"case_id": "c0", "status_map": {"t": "PASSED"}}"#,
                r#"{"case_id": 7, "error": "line 2 of the batch has no path under `log`"}"#,
                r#"{"case_id": null, "error": "line 5 of the batch is not JSON: a value is missing at byte 0"}"#,
                r#"{"case_id": "c1", "status_map": {"t": "PASSED"}}"#,
            ]
        );
        assert!(lines[201].starts_with(r#"{"case_id": "c199""#));
    }
}
