//! The four timestamps of an exchange, and the interval of the offset that follows from them.

use crate::drift::largest_drift;
use crate::packet::ServerState;
use crate::timestamp::NtpTimestamp;
use wirestamp_core::time::{Adjusted, Bounded, MonotonicTime, RealTimeClock, Span, UtcTime};

/// A timestamp of the local host, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    /// On the real-time clock, whose offset is measured. Its error bound is 0 for the kernel's timestamps, and the conversion's
    /// for the NIC's.
    pub utc: Bounded<UtcTime>,
    /// On the monotonic clock, which shows whether the real-time clock was stepped.
    pub monotonic: Bounded<MonotonicTime>,
    /// How far adjustments had moved the monotonic clock by then
    /// ([`Adjusted`]). `None`: unknown; then nothing is learnt of the drift.
    pub adjusted: Option<Bounded<Span>>,
}

impl LocalTime {
    /// Returns whether the real-time clock was stepped between this and a later timestamp.
    pub(crate) fn was_stepped_before(&self, later: &Self, clock: &RealTimeClock) -> bool {
        let (passed, elapsed) = (later.utc - self.utc, later.monotonic - self.monotonic);
        clock.slewed_in(passed, elapsed).is_none()
    }

    /// Returns how far adjustments moved the clock from an earlier time until this one, if both are known.
    pub(crate) fn adjusted_since(&self, earlier: &Self) -> Option<Bounded<Span>> {
        let (from, to) = (earlier.adjusted?, self.adjusted?);
        Some(Bounded::new(to.value - from.value, to.bound + from.bound))
    }

    /// Returns how far adjustments may have moved the clock since then, at most backward and at most forward; zero where that
    /// is unknown. Any slew counts, however slow it is on average: beside it the clocks drift by as much as without it.
    pub(crate) fn moved_since(&self, earlier: &Self) -> (Span, Span) {
        let by = self.adjusted_since(earlier);
        by.map_or((Span::ZERO, Span::ZERO), |by| {
            Adjusted::beside(by, Bounded::exact(Span::ZERO))
        })
    }

    /// Returns how far adjustments moved the clock if a fast slew was among them, and they are more than the largest drift.
    pub(crate) fn slewed_since(&self, earlier: &Self, max_drift_ppm: u32) -> Option<Bounded<Span>> {
        let by = self.adjusted_since(earlier)?;
        let elapsed = (self.utc.value - earlier.utc.value).abs();
        let is_more = by.value.abs() > by.bound + largest_drift(elapsed, max_drift_ppm);
        (is_more && Adjusted::is_fast(by, elapsed)).then_some(by)
    }

    /// Returns the time of the unadjusted clock; `None` if it is unknown.
    pub(crate) fn free(&self) -> Option<Bounded<MonotonicTime>> {
        let adjusted = self.adjusted?;
        Some(Bounded::new(
            self.monotonic.value - adjusted.value,
            self.monotonic.bound + adjusted.bound,
        ))
    }
}

/// The offset from one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The arrival of the response, on the real-time clock.
    pub at: UtcTime,
    /// The offset, local minus server: the middle of the possible interval. Its error bound is without the clocks' drift
    /// during the exchange, but with what the readings leave possible of adjustments of this host's clock meanwhile.
    pub offset: Bounded<Span>,
    /// The path delay of both directions together, without the residence time.
    pub path_delay: Span,
    /// The time from the request's arrival at the server to the response's departure.
    pub residence_time: Span,
    /// Whether the server sent the exact transmit time afterwards (RFC 9769).
    pub interleaved: bool,
    /// The state of the server, as it states it.
    pub server: ServerState,
}

/// The timestamps of an exchange that are known so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// When the request left.
    pub(crate) t1: LocalTime,
    /// When it arrived at the server.
    pub(crate) t2: NtpTimestamp,
    /// The arrival of the response.
    pub(crate) t4: LocalTime,
}

/// The limits of the offset, each at its instant, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) sent_at: i64,
    pub(crate) at_least: i64,
    /// How much lower the first limit is, because adjustments may have moved the clock back during the exchange.
    pub(crate) slewed_back: i64,
    pub(crate) received_at: i64,
    pub(crate) at_most: i64,
}

