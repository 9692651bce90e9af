//! The lane to a provider: how many calls may be on it at one time.
//!
//! The width is found by trying (additive up, multiplicative down): each success widens it, each
//! sign of overload halves it, and a `Retry-After` holds the whole lane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How many calls a lane takes before it has learnt anything.
const FIRST_WIDTH: f64 = 16.0;

/// A provider's lane.
pub(crate) struct Lane {
    state: Mutex<State>,
    changed: Notify,
    most: f64,
}

struct State {
    width: f64,
    on_it: u32,
    /// Whether no overload has been met yet, so that the width may grow by one for each success.
    untried: bool,
    held_until: Option<Instant>,
    halved: Option<Instant>,
}

/// Signs of one overload arrive together from all calls in flight; the lane is halved once.
const ONE_OVERLOAD: Duration = Duration::from_millis(500);

impl Lane {
    /// Makes a lane that never takes more than `most` calls.
    pub fn new(most: u32) -> Arc<Self> {
        let most = f64::from(most.max(1));
        Arc::new(Lane {
            state: Mutex::new(State {
                width: FIRST_WIDTH.min(most),
                on_it: 0,
                untried: true,
                held_until: None,
                halved: None,
            }),
            changed: Notify::new(),
            most,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place when there is one at once.
    pub fn try_enter(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state();
        if state.held_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        if f64::from(state.on_it) + 1.0 > state.width {
            return None;
        }
        state.on_it += 1;
        Some(Place(Arc::clone(self)))
    }

    /// Waits for a place.
    pub async fn enter(self: &Arc<Self>) -> Place {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(place) = self.try_enter() {
                return place;
            }
            let held = self.state().held_until;
            match held.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(rest) if !rest.is_zero() => {
                    let _ = tokio::time::timeout(rest, changed).await;
                }
                _ => changed.await,
            }
        }
    }

    /// Learns that a call went well.
    pub fn went_well(&self) {
        let mut state = self.state();
        let step = if state.untried { 1.0 } else { 1.0 / state.width };
        state.width = (state.width + step).min(self.most);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Learns that the provider was overloaded, and for how long it wants to be left alone.
    pub fn overloaded(&self, retry_after: Option<Duration>) {
        let mut state = self.state();
        let now = Instant::now();
        if state.halved.is_none_or(|halved| now.duration_since(halved) > ONE_OVERLOAD) {
            state.halved = Some(now);
            state.width = (state.width / 2.0).max(1.0);
        }
        state.untried = false;
        if let Some(wait) = retry_after {
            state.held_until = state.held_until.max(Some(now + wait));
        }
    }

    /// Returns the number of calls that may be on the lane.
    #[cfg(test)]
    pub fn width(&self) -> u32 {
        // At least 1 and at most a u32, by construction.
        self.state().width as u32
    }
}

/// A place on a lane, free again when dropped.
pub(crate) struct Place(Arc<Lane>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.state().on_it -= 1;
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_widens_by_one_and_narrows_by_half() {
        let lane = Lane::new(20);
        assert_eq!(lane.width(), 16);
        for _ in 0..10 {
            lane.went_well();
        }
        assert_eq!(lane.width(), 20);
        lane.overloaded(None);
        lane.overloaded(None);
        assert_eq!(lane.width(), 10, "one overload halves once, however many calls saw it");
        for _ in 0..10 {
            lane.went_well();
        }
        assert_eq!(lane.width(), 10, "after an overload, a whole round of successes adds one");
        lane.went_well();
        assert_eq!(lane.width(), 11);
    }

    #[tokio::test]
    async fn a_full_or_held_lane_lets_nobody_in() {
        let lane = Lane::new(1);
        let place = lane.enter().await;
        assert!(lane.try_enter().is_none());
        drop(place);
        assert!(lane.try_enter().is_some());
        lane.overloaded(Some(Duration::from_secs(3600)));
        assert!(lane.try_enter().is_none());
    }
}
