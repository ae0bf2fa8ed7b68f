//! The file of `latency --histogram`: an interval log as HdrHistogram's tools read it, with a
//! histogram for each path.
//!
//! HdrHistogram holds no negative values. If a path has some, its values are shifted up by a power of ten, and the tag
//! says by how much: `wire+10000ns`. Subtract it from each figure. Values far below the others have a histogram of their
//! own, with another shift.

use super::parts::{Part, parts};
use crate::output::Target;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::error::Error as StdError;
use std::path::Path;
use std::time::{Duration, SystemTime};
use wirestamp::latency::Histogram;
use wirestamp::{Error, ErrorKind};

/// Finer than our buckets, which are a 64th of a power of two wide.
const DIGITS: u8 = 3;
/// Values close to the offset keep their differences: to a nanosecond up to an offset of 100 µs.
const DIGITS_WHEN_SHIFTED: u8 = 5;

/// A file that can be written to, known before anything is measured, and written afterwards.
pub(super) struct Export {
    name: String,
    target: Target,
    began: SystemTime,
}

impl Export {
    /// Measuring begins now.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let target = Target::check(path, "write the histograms")?;
        Ok(Self {
            name,
            target,
            began: SystemTime::now(),
        })
    }

    /// Measuring is over, and has taken so long.
    pub(super) fn write(
        self,
        paths: &[(&'static str, &Histogram)],
        took: Duration,
    ) -> Result<(), Error> {
        let heading = "wirestamp latency, nanoseconds";
        let log = interval_log(heading, paths, self.began, took).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "encode the histograms for",
                &self.name,
                error.to_string(),
            )
        })?;
        self.target.write(&log)
    }
}

/// What the file has.
pub(in crate::commands) fn interval_log(
    heading: &str,
    paths: &[(&str, &Histogram)],
    began: SystemTime,
    took: Duration,
) -> Result<Vec<u8>, Box<dyn StdError>> {
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(&format!("[{heading}]"))
        .with_start_time(began)
        .begin_log_with(&mut log, &mut serializer)?;
    for &(name, histogram) in paths {
        for part in parts(histogram) {
            let offset = part.offset;
            if offset > 0 {
                writer.write_comment(&format!(
                    "[{name}: {offset} ns were added to each value of the next histogram, some are negative]"
                ))?;
            }
            let tag = tag(name, offset);
            writer.write_histogram(&shifted(&part)?, Duration::ZERO, took, Tag::new(&tag))?;
        }
    }
    Ok(log)
}

/// By how many nanoseconds the usual values of a path are shifted in the file: 0, or a power of ten that leaves none of
/// them negative.
pub(in crate::commands) fn offset(histogram: &Histogram) -> u64 {
    parts(histogram).first().map_or(0, |part| part.offset)
}

/// How the file names the histogram of a path.
pub(in crate::commands) fn tag(path: &str, offset: u64) -> String {
    if offset == 0 {
        path.to_owned()
    } else {
        format!("{path}+{offset}ns")
    }
}

