//! Judges the rendered view of a trial, as the overseer's model.

use crate::completion::ChatRequest;

/// Answers the overseer.
pub(crate) fn judge(_request: &ChatRequest) -> String {
    "This is a rehearsal stand-in; it has seen nothing to object to.".to_owned()
}
