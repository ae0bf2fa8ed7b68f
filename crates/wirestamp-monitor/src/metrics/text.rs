//! Prometheus' text format 0.0.4, which every client library reads: written from the families of the protobuf, so that both
//! have the same names and values. It has no units, exemplars or native histograms.
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>, "Text-based format".

use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::{
    Histogram, LabelPair, Metric, MetricFamily, MetricType,
};
use std::fmt::{Error, Write};

/// Returns the families as text.
pub(super) fn write(families: &[MetricFamily]) -> Result<String, Error> {
    let mut text = String::new();
    for family in families {
        let name = family.name.as_str();
        writeln!(text, "# HELP {name} {}", escaped(&family.help, false))?;
        writeln!(text, "# TYPE {name} {}", kind(family.r#type()))?;
        for metric in &family.metric {
            write_metric(&mut text, name, metric)?;
        }
    }
    Ok(text)
}

const fn kind(kind: MetricType) -> &'static str {
    match kind {
        MetricType::Counter => "counter",
        MetricType::Gauge => "gauge",
        MetricType::Histogram | MetricType::GaugeHistogram => "histogram",
        MetricType::Summary => "summary",
        MetricType::Untyped => "untyped",
    }
}

fn write_metric(text: &mut String, name: &str, metric: &Metric) -> Result<(), Error> {
    let labels = &metric.label;
    if let Some(histogram) = &metric.histogram {
        return write_histogram(text, name, labels, histogram);
    }
    let value = (metric.gauge.as_ref().map(|gauge| gauge.value))
        .or(metric.counter.as_ref().map(|counter| counter.value))
        .or(metric.untyped.as_ref().map(|untyped| untyped.value))
        .ok_or(Error)?;
    write_sample(text, name, "", labels, None, value)
}

fn write_histogram(
    text: &mut String,
    name: &str,
    labels: &[LabelPair],
    histogram: &Histogram,
) -> Result<(), Error> {
    for bucket in &histogram.bucket {
        let (limit, count) = (bucket.upper_bound, bucket.cumulative_count as f64);
        write_sample(text, name, "_bucket", labels, Some(limit), count)?;
    }
    let count = histogram.sample_count as f64;
    // the last bucket may be left out of the protobuf, not of the text
    if histogram
        .bucket
        .last()
        .is_none_or(|last| last.upper_bound.is_finite())
    {
        write_sample(text, name, "_bucket", labels, Some(f64::INFINITY), count)?;
    }
    write_sample(text, name, "_sum", labels, None, histogram.sample_sum)?;
    write_sample(text, name, "_count", labels, None, count)
}

/// Writes a line; `limit` is that of a bucket.
fn write_sample(
    text: &mut String,
    name: &str,
    suffix: &str,
    labels: &[LabelPair],
    limit: Option<f64>,
    value: f64,
) -> Result<(), Error> {
    write!(text, "{name}{suffix}")?;
    let limit = limit.map(|limit| ("le", number(limit)));
    let labels = labels.iter();
    let labels = labels.map(|label| (label.name.as_str(), escaped(&label.value, true)));
    let mut opening = '{';
    for (name, value) in limit.into_iter().chain(labels) {
        write!(text, "{opening}{name}=\"{value}\"")?;
        opening = ',';
    }
    if opening == ',' {
        text.push('}');
    }
    writeln!(text, " {}", number(value))
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

/// A backslash and a line's end have an escape everywhere, a quotation mark within quotation marks.
fn escaped(text: &str, is_quoted: bool) -> String {
    let escaped = text.replace('\\', r"\\").replace('\n', r"\n");
    if is_quoted {
        escaped.replace('"', r#"\""#)
    } else {
        escaped
    }
}
