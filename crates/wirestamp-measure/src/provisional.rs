//! Times from a NIC's clock that later readings of it may still contradict.

use crate::host_stamp::HostStamp;
use std::collections::VecDeque;
use wirestamp::time::Utc;
use wirestamp::{
    Bounded, Error, ErrorKind, Estimate, HostClock, HostTime, MonotonicTime, Result, Span,
    UdpSocket, UtcTime,
};

/// The most timestamps that wait: those of some seconds.
const MOST: usize = 1 << 16;
/// The most that are compared at a time: sending must go on meanwhile.
const PORTION: usize = 256;
/// The longest time without a reading after which earlier timestamps can still be confirmed: three readings, a second
/// apart, and some that fail.
const UNREADABLE: Span = Span::from_seconds(15);
/// The interval at which times are checked for being final.
const SETTLE: Span = Span::from_milliseconds(100);
/// The most time that one check counts for: a process that was stopped, asleep or busy has read no clock meanwhile.
pub(crate) const LOOKED: Span = Span::from_seconds(1);

/// A time that a measurement used.
#[derive(Debug)]
pub(crate) struct Used {
    time: HostTime,
    utc: Bounded<UtcTime>,
}

/// Confirms times later.
pub(crate) trait Judges<T> {
    /// Returns whether the time is right; `None` while that is not known, `Some(false)` if a clock was changed around
    /// it, or may have been.
    fn bears_out(&self, used: &T) -> Option<bool>;
}

/// The times that a measurement used.
#[derive(Debug)]
pub(crate) struct Provisional<T = Used> {
    waiting: VecDeque<T>,
    /// The share that is judged if more come than there is room for: every *n*th.
    each: usize,
    noted: usize,
    /// The time of the last check, while the oldest is not final.
    looked: Option<MonotonicTime>,
    /// The time in which readings were tried and none has come that made the oldest final.
    unread: Span,
    /// Whether more may be final already than one portion.
    has_more: bool,
}

impl<T> Default for Provisional<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            each: 0,
            noted: 0,
            looked: None,
            unread: Span::ZERO,
            has_more: false,
        }
    }
}

impl<T> Provisional<T> {
    /// Remembers a time that a measurement uses, unless it is final already.
    pub(crate) fn note(&mut self, used: T, judge: &impl Judges<T>) {
        if judge.bears_out(&used).is_some() {
            return;
        }
        if self.waiting.len() == MOST {
            // a change of the clock shows in each one after it: half of them show it as well
            let mut place = 0;
            self.waiting.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.each = self.each.max(1) * 2;
        }
        self.noted = self.noted.wrapping_add(1);
        if self.noted.is_multiple_of(self.each.max(1)) {
            self.waiting.push_back(used);
        }
    }

    /// Returns how many were noted that were not final at once.
    pub(crate) fn noted(&self) -> usize {
        self.noted
    }

    /// Returns whether all are final that were noted until there were so many.
    pub(crate) fn are_final_until(&self, noted: usize) -> bool {
        let left = self.waiting.len().saturating_mul(self.each.max(1));
        self.noted.wrapping_sub(noted) >= left
    }

    /// Returns whether all times are final.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns when to settle next: at once, if more may be final than a portion; never, if all are.
    pub(crate) fn next(&self, now: MonotonicTime) -> MonotonicTime {
        match (self.is_empty(), self.has_more) {
            (true, _) => MonotonicTime::MAX,
            (false, true) => now,
            (false, false) => now + SETTLE,
        }
    }

    /// Judges the times that have become final.
    ///
    /// # Errors
    /// `Io` if one of them is not right: somebody changed the NIC's clock or stepped the real-time clock; or if the NIC's clock cannot be read
    /// any more. Nothing that was measured with it counts.
    pub(crate) fn settle(
        &mut self,
        judge: &impl Judges<T>,
        now: MonotonicTime,
        measured: &str,
    ) -> Result<()> {
        self.has_more = false;
        for _ in 0..PORTION {
            let Some(oldest) = self.waiting.front() else {
                self.was_read();
                return Ok(());
            };
            match judge.bears_out(oldest) {
                Some(true) => {}
                Some(false) => {
                    self.forget();
                    let cause = "the NIC's clock or the real-time clock was changed meanwhile";
                    return Err(failed(measured, cause));
                }
                None => return self.wait(now, measured),
            }
            self.waiting.pop_front();
            if self.waiting.is_empty() {
                // there is room for each one again
                self.each = 0;
            }
            self.was_read();
        }
        self.has_more = true;
        Ok(())
    }

    /// The oldest is not final yet.
    fn wait(&mut self, now: MonotonicTime, measured: &str) -> Result<()> {
        let since = self
            .looked
            .replace(now)
            .map_or(Span::ZERO, |then| now - then);
        self.unread += since.min(LOOKED);
        if self.unread <= UNREADABLE {
            return Ok(());
        }
        self.forget();
        Err(failed(measured, "the NIC's clock cannot be read any more"))
    }

    fn was_read(&mut self) {
        self.looked = None;
        self.unread = Span::ZERO;
    }

    /// Nothing waits any more.
    fn forget(&mut self) {
        *self = Self::default();
    }
}

fn failed(measured: &str, cause: &'static str) -> Error {
    Error::new(ErrorKind::Io, "measure", measured.to_owned(), cause)
}

