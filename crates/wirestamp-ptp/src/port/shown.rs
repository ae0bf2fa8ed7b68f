//! The offset that a port reports between Syncs: that of the last one, and later an extrapolation
//! to now.

use super::Port;
use super::ledger::Run;
use crate::configuration::Configuration;
use crate::report::{Held, Sample};
use wirestamp::{Bounded, MonotonicTime, Span, TimestampSource};

/// The number of Syncs that may be lost,
const SYNCS: i128 = 3;
/// plus the time until a sample is final, before the last offset is extrapolated.
const SETTLES: Span = Span::from_seconds(5);
/// The longest Sync interval.
const LONGEST: Span = Span::from_seconds(64);

/// The last final sample.
#[derive(Debug)]
pub(super) struct Shown {
    sample: Option<(MonotonicTime, Held)>,
    /// Samples before this time are not used.
    since: MonotonicTime,
    /// The configured interval of Syncs,
    expected: Span,
    /// and that between the last two samples.
    seen: Span,
}

impl Shown {
    pub(super) fn new(configuration: &Configuration) -> Self {
        let interval = 2_f64.powi(configuration.log_sync_interval.into()) * 1e9;
        Self {
            sample: None,
            since: MonotonicTime::MIN,
            expected: Span::from_nanoseconds(interval as i128),
            seen: Span::ZERO,
        }
    }

    /// Forgets the last sample, after a change of the followed clock or a step.
    pub(super) fn forget(&mut self, now: MonotonicTime) {
        (self.sample, self.since) = (None, now);
    }

    fn note(&mut self, sample: &Sample) {
        if sample.came < self.since {
            return;
        }
        let held = Held {
            offset: sample.offset,
            mean_path_delay_ns: sample.mean_path_delay_ns,
            frequency_ppb: sample.frequency_ppb,
            age_ns: 0,
            holdover: false,
        };
        if let Some((before, _)) = self.sample {
            self.seen = (sample.came - before).min(LONGEST);
        }
        self.sample = Some((sample.came, held));
    }

    fn fresh(&self) -> Span {
        let interval = self.expected.max(self.seen);
        SETTLES + Span::from_nanoseconds(interval.nanoseconds() * SYNCS)
    }

    fn at(&self, now: MonotonicTime) -> Option<Held> {
        let (came, held) = self
            .sample
            .filter(|(came, _)| now - *came <= self.fresh())?;
        Some(Held {
            age_ns: (now - came).saturating_nanoseconds(),
            ..held
        })
    }
}

impl Port<'_> {
    /// Notes a final sample.
    pub(crate) fn settled(&mut self, sample: &Sample) {
        self.shown.note(sample);
    }

    /// Forgets all measurements.
    pub(super) fn forget(&mut self) {
        self.estimator.reset();
        self.shown.forget(self.now());
    }

    /// Returns the offset at the last Sync or, if that was long ago, the offset now. `None` while
    /// no sample is final.
    pub(crate) fn held(&self, now: MonotonicTime) -> Option<Held> {
        let was_shown = self.shown.sample.is_some();
        self.shown.at(now).or_else(|| {
            let carried = self.carried(now);
            carried.filter(|held| held.holdover || was_shown)
        })
    }

    /// Returns the offset now. Its error bound includes the drift since the last Sync, and the
    /// largest change of the clock that a reading does not show.
    pub(crate) fn carried(&self, now: MonotonicTime) -> Option<Held> {
        let age_ns = (now - self.estimated_at).saturating_nanoseconds();
        let (estimator, holdover) = match &self.holdover {
            Some(last) if self.estimator.latest().is_none() => (last, true),
            _ => (&self.estimator, false),
        };
        let estimate = match &self.adjustments {
            // the monotonic clock is adjusted as the real-time clock is
            Some(adjustments) => {
                let is_valid = adjustments.look(&self.outlet.sockets.event);
                is_valid.then_some(())?;
                estimator.held_at(estimator.latest()?.at.saturating_add(age_ns))?
            }
            None => estimator.held_after(age_ns)?,
        };
        let then = self.estimated_from.as_ref()?;
        let clock = self.clock.borrow();
        let moved = clock.moved_since(then, &self.outlet.sockets.event)?;
        Some(Held {
            offset: Bounded::new(
                Span::from_nanoseconds(estimate.offset.into()),
                Span::from_nanoseconds(estimate.bound.saturating_add(moved).into()),
            ),
            mean_path_delay_ns: estimate.mean_path_delay,
            frequency_ppb: estimate.rate.map(|rate| rate * 1e9),
            age_ns,
            holdover,
        })
    }

    /// Returns the shift in nanoseconds that was added to the clock's own times.
    pub(super) fn shift_of(&self, run: Run) -> i64 {
        match self.clock.borrow().source() {
            TimestampSource::Software => run.utc_shift,
            TimestampSource::Hardware => 0,
        }
    }
}
