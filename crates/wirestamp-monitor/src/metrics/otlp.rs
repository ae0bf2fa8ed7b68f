//! Metrics as an OTLP request: the same families as those that are scraped. Temporality is cumulative.

use super::families::{Families, Labels};
use super::{NotEncoded, list};
use crate::rfc3339::nanoseconds;
use crate::snapshot::Snapshot;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Metric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prometheus_client::registry::Unit;
use prost::Message as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wirestamp_measure::delays::{Delays, SCHEMA};

/// The media type of [`otlp`].
pub const OTLP: &str = "application/x-protobuf";
const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Returns the metrics of a snapshot as an OTLP `ExportMetricsServiceRequest` in protobuf. `limit`: label sets of one metric, at most.
///
/// Names are those of [`open_metrics`](super::open_metrics) without the suffixes that OTLP has fields for, which Prometheus adds again: unit, `_total`.
/// `start`: since when the counters count. Delays are exponential histograms.
///
/// # Errors
/// [`NotEncoded`], if the time of the snapshot cannot be read.
pub fn otlp(snapshot: &Snapshot, limit: usize, start: SystemTime) -> Result<Vec<u8>, NotEncoded> {
    otlp_limited(snapshot, limit, start).map(|(written, _)| written)
}

/// The same, and how many series the limit kept out.
pub(crate) fn otlp_limited(
    snapshot: &Snapshot,
    limit: usize,
    start: SystemTime,
) -> Result<(Vec<u8>, u64), NotEncoded> {
    let time = nanoseconds(&snapshot.time).ok_or(NotEncoded)?;
    let time = u64::try_from(time).map_err(|_| NotEncoded)?;
    let mut metrics = Vec::new();
    let points = Points {
        // a clock that stepped back must not make counters begin after they were read
        start: since_1970(start)?.min(time),
        time,
        metrics: &mut metrics,
    };
    let mut families = Families::pushed(points, limit);
    list::write(snapshot, &mut families).map_err(|_| NotEncoded)?;
    let left_out = families.left_out();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let resource = Resource {
        attributes: attributes(&[
            ("service.name", "wirestamp-monitor"),
            ("service.instance.id", &snapshot.host),
            ("service.version", &version),
            ("host.name", &snapshot.host),
        ]),
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: "wirestamp-monitor".to_owned(),
        version,
        ..InstrumentationScope::default()
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics,
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    };
    Ok((request.encode_to_vec(), left_out))
}

/// Returns since when a monitor counts, from the time and uptime of a snapshot; `None` if the time cannot be read.
pub fn start_of(snapshot: &Snapshot) -> Option<SystemTime> {
    let time = u64::try_from(nanoseconds(&snapshot.time)?).ok()?;
    let time = UNIX_EPOCH.checked_add(Duration::from_nanos(time))?;
    time.checked_sub(Duration::from_nanos(
        u64::try_from(snapshot.uptime_ns).ok()?,
    ))
}

/// Collects metrics, all with the same times.
pub(super) struct Points<'e> {
    start: u64,
    time: u64,
    metrics: &'e mut Vec<Metric>,
}

impl Points<'_> {
    pub(super) fn gauge(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        series: &[(Labels<'_>, f64)],
    ) {
        let data_points = series
            .iter()
            .map(|(labels, value)| self.number(labels, *value, 0))
            .collect();
        self.add(name, unit, help, metric::Data::Gauge(Gauge { data_points }));
    }

    pub(super) fn counter(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        series: &[(Labels<'_>, f64)],
    ) {
        let data_points = series
            .iter()
            .map(|(labels, value)| self.number(labels, *value, self.start))
            .collect();
        let sum = Sum {
            data_points,
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        };
        self.add(name, unit, help, metric::Data::Sum(sum));
    }

    pub(super) fn info(&mut self, name: &str, help: &str, series: &[Labels<'_>]) {
        let ones: Vec<_> = series.iter().map(|labels| (labels.clone(), 1.0)).collect();
        self.gauge(&format!("{name}_info"), None, help, &ones);
    }

    pub(super) fn delays(&mut self, name: &str, help: &str, series: &[(Labels<'_>, &Delays)]) {
        let data_points = series
            .iter()
            .map(|(labels, delays)| self.distribution(labels, delays))
            .collect();
        let histogram = ExponentialHistogram {
            data_points,
            aggregation_temporality: CUMULATIVE,
        };
        let data = metric::Data::ExponentialHistogram(histogram);
        self.add(name, Some(&Unit::Seconds), help, data);
    }

    fn add(&mut self, name: &str, unit: Option<&Unit>, help: &str, data: metric::Data) {
        let (name, unit) = match unit {
            None => (name.to_owned(), ""),
            Some(Unit::Seconds) => (name.to_owned(), "s"),
            Some(Unit::Bytes) => (name.to_owned(), "By"),
            // Prometheus would call unit "1" `_ratio`: the name keeps what it has in a scrape, and braces are no unit
            Some(other) => (format!("{name}_{}", other.as_str()), "{ratio}"),
        };
        self.metrics.push(Metric {
            name,
            description: help.to_owned(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        });
    }

    fn number(&self, labels: &Labels<'_>, value: f64, start: u64) -> NumberDataPoint {
        NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: start,
            time_unix_nano: self.time,
            value: Some(number_data_point::Value::AsDouble(value)),
            ..NumberDataPoint::default()
        }
    }

    fn distribution(&self, labels: &Labels<'_>, delays: &Delays) -> ExponentialHistogramDataPoint {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        ExponentialHistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.start,
            time_unix_nano: self.time,
            count: delays.count,
            sum: Some(seconds(delays.sum_ns)),
            scale: SCHEMA,
            zero_count: delays.zero,
            positive: Some(dense(&delays.buckets)),
            min: delays.min_ns.map(seconds),
            max: delays.max_ns.map(seconds),
            ..ExponentialHistogramDataPoint::default()
        }
    }
}

/// All buckets from the first to the last that is not empty. Bucket i of OTLP begins where bucket i of Prometheus ends.
fn dense(sparse: &[(i32, u64)]) -> Buckets {
    let (Some((first, _)), Some((last, _))) = (sparse.first(), sparse.last()) else {
        return Buckets::default();
    };
    let mut bucket_counts = vec![0; usize::try_from(last - first).unwrap_or(0) + 1];
    for (index, count) in sparse {
        if let Some(bucket) = usize::try_from(index - first)
            .ok()
            .and_then(|place| bucket_counts.get_mut(place))
        {
            *bucket = *count;
        }
    }
    Buckets {
        offset: first - 1,
        bucket_counts,
    }
}

fn attributes(labels: &[(&'static str, &str)]) -> Vec<KeyValue> {
    let text = |value: &str| AnyValue {
        value: Some(any_value::Value::StringValue(value.to_owned())),
    };
    labels
        .iter()
        .map(|(name, value)| KeyValue {
            key: (*name).to_owned(),
            value: Some(text(value)),
            ..KeyValue::default()
        })
        .collect()
}

fn since_1970(time: SystemTime) -> Result<u64, NotEncoded> {
    time.duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .ok_or(NotEncoded)
}
