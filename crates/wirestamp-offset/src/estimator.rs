//! What is known of one reference: offset, path delay, frequency offset, and the error bound.
//!
//! Inside, everything is about the free-running clock: what this program commanded is taken off
//! each packet by the time of its timestamp, and put back on the estimates. So a late answer to a packet from
//! before an adjustment is right, and our own corrections are no drift of the clock.

use crate::commands::{Moment, SharedCommands};
use crate::feasible::{Assumptions, Contradiction, Feasible};
use crate::line::Line;
use std::collections::VecDeque;

/// A packet from the reference may be late by so many times the width of what is possible,
const SUSPICIOUS: i64 = 10;
/// or by so many nanoseconds, before it is suspect.
const ALWAYS_ALLOWED: i64 = 1_000_000;
/// So many delays are remembered; their median is the path delay.
const DELAYS: usize = 15;

/// The settings of an [`Estimator`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// What the bound holds under.
    pub assumptions: Assumptions,
    /// No packet takes less than this, in nanoseconds: the explained part of the delay.
    pub least_delay: i64,
    /// Both clocks' timestamps may be off by this in all, in nanoseconds.
    pub resolution: i64,
}

/// The offset at an instant with its error bound, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Local time that it is of.
    pub at: i64,
    /// Local clock minus reference.
    pub offset: i64,
    /// The truth lies within this distance of `offset`.
    pub bound: i64,
    /// Mean path delay of both directions.
    pub mean_path_delay: i64,
    /// Frequency offset of the local clock as it is steered; `None` until a few packets have come.
    pub rate: Option<f64>,
    /// The same of the free-running clock: without what was commanded.
    pub free_rate: Option<f64>,
    /// By how much that may be wrong.
    pub rate_bound: f64,
    /// How far apart the guesses of it are; infinite until packets came both ways. A step that the path delay
    /// explains is no contradiction, but sets them apart.
    pub rate_spread: f64,
}

/// The result of a packet from the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Told {
    /// Not enough is known yet.
    Nothing,
    /// It took so long that it may as well be that a clock was stepped: the next delay
    /// exchange tells which.
    Suspect,
    /// An estimate of the instant of the newest packet.
    Estimate(Estimate),
}

/// Estimates the offset to one reference from timestamps of packets in both directions.
#[derive(Debug)]
pub struct Estimator {
    settings: Settings,
    commands: SharedCommands,
    feasible: Feasible,
    /// Of the free-running clock, like all that follows.
    syncs: Line,
    requests: Line,
    delays: VecDeque<i64>,
    latest: Option<Estimate>,
    last_sync: Option<(i64, i64)>,
    /// Local time of the newest packet that was used.
    newest: i64,
}

impl Estimator {
    /// Returns an estimator that knows nothing. Estimators of packets that one clock timestamps share its commands.
    pub fn new(settings: Settings, commands: SharedCommands) -> Self {
        Self {
            settings,
            commands,
            feasible: Feasible::new(settings.assumptions),
            syncs: Line::default(),
            requests: Line::default(),
            delays: VecDeque::with_capacity(DELAYS + 1),
            latest: None,
            last_sync: None,
            newest: i64::MIN,
        }
    }

    /// Returns one that knows nothing, of the same settings.
    pub fn fresh(&self) -> Self {
        Self::new(self.settings, SharedCommands::clone(&self.commands))
    }

    /// Forgets everything: a clock was stepped.
    pub fn reset(&mut self) {
        *self = self.fresh();
    }

    /// Takes a packet from the reference (PTP: a Sync; NTP: a response) that arrived at local time `at`. `difference` is its
    /// receive timestamp minus its transmit timestamp.
    ///
    /// # Errors
    /// It contradicts what came before; [`reset`](Self::reset) and go on.
    pub fn from_reference(&mut self, at: i64, difference: i64) -> Result<Told, Contradiction> {
        let Some(when) = self.moment(at) else {
            return Ok(Told::Nothing);
        };
        let difference = difference.saturating_sub(when.shift.0);
        if self
            .feasible
            .interval_at(when)
            .is_some_and(|possible| difference > latest_credible(possible))
        {
            return Ok(Told::Suspect);
        }
        self.last_sync = Some((when.free, difference));
        self.feasible.at_most(
            when,
            difference + self.settings.resolution - self.settings.least_delay,
        )?;
        self.syncs.push(when.free, difference);
        self.newest = self.newest.max(at); // a late Follow_Up: other messages came meanwhile
        let estimate = self.estimate(self.newest);
        self.latest = estimate.or(self.latest);
        Ok(estimate.map_or(Told::Nothing, Told::Estimate))
    }

