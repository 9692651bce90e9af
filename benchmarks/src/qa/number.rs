//! Numbers in answers, compared exactly.

/// A number as a fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    above: i128,
    below: i128,
}

impl Number {
    fn new(above: i128, below: i128) -> Option<Self> {
        if below == 0 {
            return None;
        }
        let divisor = gcd(above.unsigned_abs(), below.unsigned_abs()) as i128;
        let sign = below.signum();
        Some(Number { above: sign * above / divisor, below: sign * below / divisor })
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// Reads one number and nothing else: `-1,234.50`, `$5`, `5%`, `3/4`, `1e3`.
pub(super) fn parse(text: &str) -> Option<Number> {
    let text = text.trim().trim_end_matches('.').trim();
    let text = text.replace(['−', '–'], "-");
    let text = text.replace("\\$", "$").replace("\\%", "%").replace("\\!", "");
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest.trim_start()),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let text = text.trim_start_matches(['$', '€', '£']).trim_end_matches('%').trim();
    let number = match text.split_once('/') {
        Some((above, below)) => {
            let (above, below) = (decimal(above.trim())?, decimal(below.trim())?);
            Number::new(
                above.above.checked_mul(below.below)?,
                above.below.checked_mul(below.above)?,
            )?
        }
        None => decimal(text)?,
    };
    Number::new(sign * number.above, number.below)
}

/// Reads digits with a point, separators of thousands and an exponent.
fn decimal(text: &str) -> Option<Number> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let well_grouped = groups.len() == 1
        || (!groups[0].is_empty()
            && groups[0].len() <= 3
            && groups[1..].iter().all(|g| g.len() == 3));
    let whole = groups.concat();
    let all = format!("{whole}{part}");
    if !well_grouped || all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.checked_sub(i32::try_from(part.len()).ok()?)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let value: i128 = all.parse().ok()?;
    if exponent < 0 { Number::new(value, power) } else { Number::new(value.checked_mul(power)?, 1) }
}

/// Reads the number that an answer gives: after `####` as in GSM8K, in `\boxed{}`, else the answer itself, else the last
/// number in its words.
pub(super) fn of_answer(answer: &str) -> Option<Number> {
    let answer = answer.rsplit_once("####").map_or(answer, |(_, rest)| rest);
    let boxed = super::mathematics::boxed(answer);
    let answer = boxed.as_deref().unwrap_or(answer).trim();
    parse(answer).or_else(|| {
        let words = answer.split(|c: char| c.is_whitespace() || "=()[]{}*:;\"'`".contains(c));
        words.filter_map(|word| parse(word.trim_end_matches([',', '.', '!', '?']))).next_back()
    })
}

#[cfg(test)]
mod tests {
    use super::{of_answer, parse};

    #[test]
    fn numbers_are_compared_by_value() {
        for (a, b) in [
            ("1,234.50", "1234.5"),
            ("$18", "18"),
            ("18.00", "18"),
            ("-3/4", "-0.75"),
            ("025", "25"),
            ("1e3", "1000"),
            ("50%", "50"),
            ("−7.", "-7"),
        ] {
            assert_eq!(parse(a), parse(b), "{a}");
            assert!(parse(a).is_some(), "{a}");
        }
        for wrong in ["", "abc", "1,23", "1 2", "1/0", "1e999", "0x10", "1-2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_ne!(parse("1.0000001"), parse("1"));
    }

    #[test]
    fn the_last_number_of_an_answer_in_words_counts() {
        assert_eq!(of_answer("She has 3 + 4 = 7 apples.\n#### 7"), parse("7"));
        assert_eq!(of_answer("The answer is $12.50."), parse("12.5"));
        assert_eq!(of_answer("so \\boxed{042}"), parse("42"));
        assert_eq!(of_answer("none"), None);
    }
}
