//! Which version edits which, and rescue from editors that fail.

use crate::settings::Settings;
use hone_archive::record::{ChildVerdict, Iteration};
use hone_archive::{AgentNumber, ArchiveError, State};

/// An editor that fails so often in a row is relieved.
const FAILURES: usize = 2;

/// The lines of reasons that an iteration keeps of each choice.
const REASONS: usize = 50;

/// Why no choice could be made.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// No agent can be chosen.
    #[error("choose a base: no agent of the archive is eligible")]
    Nobody,
}

/// Chooses the editor and the base of an iteration.
pub fn choose(
    state: &State,
    run: &str,
    iteration: u32,
    settings: &Settings,
) -> Result<Iteration, ChoiceError> {
    let seed = seed_of(settings.seed, iteration);
    let base = state.choose(settings.policy, seed, &[]).ok_or(ChoiceError::Nobody)?;
    let chosen = match settings.editor_policy {
        None => None,
        // Another seed: the same draw would make the editor the base each time.
        Some(policy) => state.choose(policy, seed.wrapping_add(1), &[]),
    };
    let mut editor = chosen.as_ref().map_or(base.agent, |choice| choice.agent);
    let mut rescue = None;
    let failing = failures_in_a_row(state, run, editor);
    if failing >= FAILURES {
        let other = state
            .choose(hone_archive::PolicyName::Best, seed, &[editor])
            .map(|choice| choice.agent)
            .or_else(|| (editor != AgentNumber(0)).then_some(AgentNumber(0)));
        if let Some(other) = other {
            rescue = Some(format!(
                "agent {editor} failed to produce a change {failing} times in a row; agent {other} edits"
            ));
            editor = other;
        }
    }
    let editor_policy = settings.editor_policy.map_or("same".to_owned(), |it| it.to_string());
    Ok(Iteration {
        run: run.to_owned(),
        iteration,
        time: jiff::Timestamp::now(),
        base: base.agent,
        editor,
        base_policy: settings.policy.to_string(),
        editor_policy,
        seed,
        reasons: base.condensed(REASONS),
        editor_reasons: chosen.map_or_else(Vec::new, |choice| choice.condensed(REASONS)),
        rescue,
    })
}

/// Returns the seed of an iteration's choices.
fn seed_of(seed: u64, iteration: u32) -> u64 {
    let digest = blake3::hash(format!("hone choice 1 {seed} {iteration}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// Counts how often the editor came to nothing in its newest iterations.
fn failures_in_a_row(state: &State, run: &str, editor: AgentNumber) -> usize {
    let own = state.iterations.iter().rev().filter(|it| it.run == run && it.editor == editor);
    own.filter_map(|it| state.child_of(run, it.iteration))
        .take_while(|child| child.verdict == ChildVerdict::EmptyChange)
        .count()
}
