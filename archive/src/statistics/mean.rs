//! Means and their uncertainty.

use super::Interval;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A mean over all values, with its clustered standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustered {
    /// The mean.
    pub mean: f64,
    /// The standard error.
    pub standard_error: f64,
}

/// Computes a mean and its standard error where values of one cluster hang together (the repeats of one
/// problem): `sqrt(Σ_clusters (Σ residuals)²) / N` (Miller, arXiv 2411.00640, section 2.2). None without values.
pub fn clustered<C, V>(clusters: C) -> Option<Clustered>
where
    C: IntoIterator<Item = V> + Clone,
    V: IntoIterator<Item = f64>,
{
    let (mut sum, mut count) = (0.0, 0.0);
    for value in clusters.clone().into_iter().flatten() {
        sum += value;
        count += 1.0;
    }
    if count == 0.0 {
        return None;
    }
    let mean = sum / count;
    let squares: f64 = clusters
        .into_iter()
        .map(|cluster| cluster.into_iter().map(|value| value - mean).sum::<f64>().powi(2))
        .sum();
    Some(Clustered { mean, standard_error: squares.sqrt() / count })
}

/// Computes a percentile bootstrap interval of the mean by drawing whole clusters with replacement.
/// `confidence` is for example 0.95. None without clusters.
pub fn bootstrap(
    clusters: &[Vec<f64>],
    confidence: f64,
    draws: usize,
    seed: u64,
) -> Option<Interval> {
    let clusters: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|cluster| !cluster.is_empty())
        .map(|cluster| (cluster.iter().sum(), cluster.len() as f64))
        .collect();
    if clusters.is_empty() || draws == 0 {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut means: Vec<f64> = (0..draws)
        .map(|_| {
            let (mut sum, mut count) = (0.0, 0.0);
            for _ in 0..clusters.len() {
                let (values, length) = clusters[random.random_range(0..clusters.len())];
                sum += values;
                count += length;
            }
            sum / count
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((draws - 1) as f64 * share).round() as usize];
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval { low: at(tail), high: at(1.0 - tail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bootstrap_is_the_same_for_a_seed_and_holds_the_mean() {
        let clusters: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i % 4) / 4.0]).collect();
        let first = bootstrap(&clusters, 0.95, 2000, 7).unwrap();
        assert_eq!(bootstrap(&clusters, 0.95, 2000, 7), Some(first));
        assert!(first.low < 0.375 && 0.375 < first.high, "{first:?}");
        // The normal interval for comparison: 0.375 ± 1.96 · 0.2795/√40.
        assert!((first.high - first.low - 0.173).abs() < 0.03, "{first:?}");
        assert_eq!(bootstrap(&[], 0.95, 100, 1), None);
    }

    #[test]
    fn no_value_has_no_mean() {
        assert_eq!(clustered(Vec::<Vec<f64>>::new()), None);
        assert_eq!(clustered(vec![vec![], vec![]]), None);
    }
}