impl Used {
    pub(crate) fn new(time: HostTime, stamp: &HostStamp) -> Self {
        Self {
            time,
            utc: stamp.utc,
        }
    }
}

/// The clock that converted the times, and a socket that reads UTC.
impl Judges<Used> for (&HostClock, &UdpSocket) {
    fn bears_out(&self, used: &Used) -> Option<bool> {
        let (clock, socket) = self;
        let holds = clock.bears_out(&used.time)?;
        let utc = || clock.utc(&used.time, || socket.utc_cross_timestamp());
        let agrees = |now: Estimate<Utc>| {
            let apart = now.at - used.utc;
            apart.contains(Span::ZERO)
        };
        Some(used.time.is_final || (holds && utc().is_ok_and(agrees)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that confirms what was made `before`, and was stepped at `stepped`.
    struct Clock {
        before: i128,
        stepped: i128,
    }

    impl Judges<i128> for Clock {
        fn bears_out(&self, made: &i128) -> Option<bool> {
            (*made < self.before).then_some(*made < self.stepped)
        }
    }

    fn noted(count: i128, clock: &Clock) -> Provisional<i128> {
        let mut provisional = Provisional::default();
        for made in 1..=count {
            provisional.note(made, clock);
        }
        provisional
    }

    fn settled(provisional: &mut Provisional<i128>, clock: &Clock, now: i128) -> Result<()> {
        let now = MonotonicTime::from_nanoseconds(now as i64);
        while !provisional.is_empty() {
            let left = provisional.waiting.len();
            provisional.settle(clock, now, "it")?;
            if provisional.waiting.len() == left {
                break;
            }
        }
        Ok(())
    }

    const NEVER: i128 = i128::MAX;
    const UNCONFIRMED: Clock = Clock {
        before: 0,
        stepped: NEVER,
    };

    /// Confirms all; nothing was changed.
    const ALL: Clock = Clock {
        before: NEVER,
        stepped: NEVER,
    };

    #[test]
    fn what_no_reading_confirms_for_long_is_an_error() {
        let mut provisional = noted(3, &UNCONFIRMED);
        let seconds = |count: i128| count * 1_000_000_000;
        for second in 0..=15 {
            settled(&mut provisional, &UNCONFIRMED, seconds(second)).expect("it may come yet");
            assert!(!provisional.is_empty());
        }
        let ended = settled(&mut provisional, &UNCONFIRMED, seconds(16));
        let cause = ended.expect_err("it never comes").to_string();
        assert!(cause.contains("cannot be read"), "{cause}");
        assert!(provisional.is_empty());
    }

    #[test]
    fn who_was_stopped_waits_for_readings_after_it() {
        let mut provisional = noted(3, &UNCONFIRMED);
        for hour in 0..10 {
            let now = hour * 3_600_000_000_000;
            settled(&mut provisional, &UNCONFIRMED, now).expect("no reading was tried");
        }
        let now = 10 * 3_600_000_000_000;
        settled(&mut provisional, &ALL, now).expect("nothing was changed");
        assert!(provisional.is_empty());
    }

    #[test]
    fn a_reading_begins_the_wait_anew() {
        let mut provisional = noted(40, &UNCONFIRMED);
        for second in 1..=40_i128 {
            // each second one more is final
            let clock = Clock {
                before: second,
                stepped: NEVER,
            };
            settled(&mut provisional, &clock, second * 1_000_000_000).expect("it is read");
        }
        assert_eq!(provisional.waiting.len(), 1);
    }

    #[test]
    fn portions_follow_at_once() {
        let now = MonotonicTime::from_nanoseconds(9_000);
        let mut provisional = noted(2 * PORTION as i128 + 1, &UNCONFIRMED);
        provisional.settle(&UNCONFIRMED, now, "it").expect("waits");
        assert_eq!(provisional.next(now), now + SETTLE, "none is final");
        for _ in 0..2 {
            provisional.settle(&ALL, now, "it").expect("unchanged");
            assert_eq!(provisional.next(now), now, "there are more");
        }
        provisional.settle(&ALL, now, "it").expect("unchanged");
        assert_eq!(provisional.next(now), MonotonicTime::MAX, "all are");
    }

    #[test]
    fn more_than_there_is_room_for_still_show_a_step() {
        let count = 5 * MOST as i128;
        for stepped in [1, count / 2, count - 100] {
            let mut provisional = noted(count, &UNCONFIRMED);
            assert!(provisional.waiting.len() <= MOST);
            // the rest is spread evenly: a change that is noticed soon shows in few of them
            let kept: Vec<_> = provisional.waiting.iter().copied().collect();
            let widest = kept.windows(2).map(|two| two[1] - two[0]).max();
            assert_eq!((kept[0], widest), (8, Some(8)));
            let clock = Clock {
                before: NEVER,
                stepped,
            };
            assert!(
                settled(&mut provisional, &clock, count).is_err(),
                "{stepped}"
            );
            let mut provisional = noted(count, &UNCONFIRMED);
            let clock = Clock {
                before: NEVER,
                stepped: NEVER,
            };
            settled(&mut provisional, &clock, count).expect("nothing was changed");
            assert!(provisional.is_empty());
            provisional.note(1, &UNCONFIRMED);
            assert_eq!(provisional.waiting.len(), 1, "there is room again");
        }
    }
}
