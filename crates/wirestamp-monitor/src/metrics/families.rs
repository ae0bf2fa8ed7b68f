//! Families of metrics: one descriptor, then its series. Unknown values are left out; no value is NaN.

use super::exemplars::Exemplars;
use prometheus_client::encoding::{
    DescriptorEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt::Error;
use std::sync::Arc;
use wirestamp_measure::delays::{Delays, SCHEMA, limit};

/// The limits of the classic buckets are powers of two, so that they are limits of native buckets as well: 1 µs to 2 s.
const CLASSIC: [i32; 8] = [-20, -17, -14, -11, -8, -5, -2, 1];

/// Labels of one series.
pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Where families go.
enum Sink<'e> {
    Scraped(DescriptorEncoder<'e>, Arc<Exemplars>),
    #[cfg(feature = "otlp")]
    Pushed(super::otlp::Points<'e>),
}

/// Writes families, each at most `limit` series long.
pub(super) struct Families<'e> {
    sink: Sink<'e>,
    limit: usize,
    left_out: u64,
}

impl<'e> Families<'e> {
    pub(super) fn new(
        encoder: DescriptorEncoder<'e>,
        exemplars: Arc<Exemplars>,
        limit: usize,
    ) -> Self {
        Self {
            sink: Sink::Scraped(encoder, exemplars),
            limit,
            left_out: 0,
        }
    }

    #[cfg(feature = "otlp")]
    pub(super) fn pushed(points: super::otlp::Points<'e>, limit: usize) -> Self {
        Self {
            sink: Sink::Pushed(points),
            limit,
            left_out: 0,
        }
    }

    /// How many series the limit kept out so far.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn gauge<'a>(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        series: impl IntoIterator<Item = (Labels<'a>, Option<f64>)>,
    ) -> Result<(), Error> {
        let known = series
            .into_iter()
            .filter_map(|(labels, value)| Some((labels, value.filter(|value| value.is_finite())?)));
        let known = self.limited(known);
        if known.is_empty() {
            return Ok(());
        }
        let encoder = match &mut self.sink {
            Sink::Scraped(encoder, _) => encoder,
            #[cfg(feature = "otlp")]
            Sink::Pushed(points) => {
                points.gauge(name, unit, help, &known);
                return Ok(());
            }
        };
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in known {
            match labels.is_empty() {
                true => family.encode_gauge(&value)?,
                false => family.encode_family(&labels)?.encode_gauge(&value)?,
            }
        }
        Ok(())
    }

    pub(super) fn counter<'a>(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        series: impl IntoIterator<Item = (Labels<'a>, f64)>,
    ) -> Result<(), Error> {
        let known = self.limited(series);
        if known.is_empty() {
            return Ok(());
        }
        let encoder = match &mut self.sink {
            Sink::Scraped(encoder, _) => encoder,
            #[cfg(feature = "otlp")]
            Sink::Pushed(points) => {
                points.counter(name, unit, help, &known);
                return Ok(());
            }
        };
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for (labels, value) in known {
            match labels.is_empty() {
                true => family.encode_counter::<NoLabelSet, _, f64>(&value, None)?,
                false => family
                    .encode_family(&labels)?
                    .encode_counter::<NoLabelSet, _, f64>(&value, None)?,
            }
        }
        Ok(())
    }

    pub(super) fn info<'a>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = Labels<'a>>,
    ) -> Result<(), Error> {
        let known = self.limited(series);
        if known.is_empty() {
            return Ok(());
        }
        let encoder = match &mut self.sink {
            Sink::Scraped(encoder, _) => encoder,
            #[cfg(feature = "otlp")]
            Sink::Pushed(points) => {
                points.info(name, help, &known);
                return Ok(());
            }
        };
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Info)?;
        known
            .iter()
            .try_for_each(|labels| family.encode_info(labels))
    }

    pub(super) fn delays<'a>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels<'a>, &'a Delays)>,
    ) -> Result<(), Error> {
        let known = self.limited(series);
        if known.is_empty() {
            return Ok(());
        }
        let (encoder, exemplars) = match &mut self.sink {
            Sink::Scraped(encoder, exemplars) => (encoder, exemplars),
            #[cfg(feature = "otlp")]
            Sink::Pushed(points) => {
                points.delays(name, help, &known);
                return Ok(());
            }
        };
        let mut family =
            encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (labels, delays) in known {
            exemplars.add(delays);
            let (spans, deltas) = native(delays);
            let nothing = NativeHistogramBuckets {
                spans: &[],
                deltas: &[],
            };
            family
                .encode_family(&labels)?
                .encode_histogram_with_native::<NoLabelSet>(
                    delays.sum_ns as f64 / 1e9,
                    delays.count,
                    &classic(delays),
                    None,
                    NativeHistogram {
                        schema: SCHEMA,
                        zero_threshold: 1e-12,
                        zero_count: delays.zero,
                        negative: nothing,
                        positive: NativeHistogramBuckets {
                            spans: &spans,
                            deltas: &deltas,
                        },
                        created: None,
                    },
                )?;
        }
        Ok(())
    }

    fn limited<T>(&mut self, series: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut series = series.into_iter();
        let known: Vec<_> = series.by_ref().take(self.limit).collect();
        self.left_out += series.count() as u64;
        known
    }
}

/// The place of the classic bucket that a delay falls into.
pub(super) fn bucket_of(seconds: f64) -> usize {
    let limits = CLASSIC.map(|power| f64::from(power).exp2());
    let place = limits.iter().position(|limit| seconds <= *limit);
    place.unwrap_or(CLASSIC.len())
}

/// Counts of the classic buckets, not cumulative.
fn classic(delays: &Delays) -> Vec<(f64, u64)> {
    let mut below = 0;
    let limits = CLASSIC.map(|power| f64::from(power).exp2());
    let mut buckets: Vec<_> = limits
        .iter()
        .map(|limit| {
            let up_to = delays.at_most(*limit);
            let count = up_to - below;
            below = up_to;
            (*limit, count)
        })
        .collect();
    buckets.push((f64::INFINITY, delays.count - below));
    debug_assert!(
        CLASSIC
            .iter()
            .all(|power| (limit(power * 8) - f64::from(*power).exp2()).abs() < 1e-15)
    );
    buckets
}

/// Spans (gap to the span before, length) and differences of counts.
fn native(delays: &Delays) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<(i32, u32)>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in &delays.buckets {
        match spans.last_mut() {
            Some(span) if *index == next => span.1 += 1,
            _ => spans.push((index - next, 1)),
        }
        next = index + 1;
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}
