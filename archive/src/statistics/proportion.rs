//! Shares of successes.

use super::{Interval, NORMAL_95};

/// Computes the 95 % Wilson score interval of a proportion; the whole range without trials.
pub fn wilson(successes: u64, n: u64) -> Interval {
    if n == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (z, total) = (NORMAL_95, n as f64);
    let share = successes as f64 / total;
    let scale = 1.0 + z * z / total;
    let centre = (share + z * z / (2.0 * total)) / scale;
    let half = z * (share * (1.0 - share) / total + z * z / (4.0 * total * total)).sqrt() / scale;
    Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// Estimates, without bias, the probability that at least one of `k` samples is correct, from `n` samples
/// of which `correct` were: `1 − C(n−c, k)/C(n, k)` (Chen et al. 2021). `k` above `n` counts as `n`.
pub fn pass_at_k(n: u64, correct: u64, k: u64) -> f64 {
    let (correct, k) = (correct.min(n), k.min(n));
    if n - correct < k {
        return 1.0;
    }
    if k == 0 {
        return 0.0;
    }
    let misses: f64 = (n - correct + 1..=n).map(|i| 1.0 - k as f64 / i as f64).product();
    1.0 - misses
}
