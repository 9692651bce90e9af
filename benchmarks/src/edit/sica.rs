//! The score of the paper's own file-editing benchmark (arXiv 2504.15228), for comparison with published numbers.
//!
//! It is kept as its authors computed it, oddities included: lines are compared at equal numbers rather than by
//! alignment, so a line too many early in the file makes all that follows wrong; pure deletions require
//! nothing; and numbers of lines of the old and of the new file are counted in one set.

use super::sequence::{Difference, differences};
use crate::submission::{Score, Scored};
use std::collections::HashSet;

/// Scores an edited file.
pub fn score(base: &str, target: &str, edited: &str) -> Scored {
    if target == edited {
        return Scored::new(Score::ONE, "the file is equal to the target");
    }
    if base == edited {
        return Scored::new(Score::ZERO, "the file was not changed");
    }
    let (base, target, edited) = (lines(base), lines(target), lines(edited));
    let [base, target, edited] = [&base, &target, &edited]
        .map(|text| text.iter().map(String::as_str).collect::<Vec<&str>>());
    let mut required = HashSet::new();
    for Difference { old, new } in differences(&base, &target) {
        if !old.is_empty() && !new.is_empty() {
            required.extend(old);
        }
        required.extend(new);
    }
    let made: HashSet<usize> =
        differences(&base, &edited).into_iter().flat_map(|difference| difference.new).collect();
    let correct = made.iter().filter(|at| edited.get(**at) == target.get(**at)).count();
    if correct == 0 {
        return Scored::new(Score::ZERO, format!("none of {} changes is right", made.len().max(1)));
    }
    let (required, made) = (required.len().max(1) as f64, made.len().max(1) as f64);
    let precision = correct as f64 / made;
    let recall = correct as f64 / required;
    let excess = ((made - required) / required).max(0.0);
    let value = 0.4 * precision + 0.6 * recall - (0.1 * excess).min(0.3);
    Scored::new(
        Score::new(value.clamp(0.0, 1.0)).unwrap_or(Score::ZERO),
        format!("{correct} of {required} changes are right, {made} were made"),
    )
}

/// Splits a text into lines without the white space at their ends, blank ones left out.
fn lines(text: &str) -> Vec<String> {
    // What Python's `str.rstrip` takes for white space.
    let is_space = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    text.replace("\r\n", "\n")
        .split('\n')
        .map(|line| line.trim_end_matches(is_space).to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}
