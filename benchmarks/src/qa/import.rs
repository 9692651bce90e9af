//! Suites out of published question sets, each with its own conventions.

use super::{Match, QaData, mathematics, number};
use crate::digest::Digest;
use crate::files::Files;
use crate::rows::{Row, RowsError, read};
use crate::suite::{Draft, Problem, ProblemId, Source, Suite, SuiteError};
use indexmap::IndexMap;
use serde_json::Value;
use std::path::Path;

/// A published set of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Grade-school mathematics: `question`, and `answer` with the number behind `####`.
    Gsm8k,
    /// Competition mathematics: `problem`, and `answer` or a `solution` with `\boxed{…}`.
    Math,
    /// The American Invitational Mathematics Examination: `problem` and `answer`, a number from 0 to 999.
    Aime,
    /// Graduate-level questions: `Question`, `Correct Answer`, `Incorrect Answer 1` to `3`.
    Gpqa,
    /// Reading comprehension: `passage`, `question`, `answers_spans`.
    Drop,
    /// Questions of one's own: `question`, `answer` (a text or a list), and `match` where it is not exact.
    Plain,
}

/// All presets by their names.
pub const PRESETS: [(&str, Preset); 6] = [
    ("gsm8k", Preset::Gsm8k),
    ("math", Preset::Math),
    ("aime", Preset::Aime),
    ("gpqa", Preset::Gpqa),
    ("drop", Preset::Drop),
    ("qa", Preset::Plain),
];

impl Preset {
    /// Returns the preset with a name.
    pub fn find(name: &str) -> Option<Self> {
        PRESETS.iter().find(|(known, _)| *known == name).map(|(_, preset)| *preset)
    }

    fn name(self) -> &'static str {
        PRESETS.iter().find(|(_, preset)| *preset == self).map_or("qa", |(name, _)| name)
    }
}

/// Imports a file of questions. `seed` shuffles the choices of [`Preset::Gpqa`].
pub fn import(name: &str, preset: Preset, path: &Path, seed: u64) -> Result<Suite, RowsError> {
    let rows = read(path)?;
    let mut problems = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = id(row, preset);
        let data = match preset {
            Preset::Gsm8k => gsm8k(row)?,
            Preset::Math => math(row)?,
            Preset::Aime => aime(row)?,
            Preset::Gpqa => gpqa(row, &id, seed)?,
            Preset::Drop => drop(row)?,
            Preset::Plain => plain(row)?,
        };
        let group = ["subject", "type", "domain", "High-level domain"]
            .iter()
            .find_map(|column| row.optional(column));
        problems.push(Problem { id, group, tree: None, data: serde_json::json!(data) });
    }
    let bytes =
        std::fs::read(path).map_err(|source| SuiteError::Io { path: path.to_owned(), source })?;
    let file = rows.first().map(|row| row.file.clone()).unwrap_or_default();
    let suite = Suite::new(Draft {
        name: name.to_owned(),
        kind: "qa".to_owned(),
        about: format!("Questions of {} ({})", file, preset.name()),
        source: Source::Rows { file, digest: Digest::of(&bytes) },
        seed,
        options: IndexMap::new(),
        subsets: IndexMap::new(),
        problems,
        files: Files::default(),
    })?;
    crate::kind::check_all(&suite)?;
    Ok(suite)
}

/// Takes the row's own id where it has one, else its number.
fn id(row: &Row, preset: Preset) -> ProblemId {
    let own = ["id", "unique_id", "query_id", "Record ID", "ID"]
        .iter()
        .find_map(|column| row.text(&[column]).ok());
    ProblemId(own.unwrap_or_else(|| format!("{}-{}", preset.name(), row.number)))
}

fn one(question: String, answer: String, compare: Match) -> QaData {
    QaData { question, answers: vec![vec![answer]], compare, choices: None }
}

fn gsm8k(row: &Row) -> Result<QaData, RowsError> {
    let answer = row.text(&["answer"])?;
    let number = answer.rsplit_once("####").map(|(_, number)| number.trim().replace(',', ""));
    let number = number.filter(|number| number::parse(number).is_some());
    let number = number.ok_or_else(|| row.wrong("answer", "holds no number behind ####"))?;
    Ok(one(row.text(&["question"])?, number, Match::Numeric))
}

