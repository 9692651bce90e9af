//! The default score of an edit.
//!
//! Let `need` be the distance from the base to the target, `made` from the base to the edited file, and `left` from
//! the edited file to the target, each in lines deleted or inserted (see [`super::lines`]). Of what was made,
//! `right = (need + made − left) / 2` is a part of what was needed. The score is the harmonic mean of the share
//! of the need that is there, `right/need`, and the share of what was made that is right, `right/made`:
//!
//! ```text
//! score = 2·right / (need + made) = 1 − left / (need + made)
//! ```
//!
//! What follows from the distance being a metric that any single deleted or inserted line changes by exactly one:
//! the score lies in 0..=1; it is 1 for the target alone and 0 for the base; a step that brings the file nearer to
//! the target never lowers it, and one that leads away never raises it; a line put in the wrong place costs that line
//! and nothing beside it.

use super::lines::{distance, lines};
use crate::submission::{Score, Scored};

/// Scores an edited file. A replaced line counts as one deletion and one insertion, so that the right line gone and a
/// wrong one in its place is half of what was asked.
pub fn score(base: &[u8], target: &[u8], edited: &[u8]) -> Scored {
    if edited == target {
        return Scored::new(Score::ONE, "the file is equal to the target");
    }
    if edited == base {
        return Scored::new(Score::ZERO, "the file was not changed");
    }
    let (base, target, edited) = (lines(base), lines(target), lines(edited));
    let need = distance(&base, &target);
    let made = distance(&base, &edited);
    let left = distance(&edited, &target);
    let value = 1.0 - left as f64 / (need + made) as f64;
    Scored {
        score: Score::new(value).unwrap_or(Score::ZERO),
        why: format!("{left} lines are left of a change of {need}; {made} were changed"),
        details: serde_json::json!({ "needed": need, "made": made, "left": left }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::{distance, lines};
    use super::score;
    use proptest::prelude::*;

    fn value(base: &str, target: &str, edited: &str) -> f64 {
        score(base.as_bytes(), target.as_bytes(), edited.as_bytes()).score.get()
    }

    #[test]
    fn a_deletion_alone_scores_and_a_shift_does_not_zero_everything() {
        let (base, target) = ("a\nb\nc\nd\n", "a\nc\nX\nd\n");
        assert_eq!(value(base, target, "a\nc\nd\n"), 1.0 - 1.0 / 3.0);
        assert_eq!(value(base, target, "#\na\nc\nX\nd\n"), 1.0 - 1.0 / 5.0);
        assert_eq!(value(base, target, "#\na\nb\nc\nd\n"), 0.0);
    }

    #[test]
    fn an_empty_file_keeps_only_what_a_deletion_of_all_is_worth() {
        let base: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let target = base.replace("line 50\n", "line fifty\n");
        let empty = value(&base, &target, "");
        assert!(empty > 0.0 && empty < 0.02, "{empty}");
    }

    #[test]
    fn a_missing_last_newline_is_no_full_score() {
        assert_eq!(value("a\nb\n", "a\nc\n", "a\nc"), 0.5);
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        const LINES: [&[u8]; 5] = [b"a\n", b"b\n", b"c\n", b"d\n", b"  a\n"];
        let line = proptest::sample::select(&LINES[..]);
        proptest::collection::vec(line, 0..24).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn only_the_target_scores_one_and_the_base_scores_zero(b in text(), t in text(), e in text()) {
            prop_assume!(b != t);
            let of = |edited: &[u8]| score(&b, &t, edited).score.get();
            prop_assert_eq!(of(&t), 1.0);
            prop_assert_eq!(of(&b), 0.0);
            prop_assert_eq!(of(&e) == 1.0, e == t);
            prop_assert!((0.0..=1.0).contains(&of(&e)));
        }

        #[test]
        fn more_correct_is_never_worth_less(
            b in text(), t in text(), e in text(), at in 0usize..24, put in text(),
        ) {
            prop_assume!(b != t);
            let of = |edited: &[u8]| score(&b, &t, edited).score.get();
            let old = lines(&e);
            let at = at.min(old.len());
            let mut steps = Vec::new();
            if at < old.len() {
                let mut less = old.clone();
                less.remove(at);
                steps.push(less.concat());
            }
            for line in lines(&put) {
                let mut more = old.clone();
                more.insert(at, line);
                steps.push(more.concat());
            }
            let left = |edited: &[u8]| distance(&lines(edited), &lines(&t));
            for step in steps {
                if left(&step) < left(&e) {
                    prop_assert!(of(&step) >= of(&e), "nearer, and worth less");
                } else {
                    prop_assert!(of(&step) <= of(&e), "farther, and worth more");
                }
            }
        }
    }
}
