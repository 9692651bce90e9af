//! Choices: a policy chooses the same again from the records that stood before its choice.

use super::{Fault, FaultKind, Verification};
use crate::policy::{Choice, PolicyName};
use crate::record::{Iteration, Reason};
use crate::state::State;

/// Makes an iteration's choices again. `state` holds what was recorded before it.
pub(super) fn verify(iteration: &Iteration, name: &str, state: &State, report: &mut Verification) {
    let mut complain = |reason: String| {
        report.faults.push(Fault::new(FaultKind::Choice, name, reason));
    };
    match iteration.base_policy.parse::<PolicyName>() {
        Ok(policy) => {
            let again = state.choose(policy, iteration.seed, &[]);
            if let Some(reason) = difference(&iteration.reasons, again.as_ref(), |choice| {
                (choice.agent != iteration.base).then(|| format!("the base {}", iteration.base))
            }) {
                complain(reason);
            }
        }
        Err(error) => complain(error.to_string()),
    }
    match iteration.editor_policy.as_str() {
        "same" if iteration.rescue.is_none() && iteration.editor != iteration.base => {
            complain("the editor is not the base, though its policy says so".to_owned());
        }
        "same" => {}
        policy => match policy.parse::<PolicyName>() {
            Ok(policy) => {
                let again = state.choose(policy, iteration.editor_seed(), &[]);
                if let Some(reason) = difference(&iteration.editor_reasons, again.as_ref(), |it| {
                    (it.agent != iteration.editor && iteration.rescue.is_none())
                        .then(|| format!("the editor {}", iteration.editor))
                }) {
                    complain(reason);
                }
            }
            Err(error) => complain(error.to_string()),
        },
    }
    report.choices_again += 1;
}

/// Says how a choice differs from the recorded one, if it does.
fn difference(
    recorded: &[Reason],
    again: Option<&Choice>,
    other: impl Fn(&Choice) -> Option<String>,
) -> Option<String> {
    let Some(again) = again else {
        return Some("the records before it leave nothing to choose from".to_owned());
    };
    if let Some(chosen) = other(again) {
        let agent = again.agent;
        return Some(format!("{chosen} was chosen, the records before it give agent {agent}"));
    }
    if again.condensed(recorded.len()) != recorded {
        return Some("its table of reasons is not what the records before it give".to_owned());
    }
    None
}
