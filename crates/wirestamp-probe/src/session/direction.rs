//! The delays of one direction: their distribution, jitter and delay variation.

use wirestamp_core::latency::Histogram;
use wirestamp_core::time::Span;

/// The distribution of delays, and their largest error bound.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    histogram: Option<Histogram>,
    largest_bound: Option<Span>,
}

impl Delays {
    pub(super) fn record(&mut self, delay: Span, bound: Span) {
        self.histogram
            .get_or_insert_with(Histogram::new)
            .record(delay);
        self.largest_bound = self.largest_bound.max(Some(bound));
    }

    /// Returns the delays; `None` if there are none.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    /// Returns the largest error bound.
    pub fn largest_bound(&self) -> Option<Span> {
        self.largest_bound
    }
}

/// The delay variation, which does not require a relation of the clocks.
#[derive(Debug, Default)]
pub(super) struct Variation {
    /// The transit times of this clock generation, relative to the first.
    current: Option<Generation>,
    /// The longest earlier generation.
    longest: Option<Generation>,
    jitter: f64,
    previous: Option<Span>,
}

#[derive(Debug)]
struct Generation {
    first: Span,
    transits: Histogram,
}

impl Variation {
    /// Adds a transit time: the difference of two clocks with an unknown offset.
    pub(super) fn add(&mut self, transit: Span) {
        let generation = self.current.get_or_insert_with(|| Generation {
            first: transit,
            transits: Histogram::new(),
        });
        generation.transits.record(transit - generation.first);
        if let Some(previous) = self.previous.replace(transit) {
            // RFC 3550, section 6.4.1
            let change = (transit - previous).abs().nanoseconds() as f64;
            self.jitter += (change - self.jitter) / 16.0;
        }
    }

    /// Begins a new generation after a step of either clock, because delays before and after it
    /// cannot be compared.
    pub(super) fn restart(&mut self) {
        self.previous = None;
        self.keep_longest();
    }

    fn keep_longest(&mut self) {
        let count = |generation: &Option<Generation>| {
            generation
                .as_ref()
                .map_or(0, |generation| generation.transits.count())
        };
        if count(&self.current) > count(&self.longest) {
            self.longest = self.current.take();
        }
        self.current = None;
    }

    /// Returns the interarrival jitter (RFC 3550) and quantiles of the packet delay variation (RFC
    /// 5481: delay minus the minimum delay); `None` without measurements.
    pub(super) fn finish(mut self) -> Option<DelayVariation> {
        self.keep_longest();
        let transits = self.longest?.transits;
        let least = transits.minimum()?;
        let above =
            |value: Option<Span>| value.map_or(Span::ZERO, |value| (value - least).max(Span::ZERO));
        Some(DelayVariation {
            jitter: Span::from_nanoseconds(self.jitter.round() as i128),
            median: above(transits.quantile(0.5)),
            p99: above(transits.quantile(0.99)),
            largest: above(transits.maximum()),
        })
    }
}

/// The variation of delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayVariation {
    /// The interarrival jitter at the end (RFC 3550, section 6.4.1).
    pub jitter: Span,
    /// The median of the packet delay variation: delay minus the minimum delay (RFC 5481, section
    /// 4.2).
    pub median: Span,
    /// The 99th percentile of the packet delay variation.
    pub p99: Span,
    /// The maximum of the packet delay variation.
    pub largest: Span,
}
