//! When cross timestamps are taken more often than usual, so that the frequency is known soon.

use super::{ClockGeneration, Correlation};
use crate::time::{HardwareTicks, MonotonicTime, Span};
use core::time::Duration;

/// The least time between the beginnings of two series after contradictions: a clock whose readings
/// contradict one another again and again is not read all the time.
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
/// the width of the brackets, at the cost of a few batches. These series begin at least ten seconds
/// apart, and only if the caller can afford one. After a contradiction within a burst the series
/// follows the burst. A batch that fails is tried again soon, too.
///
/// It is for programs that take cross timestamps themselves; the library's own correlator has one.
#[derive(Debug, Clone)]
pub struct Burst {
    batches: u32,
    gap: Duration,
    /// How many batches of the burst are left.
    left: u32,
    /// Whether a series after a contradiction is to follow.
    is_contradicted: bool,
    /// The next interval of such a series.
    doubling: Option<Duration>,
    /// When the last contradiction that leads to one was shown.
    begun: Option<MonotonicTime>,
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
            begun: None,
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
    /// `planned` or less.
    pub fn next(
        &mut self,
        correlation: &Correlation,
        now: MonotonicTime,
        can_afford: bool,
        planned: Duration,
    ) -> Duration {
        self.failures = 0;
        self.left = self.left.saturating_sub(1);
        self.besides(correlation, now, can_afford);
        self.last = self.interval(correlation, planned);
        self.last
    }

    fn interval(&mut self, correlation: &Correlation, planned: Duration) -> Duration {
        if self.left > 0 {
            return self.gap;
        }
        if core::mem::take(&mut self.is_contradicted) {
            self.doubling = Some(self.first_gap(correlation));
        }
        let soon = self.doubling.filter(|gap| *gap < planned);
        self.doubling = soon.map(|gap| gap.saturating_mul(2));
        soon.unwrap_or(planned)
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
        let agreement = correlation.agreement();
        let before = core::mem::replace(&mut self.seen, agreement);
        let mut both = before.into_iter().zip(agreement);
        let is_contradicted = both.any(|(before, now)| before.is_contradicted_by(now));
        let has_rested = self.begun.is_none_or(|begun| now - begun >= REST);
        let begins = is_contradicted && self.batches > 0 && can_afford && has_rested;
        if begins {
            (self.is_contradicted, self.begun) = (true, Some(now));
        }
        begins && self.left == 0
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
