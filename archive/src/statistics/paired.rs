//! Exact tests of paired differences: no distribution is assumed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Up to this many differences other than zero, every assignment of signs is looked at (4 million).
pub const EXACT_LIMIT: usize = 22;
/// Above, this many are drawn; the standard error of a p of 0.05 is then 0.0007.
pub const DRAWS: u32 = 100_000;

/// Computes McNemar's exact two-sided p: the chance that a fair coin splits the discordant pairs at least as
/// unevenly.
pub fn mcnemar_exact(wins: u64, losses: u64) -> f64 {
    let n = wins + losses;
    let tail: f64 = binomial_half(n).take(wins.min(losses) as usize + 1).sum();
    (2.0 * tail).min(1.0)
}

/// Yields the probabilities of 0, 1, 2, … heads in `n` throws of a fair coin.
fn binomial_half(n: u64) -> impl Iterator<Item = f64> {
    let mut logarithm = -(n as f64) * std::f64::consts::LN_2;
    (0..=n).map(move |k| {
        let probability = logarithm.exp();
        logarithm += ((n - k) as f64 / (k + 1) as f64).ln();
        probability
    })
}

/// The result of a sign-flip test.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SignFlip {
    /// The two-sided p.
    pub p: f64,
    /// Whether every assignment of signs was looked at.
    pub exact: bool,
}

/// Computes the two-sided randomisation p of the mean paired difference: the share of sign assignments whose
/// mean is at least as far from zero. Exact up to [`EXACT_LIMIT`] differences other than zero, else from
/// [`DRAWS`] seeded draws (the observed assignment is counted as one of them, so that p is never 0).
pub fn sign_flip(differences: &[f64], seed: u64) -> SignFlip {
    let sizes: Vec<f64> =
        differences.iter().map(|value| value.abs()).filter(|size| *size > 0.0).collect();
    let observed = differences.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order may differ in the last bits.
    let limit = observed - 1e-11 * sizes.iter().sum::<f64>();
    if sizes.len() <= EXACT_LIMIT {
        SignFlip { p: exact(&sizes, limit), exact: true }
    } else {
        SignFlip { p: sampled(&sizes, limit, seed), exact: false }
    }
}

fn exact(sizes: &[f64], limit: f64) -> f64 {
    if sizes.is_empty() {
        return 1.0;
    }
    // Gray code: one sign changes at each step. By symmetry the first sign stays.
    let total = 1_u64 << (sizes.len() - 1);
    let mut signs = vec![1.0; sizes.len()];
    let mut sum: f64 = sizes.iter().sum();
    let mut hits = 0_u64;
    for step in 1..=total {
        hits += u64::from(sum.abs() >= limit);
        let flipped = step.trailing_zeros() as usize + 1;
        if flipped < sizes.len() {
            signs[flipped] = -signs[flipped];
            sum += 2.0 * signs[flipped] * sizes[flipped];
        }
    }
    hits as f64 / total as f64
}

fn sampled(sizes: &[f64], limit: f64, seed: u64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut hits = 1;
    for _ in 0..DRAWS {
        let mut sum = 0.0;
        for part in sizes.chunks(64) {
            let mut bits: u64 = random.random();
            for size in part {
                sum += if bits & 1 == 1 { *size } else { -size };
                bits >>= 1;
            }
        }
        hits += u32::from(sum.abs() >= limit);
    }
    f64::from(hits) / f64::from(DRAWS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_agrees_with_the_exact_test() {
        let differences: Vec<f64> = (0..22).map(|i| (f64::from(i) * 0.7).sin() + 0.15).collect();
        let exact = sign_flip(&differences, 1);
        let sizes: Vec<f64> = differences.iter().map(|value| value.abs()).collect();
        let observed = differences.iter().sum::<f64>().abs();
        assert!(exact.exact);
        assert!((sampled(&sizes, observed - 1e-9, 3) - exact.p).abs() < 0.01, "{exact:?}");
    }

    #[test]
    fn equal_binary_differences_agree_with_mcnemar() {
        let mut differences = vec![1.0; 9];
        differences.extend([-1.0; 2]);
        differences.extend([0.0; 30]);
        assert!((sign_flip(&differences, 0).p - mcnemar_exact(9, 2)).abs() < 1e-12);
    }

    #[test]
    fn thousands_of_pairs_do_not_underflow() {
        let p = mcnemar_exact(2000, 2100);
        assert!((p - 0.1222).abs() < 0.002, "{p}");
        assert!(mcnemar_exact(0, 5000) < 1e-300);
    }
}
