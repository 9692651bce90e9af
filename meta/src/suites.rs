//! Suites as a run asks for them: found by name, cut to what counts.

use crate::failure::{Failure, FailureKind, Outcome};
use crate::home::Home;
use hone_benchmarks::{Library, Selection, Split, Suite, kind};
use std::path::Path;

/// Opens a suite by name, by path, or as `name/subset`, and cuts it to one side and a number of problems.
pub fn open(
    home: &Home,
    asked: &str,
    split: Option<Split>,
    problems: Option<usize>,
    seed: u64,
) -> Outcome<Suite> {
    let library = Library::new(home.suites());
    let (name, subset) = match asked.split_once('/') {
        Some((name, subset))
            if !name.is_empty() && !Path::new(asked).join("suite.json").exists() =>
        {
            (name, Some(subset.to_owned()))
        }
        _ => (asked, None),
    };
    let suite = library.open(name).map_err(|error| {
        let failure = Failure::new(FailureKind::Usage, error);
        let known = library.names();
        let nearest = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name));
        let nearest = nearest.filter(|known| strsim::damerau_levenshtein(known, name) <= 3);
        let question = nearest.map_or(String::new(), |name| format!(" Did you mean `{name}`?"));
        failure.hint(format!(
            "The suites are {}.{question} `hone bench build` and `hone bench import` make more.",
            known.join(", ")
        ))
    })?;
    let selection = Selection { split, subset, count: problems, seed, ..Selection::default() };
    let taken = selection.take(&suite).map_err(|error| Failure::new(FailureKind::Usage, error))?;
    if taken.problems().is_empty() {
        return Err(Failure::usage(format!("take problems of the suite {asked}: none is left"))
            .hint("Every problem may be held out: build a larger suite."));
    }
    kind::check_all(&taken).map_err(|error| Failure::new(FailureKind::Usage, error))?;
    Ok(taken)
}
