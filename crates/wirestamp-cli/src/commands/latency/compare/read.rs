//! The runs to compare: the interval log of `latency --histogram`, or a row for each packet (NDJSON or CSV).

use super::sample::Sample;
use crate::failure::told;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use wirestamp::{Error, ErrorKind};

/// What `latency` and `ptp` measure, as their rows and histograms name it, and as people read it.
pub(super) const PATHS: [(&str, &str); 9] = [
    ("send_path", "send path"),
    ("wire", "wire"),
    ("round_trip", "round trip"),
    ("path_delay", "path delay"),
    ("forward", "forward"),
    ("backward", "backward"),
    ("receive_path", "receive path"),
    ("offset", "offset"),
    ("mean_path_delay", "mean path delay"),
];
/// A larger file is no run of `latency`: 50 bytes for each of 10 million packets.
const LARGEST: u64 = 500_000_000;
/// 73 years: above this, a value is no time that was measured.
const LONGEST: u64 = 1 << 61;

/// One run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) name: String,
    samples: [Option<Sample>; PATHS.len()],
}

impl Run {
    /// Reads a file that `latency` wrote.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed =
            |error: &std::io::Error| told(ErrorKind::InvalidInput, OPERATION, &name, error);
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text))
            .map_err(|error| failed(&error))?;
        let samples = if text.len() as u64 > LARGEST {
            Err(format!("it has more than {LARGEST} bytes"))
        } else {
            samples(&text)
        };
        let samples = samples.map_err(|cause| {
            Error::new(ErrorKind::InvalidInput, OPERATION, &name, cause).with_remedy(
                "give it what `wirestamp latency --histogram FILE` wrote, or a row for each packet as NDJSON or CSV",
            )
        })?;
        Ok(Self { name, samples })
    }

    /// The values of a path, where this run has some.
    pub(super) fn sample(&self, path: usize) -> Option<&Sample> {
        self.samples[path]
            .as_ref()
            .filter(|sample| sample.count() > 0)
    }
}

const OPERATION: &str = "read the run";

type Samples = [Option<Sample>; PATHS.len()];

fn samples(text: &[u8]) -> Result<Samples, String> {
    let samples = match text.first() {
        Some(b'#') => from_histograms(text)?,
        Some(b'{') => from_objects(text)?,
        Some(_) => from_csv(text)?,
        None => return Err("it is empty".to_owned()),
    };
    if samples.iter().flatten().all(|sample| sample.count() == 0) {
        return Err("it has no latencies".to_owned());
    }
    Ok(samples)
}

/// Which path a name of ours means: `wire` or `wire_ns`.
fn path_of(name: &str) -> Option<usize> {
    let name = name.strip_suffix("_ns").unwrap_or(name);
    PATHS.iter().position(|(path, _)| *path == name)
}

fn from_histograms(text: &[u8]) -> Result<Samples, String> {
    let mut found: [Parts; PATHS.len()] = Default::default();
    for entry in IntervalLogIterator::new(text) {
        let LogEntry::Interval(interval) =
            entry.map_err(|error| format!("it is no interval log of HdrHistogram: {error:?}"))?
        else {
            continue;
        };
        let tag = interval.tag().map_or("", |tag| tag.as_str());
        let Some((path, offset)) = tagged(tag)? else {
            continue;
        };
        let name = PATHS[path].0;
        let values = shifted_back(interval.encoded_histogram(), offset)
            .map_err(|cause| format!("the histogram of {name} cannot be decoded: {cause}"))?;
        if found[path].insert(offset, values).is_some() {
            return Err(format!("it has more than one histogram of {name}"));
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
        Some(offset) => Ok(Some((path, offset))),
        None => Err(format!(
            "the tag {tag} does not say in nanoseconds by how much values are shifted"
        )),
    }
}

/// A JSON object on each line, one for each packet.
fn from_objects(text: &[u8]) -> Result<Samples, String> {
    let mut series: [Vec<i64>; PATHS.len()] = Default::default();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let object: Map<String, Value> = match serde_json::from_slice(line) {
            Ok(object) => object,
            Err(_) if number == 0 && serde_json::from_slice::<Map<String, Value>>(text).is_ok() => {
                return Err(SUMMARY.to_owned());
            }
            Err(error) => return Err(format!("line {} is no JSON object: {error}", number + 1)),
        };
        for (name, value) in &object {
            let Some(path) = path_of(name) else { continue };
            match value {
                Value::Null => {}
                Value::Object(_) => return Err(SUMMARY.to_owned()),
                Value::Number(value) => series[path].push(value.as_i64().ok_or_else(|| {
                    format!("line {}: {name} is no integer: {value}", number + 1)
                })?),
                Value::String(value) => {
                    series[path].push(integer(value).map_err(|()| {
                        format!("line {}: {name} is no integer: {value}", number + 1)
                    })?);
                }
                _ => return Err(format!("line {}: {name} is no number", number + 1)),
            }
        }
    }
    Ok(series.map(exact))
}

