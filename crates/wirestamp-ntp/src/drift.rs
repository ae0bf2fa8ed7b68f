//! The possible movement of the offset until the next sample. The drift is learnt relative to the
//! unadjusted clock: adjustments by the host's time daemon are measured, and only the oscillators
//! and the server's corrections are assumed.

use crate::client::ClientOptions;
use crate::exchange::{Bounds, LocalTime};
use wirestamp_core::time::{Bounded, Span};
use wirestamp_offset::{Assumptions, Contradiction, Estimator, Settings, SharedCommands};

/// The wander from which on the drift is not learnt, in parts per billion per second.
const ANY: u32 = 1_000_000;

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
        self.learnt(then, now)
            .unwrap_or_else(|| self.unlearnt(now.utc.value - then.utc.value))
    }

    /// The measured adjustments, plus the learnt movement of the oscillators and the server.
    fn learnt(&self, then: &LocalTime, now: &LocalTime) -> Option<(Span, Span)> {
        let estimator = self.estimator.as_ref()?;
        let (begun, ended) = (then.free()?, now.free()?);
        // the elapsed time is longer by the uncertainty of both times
        let unsure = begun.bound + ended.bound;
        let (from, to) = (
            begun.value.nanoseconds(),
            (ended.value + unsure).nanoseconds(),
        );
        let (down, up) = estimator.movement(from, to.max(from))?;
        let [down, up] = [down, up].map(|by| Span::from_nanoseconds(by.into()));
        // at most the drift that is allowed without learning
        let (least, most) = self.unlearnt(Span::from_nanoseconds((to - from).max(0).into()));
        let (down, up) = (down.max(least), up.min(most));
        let (from, to) = (then.adjusted?, now.adjusted?);
        let adjusted = Bounded::new(to.value - from.value, to.bound + from.bound);
        Some((adjusted.least() + down, adjusted.most() + up))
    }

    /// The largest allowed movement, including adjustments.
    fn unlearnt(&self, elapsed: Span) -> (Span, Span) {
        let most = elapsed.nanoseconds().max(0) * i128::from(self.most);
        let most = Span::from_nanoseconds((most + 999_999) / 1_000_000);
        (-most, most)
    }
}
