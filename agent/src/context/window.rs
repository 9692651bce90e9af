//! The dialogue: everything after the core prompt, in the order in which it happened.

use crate::markup::Block;
use crate::model::Speaker;
use crate::model::chat::Message;

/// What stands in place of a result that was forgotten.
const FORGOTTEN: &str = "(forgotten)";

/// The context of one agent.
#[derive(Clone, Debug)]
pub struct Window {
    system: String,
    core: String,
    parts: Vec<(Speaker, Part)>,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub enum Part {
    /// A reply of the model or a notice.
    Text(String),
    /// The result of a call, which can be forgotten by its id.
    Result { id: String, block: Block, text: String },
    /// A file or a change in one. It goes when the files are written into the core prompt anew.
    File(String),
}

impl Part {
    /// Makes the result of a call.
    pub fn result(id: String, block: Block, value: &str) -> Self {
        let block = block.with("id", &id);
        let text = block.around(value);
        Part::Result { id, block, text }
    }

    fn text(&self) -> &str {
        match self {
            Part::Text(text) | Part::Result { text, .. } | Part::File(text) => text,
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
        let dialogue = self.parts.iter().map(|(speaker, part)| (*speaker, part.text()));
        let status = (!status.is_empty()).then_some((Speaker::User, status));
        for (speaker, text) in dialogue.chain(status) {
            match messages.last_mut() {
                Some(last) if last.role == speaker => {
                    last.content.push('\n');
                    last.content.push_str(text);
                }
                _ => messages.push(Message { role: speaker, content: text.to_owned() }),
            }
        }
        messages
    }

    /// Returns how many bytes of the dialogue show files.
    pub fn file_bytes(&self) -> usize {
        let files = self.parts.iter().filter(|(_, part)| matches!(part, Part::File(_)));
        files.map(|(_, part)| part.text().len()).sum()
    }

    /// Tells whether another core prompt, or the dialogue without the files in it, would be news.
    pub fn differs(&self, core: &str) -> bool {
        self.core != core || self.file_bytes() > 0
    }

    /// Returns the bytes of the core prompt.
    pub fn core_bytes(&self) -> usize {
        self.core.len()
    }

    /// Replaces the core prompt by one that shows the files as they are, and drops the parts of the
    /// dialogue that showed them.
    pub fn consolidate(&mut self, core: String) {
        self.core = core;
        self.parts.retain(|(_, part)| !matches!(part, Part::File(_)));
    }

    /// Forgets a result.
    pub fn forget(&mut self, forgotten: &str) {
        for (_, part) in &mut self.parts {
            if let Part::Result { id, block, text } = part
                && id == forgotten
            {
                *text = block.around(FORGOTTEN);
            }
        }
    }

    /// Returns the bytes of the whole context.
    pub fn bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(|(_, part)| part.text().len() + 1).sum();
        self.system.len() + self.core.len() + parts
    }
}
