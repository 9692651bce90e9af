//! Server-sent events, read from bytes that may be cut anywhere (WHATWG HTML, section 9.2).

use crate::error::Problem;

/// An event larger than this is no chat completion.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// One event; comments and events without data are not reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The event's name, empty when it has none.
    pub event: String,
    /// Its data lines, joined by newlines.
    pub data: String,
}

/// Splits a byte stream into events.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    after_return: bool,
    event: String,
    data: String,
    has_data: bool,
}

impl EventReader {
    /// Takes the next bytes, and adds the events that they complete.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<ServerEvent>) -> Result<(), Problem> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            // CR LF is one line end, also when the two arrive apart.
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                Some(end) => {
                    self.line.extend_from_slice(&rest[..end]);
                    self.after_return = rest[end] == b'\r';
                    rest = &rest[end + 1..];
                    self.end_line(events);
                }
                None => {
                    self.line.extend_from_slice(rest);
                    rest = &[];
                }
            }
            if self.line.len() + self.data.len() > MOST_BYTES {
                return Err(Problem::Garbled {
                    detail: format!("an event of more than {MOST_BYTES} bytes"),
                });
            }
        }
        Ok(())
    }

    /// Ends the stream; a last event without its blank line is still reported.
    pub fn finish(&mut self, events: &mut Vec<ServerEvent>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.dispatch(events);
    }

    fn end_line(&mut self, events: &mut Vec<ServerEvent>) {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if line.is_empty() {
            self.dispatch(events);
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event),
            // A comment, a field of reconnection, or something new.
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut Vec<ServerEvent>) {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            events.push(ServerEvent { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EventReader, ServerEvent};
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Vec<ServerEvent> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for chunk in chunks {
            reader.feed(chunk, &mut events).unwrap();
        }
        reader.finish(&mut events);
        events
    }

    #[test]
    fn comments_and_keep_alives_are_no_events() {
        let events = read(&[b": hi\n\nevent: ping\n\ndata: a\ndata:b\r\n\r\ndata: last"]);
        let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
        assert_eq!(data, ["a\nb", "last"]);
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_the_bytes_are_cut(
            text in "(data: [a-zé😀]{0,6}|event: x|: c|)(\n|\r\n|\r)(data: y\n\n|\r\n)?",
            cuts in prop::collection::vec(1usize..5, 0..20),
        ) {
            let whole = read(&[text.as_bytes()]);
            let mut rest = text.as_bytes();
            let mut chunks = Vec::new();
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                chunks.push(head);
                rest = tail;
            }
            chunks.push(rest);
            prop_assert_eq!(read(&chunks), whole);
        }
    }
}
