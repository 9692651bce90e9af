//! Looks out for stop texts in a stream, for providers that do not.

/// Holds back what may become a stop text, and passes on the rest.
pub(crate) struct StopScanner {
    stops: Vec<String>,
    held: String,
    found: Option<String>,
    discarded: usize,
}

impl StopScanner {
    pub fn new(stops: &[String]) -> Self {
        StopScanner { stops: stops.to_vec(), held: String::new(), found: None, discarded: 0 }
    }

    /// Takes more text and returns what may be passed on.
    pub fn take(&mut self, text: &str) -> String {
        if self.found.is_some() {
            self.discarded += text.len();
            return String::new();
        }
        if self.stops.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        let first = self
            .stops
            .iter()
            .filter_map(|stop| Some((self.held.find(stop.as_str())?, stop)))
            .min_by_key(|(at, _)| *at);
        if let Some((at, stop)) = first {
            self.found = Some(stop.clone());
            self.discarded = self.held.len() - at - stop.len();
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let kept = self.stops.iter().map(|stop| overlap(&self.held, stop)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - kept);
        std::mem::replace(&mut self.held, rest)
    }

    /// Returns what was held back, at the end of the reply.
    pub fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Returns the stop text that was met.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// Returns the bytes that came after it.
    pub fn discarded(&self) -> usize {
        self.discarded
    }
}

/// Returns the length of the longest end of `text` that `stop` begins with.
fn overlap(text: &str, stop: &str) -> usize {
    let longest = text.len().min(stop.len().saturating_sub(1));
    (1..=longest)
        .rev()
        .find(|len| {
            stop.is_char_boundary(*len) && text.as_bytes().ends_with(&stop.as_bytes()[..*len])
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::StopScanner;
    use proptest::prelude::*;

    #[test]
    fn text_that_only_looks_like_a_stop_is_passed_on() {
        let mut scanner = StopScanner::new(&["</CALL>".to_owned()]);
        assert_eq!(scanner.take("a</CA"), "a");
        assert_eq!(scanner.take("LF></"), "</CALF>");
        assert_eq!(scanner.rest(), "</");
        assert_eq!(scanner.found(), None);
    }

    proptest! {
        #[test]
        fn a_stop_is_found_however_the_text_is_cut(
            text in "[ab<é]{0,12}(<ab>)?[ab<>é]{0,6}",
            cuts in prop::collection::vec(1usize..4, 0..12),
        ) {
            let stop = "<ab>".to_owned();
            let mut scanner = StopScanner::new(std::slice::from_ref(&stop));
            let mut out = String::new();
            let mut rest = text.as_str();
            for cut in cuts {
                let at = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
                out.push_str(&scanner.take(&rest[..at]));
                rest = &rest[at..];
            }
            out.push_str(&scanner.take(rest));
            out.push_str(&scanner.rest());
            let wanted = text.split_once(&stop).map_or(text.as_str(), |(before, _)| before);
            prop_assert_eq!(out, wanted);
            prop_assert_eq!(scanner.found().is_some(), text.contains(&stop));
        }
    }
}
