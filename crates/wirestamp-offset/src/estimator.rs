//! The estimator of one reference: offset, path delay, frequency offset, and the error bound.
//!
//! Internally, all times are on the free-running clock: adjustments are removed from each packet's
//! timestamp and added to the estimates again. A late answer to a packet from before an adjustment
//! is therefore handled correctly, and our corrections do not count as drift.

mod guess;

use crate::commands::{Moment, SharedCommands};
use crate::estimate::{Estimate, Settings, Told};
use crate::feasible::{Contradiction, Feasible, grown};
use crate::line::Line;
use crate::newest::Newest;
use std::collections::VecDeque;

/// A packet from the reference may be late by this many times the width of the possible interval,
const SUSPICIOUS: i64 = 10;
/// or by this many nanoseconds, before it is suspect.
const ALWAYS_ALLOWED: i64 = 1_000_000;

/// Estimates the offset to one reference from timestamps of packets in both directions.
#[derive(Debug, Clone)]
pub struct Estimator {
    settings: Settings,
    commands: SharedCommands,
    /// The possible offsets if there was no step: for estimates, and for contradictions that show a step.
    feasible: Feasible,
    /// The possible offsets even if there was a step: for bounds.
    possible: Newest,
    /// Of the free-running clock, like all that follows.
    syncs: Line,
    requests: Line,
    delays: VecDeque<i64>,
    latest: Option<Estimate>,
    /// Its time, which the history of adjustments may no longer reach.
    latest_at: Option<Moment>,
    /// The scale of the history's local times minus that of this estimator's.
    ahead: i64,
    last_sync: Option<(i64, i64)>,
    /// Local time of the newest packet that was used.
    newest: i64,
    /// The error of the next packet's local timestamp beyond the settings' resolution.
    unsure: i64,
}

impl Estimator {
    /// Returns an empty estimator. All estimators whose packets are timestamped by the same clock
    /// share its commands.
    pub fn new(settings: Settings, commands: SharedCommands) -> Self {
        Self {
            settings,
            commands,
            feasible: Feasible::new(settings.assumptions),
            possible: Newest::new(settings.assumptions),
            syncs: Line::default(),
            requests: Line::default(),
            delays: VecDeque::with_capacity(guess::DELAYS + 1),
            latest: None,
            latest_at: None,
            ahead: 0,
            last_sync: None,
            newest: i64::MIN,
            unsure: 0,
        }
    }

    /// Returns an empty estimator with the same settings.
    pub fn fresh(&self) -> Self {
        Self::new(self.settings, SharedCommands::clone(&self.commands))
    }

    /// Forgets all packets, after a step of a clock.
    pub fn reset(&mut self) {
        *self = self.fresh();
    }

    /// Notes that the history's scale of local times moved by `by` ([`Observed::rescale`](crate::Observed::rescale)). What
    /// is estimated from packets of before keeps their scale; an empty estimator takes packets on the new one.
    pub fn keep_scale(&mut self, by: i64) {
        if self.newest != i64::MIN {
            self.ahead = self.ahead.saturating_add(by);
        }
    }

    /// States how much the local timestamps of the packets that follow are off at most, in
    /// nanoseconds, in addition to [`Settings::resolution`]: for timestamps that were converted.
    pub fn unsure_by(&mut self, nanoseconds: i64) -> &mut Self {
        self.unsure = nanoseconds;
        self
    }

    /// Takes a packet from the reference (PTP: a Sync; NTP: a response) that arrived at local time `at`. `difference` is its
    /// receive timestamp minus its transmit timestamp.
    ///
    /// # Errors
    /// If the packet contradicts earlier ones. Call [`reset`](Self::reset) and continue.
    pub fn from_reference(&mut self, at: i64, difference: i64) -> Result<Told, Contradiction> {
        let Some(when) = self.moment(at) else {
            return Ok(Told::Nothing);
        };
        let difference = difference.saturating_sub(when.shift.0);
        let limit = difference
            .saturating_add(self.resolution())
            .saturating_sub(self.settings.least_delay);
        if self
            .feasible
            .interval_at(when)
            .is_some_and(|possible| difference > latest_credible(possible))
        {
            self.possible.late_at_most(when, limit);
            return Ok(Told::Suspect);
        }
        self.last_sync = Some((when.free, difference));
        self.feasible.at_most(when, limit)?;
        self.possible.at_most(when, limit, &mut self.feasible);
        self.syncs.push(when.free, difference);
        self.newest = self.newest.max(at); // a late Follow_Up can come after other messages
        let estimate = self.estimate(self.newest);
        if estimate.is_some() {
            (self.latest, self.latest_at) = (estimate, self.moment(self.newest));
        }
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
        // the clocks drifted apart between the two messages
        let drift = self.free_rate().unwrap_or(0.0) * when.free.saturating_sub(sync_at) as f64;
        let round_trip = sync_difference
            .saturating_add(drift.round() as i64)
            .saturating_sub(difference.saturating_sub(when.shift.1));
        self.add_delay(round_trip / 2);
        Ok(())
    }

    /// Takes a path delay from another measurement (PTP: the peer delay).
    pub fn peer_delay(&mut self, delay: i64) {
        self.add_delay(delay);
    }

