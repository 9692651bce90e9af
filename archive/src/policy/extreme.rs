//! Policies that need no weights: `best`, `latest`, `random`, `sica`.

use super::weighted::draw;
use super::{Candidate, Choice, Measure, Policy};
use crate::statistics::NORMAL_95;

/// Returns the place of the highest value, the earliest on ties.
pub(super) fn best(candidates: &[Candidate]) -> Option<usize> {
    (0..candidates.len()).reduce(|best, index| {
        if candidates[index].value > candidates[best].value { index } else { best }
    })
}

/// Makes a choice that leaves nothing to chance.
fn certain(candidates: &[Candidate], chosen: usize) -> Choice {
    let weight = |index| if index == chosen { 1.0 } else { 0.0 };
    Choice {
        agent: candidates[chosen].agent,
        reasons: candidates.iter().enumerate().map(|(i, it)| it.reason(weight(i))).collect(),
    }
}

pub(super) struct Best;

impl Policy for Best {
    fn name(&self) -> &'static str {
        "best"
    }

    fn measure(&self) -> Measure {
        Measure::Utility
    }

    fn choose(&self, candidates: &[Candidate], _seed: u64) -> Option<Choice> {
        best(candidates).map(|chosen| certain(candidates, chosen))
    }
}

pub(super) struct Latest;

impl Policy for Latest {
    fn name(&self) -> &'static str {
        "latest"
    }

    fn measure(&self) -> Measure {
        Measure::Utility
    }

    fn choose(&self, candidates: &[Candidate], _seed: u64) -> Option<Choice> {
        candidates.len().checked_sub(1).map(|chosen| certain(candidates, chosen))
    }
}

pub(super) struct Random;

impl Policy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn measure(&self) -> Measure {
        Measure::Utility
    }

    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice> {
        draw(candidates, &vec![1.0; candidates.len()], seed, |_, _| {})
    }
}

pub(super) struct Sica;

impl Policy for Sica {
    fn name(&self) -> &'static str {
        "sica"
    }

    fn measure(&self) -> Measure {
        Measure::Utility
    }

    /// The newest whose value is at least that of the best less 1.96·s/√n, s the sample deviation of the
    /// best one's problems; the best itself where s is undefined.
    fn choose(&self, candidates: &[Candidate], _seed: u64) -> Option<Choice> {
        let top = best(candidates)?;
        let bound = lower_bound(&candidates[top]);
        let chosen = bound.and_then(|bound| candidates.iter().rposition(|it| it.value >= bound));
        let mut choice = certain(candidates, chosen.unwrap_or(top));
        if let Some(bound) = bound {
            for reason in &mut choice.reasons {
                reason.terms.insert("bound".to_owned(), bound);
            }
        }
        Some(choice)
    }
}

fn lower_bound(best: &Candidate) -> Option<f64> {
    let n = best.scores.len() as f64;
    if n < 2.0 {
        return None;
    }
    let mean = best.scores.iter().sum::<f64>() / n;
    let variance = best.scores.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(best.value - NORMAL_95_OF_SICA * (variance / n).sqrt())
}

/// SICA's code writes 1.96; the exact quantile would choose otherwise in rare cases.
const NORMAL_95_OF_SICA: f64 = 1.96;
const _: () = assert!(NORMAL_95 < NORMAL_95_OF_SICA);