    /// Takes a packet to the reference (PTP: a Delay_Req; NTP: a request) that left at local time `at`. `difference` is
    /// its transmit timestamp minus the reference's receive timestamp.
    ///
    /// # Errors
    /// As [`from_reference`](Self::from_reference).
    pub fn to_reference(&mut self, at: i64, difference: i64) -> Result<(), Contradiction> {
        let Some(when) = self.moment(at) else {
            return Ok(());
        };
        self.to_reference_alone(at, difference)?;
        let Some((sync_at, sync_difference)) = self.last_sync else {
            return Ok(());
        };
        // the clocks went apart between the two messages
        let drift = self.free_rate().unwrap_or(0.0) * when.free.saturating_sub(sync_at) as f64;
        let round_trip = sync_difference
            .saturating_add(drift.round() as i64)
            .saturating_sub(difference.saturating_sub(when.shift.1));
        self.add_delay(round_trip / 2);
        Ok(())
    }

    /// Takes a path delay that was measured otherwise (PTP: to a peer).
    pub fn peer_delay(&mut self, delay: i64) {
        self.add_delay(delay);
    }

    /// As [`to_reference`](Self::to_reference), but the path delay is known otherwise (PTP: a timeTransmitter that
    /// is a peer).
    ///
    /// # Errors
    /// As [`from_reference`](Self::from_reference).
    pub fn to_reference_alone(&mut self, at: i64, difference: i64) -> Result<(), Contradiction> {
        let Some(when) = self.moment(at) else {
            return Ok(());
        };
        let difference = difference.saturating_sub(when.shift.1);
        self.requests.push(when.free, difference);
        self.newest = self.newest.max(at);
        self.feasible.at_least(
            when,
            difference - self.settings.resolution + self.settings.least_delay,
        )?;
        if self.latest.is_none() {
            self.forget_suspects(when);
        }
        Ok(())
    }

    /// Before the first request nobody could know which Syncs were too late: perhaps they are from before a step.
    fn forget_suspects(&mut self, now: Moment) {
        let Some(possible) = self.feasible.interval_at(now) else {
            return;
        };
        let (least, credible) = (self.feasible.rate().0, latest_credible(possible));
        self.syncs.retain(|then, difference| {
            let drift = least * now.free.saturating_sub(then) as f64;
            difference.saturating_add(drift as i64) <= credible
        });
    }

    /// Returns the last estimate.
    pub fn latest(&self) -> Option<Estimate> {
        self.latest
    }

    /// Returns the local time of the newest packet: what is known holds from there on.
    pub fn newest(&self) -> i64 {
        self.newest
    }

    /// Returns between which values the offset lies at a local time, from the newest packet on; `None` until there were
    /// packets in both directions.
    pub fn possible_at(&self, at: i64) -> Option<(i64, i64)> {
        let when = self.moment(at)?;
        let (low, high) = self.feasible.interval_at(when)?;
        Some((
            low.saturating_add(when.shift.0),
            high.saturating_add(when.shift.1),
        ))
    }

    /// Returns what is known at a later local time without another packet: the bound grows, and what
    /// was commanded meanwhile has moved the clock.
    pub fn held_at(&self, at: i64) -> Option<Estimate> {
        let latest = self.latest?;
        let (then, when) = (self.moment(latest.at)?, self.moment(at)?);
        let (low, high) = self.feasible.interval_at(when)?;
        let drift = latest.free_rate.unwrap_or(0.0) * when.free.saturating_sub(then.free) as f64;
        let guess = latest
            .offset
            .saturating_sub(then.shift.0)
            .saturating_add(drift.round() as i64);
        let (offset, bound) = shown(guess, low, high, when);
        Some(Estimate {
            at,
            offset,
            bound,
            rate: latest.free_rate.map(|rate| self.steered_rate(rate, at)),
            ..latest
        })
    }

    /// The same when so many nanoseconds have passed since the last estimate by another clock: the steered one showed
    /// more or less meanwhile.
    pub fn held_after(&self, elapsed: i64) -> Option<Estimate> {
        let (at, largest) = self.commands.borrow().later(self.latest?.at, elapsed)?;
        let held = self.held_at(at)?;
        let (least, most) = self.settings.assumptions.drift;
        // the other clock's seconds are not the free-running one's
        let unsure = elapsed.max(0) as f64 * least.abs().max(most.abs()) * (largest + most.abs());
        Some(Estimate {
            bound: held.bound.saturating_add(unsure.ceil() as i64),
            ..held
        })
    }

