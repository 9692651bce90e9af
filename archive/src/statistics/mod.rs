//! Statistics of scores, as pure functions.
//!
//! | file | what it computes |
//! |---|---|
//! | [`mean`] | means with clustered standard errors, seeded bootstrap intervals |
//! | [`proportion`] | Wilson intervals, pass@k |
//! | [`paired`] | exact tests of paired differences: McNemar, sign flips |
//! | [`power`] | the smallest difference that a size can show; the power of McNemar's test |

pub mod mean;
pub mod paired;
pub mod power;
pub mod proportion;

pub use mean::{Clustered, bootstrap, clustered};
pub use paired::{SignFlip, mcnemar_exact, sign_flip};
pub use power::{detectable_difference, mcnemar_power, normal_quantile};
pub use proportion::{pass_at_k, wilson};

/// The 97.5 % quantile of the normal distribution: half a 95 % interval in standard errors.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// A range that holds the true value with the confidence that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}
