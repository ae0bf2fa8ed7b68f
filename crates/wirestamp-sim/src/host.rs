//! The host's two clocks, and the offset that a socket measures between them. True time is virtual time; the clocks
//! show it in ticks. `wirestamp_core` converts timestamps.

use crate::chance::Chance;
use crate::scenario::{Delay, Host, Platform};
use wirestamp_core::time::{
    Adjusted, Bounded, Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp, UtcModel,
    UtcTime,
};
use wirestamp_core::timestamp::{Clocks as ClocksRead, KernelTime, Placement};

/// So many readings of both clocks are taken for a new socket.
const FIRST_READINGS: usize = 12;

/// Adjustments of the system clock are in these parts.
const WHOLE: i128 = 1_000_000_000_000_000;

/// The monotonic and the real-time clock.
#[derive(Debug)]
pub(crate) struct Clocks {
    platform: Platform,
    tick: i64,
    /// UTC minus true time, as it was at `slewed_since`.
    offset: i64,
    /// How fast UTC runs against true time since then, beside steps: in parts per billion.
    slew: i64,
    slewed_since: i64,
    /// By how much the system clock runs faster than by itself since `adjusted_since`, in parts per 10¹⁵, and how far
    /// that has moved it until then, in nanoseconds / 10¹⁵.
    adjustment: i64,
    adjusted: i128,
    adjusted_since: i64,
    /// Of a reading of the real-time clock between two of the monotonic clock.
    forward: Delay,
    back: Delay,
    /// The duration of an exact reading.
    held: i64,
    chance: Chance,
}

impl Clocks {
    pub(crate) fn new(platform: Platform, host: &Host, chance: Chance) -> Self {
        let utc = i64::from(host.utc_start_s) * 1_000_000_000;
        let offset = utc - host.start.nanoseconds();
        let (tick, forward, back) = (host.tick.nanoseconds(), host.utc_forward, host.utc_back);
        Self {
            platform,
            tick,
            offset,
            slew: 0,
            slewed_since: 0,
            adjustment: 0,
            adjusted: 0,
            adjusted_since: 0,
            forward,
            back,
            held: host.utc_held.nanoseconds(),
            chance,
        }
    }

    /// How finely both count: the largest whole number of hertz whose tick is no shorter than theirs.
    pub(crate) fn frequency(&self) -> Frequency {
        let hertz = 1_000_000_000 / self.tick.unsigned_abs().max(1);
        Frequency::from_hertz(hertz).unwrap_or(Frequency::GIGAHERTZ)
    }

    /// Returns the monotonic clock's time at `true_time`.
    pub(crate) fn system(&self, true_time: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(true_time - true_time.rem_euclid(self.tick))
    }

    /// Returns the real-time clock's time at `true_time`.
    pub(crate) fn utc(&self, true_time: i64) -> UtcTime {
        let utc = true_time.saturating_add(self.offset_at(true_time));
        UtcTime::from_nanoseconds(utc.saturating_sub(utc.rem_euclid(self.tick)))
    }

    /// Returns the real-time clock's time at `true_time`, not rounded to ticks.
    pub(crate) fn exact_utc(&self, true_time: i64) -> UtcTime {
        UtcTime::from_nanoseconds(true_time.saturating_add(self.offset_at(true_time)))
    }

    pub(crate) fn step_utc(&mut self, by: i64) {
        self.offset = self.offset.saturating_add(by);
    }

    /// From `true_time` on the real-time clock runs faster than the monotonic clock by so much.
    pub(crate) fn slew_utc(&mut self, true_time: i64, parts_per_billion: i64) {
        self.offset = self.offset_at(true_time);
        (self.slew, self.slewed_since) = (parts_per_billion, true_time);
    }

    /// From `true_time` on the system clock runs faster than by itself by so many parts per 10¹⁵.
    pub(crate) fn slew_system(&mut self, true_time: i64, by: i64) {
        self.adjusted = self.adjusted_at(true_time);
        (self.adjustment, self.adjusted_since) = (by, true_time);
    }

    /// Returns how far adjustments have moved the monotonic clock at `true_time`. Reading that takes no time here.
    pub(crate) fn adjusted(&self, true_time: i64) -> Adjusted {
        let by = self.adjusted_at(true_time).div_euclid(WHOLE);
        // either clock shows its last tick
        let unsure = Span::from_nanoseconds(self.tick.into());
        Adjusted {
            at: self.system(true_time),
            by: Bounded::new(Span::from_nanoseconds(by), unsure),
        }
    }

