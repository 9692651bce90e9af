//! What the gateway measured, as the overseer reads it.

use serde::{Deserialize, Serialize};

/// One reading of a trial's meter. The agent cannot change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Model calls that were finished.
    pub calls: u64,
    /// Model calls that are under way.
    pub open_calls: u64,
    /// Tokens of the prompts, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// The cost so far, in nano-dollars.
    pub cost_nano_usd: u64,
    /// The trial's cost limit in nano-dollars; 0 where there is none.
    pub cost_limit_nano_usd: u64,
    /// Seconds that count against the time limit.
    pub seconds: f64,
    /// The trial's time limit in seconds; 0 where there is none.
    pub seconds_limit: f64,
}

impl Reading {
    /// Returns the share of the cost limit that is gone, in percent; 0 where there is no limit.
    pub fn cost_percent(&self) -> f64 {
        percent(self.cost_nano_usd as f64, self.cost_limit_nano_usd as f64)
    }

    /// Returns the share of the time limit that is gone, in percent; 0 where there is no limit.
    pub fn time_percent(&self) -> f64 {
        percent(self.seconds, self.seconds_limit)
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

/// Something that can be read. Any closure that returns a [`Reading`] is one.
pub trait Meter: Send + Sync {
    /// Reads the meter; must not block.
    fn read(&self) -> Reading;
}

impl<F: Fn() -> Reading + Send + Sync> Meter for F {
    fn read(&self) -> Reading {
        self()
    }
}