    /// Takes a packet like [`to_reference`](Self::to_reference), with a path delay from another
    /// measurement (PTP: a timeTransmitter that is a peer).
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
        let limit = difference
            .saturating_sub(self.resolution())
            .saturating_add(self.settings.least_delay);
        self.feasible.at_least(when, limit)?;
        self.possible.at_least(when, limit, &mut self.feasible);
        if self.latest.is_none() {
            self.forget_suspects(when);
        }
        Ok(())
    }

    /// Forgets Syncs that may be from before a step: before the first request it was unknown which
    /// ones were too late.
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

    /// Returns the local time of the newest packet, from which on results are valid.
    pub fn newest(&self) -> i64 {
        self.newest
    }

    /// Returns the lowest and the highest possible offset at a local time from the newest packet on; `None` before
    /// there were packets in both directions.
    pub fn possible_at(&self, at: i64) -> Option<(i64, i64)> {
        let when = self.moment(at)?;
        let (low, high) = self.possible.interval_at(when)?;
        Some((
            low.saturating_add(when.shift.0),
            high.saturating_add(when.shift.1),
        ))
    }

    /// Returns the lowest and the highest offset that all packets together leave possible if no clock was stepped
    /// since the first; otherwise as [`possible_at`](Self::possible_at), whose interval contains this one.
    pub fn unstepped_at(&self, at: i64) -> Option<(i64, i64)> {
        let when = self.moment(at)?;
        let (low, high) = self.feasible.interval_at(when)?;
        Some((
            low.saturating_add(when.shift.0),
            high.saturating_add(when.shift.1),
        ))
    }

    /// Returns how far the offset may move, down and up, between two local times from the newest
    /// packet on, by the learnt frequency and regardless of the offset itself. `None` as for
    /// [`Commands::at`](crate::Commands::at).
    pub fn movement(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        let (from, to) = (self.moment(from)?, self.moment(to)?);
        let rate = self.possible.rate_at(from.free);
        let elapsed = to.free.saturating_sub(from.free).max(0);
        let doubt = to.doubt - from.doubt;
        let (down, up) = grown(rate, self.settings.assumptions.wander, elapsed, doubt);
        let shift = (to.shift.0 - from.shift.1, to.shift.1 - from.shift.0);
        Some((down.saturating_add(shift.0), up.saturating_add(shift.1)))
    }

    /// Returns the estimate for a later local time without another packet: with a larger error
    /// bound, and including adjustments since.
    pub fn held_at(&self, at: i64) -> Option<Estimate> {
        let latest = self.latest?;
        let then = self.moment(latest.at).or(self.latest_at)?;
        let when = self.moment(at)?;
        let (low, high) = self.possible.interval_at(when)?;
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

    /// Returns the estimate for an instant that another clock gives, in nanoseconds since the last
    /// estimate; the steered clock may have advanced by more or less.
    pub fn held_after(&self, elapsed: i64) -> Option<Estimate> {
        let begun = self.latest?.at.saturating_add(self.ahead);
        let (at, largest) = self.commands.borrow().later(begun, elapsed)?;
        let held = self.held_at(at.saturating_sub(self.ahead))?;
        let (least, most) = self.settings.assumptions.drift;
        // the other clock's seconds are not the free-running one's
        let unsure = elapsed.max(0) as f64 * least.abs().max(most.abs()) * (largest + most.abs());
        Some(Estimate {
            bound: held.bound.saturating_add(unsure.ceil() as i64),
            ..held
        })
    }

    /// Sets the limits of the free-running clock's rate, and forgets all packets.
    pub fn assume_drift(&mut self, drift: (f64, f64)) {
        self.settings.assumptions.drift = drift;
        self.reset();
    }

    /// The largest error of both timestamps of the packet.
    fn resolution(&self) -> i64 {
        self.settings.resolution.saturating_add(self.unsure)
    }

    fn moment(&self, at: i64) -> Option<Moment> {
        let moment = self.commands.borrow().at(at.saturating_add(self.ahead))?;
        let free = moment.free.saturating_sub(self.ahead);
        Some(Moment { free, ..moment })
    }

    fn estimate(&self, at: i64) -> Option<Estimate> {
        let mean_path_delay = self.mean_path_delay()?;
        let when = self.moment(at)?;
        let (low, high) = self.feasible.interval_at(when)?;
        let guess = self.guess(when.free, low, high).clamp(low, high);
        let (low, high) = self.possible.interval_at(when)?;
        let (offset, bound) = shown(guess, low, high, when);
        let free_rate = self.free_rate();
        let (least, most) = self.possible.rate_at(when.free);
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
            rate_memory: self.rate_memory(when.free),
            is_rate_limited: self.is_rate_limited(),
        })
    }

    /// The rate of the steered clock, from that of the free-running one.
    fn steered_rate(&self, free_rate: f64, at: i64) -> f64 {
        let at = at.saturating_add(self.ahead);
        let adjustment = self.commands.borrow().adjustment_at(at);
        (free_rate + adjustment) / (1.0 + adjustment)
    }
}

/// The difference above which a packet from the reference is suspect, given the interval of the offset.
fn latest_credible((low, high): (i64, i64)) -> i64 {
    let allowed = high
        .saturating_sub(low)
        .saturating_mul(SUSPICIOUS)
        .max(ALWAYS_ALLOWED);
    high.saturating_add(allowed)
}

/// The estimate, clamped to the possible interval, with its bound, for the steered clock.
fn shown(guess: i64, low: i64, high: i64, when: Moment) -> (i64, i64) {
    let (low, high) = (
        low.saturating_add(when.shift.0),
        high.saturating_add(when.shift.1),
    );
    let offset = guess.saturating_add(when.shift.0).clamp(low, high);
    (offset, (high - offset).max(offset - low))
}

#[cfg(test)]
mod tests;