fn math(row: &Row) -> Result<QaData, RowsError> {
    let answer = match row.text(&["answer"]) {
        Ok(answer) => answer,
        Err(_) => mathematics::boxed(&row.text(&["solution"])?)
            .ok_or_else(|| row.wrong("solution", "holds no \\boxed{} answer"))?,
    };
    Ok(one(row.text(&["problem", "question"])?, answer, Match::Mathematical))
}

fn aime(row: &Row) -> Result<QaData, RowsError> {
    let answer = row.text(&["answer", "Answer"])?;
    let fits = answer.trim().parse::<u32>().is_ok_and(|number| number <= 999);
    if !fits {
        return Err(row.wrong("answer", "holds no whole number from 0 to 999"));
    }
    Ok(one(
        row.text(&["problem", "Problem", "question"])?,
        answer.trim().to_owned(),
        Match::Numeric,
    ))
}

fn gpqa(row: &Row, id: &ProblemId, seed: u64) -> Result<QaData, RowsError> {
    let right = row.text(&["Correct Answer"])?;
    let mut choices = vec![right.clone()];
    for number in 1..=3 {
        choices.push(row.text(&[&format!("Incorrect Answer {number}")])?);
    }
    let rank = |text: &String| {
        Digest::of_parts(
            "hone choices 1",
            [&seed.to_le_bytes()[..], id.0.as_bytes(), text.as_bytes()],
        )
    };
    choices.sort_by_cached_key(rank);
    let at = choices.iter().position(|choice| *choice == right).unwrap_or(0);
    let letter = |at: usize| char::from(b'A' + at as u8);
    let mut question = row.text(&["Question"])?.trim().to_owned();
    question.push('\n');
    for (at, choice) in choices.iter().enumerate() {
        question.push_str(&format!("\n({}) {}", letter(at), choice.trim()));
    }
    let data = one(question, letter(at).to_string(), Match::Choice);
    Ok(QaData { choices: Some(choices.len()), ..data })
}

fn drop(row: &Row) -> Result<QaData, RowsError> {
    let question =
        format!("{}\n\n{}", row.text(&["passage"])?.trim(), row.text(&["question"])?.trim());
    let spans = row.value.get("answers_spans").and_then(|spans| spans.get("spans"));
    let spans = spans
        .and_then(Value::as_array)
        .ok_or_else(|| row.wrong("answers_spans", "holds no list of spans"))?;
    let mut spans: Vec<String> =
        spans.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    // The published rows list the answers of several annotators under one question; equal ones are one span.
    let mut seen = std::collections::HashSet::new();
    spans.retain(|span| seen.insert(span.clone()));
    if spans.is_empty() {
        return Err(row.wrong("answers_spans", "holds no span"));
    }
    Ok(QaData { question, answers: vec![spans], compare: Match::TokenF1, choices: None })
}

fn plain(row: &Row) -> Result<QaData, RowsError> {
    let compare = match row.value.get("match") {
        Some(name) => {
            serde_json::from_value(name.clone()).map_err(|e| row.wrong("match", e.to_string()))?
        }
        None => Match::Exact,
    };
    let answers = match row.value.get("answer") {
        Some(Value::Array(list)) => {
            let texts: Option<Vec<_>> =
                list.iter().map(|a| Some(vec![a.as_str()?.to_owned()])).collect();
            texts
                .filter(|list| !list.is_empty())
                .ok_or_else(|| row.wrong("answer", "holds no list of texts"))?
        }
        _ => vec![vec![row.text(&["answer"])?]],
    };
    let choices = row.value.get("choices").and_then(Value::as_array);
    let mut question = row.text(&["question"])?;
    for (at, choice) in choices.into_iter().flatten().enumerate() {
        let letter = char::from(b'A' + (at as u8).min(25));
        question.push_str(&format!("\n({letter}) {}", choice.as_str().unwrap_or_default()));
    }
    Ok(QaData { question, answers, compare, choices: choices.map(Vec::len) })
}

#[cfg(test)]
mod tests {
    use super::{Preset, import};
    use crate::kind::Kind;
    use crate::qa::{Qa, QaData};
    use crate::submission::Submission;
    use crate::suite::Suite;
    use std::path::Path;

