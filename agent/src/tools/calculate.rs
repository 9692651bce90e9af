//! `calculate`: arithmetic.

use super::{Desk, Kit, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Computes an arithmetic expression, such as `(3 + 4.5) * 2 ^ 10 / 7 % 3`. It knows the operators
/// + - * / % ^ and parentheses.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The expression.
    expression: String,
}

pub(super) fn tool() -> Tool {
    Tool::new("calculate", Kit::Think, run)
}

async fn run(arguments: Arguments, _desk: &mut Desk) -> Result<String, ToolError> {
    evaluate(&arguments.expression).map(|value| value.to_string()).map_err(ToolError::Refused)
}

/// Deeper nesting than this is refused rather than risking the stack.
const DEEPEST: usize = 100;

fn evaluate(expression: &str) -> Result<f64, String> {
    let mut parser = Parser { rest: expression.trim_start(), depth: 0 };
    let value = parser.sum()?;
    if !parser.rest.is_empty() {
        return Err(format!("cannot read the expression from `{}` on", parser.rest));
    }
    if !value.is_finite() {
        return Err(format!("the result is {value}, not a number: look for a division by zero"));
    }
    Ok(value)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self, operators: &[char]) -> Option<char> {
        let operator = self.rest.chars().next().filter(|c| operators.contains(c))?;
        self.rest = self.rest[operator.len_utf8()..].trim_start();
        Some(operator)
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let right = self.signed()?;
            value = match operator {
                '*' => value * right,
                '/' => value / right,
                _ => value % right,
            };
        }
        Ok(value)
    }

    /// A sign binds less than a power: `-2 ^ 2` is -4.
    fn signed(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the expression is nested too deeply".to_owned());
        }
        let value = match self.take(&['+', '-']) {
            Some('-') => -self.signed()?,
            Some(_) => self.signed()?,
            None => {
                let base = self.atom()?;
                if self.take(&['^']).is_some() { base.powf(self.signed()?) } else { base }
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn atom(&mut self) -> Result<f64, String> {
        if self.take(&['(']).is_some() {
            let value = self.sum()?;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "a `)` is missing".to_owned());
        }
        let length = number_length(self.rest);
        let (number, rest) = self.rest.split_at(length);
        let value = number.parse().map_err(|_| match self.rest {
            "" => "the expression ends where a number should stand".to_owned(),
            rest => format!("a number should stand at `{rest}`"),
        })?;
        self.rest = rest.trim_start();
        Ok(value)
    }
}

/// Returns the length of the number with which a text begins, an exponent included.
fn number_length(text: &str) -> usize {
    let digits =
        |text: &str| text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let length = digits(text);
    let Some(exponent) = text[length..].strip_prefix(['e', 'E']).filter(|_| length > 0) else {
        return length;
    };
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    match unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len()) {
        0 => length,
        count => length + 1 + (exponent.len() - unsigned.len()) + count,
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn operators_bind_as_in_mathematics() {
        assert_eq!(evaluate("2 + 3 * 4 ^ 2 / 6 - 1").unwrap(), 9.0);
        assert_eq!(evaluate("-2 ^ 2").unwrap(), -4.0);
        assert_eq!(evaluate("2 ^ 3 ^ 2").unwrap(), 512.0);
        assert_eq!(evaluate("(1.5e3 - 500) % 7").unwrap(), 6.0);
        assert_eq!(evaluate("--1").unwrap(), 1.0);
    }

    #[test]
    fn an_expression_that_cannot_be_read_is_refused_with_the_place() {
        assert_eq!(evaluate("1 +").unwrap_err(), "the expression ends where a number should stand");
        assert_eq!(evaluate("2 * x").unwrap_err(), "a number should stand at `x`");
        assert_eq!(evaluate("(1").unwrap_err(), "a `)` is missing");
        assert_eq!(evaluate("1 2").unwrap_err(), "cannot read the expression from `2` on");
        assert!(evaluate("1 / 0").unwrap_err().contains("division by zero"));
        assert!(evaluate(&"(".repeat(100_000)).unwrap_err().contains("too deeply"));
        assert!(evaluate(&"-".repeat(100_000)).unwrap_err().contains("too deeply"));
    }
}
