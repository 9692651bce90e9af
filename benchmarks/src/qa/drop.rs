//! The token F1 of DROP (Dua et al., 2019), as its official evaluation computes it.
//!
//! An answer is a list of spans, each a bag of tokens. Spans are paired with the expected ones so that the sum of
//! F1 is largest; a pair counts only where the expected span's numbers and the given one's have something in common.
//! The score is the mean over the longer list, rounded to two decimals.

use std::collections::BTreeSet;

type Bag = BTreeSet<String>;

/// Most spans of an answer that are looked at.
const MOST: usize = 64;

/// Returns the F1 of an answer with a span on each line, from 0 to 1.
pub(super) fn f1(answer: &str, expected: &[String]) -> f64 {
    let lines: Vec<&str> = answer.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let one: Vec<&str> = vec![answer];
    // Spans may also be separated by commas, where as many are expected.
    let commas: Vec<&str> = answer.split(',').map(str::trim).collect();
    let readings = match expected.len() {
        1 => vec![one],
        count if lines.len() == 1 && commas.len() == count => vec![one, commas],
        _ => vec![lines],
    };
    let expected: Vec<Bag> = expected.iter().map(|span| bag(span)).collect();
    let score = |spans: &Vec<&str>| {
        aligned(&spans.iter().take(MOST).map(|s| bag(s)).collect::<Vec<_>>(), &expected)
    };
    readings.iter().map(score).fold(0.0, f64::max)
}

fn aligned(given: &[Bag], expected: &[Bag]) -> f64 {
    let longer = given.len().max(expected.len());
    if longer == 0 {
        return 0.0;
    }
    let gain = |row: usize, column: usize| match (expected.get(row), given.get(column)) {
        (Some(expected), Some(given)) if numbers_agree(expected, given) => bag_f1(given, expected),
        _ => 0.0,
    };
    let mean = best_assignment(longer, gain) / longer as f64;
    (mean * 100.0).round() / 100.0
}

fn bag_f1(given: &Bag, expected: &Bag) -> f64 {
    let both = given.intersection(expected).count() as f64;
    let precision = if given.is_empty() { 1.0 } else { both / given.len() as f64 };
    let recall = if expected.is_empty() { 1.0 } else { both / expected.len() as f64 };
    if precision == 0.0 && recall == 0.0 {
        0.0
    } else {
        2.0 * precision * recall / (precision + recall)
    }
}

fn numbers_agree(expected: &Bag, given: &Bag) -> bool {
    let numbers =
        |bag: &Bag| -> BTreeSet<String> { bag.iter().filter(|t| is_number(t)).cloned().collect() };
    let (expected, given) = (numbers(expected), numbers(given));
    expected.is_empty() || !expected.is_disjoint(&given)
}

fn is_number(text: &str) -> bool {
    let plain = text.trim();
    plain.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Returns the tokens of a span: lower case, without articles and punctuation; numbers in one form.
fn bag(span: &str) -> Bag {
    span.split([' ', '-', '\n', '\t'])
        .map(|token| {
            let token = token.to_lowercase();
            let token = match is_number(&token) {
                true => token,
                false => token.chars().filter(|c| !c.is_ascii_punctuation()).collect(),
            };
            let token = match token.parse::<f64>() {
                Ok(number) if number.is_finite() => format!("{number:?}"),
                _ => token,
            };
            let is_article = ["a", "an", "the"].contains(&token.as_str());
            if is_article { String::new() } else { token.trim().to_owned() }
        })
        .filter(|token| !token.is_empty())
        .collect()
}

/// Returns the largest sum of one gain for each row and column (the Hungarian method, with costs `-gain`).
fn best_assignment(size: usize, gain: impl Fn(usize, usize) -> f64) -> f64 {
    let (mut rows, mut columns) = (vec![0.0; size + 1], vec![0.0; size + 1]);
    let mut owner = vec![0; size + 1];
    for row in 1..=size {
        owner[0] = row;
        let mut at = 0;
        let mut least = vec![f64::INFINITY; size + 1];
        let (mut seen, mut way) = (vec![false; size + 1], vec![0; size + 1]);
        while owner[at] != 0 {
            seen[at] = true;
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for column in (1..=size).filter(|column| !seen[*column]) {
                let cost = -gain(owner[at] - 1, column - 1) - rows[owner[at]] - columns[column];
                if cost < least[column] {
                    (least[column], way[column]) = (cost, at);
                }
                if least[column] < delta {
                    (delta, next) = (least[column], column);
                }
            }
            for column in 0..=size {
                if seen[column] {
                    rows[owner[column]] += delta;
                    columns[column] -= delta;
                } else {
                    least[column] -= delta;
                }
            }
            at = next;
        }
        while at != 0 {
            owner[at] = owner[way[at]];
            at = way[at];
        }
    }
    (1..=size).map(|column| gain(owner[column] - 1, column - 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::{best_assignment, f1};
    use proptest::prelude::*;

    fn value(answer: &str, expected: &[&str]) -> f64 {
        f1(answer, &expected.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_score_is_that_of_the_official_evaluation() {
        assert_eq!(value("The Red  House", &["red house"]), 1.0);
        assert_eq!(value("house", &["red house"]), 0.67);
        assert_eq!(value("12", &["12.0"]), 1.0);
        assert_eq!(value("12 yards", &["13 yards"]), 0.0);
        assert_eq!(value("12", &["12 yards"]), 0.67);
        assert_eq!(value("John Smith", &["Smith-Jones"]), 0.5);
        assert_eq!(value("x\ny", &["x", "y"]), 1.0);
        assert_eq!(value("y\nx", &["x", "y"]), 1.0);
        assert_eq!(value("y, x", &["x", "y"]), 1.0);
        assert_eq!(value("x", &["x", "y"]), 0.5);
    }

    proptest! {
        #[test]
        fn the_assignment_is_the_best_of_all(gains in proptest::collection::vec(0u8..10, 16)) {
            let gain = |row: usize, column: usize| f64::from(gains[row * 4 + column]);
            let mut best = 0.0_f64;
            for a in 0..4 { for b in 0..4 { for c in 0..4 { for d in 0..4 {
                let all = [a, b, c, d];
                if (0..4).all(|n| all.contains(&n)) {
                    best = best.max(all.iter().enumerate().map(|(row, column)| gain(row, *column)).sum());
                }
            }}}}
            prop_assert!((best_assignment(4, gain) - best).abs() < 1e-9);
        }
    }
}
