//! pytest's output as the official harness reads it for seaborn: failed and passed lines only.

use std::borrow::Cow;

use super::super::python_text::tokens;
use super::super::status::{Status, StatusMap};

/// Reads `FAILED test`, `test PASSED …` and `PASSED test` lines.
pub fn read(log: &str) -> StatusMap<'_> {
    let mut map = StatusMap::default();
    for line in log.split('\n') {
        let mut words = tokens(line);
        let (Some(first), Some(second)) = (words.next(), words.next()) else {
            continue;
        };
        if line.starts_with("FAILED") {
            map.insert(Cow::Borrowed(second), Status::Failed);
        } else if line.contains(" PASSED ") {
            if second == "PASSED" {
                map.insert(Cow::Borrowed(first), Status::Passed);
            }
        } else if line.starts_with("PASSED") {
            map.insert(Cow::Borrowed(second), Status::Passed);
        }
    }
    map
}
