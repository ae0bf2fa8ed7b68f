//! Owns what is known of one transmitter: offset, path delay, rate, and the bound. Takes what
//! the engine measured; knows no message and no socket.

mod feasible;
mod line;

use feasible::Feasible;
pub(crate) use feasible::{Assumptions, Contradiction};
use line::Line;
use std::collections::VecDeque;

/// A Sync may be late by so many times the width of what is possible,
const SUSPICIOUS: i64 = 10;
/// or by so many nanoseconds, before it is suspect.
const ALWAYS_ALLOWED: i64 = 1_000_000;
/// So many delays are remembered; their median is the path delay.
const DELAYS: usize = 15;

/// What is fixed for the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    pub(crate) assumptions: Assumptions,
    /// No packet takes less than this, in nanoseconds: the explained part of the delay.
    pub(crate) least_delay: i64,
    /// Both clocks' stamps may be off by this in all, in nanoseconds.
    pub(crate) resolution: i64,
}

/// What a Sync told, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// Local time of the Sync's arrival.
    pub(crate) at: i64,
    /// Local clock minus transmitter's.
    pub(crate) offset: i64,
    /// The truth lies within this distance of `offset`.
    pub(crate) bound: i64,
    /// From the transmitter to us, mean of both ways.
    pub(crate) mean_path_delay: i64,
    /// How much faster the local clock runs; `None` until a few Syncs have come.
    pub(crate) rate: Option<f64>,
}

/// What came of a Sync.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Told {
    /// Not enough is known yet.
    Nothing,
    /// It took so long that it may as well be that a clock was stepped: the next delay
    /// exchange tells which.
    Suspect,
    Estimate(Estimate),
}

/// What is known of one transmitter.
#[derive(Debug)]
pub(crate) struct Estimator {
    settings: Settings,
    feasible: Feasible,
    syncs: Line,
    requests: Line,
    delays: VecDeque<i64>,
    latest: Option<Estimate>,
    last_sync: Option<(i64, i64)>,
}

impl Estimator {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            feasible: Feasible::new(settings.assumptions),
            syncs: Line::default(),
            requests: Line::default(),
            delays: VecDeque::with_capacity(DELAYS + 1),
            latest: None,
            last_sync: None,
        }
    }

    /// One that knows nothing, of the same settings.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(self.settings)
    }

    /// Forgets everything: a clock was stepped.
    pub(crate) fn reset(&mut self) {
        *self = self.fresh();
    }

    /// A Sync arrived at local time `at`; `difference` is received minus sent.
    pub(crate) fn sync(&mut self, at: i64, difference: i64) -> Result<Told, Contradiction> {
        if let Some((low, high)) = self.feasible.interval_at(at) {
            let allowed = high.saturating_sub(low).saturating_mul(SUSPICIOUS).max(ALWAYS_ALLOWED);
            if difference.saturating_sub(high) > allowed {
                return Ok(Told::Suspect);
            }
        }
        self.last_sync = Some((at, difference));
        self.feasible.at_most(at, difference + self.settings.resolution - self.settings.least_delay)?;
        self.syncs.push(at, difference);
        let Some(mean_path_delay) = self.mean_path_delay() else { return Ok(Told::Nothing) };
        let at = self.feasible.now().max(at); // a late Follow_Up: other messages came meanwhile
        let Some((low, high)) = self.feasible.interval_at(at) else { return Ok(Told::Nothing) };
        let (offset, bound) = self.guess(at, low, high);
        let estimate = Estimate { at, offset, bound, mean_path_delay, rate: self.rate() };
        self.latest = Some(estimate);
        Ok(Told::Estimate(estimate))
    }

    /// A delay request left at local time `at`; `difference` is sent minus received there.
    pub(crate) fn delay_request(&mut self, at: i64, difference: i64) -> Result<(), Contradiction> {
        self.peer_request(at, difference)?;
        let Some((sync_at, sync_difference)) = self.last_sync else { return Ok(()) };
        // the clocks went apart between the two messages
        let drift = self.rate().unwrap_or(0.0) * at.saturating_sub(sync_at) as f64;
        let round_trip = sync_difference.saturating_add(drift.round() as i64).saturating_sub(difference);
        self.add_delay(round_trip / 2);
        Ok(())
    }

    /// A peer's delay was measured.
    pub(crate) fn peer_delay(&mut self, delay: i64) {
        self.add_delay(delay);
    }

    /// The transmitter itself answered a peer request: sent at local time `at`, `difference`
    /// is sent minus received there.
    pub(crate) fn peer_request(&mut self, at: i64, difference: i64) -> Result<(), Contradiction> {
        self.requests.push(at, difference);
        self.feasible.at_least(at, difference - self.settings.resolution + self.settings.least_delay)
    }

    /// The last estimate.
    pub(crate) fn latest(&self) -> Option<Estimate> {
        self.latest
    }

    /// What can be said at a later local time without another message: the bound grows.
    pub(crate) fn held_at(&self, at: i64) -> Option<Estimate> {
        let latest = self.latest?;
        let (low, high) = self.feasible.interval_at(at)?;
        let drift = latest.rate.unwrap_or(0.0) * at.saturating_sub(latest.at) as f64;
        let (offset, bound) = within(latest.offset.saturating_add(drift.round() as i64), low, high);
        Some(Estimate { at, offset, bound, ..latest })
    }

    /// At local time `at` we changed the local clock's rate by so much.
    pub(crate) fn adjusted(&mut self, at: i64, rate: f64) {
        self.feasible.adjusted(at, rate);
        self.syncs.adjusted(at, rate);
        self.requests.adjusted(at, rate);
        let shift =
            |then: i64, offset: i64| offset.saturating_add((rate * then.saturating_sub(at) as f64).round() as i64);
        self.last_sync = self.last_sync.map(|(then, difference)| (then, shift(then, difference)));
        if let Some(latest) = &mut self.latest {
            latest.offset = shift(latest.at, latest.offset);
            latest.rate = latest.rate.map(|known| known + rate);
        }
    }

    /// From now on the local clock is steered, in steps of this size.
    pub(crate) fn steered(&mut self, rate_step: f64) {
        self.settings.assumptions.rate_step = rate_step;
        self.feasible.steered(rate_step);
    }

    /// The best guess: half way between the fastest of the last Syncs and the fastest of the
    /// last requests, each moved to now by the rate.
    fn guess(&self, at: i64, low: i64, high: i64) -> (i64, i64) {
        let rate = self.rate();
        let fastest_sync = self.syncs.least(at, rate);
        let guess = match (fastest_sync, self.requests.greatest(at, rate)) {
            (Some(sync), Some(request)) => sync / 2 + request / 2,
            (Some(sync), None) => sync.saturating_sub(self.mean_path_delay().unwrap_or(0)),
            (None, _) => low / 2 + high / 2,
        };
        within(guess, low, high)
    }

    /// Three guesses that err in different ways: along the fastest Syncs, along the fastest
    /// requests, and amid the Syncs. The one between the others is seldom far off.
    fn rate(&self) -> Option<f64> {
        let (low, high) = self.feasible.rate();
        let amid = self.syncs.slope_amid()?;
        let below = self.syncs.slope_below().unwrap_or(amid);
        let above = self.requests.slope_above().unwrap_or(amid);
        // the median of the three
        let slope = below.min(above).max(amid.min(below.max(above)));
        Some(slope.clamp(low, high))
    }

    fn add_delay(&mut self, delay: i64) {
        self.delays.push_back(delay);
        if self.delays.len() > DELAYS {
            self.delays.pop_front();
        }
    }

    /// The median of the last delays. Stamps of unlike clocks can make one negative; none is.
    fn mean_path_delay(&self) -> Option<i64> {
        let mut sorted = [0; DELAYS];
        let sorted = &mut sorted[..self.delays.len()];
        for (place, delay) in sorted.iter_mut().zip(&self.delays) {
            *place = *delay;
        }
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map(|delay| (*delay).max(0))
    }
}