    fn adjusted_at(&self, true_time: i64) -> i128 {
        let elapsed = i128::from(true_time) - i128::from(self.adjusted_since);
        let by = i128::from(self.adjustment);
        // its time is true time here: so much of it was added
        let share = WHOLE * by / (WHOLE + by);
        self.adjusted + elapsed * share
    }

    /// How the real-time clock may run against the monotonic clock.
    pub(crate) fn real_time_clock(&self) -> RealTimeClock {
        RealTimeClock {
            slew_parts_per_million: match self.platform {
                Platform::Linux => 0,
                Platform::Windows => 1_000,
            },
            tick: Span::from_nanoseconds(self.tick.into()),
        }
    }

    /// UTC minus true time.
    fn offset_at(&self, true_time: i64) -> i64 {
        let elapsed = i128::from(true_time) - i128::from(self.slewed_since);
        let slewed = elapsed * i128::from(self.slew) / 1_000_000_000;
        self.offset
            .saturating_add(i64::try_from(slewed).unwrap_or(i64::MAX))
    }

    pub(crate) fn timestamp(&self, true_time: i64) -> KernelTime {
        match self.platform {
            Platform::Linux => KernelTime::Utc(self.utc(true_time)),
            Platform::Windows => KernelTime::Monotonic(self.system(true_time)),
        }
    }

    /// How far before the truth a reading of either clock can lie.
    fn rounding(&self) -> Span {
        Span::from_nanoseconds(i128::from(self.tick - 1))
    }
}

/// Queries of sockets: they read the clocks alone, and cost no time.
impl Clocks {
    /// The distance of the clocks as a new socket knows it.
    pub(crate) fn first_offset(&mut self, now: i64) -> UtcModel {
        let mut offset = UtcModel::new(self.read(now));
        for _ in 1..FIRST_READINGS {
            self.observe(&mut offset, now);
        }
        offset
    }

    /// Where a new socket places timestamps.
    pub(crate) fn placement(&mut self, now: i64) -> Placement {
        Placement::new(
            self.first_offset(now),
            Span::from_nanoseconds(self.tick.into()),
        )
    }

    /// Asks the clocks about timestamps that were just read.
    pub(crate) fn ask(&mut self, placement: &mut Placement, now: i64) -> ClocksRead {
        let difference = self.difference(now);
        if difference.is_some_and(|difference| placement.is_unchanged(difference)) {
            return ClocksRead::Unchanged;
        }
        self.observe(placement.offset_mut(), now);
        ClocksRead::Read(self.system(now))
    }

    /// Returns how far the real-time clock is ahead of the monotonic clock, where the system reports it exactly.
    pub(crate) fn difference(&self, now: i64) -> Option<i64> {
        self.tells_exactly().then(|| self.offset_at(now))
    }

    /// Reads the clocks; returns the size of a step that shows.
    pub(crate) fn observe(&mut self, offset: &mut UtcModel, now: i64) -> Option<Span> {
        if self.tells_exactly() {
            offset.observe_exactly(
                self.offset_at(now),
                self.system(now.saturating_sub(self.held)),
                self.system(now),
            )
        } else {
            offset.observe(self.read(now))
        }
    }

    /// Converts a monotonic time to UTC, by the exact offset.
    pub(crate) fn in_utc(&self, at: MonotonicTime) -> UtcTime {
        UtcTime::from_nanoseconds(
            at.nanoseconds()
                .saturating_add(self.offset_at(at.nanoseconds())),
        )
    }

    /// Linux shows the values of both clocks at its last tick; else they are read one after another.
    fn tells_exactly(&self) -> bool {
        (self.forward, self.back) == Default::default()
    }

    /// The real-time clock between two readings of the monotonic clock, the last of them `now`. What each can
    /// have passed since it showed so is taken in.
    fn read(&mut self, now: i64) -> UtcCrossTimestamp {
        let between = now.saturating_sub(self.chance.delay(&self.back));
        let before = between.saturating_sub(self.chance.delay(&self.forward));
        let rounding = self.rounding();
        let (before, after) = (self.system(before) - rounding, self.system(now) + rounding);
        UtcCrossTimestamp {
            before,
            utc: self.utc(between),
            after,
        }
    }
}
