//! Clade Thompson sampling: `hgm`.

use super::{Candidate, Choice, Measure, Policy};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws from which the table's weights are estimated; the choice is the first of them.
const DRAWS: usize = 200;

/// Thompson sampling on the success of a version and all its descendants: what a version's *line* achieves
/// says more about its promise than its own score (Huxley-Gödel Machine, arXiv 2510.21614, section 3). The
/// prior is Beta(1, 1), so that a lineage in which nothing has succeeded yet is still drawn now and then.
pub(super) struct Hgm;

impl Policy for Hgm {
    fn name(&self) -> &'static str {
        "hgm"
    }

    fn measure(&self) -> Measure {
        Measure::Score
    }

    fn choose(&self, candidates: &[Candidate], seed: u64) -> Option<Choice> {
        if candidates.is_empty() {
            return None;
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut wins = vec![0_usize; candidates.len()];
        let (mut chosen, mut samples) = (0, Vec::new());
        // With thousands of candidates the table would cost more than the choice.
        let draws = (DRAWS * 100 / candidates.len()).clamp(1, DRAWS);
        for draw in 0..draws {
            let drawn: Vec<f64> = candidates
                .iter()
                .map(|it| beta(1.0 + it.clade.0.max(0.0), 1.0 + it.clade.1.max(0.0), &mut random))
                .collect();
            let top =
                (0..drawn.len()).fold(0, |top, i| if drawn[i] > drawn[top] { i } else { top });
            wins[top] += 1;
            if draw == 0 {
                (chosen, samples) = (top, drawn);
            }
        }
        let reasons = candidates.iter().enumerate().map(|(index, it)| {
            let mut reason = it.reason(wins[index] as f64 / draws as f64);
            reason.terms.insert("sample".to_owned(), samples[index]);
            reason.terms.insert("clade_successes".to_owned(), it.clade.0);
            reason.terms.insert("clade_failures".to_owned(), it.clade.1);
            reason
        });
        Some(Choice { agent: candidates[chosen].agent, reasons: reasons.collect() })
    }
}

/// Draws from a Beta distribution with both parameters at least 1, as a ratio of Gamma draws.
pub(crate) fn beta(a: f64, b: f64, random: &mut ChaCha8Rng) -> f64 {
    let (x, y) = (gamma(a, random), gamma(b, random));
    if x + y > 0.0 { x / (x + y) } else { 0.5 }
}

/// Draws from a Gamma distribution of shape at least 1 (Marsaglia and Tsang, 2000).
fn gamma(shape: f64, random: &mut ChaCha8Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 {
            let u: f64 = random.random();
            if u.max(f64::MIN_POSITIVE).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

/// Draws from the standard normal distribution (Box and Muller).
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * u.max(f64::MIN_POSITIVE).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
