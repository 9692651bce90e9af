//! The call in a reply of the model.
//!
//! A call begins where `<TOOL_CALL>` is followed, after white space only, by `<TOOL_NAME>` (or
//! `<AGENT_CALL>` by `<AGENT_NAME>`), so prose may mention the tags. White space between tags is
//! ignored, as it is around the name; `<TOOL_ARGS>` may be left out when there are no arguments.
//! The values of arguments follow the rule in [`super`]. The first call of a reply counts.

use super::block::{self, Opening, Value};

/// The texts at which a completion is stopped: one call to a reply.
pub const STOP: [&str; 2] = ["</TOOL_CALL>", "</AGENT_CALL>"];

/// Closing tags of the call syntax. A value that holds one is written with a fence.
pub const CLOSING_TAGS: [&str; 6] = [
    "</TOOL_CALL>",
    "</AGENT_CALL>",
    "</TOOL_ARGS>",
    "</AGENT_ARGS>",
    "</TOOL_NAME>",
    "</AGENT_NAME>",
];

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A tool.
    Tool,
    /// A sub-agent.
    Agent,
}

impl CallKind {
    /// Returns the word with which the tags of this kind begin.
    fn word(self) -> &'static str {
        match self {
            CallKind::Tool => "TOOL",
            CallKind::Agent => "AGENT",
        }
    }

    /// Returns the closing tag of a call of this kind.
    pub fn closing(self) -> &'static str {
        match self {
            CallKind::Tool => "</TOOL_CALL>",
            CallKind::Agent => "</AGENT_CALL>",
        }
    }
}

/// A call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Whether a tool or a sub-agent is called.
    pub kind: CallKind,
    /// The name of what is called.
    pub name: String,
    /// The arguments in their order; a name may stand more than once.
    pub arguments: Vec<(String, String)>,
}

/// What a reply holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// No call begins in the text.
    NoCall,
    /// A whole call. `before` is the text in front of it, `more` how many calls follow it.
    Call { call: Call, before: String, more: usize },
    /// The text ends inside a call.
    Cut { kind: CallKind, before: String, place: Place },
    /// A call that breaks the rule; `problem` tells the model how.
    Wrong { before: String, problem: String },
}

/// Where in a call a text ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// All is there but the closing tag of the call.
    Closing,
    /// Between two tags, or in the middle of one.
    Tags,
    /// In the value of an argument. `closing` would end it; `slipped` is set when the value seems
    /// to have run over the end of the arguments because that was forgotten.
    Argument { name: String, closing: String, slipped: bool },
}

/// Reads a reply.
pub fn read(reply: &str) -> Reading {
    let Some((kind, start, after)) = find(reply) else { return Reading::NoCall };
    let before = reply[..start].to_owned();
    match read_call(kind, after) {
        Ok((call, rest)) => Reading::Call { call, before, more: count(rest) },
        Err(Flaw::Cut(place)) => Reading::Cut { kind, before, place },
        Err(Flaw::Wrong(problem)) => Reading::Wrong { before, problem },
    }
}

/// Finds the first call: its kind, where it starts, and what stands after its opening tag.
fn find(text: &str) -> Option<(CallKind, usize, &str)> {
    text.match_indices('<').find_map(|(start, _)| {
        let open = block::opening(&text[start..])?;
        let kind = match open.tag {
            "TOOL_CALL" => CallKind::Tool,
            "AGENT_CALL" => CallKind::Agent,
            _ => return None,
        };
        let name = block::opening(open.rest.trim_start())?;
        let is_named = name.tag.strip_suffix("_NAME") == Some(kind.word());
        is_named.then_some((kind, start, open.rest))
    })
}

fn count(mut text: &str) -> usize {
    let mut calls = 0;
    while let Some((_, _, after)) = find(text) {
        calls += 1;
        text = after;
    }
    calls
}

enum Flaw {
    Cut(Place),
    Wrong(String),
}

fn read_call(kind: CallKind, text: &str) -> Result<(Call, &str), Flaw> {
    let word = kind.word();
    let tags = Flaw::Cut(Place::Tags);
    let Some(name) = block::opening(text.trim_start()) else { return Err(tags) };
    let Value::Whole { value, rest } = block::value(&name) else { return Err(tags) };
    let mut call = Call { kind, name: value.trim().to_owned(), arguments: Vec::new() };

    if rest.trim().is_empty() {
        return Err(Flaw::Cut(Place::Closing));
    }
    let rest = match next_tag(rest)? {
        Tag::Closing(tag, rest) if tag == format!("{word}_CALL") => return Ok((call, rest)),
        Tag::Opening(open) if open.tag == format!("{word}_ARGS") => open.rest,
        tag => return Err(unexpected(&tag, &format!("<{word}_ARGS>"))),
    };
    let mut rest = rest;
    loop {
        match next_tag(rest)? {
            Tag::Opening(open) => {
                let (value, after) = argument(&open)?;
                call.arguments.push((open.tag.to_owned(), value));
                rest = after;
            }
            Tag::Closing(tag, after) if tag == format!("{word}_ARGS") => {
                rest = after;
                break;
            }
            tag => return Err(unexpected(&tag, &format!("an argument or </{word}_ARGS>"))),
        }
    }
    match next_tag(rest) {
        Ok(Tag::Closing(tag, rest)) if tag == format!("{word}_CALL") => Ok((call, rest)),
        Ok(tag) => Err(unexpected(&tag, kind.closing())),
        Err(Flaw::Cut(_)) if rest.trim().is_empty() => Err(Flaw::Cut(Place::Closing)),
        Err(flaw) => Err(flaw),
    }
}

fn argument<'a>(open: &Opening<'a>) -> Result<(String, &'a str), Flaw> {
    match block::value(open) {
        Value::Whole { value, rest } => {
            let unwrapped = if open.fence.is_none() { block::unwrap_cdata(value) } else { None };
            Ok((unwrapped.unwrap_or(value).to_owned(), rest))
        }
        Value::Cut => {
            let tail = open.rest.trim_end();
            let tail = STOP.iter().find_map(|stop| tail.strip_suffix(stop)).unwrap_or(tail);
            let slipped = open.fence.is_none()
                && ["</TOOL_ARGS>", "</AGENT_ARGS>"].iter().any(|t| tail.trim_end().ends_with(t));
            let name = open.tag.to_owned();
            Err(Flaw::Cut(Place::Argument { name, closing: open.closing(), slipped }))
        }
    }
}

enum Tag<'a> {
    Opening(Opening<'a>),
    Closing(&'a str, &'a str),
}

/// Reads the tag that comes next, after white space.
fn next_tag(text: &str) -> Result<Tag<'_>, Flaw> {
    let text = text.trim_start();
    if let Some(inside) = text.strip_prefix("</")
        && let Some((name, rest)) = inside.split_once('>')
    {
        return Ok(Tag::Closing(name.trim(), rest));
    }
    match block::opening(text) {
        Some(open) => Ok(Tag::Opening(open)),
        None if text.is_empty() || (text.starts_with('<') && !text.contains('>')) => {
            Err(Flaw::Cut(Place::Tags))
        }
        None => Err(Flaw::Wrong(format!(
            "there is text between the tags of the call: {}",
            excerpt(text)
        ))),
    }
}

fn unexpected(tag: &Tag<'_>, wanted: &str) -> Flaw {
    let found = match tag {
        Tag::Opening(open) => format!("<{}>", open.tag),
        Tag::Closing(name, _) => format!("</{name}>"),
    };
    Flaw::Wrong(format!("found {} where {wanted} should stand", excerpt(&found)))
}

fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}
