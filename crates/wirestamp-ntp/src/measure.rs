//! From samples to the offset: the estimator that PTP uses, and when it must begin anew.

use crate::exchange::{Bounds, Sample};
use crate::select::Interval;
use wirestamp_core::time::{Span, UtcTime};
use wirestamp_offset::{Assumptions, Contradiction, Estimator, Settings, SharedCommands};

/// The offset to one server, from all samples since a clock was last stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measurement {
    /// Local time that it is of.
    pub at: UtcTime,
    /// Local minus server; positive: the local clock is ahead.
    pub offset: Span,
    /// The server's clock is within this distance, whatever the server claims.
    pub error_bound: Span,
    /// How far the server's clock may be from UTC, as it claims: the most that it claimed with these samples.
    pub root_bound: Span,
    /// Least path delay of these samples, both directions together.
    pub path_delay: Span,
    /// How many samples it is from.
    pub samples: u64,
}

impl Measurement {
    /// Returns the bound relative to UTC, if what the server claims is true.
    #[must_use]
    pub fn utc_bound(&self) -> Span {
        self.error_bound + self.root_bound
    }
}

/// Samples of one server since the last step.
#[derive(Debug)]
pub(crate) struct Measuring {
    estimator: Estimator,
    since_step: Option<SinceStep>,
}

/// What the estimator does not keep.
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

    /// Forgets everything: a clock was stepped.
    pub(crate) fn reset(&mut self) {
        self.estimator.reset();
        self.since_step = None;
    }

    /// Takes a sample; `sharper`: of an exchange that was taken with a less exact departure of the response.
    /// `true` if it contradicted what was known, which is forgotten.
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

    /// What is known at a local time, or when the newest response came.
    pub(crate) fn at(&self, at: Option<UtcTime>) -> Option<Measurement> {
        let known = self.since_step?;
        let at = at.map_or(known.newest, |at| at.nanoseconds().max(known.newest));
        let (low, high) = self.estimator.possible_at(at)?;
        // the middle is the estimate with the least bound
        let [low, high] = [low, high].map(|end| Span::from_nanoseconds(end.into()));
        let (offset, error_bound) = Interval { low, high }.middle();
        Some(Measurement {
            at: UtcTime::from_nanoseconds(at),
            offset,
            error_bound,
            root_bound: known.root_bound,
            path_delay: known.path_delay,
            samples: known.samples,
        })
    }
}
