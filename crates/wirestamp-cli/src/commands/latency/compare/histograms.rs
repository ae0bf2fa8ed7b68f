//! The interval log of `--histogram`. A file is small where its histograms are large, so that each of them and
//! all together are limited.

use super::read::{PATHS, Samples, path_of};
use super::sample::Sample;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::collections::BTreeMap;
use std::io::Read;

/// 73 years: above this, a value is no time that was measured.
pub(super) const LONGEST: u64 = 1 << 61;
/// So many different values of all paths take 130 MB. A histogram of the finest resolution has 6.3 million.
const MOST_VALUES: usize = 8_000_000;
/// A million packets a second for eleven days. Intervals of quantiles take memory with the square root.
const MOST_PACKETS: u64 = 1_000_000_000_000;
/// The counts of the finest histogram, in its encoding.
const LONGEST_COUNTS: u32 = 64 << 20;
/// How HdrHistogram marks a compressed histogram.
const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

/// Reads each path's histograms.
pub(super) fn from_histograms(text: &[u8]) -> Result<Samples, String> {
    up_to(MOST_VALUES, text)
}

fn up_to(most: usize, text: &[u8]) -> Result<Samples, String> {
    let (mut found, mut kept): ([Parts; PATHS.len()], _) = (Default::default(), 0);
    let mut is_of_servers = false;
    for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        // in such a line, HdrHistogram would look for a time to the end of the file
        if line.starts_with(b"#") || line.starts_with(b"\"StartTimestamp\"") {
            continue;
        }
        let Some(entry) = IntervalLogIterator::new(line).next() else {
            continue;
        };
        let wrong = |error| {
            let number = number + 1;
            format!("line {number}: it is no interval log of HdrHistogram: {error:?}")
        };
        let LogEntry::Interval(interval) = entry.map_err(wrong)? else {
            continue;
        };
        let tag = interval.tag().map_or("", |tag| tag.as_str());
        let Some((path, offset)) = tagged(tag)? else {
            is_of_servers |= is_of_server(tag);
            continue;
        };
        let name = PATHS[path].0;
        let values = shifted_back(interval.encoded_histogram(), offset)
            .map_err(|cause| format!("the histogram of {name} cannot be decoded: {cause}"))?;
        kept += values.len();
        if kept > most {
            return Err(format!("it has more than {most} values"));
        }
        if found[path].insert(offset, values).is_some() {
            return Err(format!("it has more than one histogram of {name}"));
        }
    }
    if is_of_servers && found.iter().all(BTreeMap::is_empty) {
        return Err("it has the histograms of several servers".to_owned());
    }
    for (parts, (name, _)) in found.iter().zip(PATHS) {
        let mut counts = parts.values().flatten().map(|(_, count)| *count);
        let sum = counts.try_fold(0_u64, u64::checked_add);
        if sum.is_none_or(|sum| sum > MOST_PACKETS) {
            return Err(format!(
                "its histograms of {name} count more than {MOST_PACKETS} packets"
            ));
        }
    }
    Ok(found.map(|parts| {
        let mut values: Vec<_> = parts.values().flatten().copied().collect();
        values.sort_unstable();
        (!parts.is_empty()).then(|| Sample::counted(values))
    }))
}

/// The values of a path that were shifted by so much, each with how often it was counted.
type Parts = BTreeMap<u64, Vec<(i64, u64)>>;

/// Returns the values of a histogram without what was added to them.
fn shifted_back(encoded: &str, offset: u64) -> Result<Vec<(i64, u64)>, String> {
    let encoded = BASE64.decode(encoded).map_err(|error| error.to_string())?;
    let length = length_of_counts(&encoded).map_err(|error| error.to_string())?;
    if length > LONGEST_COUNTS {
        return Err(format!("its counts have {length} bytes"));
    }
    let histogram: HdrHistogram<u64> = Deserializer::new()
        .deserialize(&mut encoded.as_slice())
        .map_err(|error| error.to_string())?;
    let steps = histogram.iter_recorded().map(|step| {
        let value = i128::from(histogram.median_equivalent(step.value_iterated_to()));
        let value = i64::try_from(value - i128::from(offset)).ok();
        let value = value.filter(|value| value.unsigned_abs() <= LONGEST);
        let value = value.ok_or_else(|| format!("it has values beyond {LONGEST} ns"))?;
        Ok((value, step.count_since_last_iteration()))
    });
    steps.collect()
}

