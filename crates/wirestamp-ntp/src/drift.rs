//! How far the offset moves until the next sample. The drift is learnt against the clock that nobody adjusts: what the
//! host's time daemon does is measured, and only oscillators and the server's own corrections are assumed.

use crate::client::ClientOptions;
use crate::exchange::{Bounds, LocalTime};
use wirestamp_core::time::{Bounded, Span};
use wirestamp_offset::{Assumptions, Contradiction, Estimator, Settings, SharedCommands};

/// From this wander on nothing is learnt, in parts per billion and second.
const ANY: u32 = 1_000_000;

/// What samples have shown of the drift.
#[derive(Debug, Clone)]
pub(crate) struct Drift {
    /// Of the clock that nobody adjusts; `None`: nothing is to be learnt.
    estimator: Option<Estimator>,
    /// The largest, in parts per million.
    most: u32,
}

impl Drift {
    pub(crate) fn new(options: &ClientOptions) -> Self {
        let most = f64::from(options.max_drift_ppm) * 1e-6;
        let assumptions = Assumptions {
            drift: (-most, most),
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

    /// Forgets what was learnt.
    pub(crate) fn reset(&mut self) {
        if let Some(estimator) = &mut self.estimator {
            estimator.reset();
        }
    }

    /// Takes the limits of a sample. `sharper`: as [`Measuring::take`](crate::measure::Measuring::take). Returns whether
    /// they contradict what was learnt, which is then forgotten.
    pub(crate) fn take(&mut self, free: &Bounds, sharper: bool) -> bool {
        let contradicted = self.feed(free, sharper).is_err();
        if contradicted {
            self.reset();
            // alone it cannot contradict anything
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

    /// Returns how far the offset moves from one time of this host to a later one.
    pub(crate) fn between(&self, then: &LocalTime, now: &LocalTime) -> (Span, Span) {
        if (then.utc.value, then.monotonic.value) == (now.utc.value, now.monotonic.value) {
            return (Span::ZERO, Span::ZERO); // what either is off by, both are
        }
        self.learnt(then, now)
            .unwrap_or_else(|| self.unlearnt(now.utc.value - then.utc.value))
    }

    /// What adjustments have done is measured, the rest is what the two oscillators and the server do.
    fn learnt(&self, then: &LocalTime, now: &LocalTime) -> Option<(Span, Span)> {
        let estimator = self.estimator.as_ref()?;
        let (begun, ended) = (then.free()?, now.free()?);
        // what either time is unsure by is as much longer
        let unsure = begun.bound + ended.bound;
        let (from, to) = (
            begun.value.nanoseconds(),
            (ended.value + unsure).nanoseconds(),
        );
        let (down, up) = estimator.movement(from, to.max(from))?;
        let [down, up] = [down, up].map(|by| Span::from_nanoseconds(by.into()));
        // however long it wanders
        let (least, most) = self.unlearnt(Span::from_nanoseconds((to - from).max(0).into()));
        let (down, up) = (down.max(least), up.min(most));
        let (from, to) = (then.adjusted?, now.adjusted?);
        let adjusted = Bounded::new(to.value - from.value, to.bound + from.bound);
        Some((adjusted.least() + down, adjusted.most() + up))
    }

    /// Adjustments included, all that is allowed.
    fn unlearnt(&self, elapsed: Span) -> (Span, Span) {
        let most = elapsed.nanoseconds().max(0) * i128::from(self.most);
        let most = Span::from_nanoseconds((most + 999_999) / 1_000_000);
        (-most, most)
    }
}