    /// The free-running clock's rate lies between these from now on; forgets everything.
    pub fn assume_drift(&mut self, drift: (f64, f64)) {
        self.settings.assumptions.drift = drift;
        self.reset();
    }

    fn moment(&self, at: i64) -> Option<Moment> {
        self.commands.borrow().at(at)
    }

    fn estimate(&self, at: i64) -> Option<Estimate> {
        let mean_path_delay = self.mean_path_delay()?;
        let when = self.moment(at)?;
        let (low, high) = self.feasible.interval_at(when)?;
        let (offset, bound) = shown(self.guess(when.free, low, high), low, high, when);
        let free_rate = self.free_rate();
        let (least, most) = self.feasible.rate();
        let rate = free_rate.map(|rate| self.steered_rate(rate, at));
        let rate_bound = free_rate.map_or(f64::INFINITY, |rate| (most - rate).max(rate - least));
        let rate_spread = self.rate_spread();
        Some(Estimate {
            at,
            offset,
            bound,
            mean_path_delay,
            rate,
            free_rate,
            rate_bound,
            rate_spread,
        })
    }

    /// The best guess: half way between the fastest of the last Syncs and the fastest of the
    /// last requests, each moved to now by the rate.
    fn guess(&self, at: i64, low: i64, high: i64) -> i64 {
        let rate = self.free_rate();
        let fastest_sync = self.syncs.least(at, rate);
        match (fastest_sync, self.requests.greatest(at, rate)) {
            (Some(sync), Some(request)) => sync / 2 + request / 2,
            (Some(sync), None) => sync.saturating_sub(self.mean_path_delay().unwrap_or(0)),
            (None, _) => low / 2 + high / 2,
        }
    }

    /// Three guesses that err in different ways: along the fastest Syncs, along the fastest
    /// requests, and amid the Syncs. The one between the others is seldom far off. One that is not possible tells
    /// nothing: a single packet from before a step makes such a slope of the first few.
    fn free_rate(&self) -> Option<f64> {
        let (low, high) = self.feasible.rate();
        let amid = self.syncs.slope_amid()?;
        let below = self.syncs.slope_below().unwrap_or(amid);
        let above = self.requests.slope_above().unwrap_or(amid);
        let is_possible = |slope: &f64| (low..=high).contains(slope);
        let amid = Some(amid).filter(is_possible).unwrap_or(below);
        // the median of the three
        let slope = below.min(above).max(amid.min(below.max(above)));
        Some(slope.clamp(low, high))
    }

    /// How far apart these three are, and those of each half of the Syncs: halfway over a step the three agree.
    fn rate_spread(&self) -> f64 {
        let guesses = || {
            let [older, newer] = self.syncs.slopes_below_halves()?;
            Some([
                self.syncs.slope_amid()?,
                self.syncs.slope_below()?,
                self.requests.slope_above()?,
                older,
                newer,
            ])
        };
        let Some(guesses) = guesses() else {
            return f64::INFINITY;
        };
        guesses.into_iter().fold(f64::MIN, f64::max) - guesses.into_iter().fold(f64::MAX, f64::min)
    }

    /// The rate of the clock as it is steered, from that of the free-running one.
    fn steered_rate(&self, free_rate: f64, at: i64) -> f64 {
        let adjustment = self.commands.borrow().adjustment_at(at);
        (free_rate + adjustment) / (1.0 + adjustment)
    }

    fn add_delay(&mut self, delay: i64) {
        self.delays.push_back(delay);
        if self.delays.len() > DELAYS {
            self.delays.pop_front();
        }
    }

