//! The runs to compare: the interval log of `latency --histogram`, or a row for each packet (NDJSON or CSV).

use super::histograms::{LONGEST, from_histograms};
use super::sample::Sample;
use crate::failure::told;
use serde_json::{Map, Value};
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
/// A longer line is no packet's. Objects and fields take many times the bytes of their text.
const LONGEST_LINE: usize = 1 << 20;

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

pub(super) type Samples = [Option<Sample>; PATHS.len()];

fn samples(text: &[u8]) -> Result<Samples, String> {
    let is_log = text.starts_with(b"#");
    let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    if !is_log && lines.any(|line| line.len() > LONGEST_LINE) {
        return Err(format!("it has a line of more than {LONGEST_LINE} bytes"));
    }
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
pub(super) fn path_of(name: &str) -> Option<usize> {
    let name = name.strip_suffix("_ns").unwrap_or(name);
    PATHS.iter().position(|(path, _)| *path == name)
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
            Err(_) if number == 0 && is_object(text) => return Err(SUMMARY.to_owned()),
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

/// Whether this is a summary: one object on many lines.
fn is_object(text: &[u8]) -> bool {
    text.len() <= LONGEST_LINE && serde_json::from_slice::<Map<String, Value>>(text).is_ok()
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

    /// An array of JSON takes sixteen times the memory of its text.
    #[test]
    fn a_line_that_is_no_packets_is_not_read() {
        let zeros = "0,".repeat(LONGEST_LINE / 2);
        for text in [
            format!("{{\"wire_ns\":1}}\n{{\"more\":[{zeros}0]}}\n"),
            format!("{{\n\"more\":[{zeros}0]}}\n"),
            format!("wire_ns,{zeros}\r1\n"),
        ] {
            let found = read(&text).expect_err("too long");
            assert!(found.contains("a line of more than"), "{found}");
        }
        let rows = format!("wire_ns\n{}", "1\n".repeat(LONGEST_LINE));
        assert_eq!(
            read(&rows),
            Ok(vec![("wire", LONGEST_LINE as u64, Some(1))])
        );
    }
}
