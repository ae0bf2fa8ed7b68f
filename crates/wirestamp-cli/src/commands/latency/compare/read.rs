//! The runs to compare: the interval log that `--histogram` of `latency`, `ptp`, `cross` or `ntp` (one server) wrote, or a row for each packet
//! (NDJSON or CSV).

use super::histograms::{LONGEST, from_histograms};
use super::sample::Sample;
use crate::failure::told;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use wirestamp::{Error, ErrorKind};

/// What `latency`, `ptp`, `ntp` and `cross` measure, as their rows and histograms name it, and as people read it.
pub(super) const PATHS: [(&str, &str); 10] = [
    ("send_path", "send path"),
    ("wire", "wire"),
    ("round_trip", "round trip"),
    ("path_delay", "path delay"),
    ("forward", "forward"),
    ("backward", "backward"),
    ("receive_path", "receive path"),
    ("offset", "offset"),
    ("mean_path_delay", "mean path delay"),
    ("bracket", "bracket"),
];
/// A larger file is no run of `latency`: 50 bytes for each of 10 million packets.
const LARGEST: u64 = 500_000_000;
/// All paths of these packets. A value takes eight bytes and one of its own in the file at least.
const MOST_VALUES: usize = 10_000_000 * PATHS.len();
/// A longer line is no packet's. Objects and fields take many times the bytes of their text.
const LONGEST_LINE: usize = 1 << 20;

/// One run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) name: String,
    samples: [Option<Sample>; PATHS.len()],
}

impl Run {
    /// Reads a file that a command wrote.
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
                "give it what `--histogram` of latency, ptp, cross or ntp (one server) wrote, or a row for each packet as NDJSON or CSV",
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

/// The values of each path, in the order of the file.
#[derive(Default)]
struct Series {
    paths: [Vec<i64>; PATHS.len()],
    kept: usize,
}

impl Series {
    fn push(&mut self, path: usize, value: i64) -> Result<(), String> {
        self.kept += 1;
        if self.kept > MOST_VALUES {
            return Err(format!("it has more than {MOST_VALUES} values"));
        }
        self.paths[path].push(value);
        Ok(())
    }

    fn samples(self) -> Samples {
        self.paths
            .map(|values| (!values.is_empty()).then(|| Sample::exact(values)))
    }
}

fn not_too_long(line: &[u8]) -> Result<(), String> {
    match line.len() <= LONGEST_LINE {
        true => Ok(()),
        false => Err(format!("it has a line of more than {LONGEST_LINE} bytes")),
    }
}

/// A JSON object on each line, one for each packet.
fn from_objects(text: &[u8]) -> Result<Samples, String> {
    let mut series = Series::default();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        not_too_long(line)?;
        let object: Map<String, Value> = match serde_json::from_slice(line) {
            Ok(object) => object,
            Err(_) if number == 0 && is_object(text) => return Err(SUMMARY.to_owned()),
            Err(error) => return Err(format!("line {} is no JSON object: {error}", number + 1)),
        };
        for (name, value) in &object {
            let Some(path) = path_of(name) else { continue };
            let found = match value {
                Value::Null => continue,
                Value::Object(_) => return Err(SUMMARY.to_owned()),
                Value::Number(value) => value.as_i64(),
                Value::String(value) => integer(value),
                _ => return Err(format!("line {}: {name} is no number", number + 1)),
            };
            let found = found
                .ok_or_else(|| format!("line {}: {name} is no integer: {value}", number + 1))?;
            series.push(path, found)?;
        }
    }
    Ok(series.samples())
}

/// Whether this is a summary: one object on many lines.
fn is_object(text: &[u8]) -> bool {
    text.len() <= LONGEST_LINE && serde_json::from_slice::<Map<String, Value>>(text).is_ok()
}

const SUMMARY: &str = "it has the quantiles of a run, which do not say how certain they are";

/// A heading, and then a line for each packet.
fn from_csv(text: &[u8]) -> Result<Samples, String> {
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        not_too_long(line)?;
    }
    // without quotes, a line ends where it seems to
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .quoting(false)
        .from_reader(text);
    let wrong = |error: csv::Error| format!("it is no CSV: {error}");
    let columns = columns(reader.headers().map_err(wrong)?)?;
    let mut series = Series::default();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(0, csv::Position::line);
        for (column, path) in &columns {
            let cell = record.get(*column).unwrap_or_default().trim();
            if !cell.is_empty() {
                let value =
                    integer(cell).ok_or_else(|| format!("line {line}: {cell:?} is no integer"))?;
                series.push(*path, value)?;
            }
        }
    }
    Ok(series.samples())
}

/// The columns of paths, by their headings.
fn columns(heading: &csv::StringRecord) -> Result<BTreeMap<usize, usize>, String> {
    let mut columns = BTreeMap::new();
    for (column, name) in heading.iter().enumerate() {
        let Some(path) = path_of(name.trim()) else {
            continue;
        };
        if columns.values().any(|known| *known == path) {
            return Err(format!("its first line names {} twice", name.trim()));
        }
        columns.insert(column, path);
    }
    match columns.is_empty() {
        true => Err("its first line names no latency such as wire_ns".to_owned()),
        false => Ok(columns),
    }
}

fn integer(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.unsigned_abs() <= LONGEST).then_some(value)
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
            ("wire_ns,x,wire\n1,2,3\n", "names wire twice"),
            ("\"wire_ns\n\",wire_ns\n1,2\n", "names no latency"),
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
            format!("wire_ns,{zeros}\r1\n"),
            format!("{{\"wire_ns\":1,\"more\":[{zeros}\r{zeros}0]}}\n"),
        ] {
            let found = read(&text).expect_err("too long");
            assert!(found.contains("a line of more than"), "{found}");
        }
        let found = read(&format!("{{\n\"more\":[{zeros}0]}}\n")).expect_err("no summary");
        assert!(found.contains("line 1 is no JSON object"), "{found}");
        let rows = format!("wire_ns\n{}", "1\n".repeat(LONGEST_LINE));
        assert_eq!(
            read(&rows),
            Ok(vec![("wire", LONGEST_LINE as u64, Some(1))])
        );
    }
}
