//! How well probabilities fit what happened: NLL, ECE and accuracy.

use serde::{Deserialize, Serialize};

/// The least probability that a logarithm is taken of, so that one sure mistake stays finite.
const FLOOR: f64 = 1e-9;
/// Bins of the expected calibration error, of equal width.
const BINS: usize = 10;

/// One decision together with what happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The probability that was given to the option that turned out to be right.
    pub p_observed: f64,
    /// The probability that was given to the option that was chosen.
    pub confidence: f64,
    /// Whether the chosen option was the right one.
    pub correct: bool,
}

/// How well probabilities fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How many outcomes there are.
    pub count: usize,
    /// The mean negative natural logarithm of the observed option's probability.
    pub nll: f64,
    /// The expected calibration error (Guo et al. 2017, section 2): over ten bins of the confidence,
    /// the weighted mean of the difference between accuracy and mean confidence.
    pub ece: f64,
    /// The share of right choices.
    pub accuracy: f64,
}

/// Returns how well probabilities fit; nothing where there are no outcomes.
pub fn calibration(outcomes: &[Outcome]) -> Option<Calibration> {
    if outcomes.is_empty() {
        return None;
    }
    let count = outcomes.len() as f64;
    let mut bins = [(0.0_f64, 0.0_f64); BINS];
    for outcome in outcomes {
        let bin = (outcome.confidence * BINS as f64).floor().clamp(0.0, (BINS - 1) as f64) as usize;
        bins[bin].0 += outcome.confidence;
        bins[bin].1 += f64::from(u8::from(outcome.correct));
    }
    let nll = outcomes.iter().map(|outcome| -outcome.p_observed.max(FLOOR).ln()).sum::<f64>();
    // A bin's weight times its gap is the gap of its sums, over all outcomes.
    let ece = bins.iter().map(|(confidence, correct)| (confidence - correct).abs()).sum::<f64>();
    let right = outcomes.iter().filter(|outcome| outcome.correct).count() as f64;
    Some(Calibration {
        count: outcomes.len(),
        nll: nll / count,
        ece: ece / count,
        accuracy: right / count,
    })
}

#[cfg(test)]
mod tests {
    use super::{Outcome, calibration};

    #[test]
    fn nothing_has_no_calibration() {
        assert_eq!(calibration(&[]), None);
    }

    #[test]
    fn a_sure_mistake_is_costly_and_finite() {
        let wrong = Outcome { p_observed: 0.0, confidence: 1.0, correct: false };
        let result = calibration(&[wrong]).map(|c| (c.nll.round(), c.ece, c.accuracy));
        assert_eq!(result, Some((21.0, 1.0, 0.0)));
    }

    #[test]
    fn opposite_errors_within_one_bin_cancel_out() {
        let row = |correct| Outcome { p_observed: 0.5, confidence: 0.5, correct };
        assert_eq!(calibration(&[row(true), row(false)]).map(|c| c.ece), Some(0.0));
    }
}
