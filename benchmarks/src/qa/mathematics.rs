//! Mathematical equivalence of short answers.
//!
//! Two answers are equal when their texts are, after the normalisation that MATH's authors published (Hendrycks et al.,
//! 2021: `\left`, spaces, units, `\dfrac`, `x =` before a value, …), or when they are lists, tuples, intervals or sets with
//! equal parts, or when they are expressions with equal values at all points tried. An expected *number* asks for
//! a number: `2^{10}` is the question, not the answer, where 1024 is expected.

use super::expression::Expression;

/// Tells whether two answers are the same.
pub(super) fn are_equal(given: &str, expected: &str) -> bool {
    let given = boxed(given).unwrap_or_else(|| given.to_owned());
    let (given, expected) = (normal(&given), normal(expected));
    !given.is_empty() && (given == expected || same_parts(&given, &expected, 4))
}

/// Returns what stands in the last `\boxed{…}` of a text.
pub(super) fn boxed(text: &str) -> Option<String> {
    let at = text.rfind("\\boxed").or_else(|| text.rfind("\\fbox"))?;
    let rest = text[at..].trim_start_matches("\\boxed").trim_start_matches("\\fbox");
    let Some(inside) = rest.trim_start().strip_prefix('{') else {
        return rest.strip_prefix(' ').and_then(|r| r.split('$').next()).map(str::to_owned);
    };
    let mut depth = 1;
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(inside[..at].to_owned());
        }
    }
    None
}

/// Brings an answer into one form.
fn normal(text: &str) -> String {
    let mut text = text.trim().trim_end_matches('.').to_owned();
    for (old, new) in [
        ("\n", " "),
        ("\\!", ""),
        ("\\,", ""),
        ("\\;", ""),
        ("\\ ", " "),
        ("\\left", ""),
        ("\\right", ""),
        ("\\tfrac", "\\frac"),
        ("\\dfrac", "\\frac"),
        ("\\cdot", "*"),
        ("\\times", "*"),
        ("×", "*"),
        ("−", "-"),
        ("^{\\circ}", ""),
        ("^\\circ", ""),
        ("°", ""),
        ("\\$", ""),
        ("$", ""),
        ("\\%", ""),
        ("%", ""),
        ("\\(", ""),
        ("\\)", ""),
        ("\\[", ""),
        ("\\]", ""),
        ("\\mathrm", "\\text"),
        ("\\mbox", "\\text"),
        ("\\textbf", "\\text"),
        ("\\leq", "\\le"),
        ("\\geq", "\\ge"),
        ("\\neq", "\\ne"),
        ("π", "\\pi"),
        ("√", "\\sqrt"),
        ("∞", "\\infty"),
    ] {
        text = text.replace(old, new);
    }
    text = without_text(&text);
    // `x = 5` answers as `5` does.
    if let Some((name, value)) = text.split_once('=')
        && name.trim().len() <= 2
        && !value.contains('=')
    {
        text = value.to_owned();
    }
    let mut text: String = text.split_whitespace().collect();
    text = without_thousands(&text);
    if text.starts_with('.') {
        text.insert(0, '0');
    }
    // Words such as `Even` are lowered, single letters are not: `A` and `a` are two variables.
    let is_word = text.len() > 1 && text.chars().all(char::is_alphabetic);
    if is_word { text.to_lowercase() } else { text }
}

/// Unwraps `\text{…}` where it is the answer, and drops it, as a unit, behind one.
fn without_text(text: &str) -> String {
    let mut result = text.to_owned();
    while let Some(at) = result.find("\\text") {
        let rest = &result[at + "\\text".len()..];
        let Some(inside) = rest.trim_start().strip_prefix('{') else { break };
        let Some(end) = inside.find('}') else { break };
        let (before, word, after) = (&result[..at], &inside[..end], &inside[end + 1..]);
        let is_unit =
            before.trim_end().ends_with(|c: char| c.is_ascii_digit() || c == '}' || c == ')');
        let word = if is_unit { "" } else { word.trim_matches(['(', ')']) };
        result = format!("{before}{word}{after}");
    }
    result
}

/// Takes the commas out of `12,345`, which a tuple with such parts could not be told from, so only where all groups but
/// the first have three digits and nothing brackets them.
fn without_thousands(text: &str) -> String {
    let groups: Vec<&str> = text.split(',').collect();
    let digits = |group: &&str| group.bytes().all(|b| b.is_ascii_digit());
    let first = groups[0].trim_start_matches('-');
    let fits = groups.len() > 1
        && (1..=3).contains(&first.len())
        && digits(&first)
        && groups[1..].iter().all(|group| {
            let whole = group.split('.').next().unwrap_or(group);
            whole.len() == 3 && digits(&whole)
        });
    if fits { groups.concat() } else { text.to_owned() }
}

