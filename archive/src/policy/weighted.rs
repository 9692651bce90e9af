//! Policies that draw with weights: `dgm`, `hyperagents`, `shinka`, `pareto`.

use super::{Candidate, Choice, Measure, Policy};
use crate::record::Reason;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws a candidate with the given weights (all alike when none is positive). `explain` adds terms to a
/// candidate's line.
pub(super) fn draw(
    candidates: &[Candidate],
    weights: &[f64],
    seed: u64,
    explain: impl Fn(usize, &mut Reason),
) -> Option<Choice> {
    if candidates.is_empty() {
        return None;
    }
    let usable = |weight: &f64| weight.is_finite() && *weight > 0.0;
    let sum: f64 = weights.iter().filter(|weight| usable(weight)).sum();
    let probabilities: Vec<f64> = if sum > 0.0 && sum.is_finite() {
        weights.iter().map(|weight| if usable(weight) { weight / sum } else { 0.0 }).collect()
    } else {
        vec![1.0 / candidates.len() as f64; candidates.len()]
    };
    let mut left: f64 = ChaCha8Rng::seed_from_u64(seed).random();
    let chosen = probabilities
        .iter()
        .position(|probability| {
            left -= probability;
            left < 0.0
        })
        // Rounding may leave a rest behind the last one.
        .or_else(|| probabilities.iter().rposition(|probability| *probability > 0.0))?;
    let reasons = candidates.iter().zip(&probabilities).enumerate().map(|(index, (it, weight))| {
        let mut reason = it.reason(*weight);
        explain(index, &mut reason);
        reason
    });
    Some(Choice { agent: candidates[chosen].agent, reasons: reasons.collect() })
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn with_children(candidates: &[Candidate], weights: &[f64], seed: u64) -> Option<Choice> {
    draw(candidates, weights, seed, |index, reason| {
        reason.terms.insert("children".to_owned(), candidates[index].children as f64);
    })
}

pub(super) struct Dgm;

impl Policy for Dgm {
    fn name(&self) -> &'static str {
        "dgm"
    }

    fn measure(&self) -> Measure {
        Measure::Score
    }

    /// `sigmoid(10·(m − 0.5)) / (1 + children)`.
    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice> {
        let weight = |it: &Candidate| sigmoid(10.0 * (it.value - 0.5)) / (1.0 + it.children as f64);
        with_children(candidates, &candidates.iter().map(weight).collect::<Vec<_>>(), seed)
    }
}

pub(super) struct Hyperagents;

impl Policy for Hyperagents {
    fn name(&self) -> &'static str {
        "hyperagents"
    }

    fn measure(&self) -> Measure {
        Measure::Score
    }

    /// `sigmoid(10·(m − mean of the top 3))·exp(−(children/8)³)`.
    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice> {
        let mut values: Vec<f64> = candidates.iter().map(|it| it.value).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values.truncate(3);
        let middle = values.iter().sum::<f64>() / values.len() as f64;
        let weight = |it: &Candidate| {
            sigmoid(10.0 * (it.value - middle)) * (-(it.children as f64 / 8.0).powi(3)).exp()
        };
        with_children(candidates, &candidates.iter().map(weight).collect::<Vec<_>>(), seed)
    }
}

pub(super) struct Shinka;

impl Policy for Shinka {
    fn name(&self) -> &'static str {
        "shinka"
    }

    fn measure(&self) -> Measure {
        Measure::Score
    }

    /// `sigmoid(10·(m − median)/max(MAD, 1e-6)) / (1 + children)`.
    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice> {
        let values: Vec<f64> = candidates.iter().map(|it| it.value).collect();
        let middle = median(values.clone());
        let spread = median(values.iter().map(|value| (value - middle).abs()).collect());
        let weight = |it: &Candidate| {
            sigmoid(10.0 * (it.value - middle) / spread.max(1e-6)) / (1.0 + it.children as f64)
        };
        with_children(candidates, &candidates.iter().map(weight).collect::<Vec<_>>(), seed)
    }
}

/// Returns the median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

pub(super) struct Pareto;

impl Policy for Pareto {
    fn name(&self) -> &'static str {
        "pareto"
    }

    fn measure(&self) -> Measure {
        Measure::Score
    }

    /// The number of problems on which the candidate is (joint) best.
    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice> {
        let problems = candidates.iter().map(|it| it.scores.len()).max().unwrap_or(0);
        let mut best = vec![f64::NEG_INFINITY; problems];
        for it in candidates {
            for (best, score) in best.iter_mut().zip(&it.scores) {
                *best = best.max(*score);
            }
        }
        let wins = |it: &Candidate| {
            it.scores.iter().zip(&best).filter(|(score, best)| score >= best).count() as f64
        };
        let weights: Vec<f64> = candidates.iter().map(wins).collect();
        draw(candidates, &weights, seed, |index, reason| {
            reason.terms.insert("best_on".to_owned(), weights[index]);
        })
    }
}
