//! Plays a tape: the recorded reply to each request, and no provider.

use crate::error::{Problem, ProviderError};
use crate::model::REPLAY;
use crate::tape::{Exchange, TapeError, TapeReader, tape_path};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Characters of each side that a difference shows.
const SHOWN: usize = 60;

/// The tape of one door, of which each exchange is played once.
pub(crate) struct Replay {
    left: Mutex<Vec<Exchange>>,
}

impl Replay {
    /// Loads the tape of a door.
    pub fn load(directory: &Path, door: &str) -> Result<Self, TapeError> {
        let mut left: Vec<Exchange> =
            TapeReader::open(&tape_path(directory, door))?.collect::<Result<_, _>>()?;
        // Exchanges are recorded when they end; they are played as they were asked.
        left.sort_by_key(|exchange| exchange.head.call);
        Ok(Replay { left: Mutex::new(left) })
    }

    /// Takes the exchange in which exactly these bytes were asked. Calls that were made at the
    /// same time may come in another order than they were recorded.
    pub fn take(&self, asked: &[u8]) -> Result<Exchange, ProviderError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = left.iter().position(|exchange| exchange.asked == asked) {
            return Ok(left.remove(at));
        }
        let detail = match left.first() {
            Some(next) => difference(&next.asked, asked, next.head.call),
            None => "all recorded calls were made already".to_owned(),
        };
        Err(Problem::NotRecorded { detail }.at(REPLAY))
    }
}

/// Says at which byte two requests part.
fn difference(recorded: &[u8], asked: &[u8], call: u64) -> String {
    let common = recorded.iter().zip(asked).take_while(|(a, b)| a == b).count();
    let excerpt = |bytes: &[u8]| {
        let rest = &bytes[common.min(bytes.len())..];
        let shown = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]).into_owned();
        if rest.is_empty() { "its end".to_owned() } else { format!("`{shown}`") }
    };
    format!(
        "the request differs from recorded call {call} at byte {common}: recorded {}, now {}",
        excerpt(recorded),
        excerpt(asked)
    )
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_names_the_byte_and_both_sides() {
        assert_eq!(
            difference(b"{\"a\":1}", b"{\"a\":22}", 3),
            "the request differs from recorded call 3 at byte 5: recorded `1}`, now `22}`"
        );
        assert_eq!(
            difference(b"abc", b"ab", 1),
            "the request differs from recorded call 1 at byte 2: recorded `c`, now its end"
        );
    }
}
