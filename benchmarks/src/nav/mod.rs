//! The kind `nav`: find where a name is defined.

pub mod build;
mod module;
mod resolve;
pub mod score;

use crate::block;
use crate::kind::{Collect, Kind, ProblemError};
use crate::submission::{ScoreError, Scored, Submission};
use crate::suite::{Problem, Suite, SuiteError};
use serde::{Deserialize, Serialize};

/// What is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolKind {
    /// A function of a module.
    Function,
    /// A coroutine function of a module, or of a class.
    AsyncFunction,
    /// A function of a class.
    Method,
    /// A class.
    Class,
    /// A name in capitals that a module binds to a value.
    Constant,
}

/// A place in a file: line from 1; column from 0, in characters, at the first character of the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file, relative to the work directory.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 0.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.path, self.line, self.column)
    }
}

/// What a problem of this kind keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NavData {
    /// The name as it is used.
    pub name: String,
    /// The name as it is defined; another one where an import renames it.
    pub defined: String,
    /// What is defined.
    pub symbol: SymbolKind,
    /// Where the name is used.
    pub usage: Place,
    /// The line of the use.
    pub source: String,
    /// Where the name is defined.
    pub answer: Place,
}

/// The kind `nav`.
#[derive(Debug)]
pub struct Nav;

/// Returns what stands at a place of a text, from the column to the end of the line.
fn text_at<'a>(text: &'a str, place: &Place) -> Option<&'a str> {
    let line = text.split('\n').nth(place.line.checked_sub(1)?)?;
    let mut starts = line.char_indices().map(|(at, _)| at);
    line.get(starts.nth(place.column)?..)
}

impl Kind for Nav {
    fn name(&self) -> &'static str {
        "nav"
    }

    fn check(&self, suite: &Suite, problem: &Problem) -> Result<(), ProblemError> {
        let broken = |what: &str| {
            Err(SuiteError::Problem { id: problem.id.clone(), what: what.to_owned() }.into())
        };
        let data: NavData = problem.data()?;
        let Some(tree) = &problem.tree else { return broken("it has no files to search") };
        if !block::fits_attribute(&data.usage.path) || data.source.contains('\n') {
            return broken("its use cannot be shown in a statement");
        }
        for (place, name) in [(&data.usage, &data.name), (&data.answer, &data.defined)] {
            let bytes = suite.files().file(tree, &place.path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if !text_at(&text, place).is_some_and(|rest| rest.starts_with(name.as_str())) {
                return broken(&format!("the name {name} does not stand at {place}"));
            }
        }
        Ok(())
    }

    fn statement(&self, _: &Suite, problem: &Problem) -> Result<String, ProblemError> {
        let data: NavData = problem.data()?;
        let NavData { name, usage: Place { path, line, .. }, source, .. } = &data;
        Ok(format!(
            "In `{path}`, line {line}, the name `{name}` is used:\n\n{source}\n\nFind where it is defined: the \
             function, method, class or assignment itself, not an import of it. Submit the answer as \
             `path:line:column`. The path is relative to the work directory; lines count from 1, columns from 0 in \
             characters; the column is that of the first character of the defined name, not of `def` or \
             `class` before it.\n"
        ))
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
        let data: NavData = problem.data().map_err(ProblemError::from)?;
        Ok(score::score(&data.answer, submission.answer))
    }
}
