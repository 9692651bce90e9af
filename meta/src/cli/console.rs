//! Where data and words go: data to stdout, words for people to stderr.

use crate::failure::{Failure, FailureKind, Outcome};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// The version of `--json` output: a reader of its first part reads every second part.
pub const JSON_VERSION: &str = "1.0";

/// Where data and words go.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Whether data is printed as JSON.
    pub json: bool,
    /// Whether progress is left out.
    pub quiet: bool,
}

impl Console {
    /// Makes a console.
    pub fn new(json: bool, quiet: bool) -> Self {
        Console { json, quiet }
    }

    /// Tells whether a person watches stderr.
    pub fn is_live(&self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    /// Prints data. A pipe that nobody reads any more is a success.
    pub fn data(&self, text: &str) -> Outcome {
        let mut out = std::io::stdout().lock();
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        match write!(out, "{text}{newline}").and_then(|()| out.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| Failure::new(FailureKind::Refused, error)),
        }
    }

    /// Prints a value as versioned JSON: an object with `version` and the value under its name.
    pub fn json<T: Serialize>(&self, name: &str, value: &T) -> Outcome {
        let value = serde_json::to_value(value)
            .map_err(|error| Failure::new(FailureKind::Refused, error))?;
        let mut object = serde_json::Map::new();
        object.insert("version".to_owned(), JSON_VERSION.into());
        object.insert(name.to_owned(), value);
        self.data(&serde_json::Value::Object(object).to_string())
    }

    /// Says something to people, unless they asked for quiet.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.warn(text);
        }
    }

    /// Says something to people, whatever they asked for.
    pub fn warn(&self, text: &str) {
        // Nobody is there to be told that stderr is closed.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Tells of a failure.
    pub fn failure(&self, failure: &Failure) {
        self.warn(&format!("error: {}", sentence(&failure.error)));
        if let Some(hint) = &failure.hint {
            self.warn(&format!("hint: {hint}"));
        }
    }
}

/// Writes a chain of errors on one line. A part that its predecessor says already is left out.
fn sentence(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !parts.last().is_some_and(|last| last.ends_with(&text)) {
            parts.push(text);
        }
    }
    parts.join(": ")
}
