//! Metrics of a snapshot: OpenMetrics text, OTLP (feature `otlp`), and Prometheus' protobuf with native histograms.

mod families;
mod list;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
pub(crate) use otlp::otlp_limited;
#[cfg(feature = "otlp")]
pub use otlp::{OTLP, otlp, start_of};

use crate::snapshot::Snapshot;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_protobuf, text};
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The media type of [`open_metrics`].
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The media type of [`protobuf`].
pub const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// A snapshot that could not be written as metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotEncoded;

impl std::fmt::Display for NotEncoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the metrics could not be encoded")
    }
}

impl std::error::Error for NotEncoded {}

/// Returns the metrics of a snapshot as OpenMetrics text 1.0. `limit`: label sets of one metric, at most.
///
/// # Errors
/// [`NotEncoded`], if the encoder fails.
pub fn open_metrics(snapshot: Arc<Snapshot>, limit: usize) -> Result<String, NotEncoded> {
    open_metrics_limited(snapshot, limit).map(|(written, _)| written)
}

/// The same, and how many series the limit kept out.
pub(crate) fn open_metrics_limited(
    snapshot: Arc<Snapshot>,
    limit: usize,
) -> Result<(String, u64), NotEncoded> {
    let (registry, left_out) = registry(snapshot, limit);
    let mut written = String::new();
    text::encode(&mut written, &registry).map_err(|_| NotEncoded)?;
    Ok((written, left_out.load(Ordering::Relaxed)))
}

/// Returns the metrics of a snapshot as delimited messages of Prometheus' protobuf, with classic and native histograms.
///
/// # Errors
/// [`NotEncoded`], if the encoder fails.
pub fn protobuf(snapshot: Arc<Snapshot>, limit: usize) -> Result<Vec<u8>, NotEncoded> {
    protobuf_limited(snapshot, limit).map(|(written, _)| written)
}

/// The same, and how many series the limit kept out.
pub(crate) fn protobuf_limited(
    snapshot: Arc<Snapshot>,
    limit: usize,
) -> Result<(Vec<u8>, u64), NotEncoded> {
    let (registry, left_out) = registry(snapshot, limit);
    let written = prometheus_protobuf::encode_to_vec(&registry).map_err(|_| NotEncoded)?;
    Ok((written, left_out.load(Ordering::Relaxed)))
}

/// What is encoded, and where encoding notes how many series the limit kept out.
fn registry(snapshot: Arc<Snapshot>, limit: usize) -> (Registry, Arc<AtomicU64>) {
    let (mut registry, left_out) = (Registry::default(), Arc::new(AtomicU64::new(0)));
    registry.register_collector(Box::new(Scrape {
        snapshot,
        limit,
        left_out: Arc::clone(&left_out),
    }));
    (registry, left_out)
}

/// One scrape.
#[derive(Debug)]
struct Scrape {
    snapshot: Arc<Snapshot>,
    limit: usize,
    left_out: Arc<AtomicU64>,
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut families = families::Families::new(encoder, self.limit);
        list::write(&self.snapshot, &mut families)?;
        self.left_out.store(families.left_out(), Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod names;
#[cfg(test)]
mod tests;
