//! The adaptive deadline of transmit timestamps, learnt from the delays of those that came.
//!
//! Background: software timestamps on virtual devices are available before the send returns.
//! Hardware timestamps took 0.25 to 0.8 ms on average and 9.5 ms at worst on an idle machine; users
//! of PTP daemons had to raise their timeouts to 50 to 200 ms; one NIC took up to 500 ms and one
//! about a second. No fixed value suits all of them. A deadline that is too short loses timestamps,
//! one that is too long only delays the report of a loss.

use crate::time::Span;

/// The deadline before enough timestamps came: the value that users of slow NICs had to set.
const INITIAL: Span = Span::from_milliseconds(200);
/// The shortest deadline: a scheduler may delay the collecting thread this long.
const SHORTEST: Span = Span::from_milliseconds(10);
/// The longest deadline: twice the longest reported delay.
const LONGEST: Span = Span::from_seconds(2);
/// The number of timestamps after which the NIC's delays are known.
const ENOUGH: u32 = 16;
/// The ratio of the deadline to the longest recent delay.
const MARGIN: u64 = 8;
/// Each timestamp reduces the maximum by 1/256: it halves in 177 timestamps.
const DECAY: u64 = 256;

/// Learns the delays of transmit timestamps from sending to collecting, and derives a deadline.
#[derive(Debug, Clone, Default)]
pub struct TimestampDelay {
    /// The longest recent delay in nanoseconds; decays.
    slowest: u64,
    seen: u32,
}

impl TimestampDelay {
    /// Creates one without an observation.
    pub const fn new() -> Self {
        Self {
            slowest: 0,
            seen: 0,
        }
    }

    /// Notes a timestamp that was collected `delay` after its datagram was sent. Late timestamps
    /// extend the deadline at once.
    pub fn observe(&mut self, delay: Span) {
        self.observe_nanoseconds(delay.saturating_nanoseconds());
    }

    #[inline]
    pub(super) fn observe_nanoseconds(&mut self, delay: i64) {
        let delay = delay.max(0) as u64;
        self.slowest = delay.max(self.slowest - self.slowest / DECAY);
        self.seen = self.seen.saturating_add(1);
    }

    /// Returns the deadline after sending.
    #[inline]
    pub fn deadline(&self) -> Span {
        let learnt = self.slowest.saturating_mul(MARGIN);
        let at_least = if self.seen < ENOUGH {
            INITIAL
        } else {
            SHORTEST
        };
        let nanoseconds = |span: Span| span.saturating_nanoseconds() as u64;
        let within = learnt.clamp(nanoseconds(at_least), nanoseconds(LONGEST));
        Span::from_nanoseconds(i128::from(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(delays: impl IntoIterator<Item = i64>) -> Span {
        let mut delay = TimestampDelay::new();
        delays
            .into_iter()
            .for_each(|microseconds| delay.observe(Span::from_microseconds(microseconds)));
        delay.deadline()
    }

    #[test]
    fn starts_long_and_shortens_once_enough_was_seen() {
        assert_eq!(after([]), INITIAL);
        assert_eq!(after([1; 15]), INITIAL);
        assert_eq!(after([1; 16]), SHORTEST);
        assert_eq!(after([5_000; 16]), Span::from_milliseconds(40));
    }

    #[test]
    fn one_late_timestamp_lengthens_it_at_once() {
        assert_eq!(
            after([1; 100].into_iter().chain([50_000])),
            Span::from_milliseconds(400)
        );
        assert_eq!(
            after([100_000]),
            Span::from_milliseconds(800),
            "even before enough was seen"
        );
        assert_eq!(after([3_000_000]), LONGEST);
        assert_eq!(after([i64::MAX / 1_000]), LONGEST);
    }

    #[test]
    fn an_exception_is_forgotten() {
        let outlier = |normal: usize| {
            after(
                [100_000]
                    .into_iter()
                    .chain(core::iter::repeat_n(2_000, normal)),
            )
        };
        assert_eq!(outlier(0), Span::from_milliseconds(800));
        assert!(outlier(177) < Span::from_milliseconds(410));
        assert!(outlier(177) > Span::from_milliseconds(390));
        assert_eq!(outlier(2_000), Span::from_milliseconds(16));
    }

    #[test]
    fn a_timestamp_collected_before_it_was_sent_counts_as_immediate() {
        assert_eq!(after([-5; 16]), SHORTEST);
    }
}
