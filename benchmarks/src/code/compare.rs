//! Whether an output is the expected one, as LiveCodeBench compares them.

use serde_json::Value;

/// Compares two outputs line by line: equal but for white space around lines, or equal as numbers, token by token.
pub fn same_output(given: &str, expected: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.trim().lines().map(|line| line.trim().to_owned()).collect()
    };
    let (given, expected) = (lines(given), lines(expected));
    given.len() == expected.len()
        && given
            .iter()
            .zip(&expected)
            .all(|(given, expected)| given == expected || same_numbers(given, expected))
}

fn same_numbers(given: &str, expected: &str) -> bool {
    let numbers = |line: &str| -> Option<Vec<Decimal>> {
        line.split_whitespace().map(Decimal::parse).collect()
    };
    match (numbers(given), numbers(expected)) {
        (Some(given), Some(expected)) => !given.is_empty() && given == expected,
        _ => false,
    }
}

/// A decimal number by its digits, so that large ones are compared exactly.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{part}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let trimmed = all.trim_start_matches('0').trim_end_matches('0');
        let dropped = all.len() - all.trim_end_matches('0').len();
        let exponent = i64::from(exponent) - part.len() as i64 + dropped as i64;
        let is_zero = trimmed.is_empty();
        Some(Decimal {
            negative: negative && !is_zero,
            digits: trimmed.to_owned(),
            exponent: if is_zero { 0 } else { exponent },
        })
    }
}

/// Compares two JSON values as Python compares what they stand for: 1 equals 1.0 and true.
pub fn same_value(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(is_true) => Some(i64::from(*is_true).into()),
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_value(a, b)))
        }
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => match (a.as_i128(), b.as_i128()) {
                (Some(a), Some(b)) => a == b,
                _ => a.as_f64() == b.as_f64(),
            },
            _ => a == b,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{same_output, same_value};
    use serde_json::json;

    #[test]
    fn outputs_are_compared_by_lines_and_numbers() {
        for (a, b) in [
            ("1 2\n", "1 2"),
            (" a \r\nb", "a\nb\n"),
            ("1.0 2.50", "1 2.5"),
            ("1e3", "1000"),
            ("-0", "0"),
            ("100000000000000000001", "100000000000000000001.0"),
            ("", "\n"),
        ] {
            assert!(same_output(a, b), "{a:?} {b:?}");
        }
        for (a, b) in [
            ("1\n2", "1 2"),
            ("1 2 3", "1 2"),
            ("100000000000000000001", "100000000000000000002"),
            ("Yes", "YES"),
            ("", "1"),
            ("1\n1", "1"),
            ("nan", "NaN"),
        ] {
            assert!(!same_output(a, b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn values_are_compared_as_python_does() {
        assert!(same_value(&json!([1, [2.0, true]]), &json!([1.0, [2, 1]])));
        assert!(same_value(&json!({"a": null}), &json!({"a": null})));
        assert!(!same_value(&json!([1, 2]), &json!([2, 1])));
        assert!(!same_value(&json!("1"), &json!(1)));
        assert!(!same_value(&json!(null), &json!(0)));
    }
}
