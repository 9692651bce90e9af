//! Differences as Python's `difflib.SequenceMatcher` finds them, popular lines left out included.
//!
//! Scores that were published with that algorithm can be had again only with that algorithm.

use std::collections::HashMap;
use std::ops::Range;

/// A stretch in which two sequences differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The stretch of the first sequence; empty for an insertion.
    pub old: Range<usize>,
    /// The stretch of the second sequence; empty for a deletion.
    pub new: Range<usize>,
}

/// From this length on, difflib ignores lines that make up more than a hundredth of the sequence.
const POPULAR_FROM: usize = 200;

/// Returns the stretches in which two sequences differ, in order.
pub(super) fn differences(a: &[&str], b: &[&str]) -> Vec<Difference> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if b.len() >= POPULAR_FROM {
        let most = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= most);
    }
    let mut blocks = Vec::new();
    let mut queue = vec![(0..a.len(), 0..b.len())];
    while let Some((left, right)) = queue.pop() {
        let (i, j, size) = longest(a, b, &places, &left, &right);
        if size == 0 {
            continue;
        }
        blocks.push((i, j, size));
        queue.push((left.start..i, right.start..j));
        queue.push((i + size..left.end, j + size..right.end));
    }
    blocks.sort_unstable();
    blocks.push((a.len(), b.len(), 0));
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    for (block_i, block_j, size) in blocks {
        if i < block_i || j < block_j {
            found.push(Difference { old: i..block_i, new: j..block_j });
        }
        (i, j) = (block_i + size, block_j + size);
    }
    found
}

/// Finds the longest common stretch; of several, the one that starts first in `a`, then in `b`.
fn longest(
    a: &[&str],
    b: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    left: &Range<usize>,
    right: &Range<usize>,
) -> (usize, usize, usize) {
    let (mut i, mut j, mut size) = (left.start, right.start, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for at in left.clone() {
        let mut next = HashMap::new();
        for &other in places.get(a[at]).into_iter().flatten() {
            if other < right.start {
                continue;
            }
            if other >= right.end {
                break;
            }
            let before = other.checked_sub(1).and_then(|other| lengths.get(&other));
            let length = before.copied().unwrap_or(0) + 1;
            next.insert(other, length);
            if length > size {
                (i, j, size) = (at + 1 - length, other + 1 - length, length);
            }
        }
        lengths = next;
    }
    // Popular lines are no reason for a match, but they make one longer.
    while i > left.start && j > right.start && a[i - 1] == b[j - 1] {
        (i, j, size) = (i - 1, j - 1, size + 1);
    }
    while i + size < left.end && j + size < right.end && a[i + size] == b[j + size] {
        size += 1;
    }
    (i, j, size)
}