/// The length that a histogram states: HdrHistogram sets aside so many bytes before it reads them.
fn length_of_counts(encoded: &[u8]) -> std::io::Result<u32> {
    let mut head = [0; 8];
    match encoded.strip_prefix(&COMPRESSED) {
        // after its own length
        Some(rest) => {
            ZlibDecoder::new(rest.get(4..).unwrap_or_default()).read_exact(&mut head)?;
        }
        None => (&mut &*encoded).read_exact(&mut head)?,
    }
    let [_, _, _, _, length @ ..] = head;
    Ok(u32::from_be_bytes(length))
}

/// The path of a tag, and what was added to its values: `wire+10000ns`. `None`: it is of no path of ours.
fn tagged(tag: &str) -> Result<Option<(usize, u64)>, String> {
    let (name, offset) = match tag.split_once('+') {
        Some((name, offset)) => (name, Some(offset)),
        None => (tag, None),
    };
    let Some(path) = path_of(name) else {
        return Ok(None);
    };
    let number = |text: &str| text.strip_suffix("ns")?.parse().ok();
    match offset.map_or(Some(0), number) {
        Some(offset) if is_shift(offset) => Ok(Some((path, offset))),
        Some(_) => Err(format!(
            "the tag {tag} shifts values by neither 0 nor a power of ten"
        )),
        None => Err(format!(
            "the tag {tag} does not say in nanoseconds by how much values are shifted"
        )),
    }
}

/// Whether it is the tag of a path to one of several servers: `192.0.2.1/offset`.
fn is_of_server(tag: &str) -> bool {
    let path = tag.rsplit_once('/').map(|(_, path)| tagged(path));
    path.is_some_and(|path| path.is_ok_and(|path| path.is_some()))
}