/// A guess within what is possible, and how wrong it may be.
fn within(guess: i64, low: i64, high: i64) -> (i64, i64) {
    let offset = guess.clamp(low, high);
    (offset, (high - offset).max(offset - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const SETTINGS: Settings = Settings {
        assumptions: Assumptions { most_drift: 200e-6, wander: 30e-9, rate_step: 0.0 },
        least_delay: 0,
        resolution: 2,
    };

    /// A transmitter 5 µs away, against which the local clock drifts by 20 ppm from an hour off.
    fn run(estimator: &mut Estimator, from: i64, to: i64) -> Estimate {
        let truth = |at: i64| 3_600 * SECOND + at / 50_000;
        let mut last = None;
        for second in from..to {
            let at = second * SECOND;
            if let Told::Estimate(told) = estimator.sync(at, truth(at) + 5_000).expect("possible") {
                last = Some(told);
            }
            let at = at + SECOND * 2 / 5;
            estimator.delay_request(at, truth(at) - 5_000).expect("possible");
        }
        let last = last.expect("measured");
        assert!((last.offset - truth(last.at)).abs() <= last.bound, "{last:?}");
        last
    }

    #[test]
    fn drift_between_the_two_messages_is_no_path_delay() {
        let mut estimator = Estimator::new(SETTINGS);
        let last = run(&mut estimator, 0, 40);
        assert!((last.mean_path_delay - 5_000).abs() < 50, "{last:?}");
        assert!((last.rate.expect("known") - 20e-6).abs() < 0.2e-6, "{last:?}");
        assert!((5_000..9_000).contains(&last.bound), "{last:?}");
    }

    #[test]
    fn a_sync_that_is_much_too_late_tells_nothing_and_spoils_nothing() {
        let mut estimator = Estimator::new(SETTINGS);
        let last = run(&mut estimator, 0, 10);
        assert_eq!(estimator.sync(10 * SECOND, last.offset + SECOND), Ok(Told::Suspect));
        run(&mut estimator, 11, 20);
    }

    #[test]
    fn without_messages_the_bound_grows_and_the_rate_goes_on() {
        let mut estimator = Estimator::new(SETTINGS);
        let last = run(&mut estimator, 0, 40);
        let held = estimator.held_at(last.at + 100 * SECOND).expect("known");
        assert!(held.bound > last.bound + 10_000, "{held:?}");
        assert!((held.offset - last.offset - 2_000_000).abs() < held.bound, "{held:?}");
    }

    #[test]
    fn an_hours_jump_is_a_contradiction_and_then_forgotten() {
        let mut estimator = Estimator::new(SETTINGS);
        run(&mut estimator, 0, 10);
        assert_eq!(estimator.sync(10 * SECOND, 0), Err(Contradiction));
        estimator.reset();
        assert_eq!(estimator.latest(), None);
        run(&mut estimator, 20, 30);
    }
}
