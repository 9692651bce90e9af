//! The status: the few words at the end of a request that change from step to step.

use crate::markup::Block;
use crate::model::Usage;
use std::time::Duration;

/// Estimates how many tokens a text has, from what the gateway counted before.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    bytes_per_token: f64,
}

impl Default for Gauge {
    fn default() -> Self {
        // Usual for English text and code, until a first reply tells better.
        Gauge { bytes_per_token: 4.0 }
    }
}

impl Gauge {
    /// Learns from a reply how many tokens the bytes of its request were.
    pub fn learn(&mut self, bytes: usize, usage: &Usage) {
        if usage.prompt_tokens > 0 {
            self.bytes_per_token = (bytes as f64 / usage.prompt_tokens as f64).clamp(1.0, 8.0);
        }
    }

    /// Estimates the tokens of a text.
    pub fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token).ceil() as u64
    }
}

/// Writes a share as percent with two decimals, the second one rounded.
pub fn percent(used: u64, of: u64) -> String {
    format!("{:.2}", 100.0 * used as f64 / of.max(1) as f64)
}

/// What the status line says.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Tokens in the context.
    pub used: u64,
    /// Tokens that it may have.
    pub of: u64,
    /// Time since the job began.
    pub elapsed: Duration,
    /// Messages that wait for other agents of the job.
    pub unread: usize,
}

impl Status {
    /// Writes the status line. The time has a fixed width, so that the size of a request does not
    /// depend on the clock.
    pub fn to_block(&self) -> String {
        let seconds = self.elapsed.as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        Block::new("STATUS")
            .with("context", percent(self.used, self.of))
            .with("time", format!("{hours:02}:{minutes:02}:{seconds:02}"))
            .with("unread", self.unread)
            .around("")
    }
}

#[cfg(test)]
mod tests {
    use super::{Gauge, Status, percent};
    use crate::model::Usage;
    use std::time::Duration;

    #[test]
    fn the_gauge_shows_percent_with_two_decimals() {
        assert_eq!(percent(8_973, 10_000), "89.73");
        assert_eq!(percent(0, 10_000), "0.00");
        assert_eq!(percent(1, 0), "100.00");
        let elapsed = Duration::from_millis(3_725_900);
        let status = Status { used: 8_973, of: 10_000, elapsed, unread: 2 };
        assert_eq!(
            status.to_block(),
            "<STATUS context=\"89.73\" time=\"01:02:05\" unread=\"2\"></STATUS>"
        );
    }

    #[test]
    fn the_gauge_learns_from_what_the_gateway_counts() {
        let mut gauge = Gauge::default();
        assert_eq!(gauge.tokens(4_001), 1_001);
        gauge.learn(3_000, &Usage { prompt_tokens: 1_000, ..Usage::default() });
        assert_eq!(gauge.tokens(4_001), 1_334);
    }
}
