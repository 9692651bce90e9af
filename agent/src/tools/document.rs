//! What models are told about a tool: read from the type of its arguments.

use crate::markup::Block;
use schemars::JsonSchema;
use serde_json::Value;

/// The type of an argument, as models are told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Texts, one a line.
    List,
}

impl Kind {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::List => "list",
        }
    }
}

/// One argument of a tool or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Whether a call has to have it.
    pub required: bool,
    /// What it means.
    pub about: String,
}

impl Argument {
    /// Makes a text argument.
    pub fn text(name: &str, about: &str) -> Self {
        let (name, about) = (name.to_owned(), about.to_owned());
        Argument { name, kind: Kind::String, required: true, about }
    }

    /// Makes an optional list argument.
    pub fn list(name: &str, about: &str) -> Self {
        Argument { kind: Kind::List, required: false, ..Argument::text(name, about) }
    }

    /// Writes what models are told about it.
    pub fn to_block(&self) -> String {
        let block = Block::new("ARG").with("name", &self.name).with("type", self.kind.word());
        block.with("required", self.required).around(&self.about)
    }
}

/// Reads the documentation of a tool from the type of its arguments.
pub(super) fn of<A: JsonSchema>() -> (String, Vec<Argument>) {
    let schema = schemars::schema_for!(A).to_value();
    let about = text(&schema, "description");
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let arguments = properties.into_iter().flatten().map(|(name, property)| Argument {
        name: name.clone(),
        kind: kind(property),
        required: required(name),
        about: text(property, "description"),
    });
    (about, arguments.collect())
}

/// Reads the type of a property; an optional one has `null` beside it.
fn kind(property: &Value) -> Kind {
    let types = property.get("type");
    let names = |name: &str| match types {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    };
    if names("array") {
        Kind::List
    } else if names("boolean") {
        Kind::Boolean
    } else if names("integer") {
        Kind::Integer
    } else if names("number") {
        Kind::Number
    } else {
        Kind::String
    }
}

/// Returns a text of the schema on one line: doc comments are wrapped in the source.
fn text(schema: &Value, name: &str) -> String {
    let text = schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let paragraphs = text.split("\n\n").map(|part| part.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