/// Whether values are shifted by so much in a file of ours: 21 histograms of a path are the most then.
fn is_shift(offset: u64) -> bool {
    offset == 0 || 10_u64.pow(offset.ilog10()) == offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::latency::export::interval_log;
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer, V2Serializer};
    use std::time::{Duration, SystemTime};
    use wirestamp::Span;

    /// Count and median of the offset.
    fn offset(log: &str) -> Result<(u64, Option<i64>), String> {
        let samples = from_histograms(log.as_bytes())?;
        let sample = samples[path_of("offset").expect("a path")].as_ref();
        let sample = sample.expect("some");
        Ok((sample.count(), sample.quantile(0.5)))
    }

    #[test]
    fn tags_say_the_path_and_what_was_added() {
        assert_eq!(tagged("wire"), Ok(Some((1, 0))));
        assert_eq!(tagged("wire+10000ns"), Ok(Some((1, 10_000))));
        assert_eq!(tagged("round_trip"), Ok(Some((2, 0))));
        assert_eq!(tagged("wire+0ns"), Ok(Some((1, 0))));
        assert_eq!(tagged("wire+1ns"), Ok(Some((1, 1))));
        let largest = "wire+10000000000000000000ns";
        assert_eq!(tagged(largest), Ok(Some((1, 10_u64.pow(19)))));
        for tag in ["", "other", "other+1", "a+b"] {
            assert_eq!(tagged(tag), Ok(None), "{tag}");
        }
        for tag in [
            "wire+",
            "wire+1",
            "wire+99999999999999999999ns",
            "wire+-1ns",
            "wire+10001ns",
            "wire+2ns",
        ] {
            assert!(tagged(tag).is_err_and(|cause| cause.contains(tag)), "{tag}");
        }
    }

    fn written(values: &[i64]) -> String {
        let mut histogram = wirestamp::latency::Histogram::new();
        let spans = values
            .iter()
            .map(|value| Span::from_nanoseconds((*value).into()));
        spans.for_each(|span| histogram.record(span));
        let (paths, took) = ([("offset", &histogram)], Duration::ZERO);
        let log = interval_log("a test", &paths, SystemTime::now(), took).expect("written");
        String::from_utf8(log).expect("text")
    }

    /// An offset of decades before a clock's first step, and after it tens of nanoseconds.
    #[test]
    fn values_of_one_path_are_read_from_all_its_histograms() {
        let far = -1_700_000_000_000_000_000;
        let log = written(&[far, 10, 20, 30, 20]);
        assert_eq!(offset(&log), Ok((5, Some(20))));
        let samples = from_histograms(log.as_bytes()).expect("read");
        let sample = samples[path_of("offset").expect("a path")].as_ref();
        let sample = sample.expect("some");
        let least = sample.quantile(0.0).expect("some");
        assert!((least - far).abs() <= far.abs() / 64, "{least}");
        let twice = format!("{log}{}\n", log.lines().last().expect("one"));
        assert_eq!(
            offset(&twice),
            Err("it has more than one histogram of offset".to_owned())
        );
    }

    #[test]
    fn what_is_longer_than_any_measured_time_is_an_error() {
        for value in [i64::MIN, i64::MAX] {
            let found = offset(&written(&[value, 5])).expect_err("too long");
            assert!(found.contains("values beyond"), "{found}");
        }
    }

    /// A log with one line of the wire for each of these.
    fn log_of(encoded: &[&[u8]]) -> String {
        let lines = encoded.iter().enumerate().map(|(power, encoded)| {
            let (tag, encoded) = (10_u64.pow(power as u32), BASE64.encode(encoded));
            format!("Tag=wire+{tag}ns,0.0,1.0,1.0,{encoded}\n")
        });
        format!("#\n{}", lines.collect::<String>())
    }

    /// The compressed encoding of a histogram with this value, counted so often.
    fn encoded(value: u64, count: u64) -> Vec<u8> {
        let mut histogram = HdrHistogram::<u64>::new(3).expect("made");
        histogram.record_n(value, count).expect("recorded");
        let mut encoded = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        serializer
            .serialize(&histogram, &mut encoded)
            .expect("encoded");
        encoded
    }

    #[test]
    fn the_values_of_all_histograms_together_are_limited() {
        let one = encoded(1_000, 5);
        let log = log_of(&[&one, &one, &one]);
        assert!(up_to(3, log.as_bytes()).is_ok());
        assert_eq!(
            up_to(2, log.as_bytes()).expect_err("too many"),
            "it has more than 2 values"
        );
    }

    #[test]
    fn more_packets_than_can_be_measured_are_refused() {
        let half = encoded(1_000, MOST_PACKETS / 2);
        assert!(from_histograms(log_of(&[&half, &half]).as_bytes()).is_ok());
        let most = encoded(1_000, i64::MAX as u64);
        for parts in [&[&half[..], &half, &half][..], &[&most, &most, &most]] {
            let found = from_histograms(log_of(parts).as_bytes()).expect_err("too many");
            assert!(found.contains("count more than"), "{found}");
        }
    }

    /// Where a reader looks to the end of the file in each line, this takes minutes.
    #[test]
    fn a_log_of_comments_is_read_line_by_line() {
        let comments = "#\n".repeat(1 << 20) + &"\"StartTimestamp\"\n".repeat(1 << 17);
        let log = comments + &written(&[10, 20, 30]);
        assert_eq!(offset(&log), Ok((3, Some(20))));
    }

    /// HdrHistogram would set aside 4 GB.
    #[test]
    fn a_stated_length_beyond_any_histogram_is_refused() {
        let mut plain = Vec::new();
        let histogram = HdrHistogram::<u64>::new(3).expect("made");
        V2Serializer::new()
            .serialize(&histogram, &mut plain)
            .expect("encoded");
        assert!(from_histograms(log_of(&[&plain]).as_bytes()).is_ok());
        plain[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut deflated = flate2::read::ZlibEncoder::new(&plain[..], flate2::Compression::fast());
        let mut compressed = [COMPRESSED, [0, 0, 1, 0]].concat();
        deflated.read_to_end(&mut compressed).expect("compressed");
        for encoded in [&plain, &compressed] {
            let found = from_histograms(log_of(&[encoded]).as_bytes()).expect_err("too long");
            assert!(found.contains("counts have 4294967295 bytes"), "{found}");
        }
    }
}
