//! The delays of one direction: their distribution, jitter and delay variation.

use wirestamp_core::latency::Histogram;
use wirestamp_core::time::Span;

/// Delays, each with an error bound.
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

    /// Returns the delays; `None`: there are none.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    /// Returns the largest error bound of any.
    pub fn largest_bound(&self) -> Option<Span> {
        self.largest_bound
    }
}

/// Delay variation, which needs no relation of the clocks.
#[derive(Debug, Default)]
pub(super) struct Variation {
    /// Transit times of this clock generation, less the first.
    current: Option<Generation>,
    /// The longest generation before.
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
    /// Takes a transit time: the difference of two clocks, whatever their offset is.
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

    /// Starts anew after a step of one of the clocks: earlier delays can't be compared with later ones.
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

    /// Interarrival jitter of RFC 3550, and the delay variation of RFC 5481 (delay less the least delay) as a quantile: `None` if
    /// nothing was measured.
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

/// How much the delays of one direction vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayVariation {
    /// Interarrival jitter (RFC 3550, section 6.4.1) at the end.
    pub jitter: Span,
    /// Median of the packet delay variation: delay less the least delay (RFC 5481, section 4.2).
    pub median: Span,
    /// Its 99th percentile.
    pub p99: Span,
    /// Its largest.
    pub largest: Span,
}
