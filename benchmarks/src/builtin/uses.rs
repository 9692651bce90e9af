//! The built-in suite `nav`.
//!
//! The code has what misleads a search for text: one name in several files (`load`, `price`, `find`), names that
//! begin alike (`Parcel` and `ParcelState`), imports that rename, and packages that pass names on.

use crate::nav::build::{candidates, suite as suite_of};
use crate::suite::{ProblemId, Suite, SuiteError};

/// Uses that are asked about: the file, and the name in it.
const USES: &[(&str, &str)] = &[
    ("depot/cli.py", "Config"),
    ("depot/cli.py", "Parcel"),
    ("depot/cli.py", "fetch_all"),
    ("depot/net/client.py", "DEFAULT_TIMEOUT"),
    ("depot/net/server.py", "address"),
    ("depot/net/server.py", "fetch"),
    ("depot/plan/cost.py", "HEAVIEST"),
    ("depot/plan/nearest.py", "merge"),
    ("depot/plan/nearest.py", "price"),
    ("depot/report.py", "load"),
    ("depot/store/__init__.py", "QuickStore"),
    ("depot/store/base.py", "load"),
    ("tests/test_depot.py", "WrongMove"),
    ("tests/test_depot.py", "pauses"),
    ("tests/test_depot.py", "read_record"),
];

pub(super) fn suite() -> Result<Suite, SuiteError> {
    let snapshot = super::snapshot();
    let broken = |what: String| SuiteError::Problem { id: ProblemId("nav".to_owned()), what };
    let found =
        candidates(&snapshot, usize::MAX, usize::MAX, 0).map_err(|e| broken(e.to_string()))?;
    let mut chosen = Vec::new();
    for (path, name) in USES {
        let mut uses = found.iter().filter(|data| data.usage.path == *path && data.name == *name);
        match uses.next() {
            Some(data) => chosen.push(data.clone()),
            None => {
                return Err(broken(format!("{path} has no use of {name} that can be asked about")));
            }
        }
    }
    suite_of("nav", &snapshot, chosen, 0)
}

#[cfg(test)]
mod tests {
    use super::{USES, suite};
    use crate::kind;
    use crate::nav::{NavData, score::score};
    use crate::split::Split;

    #[test]
    fn every_problem_is_whole_and_knows_its_answer() {
        let suite = suite().unwrap();
        let nav = kind::of(&suite).unwrap();
        for problem in suite.problems() {
            nav.check(&suite, problem).unwrap();
        }
        let answers: Vec<String> = suite
            .problems()
            .iter()
            .map(|problem| {
                let data: NavData = problem.data().unwrap();
                format!("{} {}:{} {}", data.name, data.usage.path, data.usage.line, data.answer)
            })
            .collect();
        insta::assert_snapshot!(answers.join("\n"));
        assert_eq!(suite.problems().len(), USES.len());
    }

    #[test]
    fn a_search_for_text_scores_partly() {
        let suite = suite().unwrap();
        let data = suite.problems().iter().map(|p| p.data::<NavData>().unwrap());
        let scores: Vec<f64> = data
            .map(|data| {
                let patterns = [
                    format!("def {}", data.name),
                    format!("class {}", data.name),
                    format!("{} =", data.name),
                ];
                let hit = patterns.iter().find_map(|pattern| {
                    super::super::depot::FILES.iter().find_map(|(path, text)| {
                        let row = text.lines().position(|line| line.contains(pattern))?;
                        Some(format!("{path}:{}:0", row + 1))
                    })
                });
                score(&data.answer, &hit.unwrap_or_default()).score.get()
            })
            .collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        assert!((0.4..0.8).contains(&mean), "{mean}: {scores:?}");
    }

    /// The stand-in model of rehearsals gets stuck on a name by this rule, and a rehearsal shall show that once.
    #[test]
    fn the_stand_in_model_gets_stuck_on_exactly_one_search_problem() {
        let suite = suite().unwrap();
        let stuck: Vec<String> = suite
            .problems()
            .iter()
            .map(|problem| (suite.split(problem), problem.data::<NavData>().unwrap().name))
            .filter(|(_, name)| blake3::hash(name.as_bytes()).as_bytes()[0].is_multiple_of(12))
            .map(|(split, name)| format!("{split:?} {name}"))
            .collect();
        assert_eq!(stuck, [format!("{:?} merge", Split::Search)]);
    }
}
