//! HumanEval and LiveCodeBench, as published.

use super::{CodeData, Form, Test, unpickle};
use crate::digest::Digest;
use crate::files::Files;
use crate::rows::{Row, RowsError, read};
use crate::suite::{Draft, Problem, ProblemId, Source, Suite, SuiteError};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// Seconds for a whole HumanEval check; the published harness uses 3, on an idle machine.
const HUMANEVAL_SECONDS: f64 = 10.0;
/// Seconds for one test of LiveCodeBench, as published.
const LIVECODEBENCH_SECONDS: f64 = 6.0;
/// Most bytes that the hidden tests of a problem may unpack to.
const UNPACKED: u64 = 1 << 30;

/// A published set of programming problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Functions with assertions: `task_id`, `prompt`, `entry_point`, `test`.
    HumanEval,
    /// Programs and functions: `question_content`, `starter_code`, `public_test_cases`, `private_test_cases`.
    LiveCodeBench,
    /// Problems of one's own: the columns of [`CodeData`], and `id`.
    Plain,
}

/// All presets by their names.
pub const PRESETS: [(&str, Preset); 3] = [
    ("humaneval", Preset::HumanEval),
    ("livecodebench", Preset::LiveCodeBench),
    ("code", Preset::Plain),
];

impl Preset {
    /// Returns the preset with a name.
    pub fn find(name: &str) -> Option<Self> {
        PRESETS.iter().find(|(known, _)| *known == name).map(|(_, preset)| *preset)
    }
}

/// Imports a file of problems. `image` names the image to run them in; without one they run on the host's programs.
pub fn import(
    name: &str,
    preset: Preset,
    path: &Path,
    image: Option<&str>,
) -> Result<Suite, RowsError> {
    let rows = read(path)?;
    let mut problems = Vec::with_capacity(rows.len());
    for row in &rows {
        let (id, data) = match preset {
            Preset::HumanEval => (row.text(&["task_id"])?, humaneval(row)?),
            Preset::LiveCodeBench => (row.text(&["question_id"])?, livecodebench(row)?),
            Preset::Plain => {
                let data = CodeData::deserialize(&row.value)
                    .map_err(|e| row.wrong("form", e.to_string()))?;
                (row.text(&["id"])?, data)
            }
        };
        let group = ["platform", "difficulty"].iter().find_map(|column| row.optional(column));
        problems.push(Problem {
            id: ProblemId(id),
            group,
            tree: None,
            data: serde_json::json!(data),
        });
    }
    let bytes =
        std::fs::read(path).map_err(|source| SuiteError::Io { path: path.to_owned(), source })?;
    let file = rows.first().map(|row| row.file.clone()).unwrap_or_default();
    let options = image.map(|image| ("image".to_owned(), image.to_owned()));
    let suite = Suite::new(Draft {
        name: name.to_owned(),
        kind: "code".to_owned(),
        about: format!("Programming problems of {file}"),
        source: Source::Rows { file, digest: Digest::of(&bytes) },
        seed: 0,
        options: IndexMap::from_iter(options),
        subsets: IndexMap::new(),
        problems,
        files: Files::default(),
    })?;
    crate::kind::check_all(&suite)?;
    Ok(suite)
}

fn humaneval(row: &Row) -> Result<CodeData, RowsError> {
    let prompt = row.text(&["prompt"])?;
    let name = row.text(&["entry_point"])?;
    Ok(CodeData {
        question: format!(
            "Complete the function `{name}`:\n\n```python\n{}\n```",
            prompt.trim_end()
        ),
        starter: prompt.clone(),
        form: Form::Checked { name, prompt, test: row.text(&["test"])? },
        public: Vec::new(),
        hidden: Vec::new(),
        seconds: HUMANEVAL_SECONDS,
    })
}

#[derive(Deserialize)]
struct Published {
    input: String,
    output: String,
}

