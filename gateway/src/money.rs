//! Money in whole nano-dollars.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Nano-dollars in a US dollar.
const NANOS_PER_USD: u64 = 1_000_000_000;

/// An amount of money in billionths of a US dollar.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NanoUsd(pub u64);

impl NanoUsd {
    /// Nothing.
    pub const ZERO: NanoUsd = NanoUsd(0);

    /// Converts US dollars, rounding to the nearest nano-dollar; what is negative or no number
    /// becomes zero.
    pub fn from_usd(usd: f64) -> Self {
        // A float-to-integer cast saturates and takes NaN to 0.
        NanoUsd((usd * NANOS_PER_USD as f64).round() as u64)
    }

    /// Returns US dollars, for showing and for formulas.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / NANOS_PER_USD as f64
    }

    /// Adds, stopping at the largest amount.
    pub fn plus(self, other: NanoUsd) -> Self {
        NanoUsd(self.0.saturating_add(other.0))
    }

    /// Subtracts, stopping at zero.
    pub fn minus(self, other: NanoUsd) -> Self {
        NanoUsd(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for NanoUsd {
    fn sum<I: Iterator<Item = NanoUsd>>(amounts: I) -> Self {
        amounts.fold(NanoUsd::ZERO, NanoUsd::plus)
    }
}

impl fmt::Display for NanoUsd {
    /// Writes `$1.2345`: at least two decimals, and no more than are needed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:09}", self.0 % NANOS_PER_USD);
        let needed = decimals.trim_end_matches('0');
        let shown = if needed.len() < 2 { &decimals[..2] } else { needed };
        write!(f, "${}.{shown}", self.0 / NANOS_PER_USD)
    }
}

#[cfg(test)]
mod tests {
    use super::NanoUsd;

    #[test]
    fn amounts_print_with_as_many_decimals_as_they_have() {
        assert_eq!(NanoUsd::from_usd(1.5).to_string(), "$1.50");
        assert_eq!(NanoUsd(1).to_string(), "$0.000000001");
        assert_eq!(NanoUsd::ZERO.to_string(), "$0.00");
    }

    #[test]
    fn nonsense_dollars_are_zero() {
        assert_eq!(NanoUsd::from_usd(f64::NAN), NanoUsd::ZERO);
        assert_eq!(NanoUsd::from_usd(-1.0), NanoUsd::ZERO);
        assert_eq!(NanoUsd::from_usd(f64::INFINITY), NanoUsd(u64::MAX));
    }
}