const SUMMARY: &str = "it has the quantiles of a run, which do not say how certain they are";

/// A heading, and then a line for each packet.
fn from_csv(text: &[u8]) -> Result<Samples, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let wrong = |error: csv::Error| format!("it is no CSV: {error}");
    let heading = reader.headers().map_err(wrong)?;
    let columns: Vec<(usize, usize)> = heading
        .iter()
        .enumerate()
        .filter_map(|(column, name)| Some((column, path_of(name.trim())?)))
        .collect();
    if columns.is_empty() {
        return Err("its first line names no latency such as wire_ns".to_owned());
    }
    let mut series: [Vec<i64>; PATHS.len()] = Default::default();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(0, csv::Position::line);
        for (column, path) in &columns {
            let cell = record.get(*column).unwrap_or_default().trim();
            if !cell.is_empty() {
                let value =
                    integer(cell).map_err(|()| format!("line {line}: {cell:?} is no integer"))?;
                series[*path].push(value);
            }
        }
    }
    Ok(series.map(exact))
}

fn integer(text: &str) -> Result<i64, ()> {
    let value: i64 = text.parse().map_err(|_| ())?;
    (value.unsigned_abs() <= LONGEST).then_some(value).ok_or(())
}

fn exact(series: Vec<i64>) -> Option<Sample> {
    (!series.is_empty()).then(|| Sample::exact(series))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::latency::export::interval_log;
    use std::time::{Duration, SystemTime};
    use wirestamp::Span;

    /// Name, count and median of each path.
    type Found = Vec<(&'static str, u64, Option<i64>)>;

    fn read(text: &str) -> Result<Found, String> {
        let samples = samples(text.as_bytes())?;
        let with_names = PATHS.iter().zip(&samples);
        let found = with_names.filter_map(|((name, _), sample)| Some((*name, sample.as_ref()?)));
        Ok(found
            .map(|(name, sample)| (name, sample.count(), sample.quantile(0.5)))
            .collect())
    }

    #[test]
    fn rows_are_read_in_either_form_and_gaps_are_left_out() {
        let expected = vec![("send_path", 2, Some(10)), ("wire", 1, Some(-5))];
        let csv = "sequence,send_path_ns,wire_ns\n0,10,-5\n1,12,\n";
        assert_eq!(read(csv), Ok(expected.clone()));
        let objects =
            "{\"send_path_ns\":10,\"wire_ns\":\"-5\"}\n{\"send_path_ns\":12,\"wire_ns\":null}\n";
        assert_eq!(read(objects), Ok(expected));
    }

    #[test]
    fn what_is_no_run_is_refused_with_its_reason() {
        for (text, cause) in [
            ("", "it is empty"),
            ("\u{7f}ELF", "names no latency"),
            ("a,b\n1,2\n", "names no latency"),
            ("wire_ns\n", "it has no latencies"),
            ("wire_ns\n1.5\n", "line 2: \"1.5\" is no integer"),
            ("wire_ns\n9223372036854775807\n", "is no integer"),
            ("{\"wire_ns\": {\"p50\": 1}}", "quantiles of a run"),
            ("{\n\"wire_ns\": {\"p50\": 1}\n}\n", "quantiles of a run"),
            ("{\"wire_ns\":1}\n{", "line 2 is no JSON object"),
            ("{\"wire_ns\":true}", "line 1: wire_ns is no number"),
            ("# nothing\n", "it has no latencies"),
            (
                "#\nTag=wire,0.0,1.0,1.0,AAAA\n",
                "histogram of wire cannot be decoded",
            ),
            ("#\nTag=wire,x\n", "no interval log"),
        ] {
            let found = read(text).expect_err(text);
            assert!(found.contains(cause), "{text}: {found}");
        }
    }

    #[test]
    fn tags_say_the_path_and_what_was_added() {
        assert_eq!(tagged("wire"), Ok(Some((1, 0))));
        assert_eq!(tagged("wire+10000ns"), Ok(Some((1, 10_000))));
        assert_eq!(tagged("round_trip"), Ok(Some((2, 0))));
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
        assert_eq!(read(&log), Ok(vec![("offset", 5, Some(20))]));
        let samples = samples(log.as_bytes()).expect("read");
        let sample = samples[path_of("offset").expect("a path")].as_ref();
        let sample = sample.expect("some");
        let least = sample.quantile(0.0).expect("some");
        assert!((least - far).abs() <= far.abs() / 64, "{least}");
        let twice = format!("{log}{}\n", log.lines().last().expect("one"));
        assert_eq!(
            read(&twice),
            Err("it has more than one histogram of offset".to_owned())
        );
    }

    #[test]
    fn what_is_longer_than_any_measured_time_is_an_error() {
        for value in [i64::MIN, i64::MAX] {
            let found = read(&written(&[value, 5])).expect_err("too long");
            assert!(found.contains("values beyond"), "{found}");
        }
    }
}
