//! Metrics of a snapshot: OpenMetrics text, OTLP (feature `otlp`), and Prometheus' protobuf with native histograms.

mod families;
mod list;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
pub use otlp::{OTLP, otlp, start_of};

use crate::snapshot::Snapshot;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_protobuf, text};
use prometheus_client::registry::Registry;
use std::sync::Arc;

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
    let mut written = String::new();
    text::encode(&mut written, &registry(snapshot, limit)).map_err(|_| NotEncoded)?;
    Ok(written)
}

/// Returns the metrics of a snapshot as delimited messages of Prometheus' protobuf, with classic and native histograms.
///
/// # Errors
/// [`NotEncoded`], if the encoder fails.
pub fn protobuf(snapshot: Arc<Snapshot>, limit: usize) -> Result<Vec<u8>, NotEncoded> {
    prometheus_protobuf::encode_to_vec(&registry(snapshot, limit)).map_err(|_| NotEncoded)
}

fn registry(snapshot: Arc<Snapshot>, limit: usize) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape { snapshot, limit }));
    registry
}

/// One scrape.
#[derive(Debug)]
struct Scrape {
    snapshot: Arc<Snapshot>,
    limit: usize,
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut families = families::Families::new(encoder, self.limit);
        list::write(&self.snapshot, &mut families)?;
        Ok(())
    }
}

#[cfg(test)]
mod names;
#[cfg(test)]
mod tests;
