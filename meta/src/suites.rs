//! Suites as a run asks for them: found by name, cut to what counts.

use crate::failure::{Failure, FailureKind, Outcome};
use crate::home::Home;
use hone_benchmarks::{Library, Selection, Split, Suite, SuiteError, kind};

/// Opens a suite by name, by path, or as `name/subset`.
pub fn find(home: &Home, asked: &str) -> Outcome<Suite> {
    let library = Library::new(home.suites());
    library.open(asked).map_err(|error| {
        let hint = match &error {
            SuiteError::Unknown { what: "the suite", name } => {
                let known = library.names();
                let distance = |known: &&String| strsim::damerau_levenshtein(known, name);
                let nearest = known.iter().min_by_key(distance).filter(|name| distance(name) <= 3);
                let question =
                    nearest.map_or(String::new(), |name| format!(" Did you mean `{name}`?"));
                Some(format!(
                    "The suites are {}.{question} `hone bench build` and `hone bench import` make more.",
                    known.join(", ")
                ))
            }
            SuiteError::Unknown { what: "the subset", .. } => {
                let suite = asked.split('/').next().unwrap_or_default();
                Some(format!("`hone bench show {suite}` lists its subsets."))
            }
            _ => None,
        };
        let failure = failure(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

/// Makes an error of a suite a failure: what was asked for wrongly is usage, what is damaged is refused.
pub fn failure(error: SuiteError) -> Failure {
    let (kind, hint) = match &error {
        SuiteError::Unknown { .. } | SuiteError::NoSuite(_) => (FailureKind::Usage, None),
        SuiteError::Changed { .. } | SuiteError::Files(_) => (
            FailureKind::Refused,
            Some("Build or import it again, or take the copy that its results were made with."),
        ),
        SuiteError::Format { .. } => {
            (FailureKind::Refused, Some("A newer hone wrote it; use that one."))
        }
        SuiteError::Io { .. }
        | SuiteError::Malformed { .. }
        | SuiteError::Duplicate { .. }
        | SuiteError::Problem { .. } => (FailureKind::Refused, None),
    };
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Opens a suite as [`find`] does, and cuts it to one side and a number of problems.
pub fn open(
    home: &Home,
    asked: &str,
    split: Option<Split>,
    problems: Option<usize>,
    seed: u64,
) -> Outcome<Suite> {
    let suite = find(home, asked)?;
    let selection = Selection { split, count: problems, seed, ..Selection::default() };
    let taken = selection.take(&suite).map_err(|error| Failure::new(FailureKind::Usage, error))?;
    if taken.problems().is_empty() {
        return Err(Failure::usage(format!("take problems of the suite {asked}: none is left"))
            .hint("Every problem may be held out: build a larger suite."));
    }
    kind::check_all(&taken).map_err(|error| Failure::new(FailureKind::Usage, error))?;
    Ok(taken)
}
