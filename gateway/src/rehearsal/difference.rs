//! Small replacements that turn one text into another.

use crate::tokens::of_text as tokens;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// One replacement of a string that occurs exactly once in the text at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// The string that is there, never empty.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

/// Changes that lie closer than this many bytes are made by one replacement: a call of its own
/// costs about as much as so much text.
const MERGE_WITHIN: usize = 240;

/// A string longer than this that is still not unique is given up: the text repeats itself.
const LONGEST: usize = 4_000;

/// Tokens of a call around its arguments, an estimate for choosing between ways to edit.
const CALL_TOKENS: u64 = 60;

/// Finds replacements that turn `old` into `new` when made one after the other. Returns `None`
/// when there are none that cost less than writing the whole text.
pub(crate) fn replacements(old: &str, new: &str) -> Option<Vec<Replacement>> {
    let mut text = old.to_owned();
    let mut found = Vec::new();
    // From the end, so that the places of earlier changes stay where they are.
    for change in changes(old, new).into_iter().rev() {
        let replacement = unique(&text, change.start, change.end, &change.new)?;
        text = text.replacen(&replacement.old, &replacement.new, 1);
        found.push(replacement);
    }
    let cost: u64 = found.iter().map(|r| tokens(&r.old) + tokens(&r.new) + CALL_TOKENS).sum();
    (text == new && cost < tokens(new) + CALL_TOKENS).then_some(found)
}

/// A changed stretch of the old text, in bytes.
struct Change {
    start: usize,
    end: usize,
    new: String,
}

fn changes(old: &str, new: &str) -> Vec<Change> {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let (old_at, new_at) = (starts(&old_lines), starts(&new_lines));
    // Stretches as (old start, old end, new start, new end).
    let mut stretches: Vec<(usize, usize, usize, usize)> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (o, n) = (op.old_range(), op.new_range());
        let (from, to) = (old_at[o.start], old_at[o.end]);
        let (new_from, new_to) = (new_at[n.start], new_at[n.end]);
        match stretches.last_mut() {
            Some(last) if from - last.1 <= MERGE_WITHIN => {
                last.1 = to;
                last.3 = new_to;
            }
            _ => stretches.push((from, to, new_from, new_to)),
        }
    }
    stretches
        .into_iter()
        .map(|(from, to, new_from, new_to)| {
            let (before, after) = (&old[from..to], &new[new_from..new_to]);
            let head = common_prefix(before, after);
            let tail = common_prefix_reversed(&before[head..], &after[head..]);
            Change {
                start: from + head,
                end: to - tail,
                new: after[head..after.len() - tail].to_owned(),
            }
        })
        .collect()
}