fn livecodebench(row: &Row) -> Result<CodeData, RowsError> {
    let metadata =
        row.optional("metadata").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let name = metadata
        .as_ref()
        .and_then(|m| m.get("func_name"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    let form = name.map_or(Form::Program, |name| Form::Function { name });
    let list = |column: &str, text: &str| -> Result<Vec<Test>, RowsError> {
        let published: Vec<Published> = serde_json::from_str(text)
            .map_err(|e| row.wrong(column, format!("holds no list of tests: {e}")))?;
        published
            .iter()
            .map(|test| {
                self::test(&form, test)
                    .ok_or_else(|| row.wrong(column, "holds a test that is no JSON"))
            })
            .collect()
    };
    let public = list("public_test_cases", &row.text(&["public_test_cases"])?)?;
    let private = row.text(&["private_test_cases"])?;
    let hidden = match private.trim_start().starts_with('[') {
        true => list("private_test_cases", &private)?,
        false => {
            let text = unpacked(&private)
                .ok_or_else(|| row.wrong("private_test_cases", "cannot be unpacked"))?;
            list("private_test_cases", &text)?
        }
    };
    let title =
        row.optional("question_title").map(|title| format!("# {title}\n\n")).unwrap_or_default();
    Ok(CodeData {
        question: format!("{title}{}", row.text(&["question_content"])?),
        starter: row.optional("starter_code").unwrap_or_default(),
        form,
        public,
        hidden,
        seconds: LIVECODEBENCH_SECONDS,
    })
}

fn test(form: &Form, test: &Published) -> Option<Test> {
    if *form == Form::Program {
        return Some(Test {
            input: Value::String(test.input.clone()),
            output: Value::String(test.output.clone()),
        });
    }
    let arguments: Result<Vec<Value>, _> = test
        .input
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str)
        .collect();
    Some(Test {
        input: Value::Array(arguments.ok()?),
        output: serde_json::from_str(&test.output).ok()?,
    })
}

/// Unpacks hidden tests: a JSON text, pickled, compressed with zlib, in base64.
fn unpacked(text: &str) -> Option<String> {
    let packed = base64(text.trim())?;
    let mut pickled = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice())
        .take(UNPACKED)
        .read_to_end(&mut pickled)
        .ok()?;
    unpickle::text(&pickled)
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Preset, import, unpacked};
    use crate::code::{CodeData, Form};
    use serde_json::json;

    /// `base64(zlib(pickle("[{\"input\": \"1\", \"output\": \"2\"}]")))`, made with Python 3.11.
    const PACKED: &str = "eJxrYJmqzAABPfLR1UqZeQWlJUpWCkqGSjoKSvmlJVCukVJt7BQ9APfMC64=";

    #[test]
    fn hidden_tests_are_unpacked_without_running_anything() {
        assert_eq!(unpacked(PACKED).as_deref(), Some("[{\"input\": \"1\", \"output\": \"2\"}]"));
        assert_eq!(unpacked("AAAA"), None);
    }

    #[test]
    fn published_rows_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.jsonl");
        let human = json!({"task_id": "HumanEval/0", "prompt": "def f(x):\n    \"\"\"Doubles.\"\"\"\n", "entry_point": "f", "test": "def check(candidate):\n    assert candidate(1) == 2\n", "canonical_solution": "    return 2 * x\n"});
        std::fs::write(&path, human.to_string()).unwrap();
        let suite = import("h", Preset::HumanEval, &path, None).unwrap();
        assert_eq!(suite.problems()[0].id.0, "HumanEval/0");
        assert!(!suite.problems()[0].data.to_string().contains("return 2 * x"));
        let live = json!({"question_id": "q", "question_title": "T", "question_content": "C", "platform": "p", "starter_code": "class Solution: ...", "metadata": "{\"func_name\": \"go\"}", "public_test_cases": "[{\"input\": \"[1, 2]\\n3\", \"output\": \"[1]\", \"testtype\": \"functional\"}]", "private_test_cases": PACKED});
        std::fs::write(&path, live.to_string()).unwrap();
        let suite = import("l", Preset::LiveCodeBench, &path, None).unwrap();
        let data: CodeData = suite.problems()[0].data().unwrap();
        assert_eq!(data.form, Form::Function { name: "go".to_owned() });
        assert_eq!(data.public[0].input, json!([[1, 2], 3]));
        assert_eq!(data.hidden[0].output, json!(2));
    }

    #[test]
    fn malformed_rows_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.jsonl");
        for (preset, row, message) in [
            (
                Preset::HumanEval,
                json!({"task_id": "a", "prompt": ""}),
                "the column entry_point is missing",
            ),
            (
                Preset::HumanEval,
                json!({"task_id": "a", "prompt": "", "entry_point": "f", "test": "x"}),
                "does not define check",
            ),
            (
                Preset::LiveCodeBench,
                json!({"question_id": "a", "public_test_cases": "[]", "private_test_cases": "?", "question_content": ""}),
                "cannot be unpacked",
            ),
        ] {
            std::fs::write(&path, row.to_string()).unwrap();
            let error = import("x", preset, &path, None).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
