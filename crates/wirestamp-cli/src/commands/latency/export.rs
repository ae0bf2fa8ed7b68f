//! Owns the file of `latency --histogram`: an interval log as HdrHistogram's tools read it, with a
//! histogram for each of the three paths. Measures nothing.

use crate::failure::told;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::error::Error as StdError;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use wirestamp::latency::{Histogram, LatencyReport};
use wirestamp::{Error, ErrorKind};

/// Finer than our buckets, which are a 64th of a power of two wide.
const DIGITS: u8 = 3;

/// A file that can be written to, known before anything is measured.
pub(super) struct Export {
    name: String,
    file: File,
    began: SystemTime,
    clock: Instant,
}

impl Export {
    /// Measuring begins now.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| told(ErrorKind::Io, "write the histograms", &name, &error))?;
        Ok(Self { name, file, began: SystemTime::now(), clock: Instant::now() })
    }

    /// Measuring is over.
    pub(super) fn write(mut self, report: &LatencyReport) -> Result<(), Error> {
        let log = interval_log(report, self.began, self.clock.elapsed())
            .map_err(|error| Error::new(ErrorKind::Io, "encode the histograms for", &self.name, error.to_string()))?;
        self.file.write_all(&log).map_err(|error| told(ErrorKind::Io, "write the histograms", &self.name, &error))
    }
}

fn interval_log(report: &LatencyReport, began: SystemTime, took: Duration) -> Result<Vec<u8>, Box<dyn StdError>> {
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[wirestamp latency, nanoseconds]")
        .with_start_time(began)
        .begin_log_with(&mut log, &mut serializer)?;
    let paths = [("send_path", &report.send_path), ("wire", &report.wire), ("receive_path", &report.receive_path)];
    for (name, histogram) in paths {
        let (converted, negative) = convert(histogram)?;
        if negative > 0 {
            writer.write_comment(&format!("[{name}: {negative} below zero are left out: the format holds none]"))?;
        }
        writer.write_histogram(&converted, Duration::ZERO, took, Tag::new(name))?;
    }
    Ok(log)
}

/// The middle of each bucket, as often as it counted; and how many lay below zero.
fn convert(histogram: &Histogram) -> Result<(HdrHistogram<u64>, u64), Box<dyn StdError>> {
    let (mut converted, mut negative) = (HdrHistogram::new(DIGITS)?, 0);
    for bucket in histogram.buckets() {
        let middle = (bucket.lowest.nanoseconds() + bucket.highest.nanoseconds()) / 2;
        match u64::try_from(middle) {
            Ok(middle) => converted.record_n(middle, bucket.count)?,
            Err(_) => negative += bucket.count,
        }
    }
    Ok((converted, negative))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::Span;

    fn of(values: impl IntoIterator<Item = i64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(Span::from_nanoseconds(value.into())));
        histogram
    }

    #[test]
    fn quantiles_survive_and_what_does_not_fit_is_counted() {
        let ours = of((0..100_000).chain([-1, -5_000]));
        let (converted, negative) = convert(&ours).expect("fits");
        assert_eq!((converted.len(), negative), (100_000, 2));
        for quantile in [0.1, 0.5, 0.99, 0.999] {
            let (theirs, truth) = (converted.value_at_quantile(quantile) as f64, 100_000.0 * quantile);
            assert!((theirs - truth).abs() <= truth / 64.0 + 1.0, "{quantile}: {theirs}");
        }
    }
}
