//! The meter of a trial: what its model calls took.

use crate::completion::Usage;
use crate::money::NanoUsd;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a meter shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterReading {
    /// Calls that a model answered, wholly or in part.
    pub calls: u64,
    /// Tries that came to nothing.
    pub failed: u64,
    /// Calls that are under way.
    pub open: u64,
    /// Calls whose tokens were estimated, since the provider gave no count.
    pub estimated: u64,
    /// Tokens of all calls.
    pub usage: Usage,
    /// What they cost.
    pub cost: NanoUsd,
    /// Time that the models took: the wall's for a real model, computed for the rehearsal model.
    pub model_time: Duration,
    /// Time on the wall between sending a request and the end of its reply.
    pub wall_time: Duration,
    /// Time in which a call waited for its turn, for money in flight or for a provider that was
    /// down, and time lost on tries that came to nothing. It does not count as time of the trial.
    pub waiting_time: Duration,
}

impl MeterReading {
    /// Returns the model time in seconds.
    pub fn model_seconds(&self) -> f64 {
        self.model_time.as_secs_f64()
    }

    /// Returns the time of a trial in seconds, given how long it took on the wall: without
    /// waiting, and with the models' own time in the place of the wall's. Calls that are made at
    /// the same time may together take longer on the wall than the trial.
    pub fn trial_seconds(&self, elapsed: Duration) -> f64 {
        let awake = elapsed.saturating_sub(self.waiting_time).as_secs_f64();
        (awake + self.model_time.as_secs_f64() - self.wall_time.as_secs_f64()).max(0.0)
    }
}

/// One call, as it is added to a meter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Metered {
    pub usage: Usage,
    pub cost: NanoUsd,
    pub estimated: bool,
    pub model_time: Duration,
    pub wall_time: Duration,
}

/// Adds up the calls of a trial.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    reading: MeterReading,
    waiting: u32,
    waiting_since: Option<Instant>,
}

impl Meter {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the meter shows now.
    pub fn reading(&self) -> MeterReading {
        let state = self.state();
        let mut reading = state.reading;
        if let Some(since) = state.waiting_since {
            reading.waiting_time += since.elapsed();
        }
        reading
    }

    /// Adds an answered call.
    pub fn add(&self, call: Metered) {
        let reading = &mut self.state().reading;
        reading.calls += 1;
        reading.estimated += u64::from(call.estimated);
        reading.usage += call.usage;
        reading.cost = reading.cost.plus(call.cost);
        reading.model_time += call.model_time;
        reading.wall_time += call.wall_time;
    }

    /// Adds a try that came to nothing after so long on the wire, though the provider may have
    /// counted tokens. The agent is not to blame for the time.
    pub fn add_failed(&self, usage: Usage, cost: NanoUsd, wall_time: Duration) {
        let reading = &mut self.state().reading;
        reading.failed += 1;
        reading.usage += usage;
        reading.cost = reading.cost.plus(cost);
        reading.waiting_time += wall_time;
    }

    /// Counts a call as under way until the guard is dropped.
    pub fn open(&self) -> Open<'_> {
        self.state().reading.open += 1;
        Open(self)
    }

    /// Counts waiting until the guard is dropped; calls that wait at the same time count once.
    pub fn wait(&self) -> Waiting<'_> {
        let mut state = self.state();
        state.waiting += 1;
        state.waiting_since.get_or_insert_with(Instant::now);
        Waiting(self)
    }
}

/// A call that is under way.
pub(crate) struct Open<'a>(&'a Meter);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.state().reading.open -= 1;
    }
}

/// A call that is waiting.
pub(crate) struct Waiting<'a>(&'a Meter);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting = state.waiting.saturating_sub(1);
        if state.waiting == 0
            && let Some(since) = state.waiting_since.take()
        {
            state.reading.waiting_time += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_trial_leaves_out_waiting_and_takes_the_models_own_time() {
        let reading = MeterReading {
            model_time: Duration::from_secs(7),
            wall_time: Duration::from_secs(1),
            waiting_time: Duration::from_secs(20),
            ..MeterReading::default()
        };
        assert_eq!(reading.trial_seconds(Duration::from_secs(30)), 16.0);
        // Three calls of a real model, at the same time.
        let of_calls = Duration::from_secs(3 * 9);
        let reading =
            MeterReading { model_time: of_calls, wall_time: of_calls, ..MeterReading::default() };
        assert_eq!(reading.trial_seconds(Duration::from_secs(10)), 10.0);
    }
}
