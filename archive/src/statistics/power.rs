//! What a comparison of a given size can show.

use super::{NORMAL_95, mcnemar_exact};

/// Computes a quantile of the standard normal distribution (Acklam's rational approximation, relative error
/// below 1.2e-9). NaN outside of (0, 1).
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let polynomial = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    match p {
        p if !(p > 0.0 && p < 1.0) => f64::NAN,
        p if p < 0.02425 => tail(p),
        p if p > 1.0 - 0.02425 => -tail(1.0 - p),
        p => {
            let q = p - 0.5;
            let r = q * q;
            polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
        }
    }
}

/// Computes the smallest true mean difference that `n` pairs show with the given power at a two-sided 5 %
/// level, when differences scatter with the given standard deviation: `(z₀.₉₇₅ + z_power)·s/√n`. None for no
/// pairs.
pub fn detectable_difference(standard_deviation: f64, n: usize, power: f64) -> Option<f64> {
    (n > 0).then(|| (NORMAL_95 + normal_quantile(power)) * standard_deviation / (n as f64).sqrt())
}

/// Computes how often McNemar's exact test finds a difference at level `alpha` in `n` pairs, when a pair is a
/// win with probability `win` and a loss with probability `loss`: the sum over all outcomes.
pub fn mcnemar_power(n: u64, win: f64, loss: f64, alpha: f64) -> f64 {
    let mut power = 0.0;
    let choose =
        |n: u64, k: u64| -> f64 { (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum() };
    let term = |probability: f64, count: u64| {
        if count == 0 { 0.0 } else { count as f64 * probability.ln() }
    };
    for wins in 0..=n {
        for losses in 0..=n - wins {
            if mcnemar_exact(wins, losses) <= alpha {
                let ties = n - wins - losses;
                let logarithm = choose(n, wins)
                    + choose(n - wins, losses)
                    + term(win, wins)
                    + term(loss, losses)
                    + term(1.0 - win - loss, ties);
                power += logarithm.exp();
            }
        }
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_tables() {
        for (p, z) in [(0.975, NORMAL_95), (0.8, 0.841_621_233_6), (0.01, -2.326_347_874_0)] {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}");
        }
        assert!(normal_quantile(0.0).is_nan());
    }

    #[test]
    fn a_larger_comparison_shows_smaller_differences() {
        let of = |n| detectable_difference(0.5, n, 0.8).unwrap();
        assert!((of(50) - 0.198).abs() < 0.001);
        assert!((of(200) - of(50) / 2.0).abs() < 1e-12);
        assert_eq!(detectable_difference(0.5, 0, 0.8), None);
    }
}
