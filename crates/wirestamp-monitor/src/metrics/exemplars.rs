//! Exemplars: the longest delay of each histogram in about a minute, with its packet. The encoder cannot write them, so
//! they are added to its output, in which histograms keep their order.

use super::families::bucket_of;
use crate::rfc3339::nanoseconds;
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::{
    self as model, LabelPair, MetricFamily,
};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use wirestamp_measure::delays::Delays;

/// Number of the packet: with the time, it finds the record in the history.
const LABEL: &str = "sequence";
/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// One for each histogram, in order.
#[derive(Debug, Default)]
pub(super) struct Exemplars(Mutex<Vec<Option<Exemplar>>>);

#[derive(Debug, Clone, Copy)]
struct Exemplar {
    bucket: usize,
    sequence: u32,
    seconds: f64,
    /// Nanoseconds of UTC.
    time: i64,
}

impl Exemplars {
    /// Notes that of the histogram that is written next.
    pub(super) fn add(&self, delays: &Delays) {
        let exemplar = delays.longest.as_ref().and_then(|longest| {
            let seconds = longest.delay_ns as f64 / 1e9;
            Some(Exemplar {
                bucket: bucket_of(seconds),
                sequence: longest.sequence,
                seconds,
                time: nanoseconds(&longest.time)?,
            })
        });
        self.lock().push(exemplar);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Exemplar>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds them to OpenMetrics text.
    pub(super) fn write_into(&self, text: &str) -> String {
        let exemplars = self.lock();
        let (mut whole, mut series, mut bucket) = (String::with_capacity(text.len() * 9 / 8), 0, 0);
        for line in text.lines() {
            whole.push_str(line);
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            if name.ends_with("_bucket") {
                if let Some(Some(exemplar)) = exemplars.get(series)
                    && exemplar.bucket == bucket
                {
                    exemplar.write_text(&mut whole);
                }
                bucket += 1;
            } else if bucket > 0 {
                (series, bucket) = (series + 1, 0);
            }
            whole.push('\n');
        }
        whole
    }

    /// Adds them to the protobuf, to the classic bucket and to the native histogram.
    pub(super) fn set(&self, families: &mut [MetricFamily]) {
        let exemplars = self.lock();
        let histograms = families
            .iter_mut()
            .flat_map(|family| &mut family.metric)
            .filter_map(|metric| metric.histogram.as_mut());
        for (histogram, exemplar) in histograms.zip(exemplars.iter()) {
            let Some(exemplar) = exemplar else { continue };
            if let Some(bucket) = histogram.bucket.get_mut(exemplar.bucket) {
                bucket.exemplar = Some(exemplar.message());
            }
            histogram.exemplars.push(exemplar.message());
        }
    }
}

impl Exemplar {
    fn write_text(&self, line: &mut String) {
        let _ = write!(
            line,
            " # {{{LABEL}=\"{}\"}} {:e} {}.{:09}",
            self.sequence,
            self.seconds,
            self.time / SECOND,
            self.time % SECOND
        );
    }

    fn message(&self) -> model::Exemplar {
        let mut exemplar = model::Exemplar {
            label: vec![LabelPair {
                name: LABEL.to_owned(),
                value: self.sequence.to_string(),
            }],
            value: self.seconds,
            timestamp: None,
        };
        let timestamp = exemplar.timestamp.get_or_insert_default();
        (timestamp.seconds, timestamp.nanos) = (self.time / SECOND, (self.time % SECOND) as i32);
        exemplar
    }
}
