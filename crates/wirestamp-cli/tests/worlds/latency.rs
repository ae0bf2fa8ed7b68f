//! `latency --json` and `--histogram`: a world without a change says what the true times are.

use super::MS;
use super::program::{file, json, number, utf8};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, Found, worlds};

const PATHS: [&str; 3] = ["send_path", "wire", "receive_path"];
/// The random part of a packet's delay, which differs between worlds, is at most this.
const SLACK: i64 = 500;
/// A packet that arrives while the program reads the NIC's clock is received after that: five readings, each of which may be held up.
/// This happens to few packets, and a world without a change need not have one.
const READINGS: i64 = 200_000;
const PRESETS: [&str; 4] = ["i225", "igc", "ideal", "noisy-cross"];

/// The printed paths, the error bound of all of them, and how many timestamps had conversion errors.
struct Printed {
    paths: HashMap<&'static str, Value>,
    bound: i64,
    lost: i64,
}

fn measured(folder: &Path, toml: &str) -> Printed {
    let scenario = file(folder, "scenario.toml", toml);
    let log = folder.join("histograms");
    let head = [
        "--sim",
        utf8(&scenario),
        "latency",
        "sim0",
        "--source",
        "hardware",
    ];
    let more = ["--count", "400", "--rate", "200", "--histogram", utf8(&log)];
    let report = json(&[0, 6], &[&head[..], &more].concat());
    let paths = PATHS.map(|path| (path, report[format!("{path}_ns")].clone()));
    Printed {
        paths: paths.into_iter().collect(),
        bound: report["max_error_bound_ns"].as_i64().unwrap_or(0),
        lost: number(&report["lost"]["conversions"]),
    }
}

/// The histograms of the file: the name of each path, what was added to all values, and these.
fn histograms(folder: &Path) -> Vec<(String, i64, Histogram<u64>)> {
    use base64::Engine as _;
    let log = fs::read(folder.join("histograms")).expect("written");
    let mut all = Vec::new();
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.expect("well formed") else {
            continue;
        };
        let tag = interval.tag().expect("named").as_str().to_owned();
        let (name, added) = match tag.split_once('+') {
            Some((name, added)) => (name.to_owned(), added.trim_end_matches("ns").parse()),
            None => (tag, Ok(0)),
        };
        let encoded =
            base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram());
        let encoded = encoded.expect("base64");
        let histogram = Deserializer::new().deserialize(&mut encoded.as_slice());
        all.push((name, added.expect("a number"), histogram.expect("one")));
    }
    all
}

fn latency(world: u64, folder: &Path, truths: &mut HashMap<String, Printed>, found: &mut Found) {
    let mut chance = Chance::of(world);
    let clocks = Clocks {
        presets: &PRESETS,
        when: (300 * MS, 2_000 * MS),
        changes: &[Change::Step, Change::Step, Change::Adjust, Change::Failover],
        steps_utc: true,
    };
    let Changed { toml, .. } = clocks.scenario(&mut chance);
    let preset = toml.lines().next().expect("a preset");
    let truth = truths
        .entry(preset.to_owned())
        .or_insert_with(|| measured(folder, preset));
    let printed = measured(folder, &toml);
    let possible = |path: &str, is_of_few: bool| {
        let of = |name: &str| number(&truth.paths[path][name]);
        let margin = printed.bound + truth.bound + SLACK;
        let waited = if is_of_few && path == "receive_path" {
            READINGS
        } else {
            0
        };
        (of("min") - margin, 2 * of("max") + margin + waited)
    };
    let timed: i64 = printed
        .paths
        .values()
        .map(|values| number(&values["count"]))
        .sum();
    found.values += timed.unsigned_abs();
    found.lost += printed.lost.unsigned_abs();
    found.check(timed > 0, || {
        format!(
            "world {world}: {timed} have a time, {} do not:\n{toml}",
            printed.lost
        )
    });
    for (path, values) in &printed.paths {
        if values["count"].as_u64() == Some(0) || values["min"].is_null() {
            continue;
        }
        for name in ["min", "p50", "p90", "p99", "p99_9", "max", "mean"] {
            let value = number(&values[name]);
            let (low, high) = possible(path, ["p99", "p99_9", "max"].contains(&name));
            found.check((low..=high).contains(&value), || {
                format!("world {world}: {path} {name} {value}, really {low} to {high}:\n{toml}")
            });
        }
    }
    for (name, added, histogram) in histograms(folder) {
        if histogram.is_empty() {
            continue;
        }
        for (value, is_of_few) in [(histogram.min(), false), (histogram.max(), true)] {
            let (low, high) = possible(&name, is_of_few);
            let value = i64::try_from(value).expect("a time") - added;
            // buckets are a 64th wide
            let rounded = value.abs() / 32 + added / 50_000;
            let is_right = value + rounded >= low && value - rounded <= high;
            found.check(is_right, || {
                format!("world {world}: histogram {name} {value}, really {low} to {high}:\n{toml}")
            });
        }
    }
}

#[test]
fn latency_prints_no_bound_that_a_value_breaks() {
    let folder = tempfile::tempdir().expect("made");
    let (mut truths, mut found) = (HashMap::new(), Found::default());
    worlds().for_each(|world| latency(world, folder.path(), &mut truths, &mut found));
    found.report("latency, printed");
}