impl Bounds {
    /// The limits of the unadjusted clock's offset to the same server; `None` if its time is
    /// unknown.
    pub(crate) fn free(&self, exchange: &Exchange) -> Option<Self> {
        let nanoseconds = |time: MonotonicTime| i128::from(time.nanoseconds());
        let utc = |time: &LocalTime| i128::from(time.utc.value.nanoseconds());
        let (left, came) = (exchange.t1.free()?, exchange.t4.free()?);
        let at_least = i128::from(self.at_least) - i128::from(self.slewed_back);
        let at_least = at_least + nanoseconds(left.value) - utc(&exchange.t1);
        let at_most = i128::from(self.at_most) + nanoseconds(came.value) - utc(&exchange.t4);
        Some(Self {
            sent_at: left.value.nanoseconds(),
            at_least: i64::try_from(at_least - left.bound.nanoseconds()).ok()?,
            slewed_back: 0,
            received_at: came.value.nanoseconds(),
            at_most: i64::try_from(at_most + came.bound.nanoseconds()).ok()?,
        })
    }
}

impl Exchange {
    /// `None` if the timestamps contradict each other.
    pub(crate) fn complete(
        &self,
        t3: NtpTimestamp,
        interleaved: bool,
        server: ServerState,
        max_drift_ppm: u32,
    ) -> Option<(Sample, Bounds)> {
        let (t1, t4) = (self.t1.utc.value, self.t4.utc.value);
        let (t2, t3) = (self.t2.to_utc(t1)?, t3.to_utc(t4)?);
        let unsure = server.timestamp_bound() + self.t1.utc.bound.max(self.t4.utc.bound);
        let residence_time = t3 - t2;
        let slewed = self.t4.slewed_since(&self.t1, max_drift_ppm);
        let path_delay = (t4 - t1) - residence_time - slewed.map_or(Span::ZERO, |by| by.value);
        // the first limit is of the request: adjustments backward since may have moved the offset below it, and the clock
        // counts less of the time in which the others drift
        let (back, _) = self.t4.moved_since(&self.t1);
        let slewed_back = back - largest_drift(-back, max_drift_ppm);
        let (at_least, at_most) = (t1 - t2 - unsure + slewed_back, t4 - t3 + unsure);
        // both limits have this error, so twice this allows for the error of all four timestamps
        if residence_time + unsure + unsure < Span::ZERO || at_least > at_most || t4 < t1 {
            return None;
        }
        let bounds = Bounds {
            sent_at: t1.nanoseconds(),
            at_least: i64::try_from(at_least.nanoseconds()).ok()?,
            slewed_back: slewed_back.saturating_nanoseconds(),
            received_at: t4.nanoseconds(),
            at_most: i64::try_from(at_most.nanoseconds()).ok()?,
        };
        let offset = (at_least.nanoseconds() + at_most.nanoseconds()).div_euclid(2);
        let half = at_most.nanoseconds() - offset;
        let sample = Sample {
            at: t4,
            offset: Bounded::new(Span::from_nanoseconds(offset), Span::from_nanoseconds(half)),
            path_delay,
            residence_time,
            interleaved,
            server,
        };
        Some((sample, bounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(monotonic: i64, utc: i64) -> LocalTime {
        let bound = Span::from_nanoseconds(50);
        LocalTime {
            utc: Bounded::exact(UtcTime::from_nanoseconds(utc)),
            monotonic: Bounded::new(MonotonicTime::from_nanoseconds(monotonic), bound),
            adjusted: None,
        }
    }

    /// A step of the clock is no drift, however long the exchange is: Linux slews both clocks alike.
    #[test]
    fn where_both_clocks_are_slewed_alike_every_step_is_noticed() {
        let then = local(0, 7_000);
        for later in [20_000_000, 64_000_000_000] {
            let stepped =
                |by: i64, clock| then.was_stepped_before(&local(later, later + 7_000 + by), &clock);
            let most = later / 2_000; // 500 ppm
            for by in [103, -103, 3_000, most] {
                assert!(stepped(by, RealTimeClock::LINUX), "{by} in {later}");
                assert!(!stepped(by, RealTimeClock::ANY), "{by} in {later}");
            }
            assert!(!stepped(102, RealTimeClock::LINUX));
            assert!(stepped(3 * most, RealTimeClock::ANY));
        }
    }
}
