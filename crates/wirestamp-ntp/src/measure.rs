//! The offset from samples, by the estimator that PTP also uses, and the cases in which it
//! restarts.

use crate::client::ClientOptions;
use crate::drift::Drift;
use crate::exchange::{Bounds, Exchange, LocalTime, Sample};
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

/// The effect of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It agrees with earlier samples.
    Fits,
    /// It contradicts earlier samples, which are forgotten.
    Contradicts,
    /// It contradicts the learnt drift, which is forgotten.
    Drifts,
}

/// Samples of one server since the last step.
#[derive(Debug, Clone)]
pub(crate) struct Measuring {
    estimator: Estimator,
    drift: Drift,
    since_step: Option<SinceStep>,
}

/// Values that the estimator does not keep.
#[derive(Debug, Clone, Copy)]
struct SinceStep {
    /// When the newest response arrived.
    newest: LocalTime,
    root_bound: Span,
    path_delay: Span,
    samples: u64,
}

impl Measuring {
    pub(crate) fn new(options: &ClientOptions) -> Self {
        let most = f64::from(options.max_drift_ppm) * 1e-6;
        let settings = Settings {
            assumptions: Assumptions {
                drift: (-most, most),
                // a daemon that steers the clock can change its frequency at any time
                wander: f64::INFINITY,
                jump: 0.0,
            },
            least_delay: 0,
            resolution: 0, // each sample's bounds contain its own
        };
        Self {
            estimator: Estimator::new(settings, SharedCommands::default()),
            drift: Drift::new(options),
            since_step: None,
        }
    }

    /// Forgets all samples, after a step of a clock.
    pub(crate) fn reset(&mut self) {
        self.estimator.reset();
        self.drift.reset();
        self.since_step = None;
    }

    /// Forgets the learnt drift.
    pub(crate) fn forget_drift(&mut self) {
        self.drift.reset();
    }

    /// Takes a sample of an exchange. `sharper`: it was already taken with a less exact transmit time.
    ///
    /// If a sample contradicts earlier ones, these are forgotten. If adjustments of this host's clock explain it, nobody has
    /// stepped a clock: the learnt drift, which is that of the unadjusted clock, is kept.
    pub(crate) fn take(
        &mut self,
        sample: &Sample,
        bounds: &Bounds,
        exchange: &Exchange,
        sharper: bool,
    ) -> Taken {
        let is_explained = self.is_explained(bounds, exchange);
        let contradicts = self.feed(bounds, sharper).is_err();
        let contradicted = contradicts && !is_explained;
        if contradicts {
            self.estimator.reset();
            self.since_step = None;
            // a single sample cannot contradict anything
            let _taken = self.feed(bounds, false);
        }
        if contradicted {
            self.drift.reset();
        }
        let free = bounds.free(exchange);
        let drifted = free.is_some_and(|free| self.drift.take(&free, sharper && !contradicted));
        let this = SinceStep {
            newest: exchange.t4,
            root_bound: sample.server.root_bound(),
            path_delay: sample.path_delay,
            samples: 1,
        };
        self.since_step = Some(self.since_step.map_or(this, |before| SinceStep {
            newest: later(before.newest, this.newest),
            root_bound: before.root_bound.max(this.root_bound),
            path_delay: before.path_delay.min(this.path_delay),
            samples: before.samples + u64::from(!sharper),
        }));
        match (contradicted, drifted) {
            (true, _) => Taken::Contradicts,
            (false, true) => Taken::Drifts,
            (false, false) => Taken::Fits,
        }
    }

    /// Whether the offset can have moved into these limits since the newest sample, with adjustments or beside them.
    fn is_explained(&self, bounds: &Bounds, exchange: &Exchange) -> bool {
        let Some(newest) = self.since_step.map(|known| known.newest) else {
            return false;
        };
        let interval = self.estimator.unstepped_at(newest.utc.value.nanoseconds());
        let is_adjusted = exchange.t4.adjusted_since(&newest).is_some();
        let Some((low, high)) = interval.filter(|_| is_adjusted) else {
            return false;
        };
        let (_, up) = self.drift.between(&newest, &exchange.t1);
        let (down, _) = self.drift.between(&newest, &exchange.t4);
        high.saturating_add(up.saturating_nanoseconds()) >= bounds.at_least
            && low.saturating_add(down.saturating_nanoseconds()) <= bounds.at_most
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
    pub(crate) fn at(&self, at: Option<&LocalTime>) -> Option<Measurement> {
        let known = self.since_step?;
        let at = at.map_or(known.newest, |at| later(known.newest, *at));
        let (low, high) = self
            .estimator
            .possible_at(known.newest.utc.value.nanoseconds())?;
        let [low, high] = [low, high].map(|end| Span::from_nanoseconds(end.into()));
        let (down, up) = self.drift.between(&known.newest, &at);
        // the middle is the estimate with the least bound
        let possible = Interval {
            low: low + down,
            high: high + up,
        };
        Some(Measurement {
            at: at.utc.value,
            offset: possible.middle(),
            root_bound: known.root_bound,
            path_delay: known.path_delay,
            samples: known.samples,
        })
    }
}

/// The later one of two times.
fn later(one: LocalTime, other: LocalTime) -> LocalTime {
    match other.utc.value > one.utc.value {
        true => other,
        false => one,
    }
}
