//! Fast slews of this host's clock, by readings of how far adjustments have moved it.

use super::Session;
use wirestamp_core::time::{Adjusted, Bounded, MonotonicTime, Span};

/// Readings are compared over so long at least: of two that are close together, their error bounds hide a fast slew.
const SPACING: Span = Span::from_milliseconds(10);
/// The usual adjustment, in parts per billion; the drift between the clocks contains it.
const USUAL: i128 = 500_000;
const BILLION: i128 = 1_000_000_000;

/// The movement by adjustments from one reading to a later one.
fn between(before: &Adjusted, after: &Adjusted) -> Bounded<Span> {
    let moved = after.by.value - before.by.value;
    Bounded::new(moved, after.by.bound + before.by.bound)
}

/// The share of a time in parts per billion.
fn share(elapsed: Span, ppb: i128) -> Span {
    Span::from_nanoseconds((elapsed.nanoseconds() * ppb).div_euclid(BILLION))
}

/// How fast adjustments move the clock without fast slews.
#[derive(Debug, Clone, Copy, Default)]
struct Usual {
    /// In parts per billion.
    ppb: i128,
    /// The error bound of that.
    unsure: i128,
}

impl Usual {
    /// How far the clock may have been moved otherwise, in either direction.
    fn other(self, moved: Bounded<Span>, elapsed: Span) -> Span {
        let rounded = share(elapsed, self.unsure) + Span::from_nanoseconds(1);
        let usual = Bounded::new(share(elapsed, self.ppb), rounded);
        let (back, forward) = Adjusted::beside(moved, usual);
        forward.max(-back)
    }
}

/// The fast slews until now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slews {
    /// The reading to which the newest one is compared.
    base: Option<Adjusted>,
    newest: Option<Adjusted>,
    /// How far they had moved the clock at most until the base, in both directions together.
    settled: Span,
    /// The means over the last intervals without one, newest first. One of them may contain a part of a slew.
    usual: [Usual; 3],
    /// The length of the last interval.
    interval: Span,
}

/// The slews that were known when a packet left.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Begun {
    reading: Option<Adjusted>,
    total: Span,
    usual: [Usual; 2],
}

/// The readings before and after an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readings(Option<[Adjusted; 2]>);

impl Slews {
    fn note(&mut self, reading: Adjusted) {
        self.newest = Some(reading);
        let base = *self.base.get_or_insert(reading);
        let elapsed = reading.at - base.at;
        if elapsed < SPACING {
            return;
        }
        let moved = between(&base, &reading);
        let per_billion = |span: Span| span.nanoseconds() * BILLION / elapsed.nanoseconds();
        self.settled = self.total();
        self.base = Some(reading);
        // a round trip between two pauses: a short slew in it is most of it
        let is_short = elapsed + elapsed < std::mem::replace(&mut self.interval, elapsed);
        if !is_short && !Adjusted::is_fast(moved, elapsed) {
            let newest = Usual {
                ppb: per_billion(moved.value).clamp(-USUAL, USUAL),
                unsure: per_billion(moved.bound) + 1,
            };
            self.usual = [newest, self.usual[0], self.usual[1]];
        }
    }

    /// The newest mean, and that which is no exception.
    fn usual(&self) -> [Usual; 2] {
        let mut sorted = self.usual;
        sorted.sort_unstable_by_key(|usual| usual.ppb);
        [self.usual[0], sorted[1]]
    }

    /// How far they have moved the clock at most, in both directions together.
    fn total(&self) -> Span {
        let Some((base, newest)) = self.base.zip(self.newest) else {
            return Span::ZERO;
        };
        let moved = between(&base, &newest);
        match Adjusted::is_fast(moved, newest.at - base.at) {
            true => self.settled + moved.value.abs() + moved.bound,
            false => self.settled,
        }
    }

    pub(super) fn begin(&self) -> Begun {
        Begun {
            reading: self.newest,
            total: self.total(),
            usual: self.usual(),
        }
    }

    /// How far they may have moved the clock at most since a packet left: also those so short that the mean since then is
    /// no fast one, or that the readings' error bounds hide.
    pub(super) fn since(&self, begun: &Begun) -> Span {
        let fast = (self.total() - begun.total).max(Span::ZERO);
        let Some([before, after]) = self.readings(begun).0 else {
            return fast;
        };
        let (moved, elapsed) = (between(&before, &after), after.at - before.at);
        let others = begun.usual.map(|usual| usual.other(moved, elapsed));
        others.into_iter().fold(fast, Span::max)
    }

    pub(super) fn readings(&self, begun: &Begun) -> Readings {
        Readings(begun.reading.zip(self.newest).map(<[Adjusted; 2]>::from))
    }
}

impl Readings {
    /// How far adjustments had moved the clock at a time between them, from an unknown beginning on.
    pub(super) fn moved(&self, at: MonotonicTime) -> Bounded<Span> {
        let known = self.0.map(|[before, after]| before.until(&after, at));
        known.unwrap_or(Bounded::exact(Span::ZERO))
    }
}

impl Session {
    /// Takes a reading of how far adjustments have moved the monotonic clock. With one before each request, and one after
    /// each reply was read, a time daemon's fast slew of this host's clock (by more than 1,000 ppm) that they show is part
    /// of error bounds, and neither a step nor a reason to reject a reply.
    pub fn adjusted(&mut self, reading: Adjusted) {
        self.slews.note(reading);
    }
}

#[cfg(test)]
mod tests;
