//! Subsets of a suite.

use crate::digest::Digest;
use crate::split::Split;
use crate::suite::{Problem, Suite, SuiteError};
use globset::Glob;
use std::collections::HashSet;

/// Which problems of a suite to take; every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only problems of this side.
    pub split: Option<Split>,
    /// Only problems of the subset with this name.
    pub subset: Option<String>,
    /// Only these ids; one that the suite does not have is an error. Empty: all.
    pub ids: Vec<String>,
    /// Only ids that this glob matches.
    pub glob: Option<String>,
    /// Only problems of this group (repository).
    pub group: Option<String>,
    /// At most so many, drawn by `seed`; a larger count keeps what a smaller one drew.
    pub count: Option<usize>,
    /// The seed of the draw.
    pub seed: u64,
}

impl Selection {
    /// Takes the problems out of a suite. The order of the manifest is kept.
    pub fn take(&self, suite: &Suite) -> Result<Suite, SuiteError> {
        let unknown = |what, name: &str| SuiteError::Unknown { what, name: name.to_owned() };
        let mut wanted: Option<HashSet<&str>> = None;
        if let Some(name) = &self.subset {
            let ids =
                suite.manifest().subsets.get(name).ok_or_else(|| unknown("the subset", name))?;
            wanted = Some(ids.iter().map(|id| id.0.as_str()).collect());
        }
        if !self.ids.is_empty() {
            if let Some(id) = self.ids.iter().find(|id| suite.problem(id).is_none()) {
                return Err(unknown("the problem", id));
            }
            let ids: HashSet<&str> = self.ids.iter().map(String::as_str).collect();
            wanted =
                Some(wanted.map_or(ids.clone(), |old| old.intersection(&ids).copied().collect()));
        }
        let glob = match &self.glob {
            Some(text) => {
                let glob = Glob::new(text).map_err(|_| unknown("problems by the pattern", text))?;
                Some(glob.compile_matcher())
            }
            None => None,
        };
        let mut taken: Vec<&Problem> = suite
            .problems()
            .iter()
            .filter(|p| self.split.is_none_or(|split| suite.split(p) == split))
            .filter(|p| wanted.as_ref().is_none_or(|ids| ids.contains(p.id.0.as_str())))
            .filter(|p| glob.as_ref().is_none_or(|glob| glob.is_match(&p.id.0)))
            .filter(|p| self.group.is_none() || p.group == self.group)
            .collect();
        if let Some(count) = self.count.filter(|count| *count < taken.len()) {
            let mut drawn: Vec<(u64, &str)> =
                taken.iter().map(|p| (self.rank(&p.id.0), p.id.0.as_str())).collect();
            drawn.sort_unstable();
            let drawn: HashSet<&str> = drawn.into_iter().take(count).map(|(_, id)| id).collect();
            taken.retain(|p| drawn.contains(p.id.0.as_str()));
        }
        let name = match &self.subset {
            Some(subset) => format!("{}/{subset}", suite.name()),
            None => suite.name().to_owned(),
        };
        Ok(suite.with_problems(name, taken.into_iter().cloned().collect()))
    }

    fn rank(&self, id: &str) -> u64 {
        Digest::of_parts("hone draw 1", [&self.seed.to_le_bytes()[..], id.as_bytes()]).number()
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;
    use crate::files::Files;
    use crate::split::Split;
    use crate::suite::{Draft, Problem, ProblemId, Source, Suite};
    use indexmap::IndexMap;

    fn suite() -> Suite {
        let problems = (0..50).map(|n| Problem {
            id: ProblemId(format!("p-{n}")),
            group: Some(if n % 2 == 0 { "even" } else { "odd" }.to_owned()),
            tree: None,
            data: serde_json::json!({ "n": n }),
        });
        let mini = vec![ProblemId("p-3".to_owned()), ProblemId("p-4".to_owned())];
        Suite::new(Draft {
            name: "s".to_owned(),
            kind: "edit".to_owned(),
            about: String::new(),
            source: Source::Builtin,
            seed: 0,
            options: IndexMap::new(),
            subsets: IndexMap::from([("mini".to_owned(), mini)]),
            problems: problems.collect(),
            files: Files::default(),
        })
        .unwrap()
    }

    fn ids(selection: Selection) -> Vec<String> {
        selection.take(&suite()).unwrap().problems().iter().map(|p| p.id.0.clone()).collect()
    }

    #[test]
    fn conditions_are_joined_and_the_order_is_kept() {
        let mini = Some("mini".to_owned());
        assert_eq!(ids(Selection { subset: mini.clone(), ..Default::default() }), ["p-3", "p-4"]);
        let odd = Some("odd".to_owned());
        assert_eq!(ids(Selection { subset: mini, group: odd, ..Default::default() }), ["p-3"]);
        let glob = Some("p-1?".to_owned());
        assert_eq!(ids(Selection { glob, ..Default::default() }).len(), 10);
        let listed = vec!["p-9".to_owned(), "p-2".to_owned()];
        assert_eq!(ids(Selection { ids: listed, ..Default::default() }), ["p-2", "p-9"]);
    }

    #[test]
    fn the_two_sides_share_nothing_and_leave_nothing_out() {
        let side = |split| ids(Selection { split: Some(split), ..Default::default() });
        let (search, held) = (side(Split::Search), side(Split::HeldOut));
        assert_eq!(search.len() + held.len(), 50);
        assert!(search.iter().all(|id| !held.contains(id)));
    }

    #[test]
    fn a_larger_draw_keeps_what_a_smaller_one_drew() {
        let draw = |count, seed| ids(Selection { count: Some(count), seed, ..Default::default() });
        let (few, many) = (draw(5, 1), draw(20, 1));
        assert_eq!((few.len(), many.len()), (5, 20));
        assert!(few.iter().all(|id| many.contains(id)));
        assert_ne!(few, draw(5, 2));
    }

    #[test]
    fn a_subset_has_a_digest_of_its_own_and_unknown_names_are_errors() {
        let part = Selection { count: Some(5), ..Default::default() }.take(&suite()).unwrap();
        assert_ne!(part.digest(), suite().digest());
        let all = Selection::default().take(&suite()).unwrap();
        assert_eq!(all.digest(), suite().digest());
        for wrong in [
            Selection { subset: Some("maxi".to_owned()), ..Default::default() },
            Selection { ids: vec!["p-99".to_owned()], ..Default::default() },
            Selection { glob: Some("p-[".to_owned()), ..Default::default() },
        ] {
            assert!(wrong.take(&suite()).is_err(), "{wrong:?}");
        }
    }
}
