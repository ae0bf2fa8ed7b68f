//! Owns one run of a hardware clock: its readings, its span of time, and whether a reading
//! still belongs to it. Does not choose between runs.

use super::fit::{Fit, MEASURED, Reading, STATED};
use super::interval::Interval;
use super::{Epoch, EpochCause};
use crate::time::{Frequency, Span, SystemTime};
use alloc::vec::Vec;

/// Without a reading for this long, nobody knows what happened to the counter.
pub(super) const LONGEST_GAP: Span = Span::from_seconds(60);
/// A rate that changed by more is not an oscillator's doing.
const RATE_CHANGE: f64 = 200e-6;
/// Below this uncertainty a rate counts as known from the readings.
const RATE_KNOWN: f64 = 100e-6;
/// Counters run at 1 kHz to 10 GHz; nanoseconds per tick, with a little room.
const POSSIBLE_SCALES: Interval = Interval::new(0.09, 1.1e6);
/// Readings kept until two of them tell the frequency.
const KEPT_UNSCALED: usize = 64;

/// How far the relation is known.
#[derive(Debug, Clone)]
enum Knowledge {
    /// The frequency is unknown, and no two readings are far enough apart to tell it.
    Readings(Vec<Reading>),
    /// Conversions can be made.
    Fit(Fit),
}

/// One run of a hardware clock.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) number: Epoch,
    pub(super) cause: EpochCause,
    /// The system time of the first reading.
    pub(super) first: SystemTime,
    /// And of the last.
    pub(super) last: SystemTime,
    newest: Reading,
    knowledge: Knowledge,
    /// Nanoseconds per tick in the run before, if that was known.
    rate_before: Option<Interval>,
}

impl Run {
    /// Opened by `reading`. `stated`: the frequency, if it can be relied on.
    pub(super) fn new(number: Epoch, cause: EpochCause, reading: Reading, stated: Option<Frequency>) -> Self {
        let alone = || Knowledge::Readings(Vec::from([reading]));
        let knowledge = stated.map_or_else(alone, |frequency| {
            let mut fit = Fit::new(1e9 / frequency.hertz() as f64, STATED);
            match fit.add(&reading) {
                Ok(()) => Knowledge::Fit(fit),
                Err(_) => alone(),
            }
        });
        let (first, last) = (reading.middle, reading.middle);
        Self { number, cause, first, last, newest: reading, knowledge, rate_before: None }
    }

    /// Follows `previous`, whose rate a change is told from.
    #[must_use]
    pub(super) fn after(mut self, previous: &Self) -> Self {
        self.rate_before = previous.known_rate();
        self
    }

    /// The same with one more reading, or why that can't belong to it.
    pub(super) fn with(&self, reading: &Reading) -> Result<Self, EpochCause> {
        if reading.ticks.since(self.newest.ticks) < 0 {
            return Err(EpochCause::CounterBackwards);
        }
        if reading.middle - self.last > LONGEST_GAP {
            return Err(EpochCause::Gap);
        }
        let mut next = self.clone();
        next.knowledge = next.knowledge.with(reading).ok_or(EpochCause::Contradiction)?;
        (next.last, next.newest) = (reading.middle, *reading);
        // One reading can't tell a step from a new rate; the ones that follow can.
        if let (EpochCause::Contradiction, Some(before), Some(now)) = (next.cause, next.rate_before, next.known_rate())
        {
            let change = (now.low / before.high - 1.0).max(before.low / now.high - 1.0);
            if change > RATE_CHANGE {
                next.cause = EpochCause::RateChange;
            }
        }
        Ok(next)
    }

    /// The conversions, if the frequency is known.
    pub(super) fn fit(&self) -> Option<&Fit> {
        match &self.knowledge {
            Knowledge::Fit(fit) => Some(fit),
            Knowledge::Readings(_) => None,
        }
    }

    /// Nanoseconds per tick, if the readings tell it.
    pub(super) fn known_rate(&self) -> Option<Interval> {
        let rate = self.fit()?.rate()?;
        (rate.half_width() <= RATE_KNOWN * rate.middle()).then_some(rate)
    }

    /// How many readings it stands on.
    pub(super) fn readings(&self) -> usize {
        match &self.knowledge {
            Knowledge::Readings(readings) => readings.len(),
            Knowledge::Fit(fit) => fit.readings(),
        }
    }
}

impl Knowledge {
    /// `None`: the readings contradict one another.
    fn with(mut self, reading: &Reading) -> Option<Self> {
        match &mut self {
            Self::Fit(fit) => fit.add(reading).ok()?,
            Self::Readings(readings) => {
                let scale =
                    readings.iter().filter_map(|earlier| scale(earlier, reading)).min_by(|a, b| a.1.total_cmp(&b.1));
                readings.push(*reading);
                if let Some((scale, _)) = scale {
                    let mut fit = Fit::new(scale, MEASURED);
                    readings.iter().try_for_each(|reading| fit.add(reading)).ok()?;
                    return Some(Self::Fit(fit));
                }
                if readings.len() > KEPT_UNSCALED {
                    readings.remove(1); // the first is the farthest, the last the next one's neighbour
                }
            }
        }
        Some(self)
    }
}

/// Nanoseconds per tick from two readings and the uncertainty of it, if that is small enough
/// and the result possible.
fn scale(earlier: &Reading, later: &Reading) -> Option<(f64, f64)> {
    let ticks = later.ticks.since(earlier.ticks) as f64;
    let span = (later.middle - earlier.middle).nanoseconds() as f64;
    let span =
        Interval::new(span + later.bracket.low - earlier.bracket.high, span + later.bracket.high - earlier.bracket.low);
    // one tick each way: when between two counts it was read is unknown
    let scale = Interval::new(span.low / (ticks + 1.0), span.high / (ticks - 1.0));
    let uncertainty = scale.half_width() / scale.middle();
    let possible = ticks > 1.0 && scale.low > POSSIBLE_SCALES.low && scale.high < POSSIBLE_SCALES.high;
    (possible && uncertainty <= STATED.high).then_some((scale.middle(), uncertainty))
}
