//! Output of bounded size: head and tail are kept, and what was dropped is counted.

/// What was kept of an output stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, where not all fitted into the head.
    pub tail: Vec<u8>,
    /// The number of bytes between the two that were dropped.
    pub dropped: u64,
}

impl Captured {
    /// Returns the output as text; a line marks what was dropped, bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        if self.dropped == 0 {
            return format!("{head}{}", String::from_utf8_lossy(&self.tail));
        }
        format!(
            "{head}\n[… {} bytes left out …]\n{}",
            self.dropped,
            String::from_utf8_lossy(&self.tail)
        )
    }

    /// Returns the bytes that were kept.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.tail.as_slice()].concat()
    }
}
