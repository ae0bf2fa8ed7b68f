//! When cross timestamps are taken more often than usual, so that the frequency is known soon.

use super::{ClockGeneration, Correlation};
use crate::time::{HardwareTicks, MonotonicTime, Span};
use core::time::Duration;

/// The least time from one series after a contradiction to the next, but for one that comes sooner:
/// a clock whose readings contradict one another again and again is not read all the time.
const REST: Span = Span::from_seconds(10);

/// The shortest gap.
const SHORTEST: Duration = Duration::from_millis(1);

/// The batches that come sooner than planned.
///
/// At the start and after an event that the system reports, a number of batches follow each other
/// at a short interval: a burst. After cross timestamps that contradict earlier ones (a clock was
/// stepped, its frequency changed, or a guest was paused) all that is known of the frequency is how
/// far a program can have adjusted it. Then each interval is twice the one before, from the first
/// that says something new to the one that was planned: so the error bound stays within a few times
/// the width of the brackets, at the cost of a few batches. There is at most one such series in ten
/// seconds and one more, and only if the caller can afford it; if not, it begins later, unless the
/// frequency is known by then. After a contradiction within a burst the series follows the burst. A
/// batch that fails is tried again soon, too.
///
/// It is for programs that take cross timestamps themselves; the library's own correlator has one.
#[derive(Debug, Clone)]
pub struct Burst {
    batches: u32,
    gap: Duration,
    /// How many batches of the burst are left.
    left: u32,
    /// Whether a contradiction was shown that no series has followed yet.
    is_contradicted: bool,
    /// The next interval of such a series.
    doubling: Option<Duration>,
    /// From when on there could be one each [`REST`], had those so far been as far apart.
    rested: Option<MonotonicTime>,
    /// The last interval, and how many batches in a row have failed since.
    last: Duration,
    failures: u32,
    seen: Option<Agreement>,
}

/// Since when cross timestamps agree about the frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreement {
    pub(super) generation: ClockGeneration,
    /// `None`: they do not yet show a frequency.
    pub(super) since: Option<HardwareTicks>,
}

impl Burst {
    /// Creates a schedule that starts with a burst of `batches`, each `gap` after the one before.
    /// Without batches, nothing comes sooner than planned.
    pub const fn new(batches: u32, gap: Duration) -> Self {
        let gap = if gap.is_zero() { SHORTEST } else { gap };
        Self {
            batches,
            gap,
            left: batches,
            is_contradicted: false,
            doubling: None,
            rested: None,
            last: gap,
            failures: 0,
            seen: None,
        }
    }

    /// Begins a burst: the system reports a change of the clock, or another clock. Its first batch
    /// contradicts nothing.
    pub const fn restart(&mut self) {
        self.left = self.batches;
        (self.is_contradicted, self.doubling, self.seen) = (false, None, None);
    }

    /// Notes a batch that was due and that `correlation` has; `now` is when it ended. `can_afford`:
    /// the cost of reading allows for more. Returns the time until the next batch, which is
    /// `planned` or less, except within a burst.
    pub fn next(
        &mut self,
        correlation: &Correlation,
        now: MonotonicTime,
        can_afford: bool,
        planned: Duration,
    ) -> Duration {
        self.failures = 0;
        self.left = self.left.saturating_sub(1);
        self.note(correlation);
        self.last = if self.left > 0 {
            self.gap
        } else {
            let planned = self.begin(correlation, now, can_afford, planned);
            let soon = self.doubling.filter(|gap| *gap < planned);
            self.doubling = soon.map(|gap| gap.saturating_mul(2));
            soon.unwrap_or(planned)
        };
        self.last
    }

    /// Begins a series if one is to follow and can. Returns when the next batch is due without one.
    fn begin(
        &mut self,
        correlation: &Correlation,
        now: MonotonicTime,
        can_afford: bool,
        planned: Duration,
    ) -> Duration {
        let gap = self.first_gap(correlation);
        let is_known = gap.saturating_mul(2) > planned;
        if !self.is_contradicted || !can_afford || is_known {
            return planned;
        }
        let until_rested = self.until_rested(now);
        if until_rested > Span::ZERO {
            let nanoseconds = until_rested.saturating_nanoseconds().unsigned_abs();
            return planned.min(Duration::from_nanos(nanoseconds).max(gap));
        }
        self.is_contradicted = false;
        self.rested = Some(self.rested.map_or(now, |rested| rested.max(now)) + REST);
        self.doubling = Some(gap);
        planned
    }

    fn until_rested(&self, now: MonotonicTime) -> Span {
        let rested = self.rested.map(|rested| rested - REST - now);
        rested.unwrap_or(Span::ZERO)
    }

    /// Notes that a batch that was due could not be taken. Returns the time until the next attempt,
    /// which is `planned` or less: as long as the last interval, and twice as long after each
    /// further failure, so that a clock that is gone is not tried all the time.
    pub fn failed(&mut self, planned: Duration) -> Duration {
        if self.batches == 0 {
            return planned;
        }
        let usual = if self.left > 0 { self.gap } else { self.last };
        let doubled = 2u32.saturating_pow(self.failures);
        self.failures = self.failures.saturating_add(1);
        usual.saturating_mul(doubled).min(planned)
    }

    /// Notes a batch that was taken in addition. Returns whether the next one is due at once,
    /// because this one contradicts earlier ones.
    pub fn besides(
        &mut self,
        correlation: &Correlation,
        now: MonotonicTime,
        can_afford: bool,
    ) -> bool {
        let has_rested = self.until_rested(now) <= Span::ZERO;
        self.note(correlation) && self.left == 0 && can_afford && has_rested
    }

    /// Returns whether the newest batch contradicts earlier ones, and a series is to follow.
    fn note(&mut self, correlation: &Correlation) -> bool {
        let agreement = correlation.agreement();
        let before = core::mem::replace(&mut self.seen, agreement);
        let mut both = before.into_iter().zip(agreement);
        let is_contradicted = both.any(|(before, now)| before.is_contradicted_by(now));
        let follows = is_contradicted && self.batches > 0;
        self.is_contradicted |= follows;
        follows
    }

    /// The interval after which cross timestamps as wide as the last ones show the frequency better
    /// than it is known.
    fn first_gap(&self, correlation: &Correlation) -> Duration {
        let known = correlation.uncertainty();
        let enough = known.map_or(0.0, |(half_width, spread)| 2.0 * half_width / spread);
        self.gap.max(Duration::from_nanos(enough as u64))
    }
}

impl Agreement {
    fn is_contradicted_by(self, later: Self) -> bool {
        let both = self.since.zip(later.since);
        self.generation != later.generation || both.is_some_and(|(one, other)| one != other)
    }
}
