//! The possible movement of the offset until the next sample. The drift is learnt relative to the
//! unadjusted clock: adjustments by the host's time daemon are measured, and only the oscillators
//! and the server's corrections are assumed.

use crate::client::ClientOptions;
use crate::exchange::{Bounds, LocalTime};
use wirestamp_core::time::Span;
use wirestamp_offset::{Assumptions, Contradiction, Estimator, Settings, SharedCommands};

/// The wander from which on the drift is not learnt, in parts per billion per second.
const ANY: u32 = 1_000_000;

/// The largest frequency offset of an unadjusted clock: a time daemon can correct as much.
const FREE: f64 = 0.1;

/// The drift that samples have shown.
#[derive(Debug, Clone)]
pub(crate) struct Drift {
    /// The estimator of the unadjusted clock; `None` if the drift is not learnt.
    estimator: Option<Estimator>,
    /// The largest allowed drift, in parts per million.
    most: u32,
}

impl Drift {
    pub(crate) fn new(options: &ClientOptions) -> Self {
        let assumptions = Assumptions {
            drift: (-FREE, FREE),
            wander: f64::from(options.wander_ppb) * 1e-9,
            jump: f64::from(options.jump_ppb) * 1e-9,
        };
        let settings = Settings {
            assumptions,
            least_delay: 0,
            resolution: 0, // each sample's bounds contain its own
        };
        let learns = options.wander_ppb < ANY;
        Self {
            estimator: learns.then(|| Estimator::new(settings, SharedCommands::default())),
            most: options.max_drift_ppm,
        }
    }

    /// Forgets the learnt drift.
    pub(crate) fn reset(&mut self) {
        if let Some(estimator) = &mut self.estimator {
            estimator.reset();
        }
    }

    /// Takes the limits of a sample; `sharper` as for
    /// [`Measuring::take`](crate::measure::Measuring::take). Returns whether they contradict the
    /// learnt drift, which is then forgotten.
    pub(crate) fn take(&mut self, free: &Bounds, sharper: bool) -> bool {
        let contradicted = self.feed(free, sharper).is_err();
        if contradicted {
            self.reset();
            // a single sample cannot contradict anything
            let _taken = self.feed(free, false);
        }
        contradicted
    }

    fn feed(&mut self, free: &Bounds, sharper: bool) -> Result<(), Contradiction> {
        let Some(estimator) = &mut self.estimator else {
            return Ok(());
        };
        if !sharper {
            estimator.to_reference_alone(free.sent_at, free.at_least)?;
        }
        estimator.from_reference(free.received_at, free.at_most)?;
        Ok(())
    }

    /// Returns how far the offset can move from one time of this host to a later one, down and up.
    pub(crate) fn between(&self, then: &LocalTime, now: &LocalTime) -> (Span, Span) {
        if (then.utc.value, then.monotonic.value) == (now.utc.value, now.monotonic.value) {
            return (Span::ZERO, Span::ZERO); // both have the same error
        }
        let allowed = self.allowed(then, now);
        match self.learnt(then, now) {
            Some(learnt) => narrower(allowed, learnt),
            None => allowed,
        }
    }

    /// The measured adjustments, plus the learnt movement of the oscillators and the server.
    fn learnt(&self, then: &LocalTime, now: &LocalTime) -> Option<(Span, Span)> {
        let estimator = self.estimator.as_ref()?;
        let (begun, ended) = (then.free()?, now.free()?);
        let unsure = begun.bound + ended.bound;
        let from = begun.value.nanoseconds();
        // the elapsed time is shorter or longer by the uncertainty of both times
        let [shortest, longest] = [ended.value - unsure, ended.value + unsure]
            .map(|to| estimator.movement(from, to.nanoseconds().max(from)));
        let (shortest, longest) = (shortest?, longest?);
        let down = Span::from_nanoseconds(shortest.0.min(longest.0).into());
        let up = Span::from_nanoseconds(shortest.1.max(longest.1).into());
        let adjusted = now.adjusted_since(then)?;
        Some((adjusted.least() + down, adjusted.most() + up))
    }

    /// The movement that is allowed without learning: the largest drift, once including the adjustments and once beside
    /// them.
    fn allowed(&self, then: &LocalTime, now: &LocalTime) -> (Span, Span) {
        let shown = now.utc.value - then.utc.value;
        let counted = (now.monotonic.value - then.monotonic.value) + now.monotonic.bound;
        let counted = shown.max(counted + then.monotonic.bound).max(Span::ZERO);
        let (least, highest) = now.moved_since(then);
        // a clock that is slowed counts less of the time in which the others drift
        let most = largest_drift(counted - least, self.most);
        (least - most, highest + most)
    }
}

/// The largest drift in a time, rounded up.
pub(crate) fn largest_drift(elapsed: Span, max_drift_ppm: u32) -> Span {
    let most = elapsed.nanoseconds() * i128::from(max_drift_ppm);
    Span::from_nanoseconds((most + 999_999) / 1_000_000)
}

/// The movement that both allow; both of them if they contradict each other.
fn narrower(allowed: (Span, Span), learnt: (Span, Span)) -> (Span, Span) {
    let both = (allowed.0.max(learnt.0), allowed.1.min(learnt.1));
    match both.0 <= both.1 {
        true => both,
        false => (allowed.0.min(learnt.0), allowed.1.max(learnt.1)),
    }
}