/// Each value and the offset, as often as it counted.
fn shifted(part: &Part) -> Result<HdrHistogram<u64>, Box<dyn StdError>> {
    let mut converted = HdrHistogram::new(if part.offset == 0 {
        DIGITS
    } else {
        DIGITS_WHEN_SHIFTED
    })?;
    for (value, count) in &part.values {
        let value = i128::from(*value) + i128::from(part.offset);
        converted.record_n(u64::try_from(value).unwrap_or(u64::MAX), *count)?;
    }
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use wirestamp::Span;

    fn of(values: impl IntoIterator<Item = i64>) -> Histogram {
        let mut histogram = Histogram::new();
        values
            .into_iter()
            .for_each(|value| histogram.record(Span::from_nanoseconds(value.into())));
        histogram
    }

    fn read_back(log: &[u8]) -> Vec<(String, HdrHistogram<u64>)> {
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(log) {
            let LogEntry::Interval(interval) = entry.expect("well formed") else {
                continue;
            };
            let tag = interval.tag().expect("named").as_str().to_owned();
            let encoded = BASE64.decode(interval.encoded_histogram()).expect("base64");
            found.push((
                tag,
                Deserializer::new()
                    .deserialize(&mut encoded.as_slice())
                    .expect("a histogram"),
            ));
        }
        found
    }

    /// A report of these three paths, written and read back.
    fn written(paths: [&Histogram; 3]) -> Vec<(String, HdrHistogram<u64>)> {
        let names = ["send_path", "wire", "receive_path"];
        let paths: Vec<_> = names.into_iter().zip(paths).collect();
        read_back(
            &interval_log("a test", &paths, SystemTime::now(), Duration::from_secs(1))
                .expect("written"),
        )
    }

    #[test]
    fn quantiles_survive() {
        let ours = of(0..100_000);
        let read = written([&ours, &of([]), &ours]);
        let tags: Vec<_> = read.iter().map(|(tag, _)| tag.as_str()).collect();
        assert_eq!(tags, ["send_path", "wire", "receive_path"]);
        assert_eq!(read[0].1.len(), 100_000);
        for quantile in [0.1, 0.5, 0.99, 0.999] {
            let (theirs, truth) = (
                read[0].1.value_at_quantile(quantile) as f64,
                100_000.0 * quantile,
            );
            assert!(
                (theirs - truth).abs() <= truth / 64.0 + 1.0,
                "{quantile}: {theirs}"
            );
        }
    }

    #[test]
    fn negative_values_are_there_and_percentiles_are_those_that_we_print() {
        for (least, offset) in [
            (-1_i64, 1),
            (-900, 1_000),
            (-1_000, 1_000),
            (-45_000, 100_000),
            (-3_000_000, 10_000_000),
        ] {
            // a quarter of the values is negative
            let ours = of((0..10_000).map(|step| least + step * -least / 2_500));
            let read = written([&of([]), &ours, &of([])]);
            let (tag, theirs) = &read[1];
            assert_eq!(
                (tag.as_str(), theirs.len()),
                (format!("wire+{offset}ns").as_str(), 10_000)
            );
            for fraction in [0.001, 0.1, 0.25, 0.5, 0.9, 0.999] {
                let (theirs, ours) = (
                    theirs.value_at_quantile(fraction),
                    ours.quantile(fraction).expect("some"),
                );
                let (theirs, ours) = (theirs.cast_signed() - offset, ours.saturating_nanoseconds());
                let allowed = ours.abs() / 64 + offset / 10_000 + 1;
                assert!(
                    (theirs - ours).abs() <= allowed,
                    "{least}, {fraction}: {theirs} and {ours}"
                );
            }
        }
    }

    #[test]
    fn any_value_can_be_written() {
        let far = -5_000_000_000_000_000_000;
        for (values, expected) in [
            (vec![], vec![(0, 0)]),
            (
                vec![i64::MIN, -1, 0],
                vec![(100_000, 2), (10_u64.pow(19), 1)],
            ),
            (vec![far, far, i64::MAX], vec![(10_u64.pow(19), 3)]),
        ] {
            let parts = parts(&of(values)).into_iter();
            let found = parts.map(|part| (part.offset, shifted(&part).expect("fits").len()));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }

    /// An offset before the first step, and one before the second.
    #[test]
    fn values_far_below_the_others_do_not_round_them() {
        let [first, second] = [-1_700_000_000_000_000_000, -40_000_000];
        let ours = of((0..1_000)
            .map(|step| step % 100 - 50)
            .chain([first, second]));
        let log = interval_log(
            "a test",
            &[("offset", &ours)],
            SystemTime::now(),
            Duration::ZERO,
        );
        let read = read_back(&log.expect("written"));
        let counts = read
            .iter()
            .map(|(tag, theirs)| (tag.as_str(), theirs.len()));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [
                ("offset+100000ns", 1_000),
                ("offset+10000000000ns", 1),
                ("offset+10000000000000000000ns", 1),
            ]
        );
        assert_eq!(read[0].1.value_at_quantile(0.25), 100_000 - 26);
    }
}
