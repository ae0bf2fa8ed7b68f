//! Which timestamps are confirmed: enough batches of cross timestamps followed that an earlier step
//! or adjustment of the NIC's clock has become visible.

use crate::events::{BATCH_GAP, CONFIRMING_BATCHES};
use wirestamp_core::time::{MonotonicTime, Span};

/// One batch shows a step larger than its brackets. A frequency change just before it shows in the
/// next one. The error bounds of everything before that are right after the third
/// (`docs/error-bound.md`, A6).
const ENOUGH: usize = CONFIRMING_BATCHES as usize;
/// Requested batches follow each other after this fraction of the usual interval: a frequency
/// change that is still invisible after that time makes less difference there than the width of the
/// brackets.
const PART: i128 = 4;
/// The shortest such interval, long enough to count as another batch.
pub(super) const SHORTEST: Span = Span::from_milliseconds(2);

/// The begin of the newest batches of cross timestamps, oldest first, and of the newest cross
/// timestamps, whether or not they count as a batch of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun([Option<MonotonicTime>; ENOUGH + 1], Option<MonotonicTime>);

impl Begun {
    pub(super) const NONE: Self = Self([None; ENOUGH + 1], None);

    pub(super) fn note(&mut self, at: MonotonicTime) {
        self.1 = Some(at);
        let [.., newest] = self.0;
        if newest.is_some_and(|newest| at - newest <= BATCH_GAP) {
            return;
        }
        self.0.rotate_left(1);
        self.0[ENOUGH] = Some(at);
    }

    /// When the newest cross timestamps began.
    pub(super) fn newest(&self) -> Option<MonotonicTime> {
        self.1
    }

    /// Timestamps read before this instant are confirmed.
    pub(super) fn confirmed(&self) -> MonotonicTime {
        self.0[1].unwrap_or(MonotonicTime::MIN)
    }

    /// How long to wait after the newest batch until another one adds information.
    pub(super) fn pause(&self) -> Span {
        let gaps = self
            .0
            .windows(2)
            .filter_map(|pair| Some(pair[1]? - pair[0]?));
        let longest = gaps.max().unwrap_or(Span::ZERO);
        Span::from_nanoseconds(longest.nanoseconds() / PART).max(SHORTEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(milliseconds * 1_000_000)
    }

    fn begun(milliseconds: &[i64]) -> Begun {
        let mut begun = Begun::NONE;
        milliseconds.iter().for_each(|time| begun.note(at(*time)));
        begun
    }

    #[test]
    fn three_batches_confirm_what_was_read_before_them() {
        assert_eq!(begun(&[]).confirmed(), MonotonicTime::MIN);
        assert_eq!(begun(&[10, 20]).confirmed(), MonotonicTime::MIN);
        assert_eq!(begun(&[10, 20, 30]).confirmed(), at(10));
        assert_eq!(begun(&[10, 20, 30, 40]).confirmed(), at(20));
    }

    #[test]
    fn readings_within_a_millisecond_are_one_batch() {
        assert_eq!(begun(&[10, 20, 30, 31]).confirmed(), at(10));
        assert_eq!(begun(&[10, 20, 30, 32]).confirmed(), at(20));
    }

    #[test]
    fn readings_just_after_a_batch_are_the_newest_all_the_same() {
        let mut begun = begun(&[10, 20]);
        let soon = at(20) + Span::from_microseconds(100);
        begun.note(soon);
        assert_eq!(begun.newest(), Some(soon));
    }

    #[test]
    fn another_batch_comes_after_a_quarter_of_the_longest_gap() {
        assert_eq!(begun(&[10]).pause(), Span::from_milliseconds(2));
        assert_eq!(begun(&[10, 14]).pause(), Span::from_milliseconds(2));
        assert_eq!(begun(&[0, 200]).pause(), Span::from_milliseconds(50));
        assert_eq!(begun(&[0, 200, 250]).pause(), Span::from_milliseconds(50));
    }
}
