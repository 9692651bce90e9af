//! The dialogue: everything after the core prompt, in the order in which it happened.

use crate::model::Speaker;
use crate::model::chat::Message;

/// The context of one agent.
#[derive(Clone, Debug)]
pub struct Window {
    system: String,
    core: String,
    parts: Vec<(Speaker, Part)>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A reply of the model, the result of a call, a notice.
    Text(String),
    /// A file or a change in one. It goes when the files are written into the core prompt anew.
    File(String),
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Part::Text(text) | Part::File(text) => text,
        }
    }
}

impl Window {
    /// Starts a dialogue.
    pub fn new(system: String, core: String) -> Self {
        Window { system, core, parts: Vec::new() }
    }

    /// Adds what the model said.
    pub fn said(&mut self, text: impl Into<String>) {
        self.parts.push((Speaker::Assistant, Part::Text(text.into())));
    }

    /// Adds something for the model.
    pub fn tell(&mut self, part: Part) {
        self.parts.push((Speaker::User, part));
    }

    /// Returns the messages of a request, with the status at the end of the last one.
    pub fn messages(&self, status: &str) -> Vec<Message> {
        let system = Message { role: Speaker::System, content: self.system.clone() };
        let core = Message { role: Speaker::User, content: self.core.clone() };
        let mut messages = vec![system, core];
        let status = Part::Text(status.to_owned());
        let status = (!status.text().is_empty()).then_some((Speaker::User, status));
        for (speaker, part) in self.parts.iter().chain(&status) {
            match messages.last_mut() {
                Some(last) if last.role == *speaker => {
                    last.content.push('\n');
                    last.content.push_str(part.text());
                }
                _ => messages.push(Message { role: *speaker, content: part.text().to_owned() }),
            }
        }
        messages
    }

    /// Returns how many bytes of the dialogue show files.
    pub fn file_bytes(&self) -> usize {
        let files = self.parts.iter().filter(|(_, part)| matches!(part, Part::File(_)));
        files.map(|(_, part)| part.text().len()).sum()
    }

    /// Replaces the core prompt by one that shows the files as they are, and drops the parts of the
    /// dialogue that showed them.
    pub fn consolidate(&mut self, core: String) {
        self.core = core;
        self.parts.retain(|(_, part)| !matches!(part, Part::File(_)));
    }

    /// Returns the bytes of the whole context.
    pub fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|(_, part)| part.text().len() + 1).sum();
        self.system.len() + self.core.len() + parts
    }
}