    /// The median of the last delays. Timestamps of unlike clocks can make one negative; none is.
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

/// A packet from the reference that says more than this is suspect, where the offset lies between these.
fn latest_credible((low, high): (i64, i64)) -> i64 {
    let allowed = high
        .saturating_sub(low)
        .saturating_mul(SUSPICIOUS)
        .max(ALWAYS_ALLOWED);
    high.saturating_add(allowed)
}

/// A guess within what is possible, and how wrong it may be, of the clock as it is steered.
fn shown(guess: i64, low: i64, high: i64, when: Moment) -> (i64, i64) {
    let (low, high) = (
        low.saturating_add(when.shift.0),
        high.saturating_add(when.shift.1),
    );
    let offset = guess.saturating_add(when.shift.0).clamp(low, high);
    (offset, (high - offset).max(offset - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Commands;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;
    const SETTINGS: Settings = Settings {
        assumptions: Assumptions {
            drift: (-200e-6, 200e-6),
            wander: 30e-9,
        },
        least_delay: 0,
        resolution: 2,
    };

    /// A timeTransmitter 5 µs away, against which the local clock drifts by 20 ppm from an hour off.
    fn run(estimator: &mut Estimator, from: i64, to: i64) -> Estimate {
        let truth = |at: i64| 3_600 * SECOND + at / 50_000;
        let mut last = None;
        for second in from..to {
            let at = second * SECOND;
            if let Told::Estimate(told) = estimator
                .from_reference(at, truth(at) + 5_000)
                .expect("possible")
            {
                last = Some(told);
            }
            let at = at + SECOND * 2 / 5;
            estimator
                .to_reference(at, truth(at) - 5_000)
                .expect("possible");
        }
        let last = last.expect("measured");
        assert!(
            (last.offset - truth(last.at)).abs() <= last.bound,
            "{last:?}"
        );
        last
    }

    #[test]
    fn drift_between_the_two_messages_is_no_path_delay() {
        let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
        let last = run(&mut estimator, 0, 40);
        assert!((last.mean_path_delay - 5_000).abs() < 50, "{last:?}");
        assert!(
            (last.rate.expect("known") - 20e-6).abs() < 0.2e-6,
            "{last:?}"
        );
        assert!((5_000..9_000).contains(&last.bound), "{last:?}");
    }

    #[test]
    fn a_sync_that_is_much_too_late_tells_nothing_and_spoils_nothing() {
        let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
        let last = run(&mut estimator, 0, 10);
        assert_eq!(
            estimator.from_reference(10 * SECOND, last.offset + SECOND),
            Ok(Told::Suspect)
        );
        run(&mut estimator, 11, 20);
    }

    #[test]
    fn syncs_from_before_a_step_do_not_tilt_the_first_slope() {
        for before in 1..=3 {
            let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
            let truth = |at: i64| 3_600 * SECOND + at / 50_000;
            for at in (0..before).map(|second| second * SECOND) {
                estimator
                    .from_reference(at, truth(at) + 2 * SECOND)
                    .expect("possible");
            }
            estimator
                .from_reference(before * SECOND, truth(before * SECOND) + 5_000)
                .expect("possible");
            let asked_at = before * SECOND + SECOND * 2 / 5;
            estimator
                .to_reference(asked_at, truth(asked_at) - 5_000)
                .expect("possible");
            for at in (before + 1..before + 8).map(|second| second * SECOND) {
                let Ok(Told::Estimate(told)) = estimator.from_reference(at, truth(at) + 5_000)
                else {
                    panic!("no estimate")
                };
                // until there are four Syncs the rate is not known, and nobody follows
                assert!(
                    told.rate.is_none_or(|rate| (rate - 20e-6).abs() < 1e-6),
                    "{before}: {told:?}"
                );
                assert!(
                    told.rate.is_none() || (told.offset - truth(at)).abs() < 5_000,
                    "{before}: {told:?}"
                );
            }
        }
    }

    #[test]
    fn a_step_that_the_path_delay_explains_sets_the_guesses_of_the_rate_apart() {
        let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
        let before = run(&mut estimator, 0, 40);
        assert!(before.rate_spread < 1e-9, "{before:?}");
        for second in 40..72 {
            let (at, asked_at) = (second * SECOND, second * SECOND + SECOND * 2 / 5);
            let truth = |at: i64| 3_600 * SECOND + at / 50_000 - 2_000;
            let Ok(Told::Estimate(told)) = estimator.from_reference(at, truth(at) + 5_000) else {
                panic!("no estimate")
            };
            estimator
                .to_reference(asked_at, truth(asked_at) - 5_000)
                .expect("possible");
            let wrong = told.rate.map_or(0.0, |rate| (rate - 20e-6).abs());
            assert!(
                wrong < 20e-9 || told.rate_spread > wrong / 2.0,
                "{second}: {told:?}"
            );
        }
    }

    #[test]
    fn without_messages_the_bound_grows_and_the_rate_goes_on() {
        let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
        let last = run(&mut estimator, 0, 40);
        let held = estimator.held_at(last.at + 100 * SECOND).expect("known");
        assert!(held.bound > last.bound + 10_000, "{held:?}");
        assert!(
            (held.offset - last.offset - 2_000_000).abs() < held.bound,
            "{held:?}"
        );
    }

    /// A clock, 20 ppm fast by itself, that follows what it is asked for but for its steps.
    struct Steered {
        commands: SharedCommands,
        /// What is in force, on top of the free-running clock.
        really: f64,
        /// Local time of the last change, and the offset then.
        since: (i64, f64),
    }

    impl Steered {
        const DRIFT: f64 = 20e-6;

        fn offset(&self, at: i64) -> i64 {
            let rate = 1.0 - 1.0 / ((1.0 + Self::DRIFT) * (1.0 + self.really));
            (self.since.1 + rate * (at - self.since.0) as f64).round() as i64
        }

        fn command(&mut self, at: i64, asked: f64, step: f64) {
            self.since = (at, self.offset(at) as f64);
            self.really = if step > 0.0 {
                (asked / step).round() * step
            } else {
                asked
            };
            self.commands.borrow_mut().command(at, at, 0.0, asked);
        }
    }

    /// Widest bound after 20 s of a clock that is asked for another frequency each second.
    fn in_steps(step: f64, allowed: f64) -> Result<i64, Contradiction> {
        let commands = SharedCommands::default();
        *commands.borrow_mut() = Commands::new(0.0, allowed, 0.0);
        let mut clock = Steered {
            commands: SharedCommands::clone(&commands),
            really: 0.0,
            since: (0, 0.0),
        };
        let settings = Settings {
            assumptions: Assumptions {
                wander: 0.0,
                ..SETTINGS.assumptions
            },
            ..SETTINGS
        };
        let (mut estimator, mut widest) = (Estimator::new(settings, commands), 0);
        for second in 0..200i64 {
            let at = second * SECOND;
            estimator.to_reference(at, clock.offset(at) - 20)?;
            if let Told::Estimate(told) = estimator.from_reference(at, clock.offset(at) + 20)? {
                if (told.offset - clock.offset(at)).abs() > told.bound + 2 {
                    return Err(Contradiction);
                }
                widest = if second > 20 {
                    widest.max(told.bound)
                } else {
                    0
                };
            }
            clock.command(at, 40e-9 * f64::from((second % 7) as i32 - 3), step);
        }
        Ok(widest)
    }

    #[test]
    fn a_clock_that_follows_in_steps_is_allowed_to() {
        assert_eq!(in_steps(95e-9, 0.0), Err(Contradiction));
        let widest = in_steps(95e-9, 50e-9).expect("possible");
        assert!(widest < 300, "{widest}");
    }

    proptest! {
        /// Answers come late, after adjustments of ours that their timestamps are older than: no bound fails.
        #[test]
        fn late_answers_over_our_own_adjustments_stay_within_the_bound(
            exchanges in proptest::collection::vec((-400e-6..400e-6f64, 0.0..0.9f64, 0.0..1.0f64, 0i64..200_000, 0i64..200_000), 5..60),
        ) {
            let commands = SharedCommands::default();
            *commands.borrow_mut() = Commands::new(0.0, 0.0, 200e-6);
            let mut clock = Steered { commands: SharedCommands::clone(&commands), really: 0.0, since: (0, 0.0) };
            let mut estimator = Estimator::new(SETTINGS, commands);
            for (interval, (asked, late, change, forth, back)) in (1i64..).zip(exchanges) {
                let at = interval * SECOND;
                // Sync and request are timestamped; the frequency changes; Follow_Up and Delay_Resp come
                let request_at = at + SECOND / 50;
                let (sync, request) = (clock.offset(at) + forth, clock.offset(request_at) - back);
                let answered_at = request_at + (late * SECOND as f64) as i64;
                let changed_at = request_at + (change * SECOND as f64 * 0.95) as i64;
                if changed_at < answered_at {
                    clock.command(changed_at, asked, 0.0);
                }
                estimator.to_reference(request_at, request).expect("possible");
                estimator.from_reference(at, sync).expect("possible");
                if let Some(held) = estimator.held_at(answered_at) {
                    let error = held.offset - clock.offset(answered_at);
                    prop_assert!(error.abs() <= held.bound + 2, "off by {error}: {held:?}");
                }
                if changed_at >= answered_at {
                    clock.command(changed_at, asked, 0.0);
                }
            }
        }
    }

    #[test]
    fn an_hours_jump_is_a_contradiction_and_then_forgotten() {
        let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
        run(&mut estimator, 0, 10);
        assert_eq!(estimator.from_reference(10 * SECOND, 0), Err(Contradiction));
        estimator.reset();
        assert_eq!(estimator.latest(), None);
        run(&mut estimator, 20, 30);
    }
}
