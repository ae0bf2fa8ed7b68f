//! The clocks of a simulated host: slewed, and stepped.

use super::chance::Chance;
use std::f64::consts::TAU;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_probe::HostTimestamp;
use wirestamp_probe::tlv::Method;

/// UTC at the begin of a run.
pub(crate) const EPOCH: i64 = 1_795_334_706_000_000_000;
/// The slow error of a clock: ±30 ms over 1,000 s, up to 190 ppm.
const SWING: f64 = 30e6;
const PERIOD: f64 = 1e12;
/// The largest error of a clock after a step.
const STEP: i64 = 20_000_000;
/// The largest error of the clock.
pub(crate) const BOUND: Span = Span::from_milliseconds(50);

#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// The phase of the swing at the begin.
    phase: f64,
    boot: i64,
    /// The times from which the real-time clock has an additional error, and the errors.
    steps: Vec<(i64, i64)>,
}

impl Clock {
    /// `away` is a permanent error against UTC. The clock is stepped about every 50 seconds.
    pub(crate) fn new(seed: u64, away: i64, length: i64) -> Self {
        let mut chance = Chance::new(seed);
        let (phase, boot) = (chance.below(1_000) as f64 / 1_000.0, chance.below(1 << 50));
        let mut steps = vec![(i64::MIN, away)];
        let mut at = 20_000_000_000 + chance.below(60_000_000_000);
        while at < length {
            steps.push((at, away + chance.below(2 * STEP) - STEP));
            at += 20_000_000_000 + chance.below(60_000_000_000);
        }
        Self { phase, boot, steps }
    }

    /// The clock's error at a true time.
    pub(crate) fn monotonic(&self, at: i64) -> MonotonicTime {
        let swing = SWING * ((at as f64 / PERIOD + self.phase) * TAU).sin();
        MonotonicTime::from_nanoseconds(self.boot + at + swing as i64)
    }

    /// UTC − monotonic.
    pub(crate) fn offset(&self, at: i64) -> Span {
        let step = self
            .steps
            .iter()
            .rev()
            .find(|(from, _)| *from <= at)
            .map_or(0, |step| step.1);
        Span::from_nanoseconds(i128::from(EPOCH - self.boot + step))
    }

    pub(crate) fn utc(&self, at: i64) -> UtcTime {
        UtcTime::from_nanoseconds(self.monotonic(at).nanoseconds()) + self.offset(at)
    }

    /// A timestamp whose error bound contains the truth.
    pub(crate) fn timestamp(&self, at: i64, chance: &mut Chance) -> HostTimestamp {
        let bound = chance.below(2_000);
        let off = Span::from_nanoseconds((chance.below(2 * bound + 1) - bound).into());
        HostTimestamp {
            at: Bounded::new(
                self.monotonic(at) + off,
                Span::from_nanoseconds(bound.into()),
            ),
            utc: self.utc(at) + off,
            method: Method::Software,
        }
    }
}
