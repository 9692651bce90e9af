//! Distance between texts, line by line.

use std::collections::HashMap;

/// Splits a text into lines, each with its terminator; the parts joined are the text again.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns how many lines have to be deleted or inserted to turn one text into the other: the number of lines of
/// both, less twice the length of their longest common subsequence. It is a metric.
pub fn distance(a: &[&[u8]], b: &[&[u8]]) -> usize {
    a.len() + b.len() - 2 * common(a, b)
}

/// Returns the length of the longest common subsequence, exactly.
///
/// Bit-parallel, after Hyyrö (2004): 64 cells of the dynamic programme at a time, and lines of `b` that do not
/// occur in `a` cost nothing. A heuristic would be faster on long texts, but then the triangle inequality that
/// [`super::score`] rests on would not hold.
fn common(a: &[&[u8]], b: &[&[u8]]) -> usize {
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - back], &b[..b.len() - back]);
    let words = a.len().div_ceil(64);
    let mut places: HashMap<&[u8], Vec<u64>> = HashMap::new();
    for (at, line) in a.iter().enumerate() {
        places.entry(line).or_insert_with(|| vec![0; words])[at / 64] |= 1 << (at % 64);
    }
    // A zero bit of `row` marks a step of the programme's current row.
    let mut row = vec![u64::MAX; words];
    for mask in b.iter().filter_map(|line| places.get(line)) {
        let mut carry = 0;
        for (word, mask) in row.iter_mut().zip(mask) {
            let matched = *word & mask;
            let sum = u128::from(*word) + u128::from(matched) + carry;
            carry = sum >> 64;
            *word = (sum as u64) | (*word & !mask);
        }
    }
    let ones = |(at, word): (usize, &u64)| {
        let used = (a.len() - at * 64).min(64);
        let mask = if used == 64 { u64::MAX } else { (1 << used) - 1 };
        (word & mask).count_ones() as usize
    };
    let steps = a.len() - row.iter().enumerate().map(ones).sum::<usize>();
    front + back + steps
}

#[cfg(test)]
mod tests {
    use super::{common, distance, lines};
    use proptest::prelude::*;

    /// The textbook dynamic programme.
    fn textbook(a: &[&[u8]], b: &[&[u8]]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(&b"abcd\n\n\n"[..]), 0..400)
    }

    proptest! {
        #[test]
        fn the_length_is_that_of_the_textbook(a in text(), b in text()) {
            let (a, b) = (lines(&a), lines(&b));
            prop_assert_eq!(common(&a, &b), textbook(&a, &b));
        }

        #[test]
        fn lines_joined_are_the_text(a in text()) {
            prop_assert_eq!(lines(&a).concat(), a);
        }

        #[test]
        fn it_is_a_metric(a in text(), b in text(), c in text()) {
            let (a, b, c) = (lines(&a), lines(&b), lines(&c));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
        }
    }
}
