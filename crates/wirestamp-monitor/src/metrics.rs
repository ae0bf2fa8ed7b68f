//! Metrics of a snapshot: Prometheus' text, OpenMetrics text, OTLP (feature `otlp`), and Prometheus' protobuf with native
//! histograms.

mod exemplars;
mod families;
mod list;
#[cfg(feature = "otlp")]
mod otlp;
mod text;
#[cfg(feature = "otlp")]
pub(crate) use otlp::otlp_limited;
#[cfg(feature = "otlp")]
pub use otlp::{OTLP, otlp, start_of};

use crate::snapshot::Snapshot;
use exemplars::Exemplars;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::MetricFamily;
use prometheus_client::encoding::{
    DescriptorEncoder, prometheus_protobuf, text as open_metrics_text,
};
use prometheus_client::registry::Registry;
use prost::Message as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The media type of [`text()`].
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
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

/// Returns the metrics of a snapshot as Prometheus' text 0.0.4. `limit`: label sets of one metric, at most.
///
/// # Errors
/// [`NotEncoded`], if the encoder fails.
pub fn text(snapshot: Arc<Snapshot>, limit: usize) -> Result<String, NotEncoded> {
    text_limited(snapshot, limit).map(|(written, _)| written)
}

/// The same, and how many series the limit kept out.
pub(crate) fn text_limited(
    snapshot: Arc<Snapshot>,
    limit: usize,
) -> Result<(String, u64), NotEncoded> {
    let (families, left_out) = messages(snapshot, limit)?;
    let written = text::write(&families).map_err(|_| NotEncoded)?;
    Ok((written, left_out))
}

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
    let (registry, noted) = registry(snapshot, limit);
    let mut written = String::new();
    open_metrics_text::encode(&mut written, &registry).map_err(|_| NotEncoded)?;
    Ok((noted.exemplars.write_into(&written), noted.left_out()))
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
    let (families, left_out) = messages(snapshot, limit)?;
    let mut written = Vec::new();
    for family in families {
        family
            .encode_length_delimited(&mut written)
            .map_err(|_| NotEncoded)?;
    }
    Ok((written, left_out))
}

fn messages(snapshot: Arc<Snapshot>, limit: usize) -> Result<(Vec<MetricFamily>, u64), NotEncoded> {
    let (registry, noted) = registry(snapshot, limit);
    let mut families = prometheus_protobuf::encode(&registry).map_err(|_| NotEncoded)?;
    noted.exemplars.set(&mut families);
    Ok((families, noted.left_out()))
}

/// What encoding a scrape finds beside its families.
#[derive(Debug, Default)]
struct Noted {
    exemplars: Arc<Exemplars>,
    left_out: AtomicU64,
}

impl Noted {
    /// How many series the limit kept out.
    fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}

/// A registry with one scrape, and what is noted while it is encoded.
fn registry(snapshot: Arc<Snapshot>, limit: usize) -> (Registry, Arc<Noted>) {
    let (mut registry, noted) = (Registry::default(), Arc::<Noted>::default());
    registry.register_collector(Box::new(Scrape {
        snapshot,
        limit,
        noted: Arc::clone(&noted),
    }));
    (registry, noted)
}

/// One scrape.
#[derive(Debug)]
struct Scrape {
    snapshot: Arc<Snapshot>,
    limit: usize,
    noted: Arc<Noted>,
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut families =
            families::Families::new(encoder, Arc::clone(&self.noted.exemplars), self.limit);
        list::write(&self.snapshot, &mut families)?;
        self.noted
            .left_out
            .store(families.left_out(), Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod names;
#[cfg(test)]
mod tests;
