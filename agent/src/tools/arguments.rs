//! Turns the text of a call's arguments into typed values.

use super::document::{Argument, Kind};
use serde_json::{Map, Value};

/// What is wrong with the arguments of a call, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// An argument that has to be there is missing.
    #[error("the argument `{name}` is missing; the arguments are: {known}")]
    Missing { name: String, known: String },
    /// There is no such argument.
    #[error("there is no argument `{name}`; the arguments are: {known}")]
    Unknown { name: String, known: String },
    /// An argument stands twice.
    #[error("the argument `{0}` is given twice; only lists may be")]
    Twice(String),
    /// A value is not of the argument's type.
    #[error("the argument `{name}` has to be {wanted}, not `{found}`")]
    NotA { name: String, wanted: &'static str, found: String },
}

/// Reads the arguments of a call.
pub fn read(known: &[Argument], given: &[(String, String)]) -> Result<Map<String, Value>, Mistake> {
    let names = || {
        let names: Vec<_> = known.iter().map(|argument| argument.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let mut values = Map::new();
    for (name, text) in given {
        let Some(argument) = known.iter().find(|argument| argument.name == *name) else {
            return Err(Mistake::Unknown { name: name.clone(), known: names() });
        };
        let value = value(argument, text)?;
        match (values.get_mut(name), value) {
            (None, value) => {
                values.insert(name.clone(), value);
            }
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (Some(_), _) => return Err(Mistake::Twice(name.clone())),
        }
    }
    match known.iter().find(|argument| argument.required && !values.contains_key(&argument.name)) {
        Some(argument) => Err(Mistake::Missing { name: argument.name.clone(), known: names() }),
        None => Ok(values),
    }
}

fn value(argument: &Argument, text: &str) -> Result<Value, Mistake> {
    let wrong = |wanted| Mistake::NotA {
        name: argument.name.clone(),
        wanted,
        found: text.trim().chars().take(80).collect(),
    };
    Ok(match argument.kind {
        Kind::String => Value::from(text),
        Kind::Integer => {
            let number = text.trim().parse::<i64>();
            Value::from(number.map_err(|_| wrong("a whole number"))?)
        }
        Kind::Number => {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            Value::from(number.ok_or_else(|| wrong("a number"))?)
        }
        Kind::Boolean => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::from(true),
            "false" => Value::from(false),
            _ => return Err(wrong("true or false")),
        },
        Kind::List => {
            let items = text.lines().map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(Value::from).collect())
        }
    })
}
