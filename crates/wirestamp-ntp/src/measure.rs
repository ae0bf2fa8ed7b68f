//! The offset from samples, by the estimator that PTP uses, and the cases in which it starts anew.

use crate::exchange::{Bounds, Sample};
use crate::select::Interval;
use wirestamp_core::time::{Bounded, Span, UtcTime};
use wirestamp_offset::{Assumptions, Contradiction, Estimator, Settings, SharedCommands};

/// The offset to one server, from all samples since the last step of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measurement {
    /// Local time of the measurement.
    pub at: UtcTime,
    /// The offset, local minus server (positive: the local clock is ahead). Its error bound is relative to the server's clock,
    /// and follows from the timestamps alone.
    pub offset: Bounded<Span>,
    /// The largest error of the server's clock against UTC that it stated with these samples.
    pub root_bound: Span,
    /// Smallest path delay of these samples, both directions together.
    pub path_delay: Span,
    /// The number of samples.
    pub samples: u64,
}

impl Measurement {
    /// Returns the error bound relative to UTC, provided that the server's statement is true.
    #[must_use]
    pub fn utc_bound(&self) -> Span {
        self.offset.bound + self.root_bound
    }
}

/// Samples of one server since the last step.
#[derive(Debug, Clone)]
pub(crate) struct Measuring {
    estimator: Estimator,
    since_step: Option<SinceStep>,
}

/// Values that the estimator does not keep.
#[derive(Debug, Clone, Copy)]
struct SinceStep {
    /// When the newest response arrived.
    newest: i64,
    root_bound: Span,
    path_delay: Span,
    samples: u64,
}

impl Measuring {
    pub(crate) fn new(max_drift_ppm: u32) -> Self {
        let most = f64::from(max_drift_ppm) * 1e-6;
        let settings = Settings {
            assumptions: Assumptions {
                drift: (-most, most),
                // whoever steers the clock changes its frequency at any time
                wander: f64::INFINITY,
            },
            least_delay: 0,
            resolution: 0, // each sample's bounds contain its own
        };
        Self {
            estimator: Estimator::new(settings, SharedCommands::default()),
            since_step: None,
        }
    }

    /// Forgets all samples, after a step of a clock.
    pub(crate) fn reset(&mut self) {
        self.estimator.reset();
        self.since_step = None;
    }

    /// Takes a sample. `sharper`: the same exchange was already taken with a less exact transmit time. Returns whether
    /// it contradicted earlier samples, which are then forgotten.
    pub(crate) fn take(&mut self, sample: &Sample, bounds: &Bounds, sharper: bool) -> bool {
        let contradicted = self.feed(bounds, sharper).is_err();
        if contradicted {
            self.reset();
            // alone it cannot contradict anything
            let _taken = self.feed(bounds, false);
        }
        let this = SinceStep {
            newest: bounds.received_at,
            root_bound: sample.server.root_bound(),
            path_delay: sample.path_delay,
            samples: 1,
        };
        self.since_step = Some(self.since_step.map_or(this, |before| SinceStep {
            newest: before.newest.max(this.newest),
            root_bound: before.root_bound.max(this.root_bound),
            path_delay: before.path_delay.min(this.path_delay),
            samples: before.samples + u64::from(!sharper),
        }));
        contradicted
    }

    fn feed(&mut self, bounds: &Bounds, sharper: bool) -> Result<(), Contradiction> {
        if !sharper {
            self.estimator
                .to_reference_alone(bounds.sent_at, bounds.at_least)?;
        }
        self.estimator
            .from_reference(bounds.received_at, bounds.at_most)?;
        Ok(())
    }

    /// Returns the offset at a local time, or at the arrival of the newest response.
    pub(crate) fn at(&self, at: Option<UtcTime>) -> Option<Measurement> {
        let known = self.since_step?;
        let at = at.map_or(known.newest, |at| at.nanoseconds().max(known.newest));
        let (low, high) = self.estimator.possible_at(at)?;
        // the middle is the estimate with the least bound
        let [low, high] = [low, high].map(|end| Span::from_nanoseconds(end.into()));
        Some(Measurement {
            at: UtcTime::from_nanoseconds(at),
            offset: Interval { low, high }.middle(),
            root_bound: known.root_bound,
            path_delay: known.path_delay,
            samples: known.samples,
        })
    }
}
