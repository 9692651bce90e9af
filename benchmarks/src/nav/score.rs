//! The score of an answer `path:line:column`.

use super::Place;
use crate::submission::{Score, Scored};

/// Most bytes of an answer that are looked at.
const LONGEST: usize = 4096;

/// Scores an answer: 1 for the place itself, else 0.4 for the path, 0.4 for the line and 0.2 for the column. White
/// space around the parts, `./` before the path, and quotes or backticks around all of it do not matter.
pub fn score(expected: &Place, answer: &str) -> Scored {
    let answer = answer.trim();
    if answer.is_empty() {
        return Scored::new(Score::ZERO, "there is no answer");
    }
    if answer.len() > LONGEST {
        return Scored::new(Score::ZERO, "the answer is too long to be a place");
    }
    let given = Given::read(answer);
    let path = given.path.as_deref() == Some(normal(&expected.path).as_str());
    let line = given.line == Some(expected.line);
    let column = given.column == Some(expected.column);
    let tenths = 4 * u8::from(path) + 4 * u8::from(line) + 2 * u8::from(column);
    let parts = [(path, "path"), (line, "line"), (column, "column")];
    let wrong: Vec<&str> =
        parts.iter().filter(|(right, _)| !right).map(|(_, part)| *part).collect();
    let why = match wrong.is_empty() {
        true => "the place is right".to_owned(),
        false => format!("{} wrong: {expected} was expected", wrong.join(" and ")),
    };
    Scored::new(Score::new(f64::from(tenths) / 10.0).unwrap_or(Score::ZERO), why)
}

/// The parts of an answer that could be read.
#[derive(Debug, PartialEq, Eq)]
struct Given {
    path: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
}

impl Given {
    fn read(answer: &str) -> Self {
        let answer = answer.trim_matches(|c: char| c.is_whitespace() || "`'\"".contains(c));
        let number = |text: &str| -> Option<usize> {
            let text = text.trim();
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        };
        let mut parts = answer.rsplitn(3, ':');
        let (last, middle, first) = (parts.next(), parts.next(), parts.next());
        let (path, line, column) = match (first, middle, last) {
            (Some(path), Some(line), Some(column)) => (Some(path), number(line), number(column)),
            // Without a column, `path:line`.
            (None, Some(path), Some(line)) => (Some(path), number(line), None),
            (_, _, path) => (path, None, None),
        };
        Given { path: path.map(normal), line, column }
    }
}

/// Brings a path into one form: no `./`, no doubled `/`, no white space around the parts.
fn normal(path: &str) -> String {
    let path = path.trim_matches(|c: char| c.is_whitespace() || "`'\"".contains(c));
    let absolute = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> =
        path.split('/').map(str::trim).filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{absolute}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Place, score};
    use proptest::prelude::*;

    fn value(answer: &str) -> f64 {
        let place = Place { path: "a/b.py".to_owned(), line: 12, column: 4 };
        score(&place, answer).score.get()
    }

    #[test]
    fn the_place_scores_one_however_it_is_written() {
        for answer in
            ["a/b.py:12:4", "./a/b.py:12:4", " a/b.py : 12 : 4 \n", "`a/b.py:12:4`", "a//b.py:12:4"]
        {
            assert_eq!(value(answer), 1.0, "{answer}");
        }
    }

    #[test]
    fn each_part_has_its_share() {
        for (answer, expected) in [
            ("a/b.py:12:0", 0.8),
            ("a/b.py:11:4", 0.6),
            ("a/b.py:11:0", 0.4),
            ("c.py:12:4", 0.6),
            ("c.py:12:0", 0.4),
            ("c.py:11:4", 0.2),
            ("c.py:1:1", 0.0),
            ("a/b.py:12", 0.8),
            ("a/b.py", 0.4),
            ("a/b.py:x:y", 0.4),
            ("", 0.0),
            (":::", 0.0),
            ("/a/b.py:12:4", 0.6),
            ("a/b.py:+12:-4", 0.4),
        ] {
            assert_eq!(value(answer), expected, "{answer}");
        }
        assert_eq!(value(&"a".repeat(5000)), 0.0);
    }

    proptest! {
        #[test]
        fn any_text_is_scored(answer in "\\PC{0,40}") {
            prop_assert!((0.0..=1.0).contains(&value(&answer)));
        }
    }
}
