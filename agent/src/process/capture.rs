//! Output with a cap: the beginning and the end are kept, and what is left out is marked.

use std::collections::VecDeque;

/// Takes output and keeps at most `cap` bytes of it.
#[derive(Clone, Debug)]
pub struct Capture {
    head: Vec<u8>,
    head_cap: usize,
    tail: VecDeque<u8>,
    tail_cap: usize,
    total: usize,
}

impl Capture {
    /// Prepares to keep at most `cap` bytes, one half from each end.
    pub fn new(cap: usize) -> Self {
        let tail_cap = cap / 2;
        let head_cap = cap - tail_cap;
        Capture { head: Vec::new(), head_cap, tail: VecDeque::new(), tail_cap, total: 0 }
    }

    /// Returns what is kept of a text that is there already.
    pub fn cut(text: &str, cap: usize) -> String {
        if text.len() <= cap {
            return text.to_owned();
        }
        let mut capture = Capture::new(cap);
        capture.push(text.as_bytes());
        capture.to_text()
    }

    /// Takes more output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let room = (self.head_cap - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_cap)..];
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.tail_cap);
        self.tail.drain(..surplus);
    }

    /// Returns the output as text. A cut stands between characters and is marked; bytes that are
    /// not UTF-8 are replaced.
    pub fn to_text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.total == self.head.len() + tail.len() {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = without_cut_character(&self.head);
        let is_inner = |byte: &&u8| (0x80..0xC0).contains(*byte);
        let tail = &tail[tail.iter().take(3).take_while(is_inner).count()..];
        let left_out = self.total - head.len() - tail.len();
        format!(
            "{}\n[… {left_out} of {} bytes left out …]\n{}",
            String::from_utf8_lossy(head),
            self.total,
            String::from_utf8_lossy(tail)
        )
    }
}

/// Drops the first bytes of a character whose last bytes are missing.
fn without_cut_character(bytes: &[u8]) -> &[u8] {
    for back in 1..=bytes.len().min(3) {
        let start = bytes.len() - back;
        let needs = match bytes[start] {
            0xC0..0xE0 => 2,
            0xE0..0xF0 => 3,
            0xF0.. => 4,
            0x80..0xC0 => continue,
            _ => return bytes,
        };
        return if needs > back { &bytes[..start] } else { bytes };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::Capture;
    use proptest::prelude::*;

    fn parts(text: &str) -> Option<(&str, &str)> {
        let (head, rest) = text.split_once("\n[… ")?;
        Some((head, rest.split_once("left out …]\n")?.1))
    }

    #[test]
    fn output_up_to_the_cap_is_whole_and_longer_output_keeps_exactly_the_cap() {
        let exact = "x".repeat(1024);
        assert_eq!(Capture::cut(&exact, 1024), exact);
        let long = Capture::cut(&"y".repeat(5000), 1024);
        let (head, tail) = parts(&long).unwrap();
        assert_eq!((head.len(), tail.len()), (512, 512));
        assert!(long.contains("[… 3976 of 5000 bytes left out …]"));
    }

    proptest! {
        #[test]
        fn a_cut_never_splits_a_character(text in "[aé€😀]{0,60}", cap in 0usize..80, step in 1usize..9) {
            let mut capture = Capture::new(cap);
            for bytes in text.as_bytes().chunks(step) {
                capture.push(bytes);
            }
            let kept = capture.to_text();
            if text.len() <= cap {
                prop_assert_eq!(kept, text);
            } else {
                let (head, tail) = parts(&kept).unwrap();
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert!(head.len() + tail.len() <= cap);
                prop_assert!(head.len() + tail.len() + 6 >= cap);
            }
        }
    }
}