    fn imported(preset: Preset, lines: &str) -> Result<Suite, crate::rows::RowsError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.jsonl");
        std::fs::write(&path, lines).unwrap();
        import("s", preset, &path, 3)
    }

    fn score(suite: &Suite, answer: &str) -> f64 {
        let submission = Submission { answer, dir: Path::new("/nonexistent") };
        Qa.score(suite, &suite.problems()[0], submission).unwrap().score.get()
    }

    #[test]
    fn published_rows_are_read_with_their_conventions() {
        let gsm = r##"{"question": "How many?", "answer": "9 * 2 = 18\n#### 1,018"}"##;
        let suite = imported(Preset::Gsm8k, gsm).unwrap();
        assert_eq!(
            (score(&suite, "1018"), score(&suite, "$1,018.00"), score(&suite, "18")),
            (1.0, 1.0, 0.0)
        );

        let math =
            r#"{"problem": "Halve.", "solution": "So \\boxed{\\frac{1}{2}}.", "type": "Algebra"}"#;
        let suite = imported(Preset::Math, math).unwrap();
        assert_eq!((score(&suite, "0.5"), score(&suite, "2")), (1.0, 0.0));
        assert_eq!(suite.problems()[0].group.as_deref(), Some("Algebra"));

        let suite =
            imported(Preset::Aime, r#"{"ID": "2024-I-1", "Problem": "?", "Answer": 25}"#).unwrap();
        assert_eq!((score(&suite, "025"), score(&suite, "26")), (1.0, 0.0));
        assert_eq!(suite.problems()[0].id.0, "2024-I-1");

        let gpqa = r#"{"Question": "Which?", "Correct Answer": "right", "Incorrect Answer 1": "a", "Incorrect Answer 2": "b", "Incorrect Answer 3": "c"}"#;
        let suite = imported(Preset::Gpqa, gpqa).unwrap();
        let data: QaData = suite.problems()[0].data().unwrap();
        let letter = data.question.split("right").next().unwrap().chars().rev().nth(2).unwrap();
        assert_eq!(score(&suite, &letter.to_string()), 1.0);
        let all: f64 = ["A", "B", "C", "D"].iter().map(|letter| score(&suite, letter)).sum();
        assert_eq!((all, score(&suite, "right")), (1.0, 0.0));

        let drop = r#"{"query_id": "q", "passage": "P.", "question": "Who?", "answers_spans": {"spans": ["Tom Brady", "Tom Brady"], "types": ["span", "span"]}}"#;
        let suite = imported(Preset::Drop, drop).unwrap();
        assert_eq!((score(&suite, "tom brady"), score(&suite, "Brady")), (1.0, 0.67));
    }

    #[test]
    fn rows_of_csv_are_read_with_line_breaks_in_quotes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gpqa_diamond.csv");
        let heading = "\u{feff}Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n";
        std::fs::write(
            &path,
            format!("{heading}rec1,\"Which\none, then?\",\"x, \"\"y\"\"\",a,b,c\n"),
        )
        .unwrap();
        let suite = import("s", Preset::Gpqa, &path, 3).unwrap();
        let data: QaData = suite.problems()[0].data().unwrap();
        assert_eq!(suite.problems()[0].id.0, "rec1");
        assert!(data.question.starts_with("Which\none, then?\n\n(A) "), "{}", data.question);
        assert!(data.question.contains(") x, \"y\""), "{}", data.question);
        std::fs::write(&path, format!("{heading}rec1,Which?\n")).unwrap();
        let error = import("s", Preset::Gpqa, &path, 3).unwrap_err();
        assert_eq!(error.to_string(), "read gpqa_diamond.csv as CSV");
    }

    #[test]
    fn malformed_rows_are_named() {
        for (preset, lines, message) in [
            (
                Preset::Gsm8k,
                "{\"question\": \"q\"}",
                "row 1 of rows.jsonl: the column answer is missing",
            ),
            (
                Preset::Gsm8k,
                "{\"question\": \"q\", \"answer\": \"4\"}",
                "holds no number behind ####",
            ),
            (Preset::Aime, "{\"problem\": \"q\", \"answer\": \"x\"}", "whole number from 0 to 999"),
            (
                Preset::Plain,
                "{\"id\": \"a\", \"question\": \"q\", \"answer\": \"1\"}\n{\"id\": \"a\", \"question\": \"q\", \"answer\": \"1\"}",
                "twice",
            ),
            (
                Preset::Plain,
                "{\"question\": \"q\", \"answer\": \"1\", \"match\": \"loose\"}",
                "the column match",
            ),
            (Preset::Plain, "{\"question\": \"q\"", "JSON"),
        ] {
            let error = imported(preset, lines).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