/// Returns where each line starts, and at the end where the text ends.
fn starts(lines: &[&str]) -> Vec<usize> {
    let mut at = vec![0];
    let mut sum = 0;
    for line in lines {
        sum += line.len();
        at.push(sum);
    }
    at
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

fn common_prefix_reversed(a: &str, b: &str) -> usize {
    let pairs = a.chars().rev().zip(b.chars().rev());
    pairs.take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

/// Widens the stretch `start..end` of `text` word by word, in both directions, until it is a
/// string that occurs once.
fn unique(text: &str, start: usize, end: usize, new: &str) -> Option<Replacement> {
    let (mut from, mut to) = (word_before(text, start), word_after(text, end));
    loop {
        let old = &text[from..to];
        if !old.is_empty() && occurs_once(text, old) {
            let new = format!("{}{new}{}", &text[from..start], &text[end..to]);
            return Some(Replacement { old: old.to_owned(), new });
        }
        if (from == 0 && to == text.len()) || to - from > LONGEST {
            return None;
        }
        from = word_before(text, from.saturating_sub(1));
        to = word_after(text, (to + 1).min(text.len()));
    }
}

fn occurs_once(text: &str, part: &str) -> bool {
    let Some(first) = text.find(part) else { return false };
    let next = first + part.chars().next().map_or(1, char::len_utf8);
    !text[next..].contains(part)
}

/// Goes back to the start of the word that byte `at` stands in.
fn word_before(text: &str, at: usize) -> usize {
    let mut at = floor(text, at);
    while let Some(c) = text[..at].chars().next_back() {
        if !(c.is_alphanumeric() || c == '_') {
            break;
        }
        at -= c.len_utf8();
    }
    // A lone carriage return would be cut from its newline.
    if text[..at].ends_with('\r') && text[at..].starts_with('\n') { at - 1 } else { at }
}

/// Goes on to the end of the word that byte `at` stands in.
fn word_after(text: &str, at: usize) -> usize {
    let mut at = ceiling(text, at);
    while let Some(c) = text[at..].chars().next() {
        if !(c.is_alphanumeric() || c == '_') {
            break;
        }
        at += c.len_utf8();
    }
    if text[..at].ends_with('\r') && text[at..].starts_with('\n') { at + 1 } else { at }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceiling(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{Replacement, occurs_once, replacements};
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn numbered(lines: usize) -> String {
        (0..lines).map(|n| format!("value_{n} = compute({n}, scale=1.0)\n")).collect()
    }

    /// Makes the replacements the way a tool would that insists on a unique string.
    fn applied(text: &str, steps: &[Replacement]) -> String {
        let mut text = text.to_owned();
        for step in steps {
            assert!(occurs_once(&text, &step.old), "{:?} is not unique", step.old);
            text = text.replacen(&step.old, &step.new, 1);
        }
        text
    }

    #[test]
    fn a_change_of_one_word_is_a_replacement_of_that_word_or_little_more() {
        let old = numbered(60);
        let new = old.replace("value_31 =", "total_31 =");
        let steps = replacements(&old, &new).unwrap();
        assert_eq!(steps, [Replacement { old: "value_31".to_owned(), new: "total_31".to_owned() }]);
    }

    #[test]
    fn far_changes_get_a_replacement_each_and_near_ones_share_it() {
        let old = numbered(100);
        let far = old.replace("value_5 ", "a_5 ").replace("value_90 ", "b_90 ");
        assert_eq!(replacements(&old, &far).unwrap().len(), 2);
        let near = old.replace("value_5 ", "a_5 ").replace("value_6 ", "b_6 ");
        let steps = replacements(&old, &near).unwrap();
        assert_eq!(steps.len(), 1);
        assert_eq!(applied(&old, &steps), near);
    }

    #[test]
    fn an_insertion_at_either_end_and_a_deletion_are_exact() {
        let old = numbered(50);
        let cases = [
            format!("# first\n{old}"),
            format!("{old}# last"),
            old.replace("value_20 = compute(20, scale=1.0)\n", ""),
            old.trim_end().to_owned(),
            old.replacen('\n', "\r\n", 1),
        ];
        for new in cases {
            let steps = replacements(&old, &new).unwrap();
            assert_eq!(applied(&old, &steps), new);
        }
    }

    #[test]
    fn a_wholly_different_or_an_empty_text_is_better_written_anew() {
        assert_eq!(replacements("a\nb\nc\n", "x\ny\nz\n"), None);
        assert_eq!(replacements("", "x\n"), None);
    }

    proptest! {
        #[test]
        fn replacements_reach_the_target_exactly(
            old in proptest::collection::vec("[abé ]{0,6}(\n|\r\n|)", 0..60),
            cuts in proptest::collection::vec((0usize..60, "[abxé ]{0,6}(\n|\r\n|)"), 0..5),
        ) {
            let mut lines = old.clone();
            for (at, line) in cuts {
                if at < lines.len() { lines[at] = line } else { lines.push(line) }
            }
            let (old, new) = (old.concat(), lines.concat());
            if let Some(steps) = replacements(&old, &new) {
                prop_assert_eq!(applied(&old, &steps), new);
            }
        }
    }
}
