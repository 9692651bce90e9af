//! The kind `qa`: questions with short answers.

mod choice;
mod drop;
mod expression;
pub mod import;
mod mathematics;
mod number;

use crate::kind::{Collect, Kind, ProblemError};
use crate::submission::{Score, ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use serde::{Deserialize, Serialize};

/// How an answer is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Equal but for case and white space.
    Exact,
    /// The same number (GSM8K, AIME).
    Numeric,
    /// The letter of a choice (GPQA).
    Choice,
    /// The bag-of-words F1 of DROP, with its treatment of numbers.
    TokenF1,
    /// The same mathematical value or expression (MATH).
    Mathematical,
}

/// What a problem of this kind keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QaData {
    /// The question, with its passage and choices.
    pub question: String,
    /// Answers that are right; the best match counts. Each is a list of spans, mostly of one.
    pub answers: Vec<Vec<String>>,
    /// How an answer is compared.
    #[serde(rename = "match")]
    pub compare: Match,
    /// How many choices there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<usize>,
}

/// Longest answer that is looked at, in bytes. A short answer was asked for.
const LONGEST: usize = 10_000;

/// The kind `qa`.
#[derive(Debug)]
pub struct Qa;

impl Kind for Qa {
    fn name(&self) -> &'static str {
        "qa"
    }

    fn check(&self, _: &Suite, problem: &Problem) -> Result<(), ProblemError> {
        let data: QaData = problem.data()?;
        let whole = !data.answers.is_empty() && data.answers.iter().all(|spans| !spans.is_empty());
        let first = data.answers.first().and_then(|spans| spans.first()).map(String::as_str);
        let first = first.unwrap_or_default();
        let fits = match data.compare {
            Match::Numeric => number::parse(first).is_some(),
            Match::Choice => {
                let choices = data.choices.unwrap_or(0);
                choice::letter(first, choices).is_some() && choices > 1
            }
            Match::Exact | Match::TokenF1 | Match::Mathematical => !first.trim().is_empty(),
        };
        if whole && fits && !data.question.trim().is_empty() {
            return Ok(());
        }
        let what = format!("its answer {first:?} cannot be compared as {:?}", data.compare);
        Err(SuiteError::Problem { id: problem.id.clone(), what }.into())
    }

    fn statement(&self, _: &Suite, problem: &Problem) -> Result<String, ProblemError> {
        let data: QaData = problem.data()?;
        let how = match data.compare {
            Match::Exact => "Submit the answer alone, without a sentence around it.",
            Match::Numeric => "Submit the number alone, without unit or words.",
            Match::Choice => "Submit the letter of the right choice alone.",
            Match::TokenF1 => {
                "Submit the answer alone, in as few words as it has. When it is several things, submit each on a line \
                 of its own."
            }
            Match::Mathematical => {
                "Submit the final answer alone, simplified, in LaTeX or plain notation."
            }
        };
        Ok(format!("{}\n\n{how}\n", data.question.trim_end()))
    }

    fn collect(&self, _: &Suite, _: &Problem) -> Result<Collect, ProblemError> {
        Ok(Collect::Answer)
    }

    fn score(
        &self,
        _: &Suite,
        problem: &Problem,
        submission: Submission<'_>,
    ) -> Result<Scored, ScoreError> {
        let data: QaData = problem.data().map_err(ProblemError::from)?;
        let given = submission.answer.trim();
        if given.is_empty() {
            return Ok(Scored::new(Score::ZERO, "there is no answer"));
        }
        if given.len() > LONGEST {
            return Ok(Scored::new(Score::ZERO, "the answer is too long for a short answer"));
        }
        let best = data.answers.iter().map(|spans| value(&data, given, spans)).fold(0.0, f64::max);
        let first = data.answers.first().map(|spans| spans.join(", ")).unwrap_or_default();
        let why = if best == 1.0 {
            "the answer is right".to_owned()
        } else {
            format!("{first} was expected")
        };
        Ok(Scored::new(Score::new(best).unwrap_or(Score::ZERO), why))
    }
}

fn value(data: &QaData, given: &str, spans: &[String]) -> f64 {
    let expected = spans.first().map(String::as_str).unwrap_or_default();
    let right = match data.compare {
        Match::Exact => plain(given) == plain(expected),
        Match::Numeric => {
            let (given, expected) = (number::of_answer(given), number::parse(expected));
            given.is_some() && given == expected
        }
        Match::Choice => {
            let choices = data.choices.unwrap_or(0);
            let given = choice::letter(given, choices);
            given.is_some() && given == choice::letter(expected, choices)
        }
        Match::TokenF1 => return drop::f1(given, spans),
        Match::Mathematical => mathematics::are_equal(given, expected),
    };
    f64::from(u8::from(right))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