fn same_parts(given: &str, expected: &str, depth: usize) -> bool {
    if given == expected {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let (given_outer, given_inner) = unbracketed(given);
    let (expected_outer, expected_inner) = unbracketed(expected);
    let (ours, theirs) = (split_at_commas(given_inner), split_at_commas(expected_inner));
    if theirs.len() > 1 {
        let in_order = || ours.iter().zip(&theirs).all(|(a, b)| same_parts(a, b, depth));
        let is_set = matches!(expected_outer, "" | "\\{\\}");
        let as_set = || {
            is_set
                && theirs.iter().all(|b| ours.iter().any(|a| same_parts(a, b, depth)))
                && ours.iter().all(|a| theirs.iter().any(|b| same_parts(a, b, depth)))
        };
        return ours.len() == theirs.len()
            && (given_outer == expected_outer || is_set)
            && (in_order() || as_set());
    }
    if ours.len() > 1 {
        return false;
    }
    if let (Some((a, b)), Some((c, d))) = (given.split_once('='), expected.split_once('=')) {
        return same_parts(a, c, depth) && same_parts(b, d, depth);
    }
    match (Expression::parse(given), Expression::parse(expected)) {
        (Some(given), Some(expected)) => {
            let fits = !expected.is_number() || given.is_number();
            fits && given.equals(&expected)
        }
        _ => false,
    }
}

/// Splits off a pair of brackets around all of a text.
fn unbracketed(text: &str) -> (&str, &str) {
    for (open, close, name) in [
        ("\\{", "\\}", "\\{\\}"),
        ("(", ")", "()"),
        ("[", "]", "[]"),
        ("(", "]", "(]"),
        ("[", ")", "[)"),
    ] {
        if let Some(inside) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            let mut depth = 0_i32;
            let stays_inside = inside.chars().all(|c| {
                depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
                depth >= 0
            });
            if stays_inside {
                return (name, inside);
            }
        }
    }
    ("", text)
}

fn split_at_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in text.char_indices() {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        if c == ',' && depth == 0 {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::{are_equal, boxed};
    use proptest::prelude::*;

    #[test]
    fn equal_answers_in_different_notation() {
        for (given, expected) in [
            ("\\frac{1}{2}", "\\dfrac{1}{2}"),
            ("1/2", "\\frac12"),
            ("0.5", "\\frac{1}{2}"),
            ("\\boxed{42}", "42"),
            ("x=5", "5"),
            ("$5$", "5"),
            ("10\\%", "10"),
            ("12,345", "12345"),
            ("90^\\circ", "90"),
            ("5\\text{ cm}", "5"),
            ("\\text{Even}", "even"),
            ("2\\sqrt{3}", "\\sqrt{12}"),
            ("(x+1)(x-1)", "x^2-1"),
            ("(1, 2)", "(1,2)"),
            ("\\left(\\frac12, 3\\right]", "(0.5,3]"),
            ("2, 1", "1,2"),
            ("\\{3, 1\\}", "\\{1,3\\}"),
            ("\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt{2}}"),
            ("3\\pi/4", "\\frac{3\\pi}{4}"),
            ("y=2x+1", "y=1+2x"),
            ("e^{2}", "e^2"),
        ] {
            assert!(are_equal(given, expected), "{given} and {expected}");
        }
    }

    #[test]
    fn different_answers_are_different() {
        for (given, expected) in [
            ("", "1"),
            ("2^{10}", "1024"),
            ("1000+24", "1024"),
            ("(2,1)", "(1,2)"),
            ("[1,2]", "(1,2)"),
            ("1", "1,2"),
            ("1,2", "1"),
            ("x", "y"),
            ("3.14159", "\\pi"),
            ("1,2,3", "123"),
            ("x+1", "x+2"),
            ("\\sqrt{x^2}", "x"),
            ("A", "a"),
            ("1 or 2", "1"),
        ] {
            assert!(!are_equal(given, expected), "{given} and {expected}");
        }
    }

    #[test]
    fn the_last_box_is_found_with_its_braces() {
        assert_eq!(boxed("a \\boxed{1} b \\boxed{\\frac{1}{2}}.").as_deref(), Some("\\frac{1}{2}"));
        assert_eq!(boxed("\\boxed{1"), None);
        assert_eq!(boxed("none"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_compared(a in "[-0-9a-z\\\\{}()^_+*/=, ]{0,40}", b in "\\PC{0,20}") {
            are_equal(&a, &b);
            prop_assert!(are_equal(&a, &a) || super::normal(&boxed(&a).unwrap_or(a)).is_empty());
        }
    }
}
