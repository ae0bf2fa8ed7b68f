//! `capture answers` and `capture compare`: a world without a change says what the true times are, as steps of clocks change no packet.

use super::MS;
use super::program::{file, json, number, run, utf8};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, Found, worlds};

/// Packets are often under way, and often unanswered. What takes a fixed time takes it in every world.
const TRAFFIC: &str = "
[link]
delay = \"3ms\"
[[traffic]]
interval = \"9ms\"
answer_after = \"1ms\"
[[traffic]]
from = \"sim0\"
port = 5000
interval = \"13ms\"
answer_after = \"2ms\"
";
const PRESETS: [&str; 4] = ["i225", "igc", "ideal", "noisy-cross"];
const NICS: [&str; 2] = ["sim0", "sim1"];
const CLOCKS: Clocks<'_> = Clocks {
    presets: &PRESETS,
    when: (150 * MS, 1_000 * MS),
    changes: &[Change::Step, Change::Adjust, Change::Failover],
    steps_utc: true,
};

/// Times that are printed, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    least: i64,
    middle: [i64; 3],
    mean: i64,
    most: i64,
    bound: i64,
}

impl Times {
    fn of(value: &Value) -> Option<Self> {
        value.is_object().then(|| {
            let of = |name: &str| number(&value[name]);
            Self {
                least: of("min_ns"),
                middle: ["p50_ns", "p90_ns", "p99_ns"].map(of),
                mean: of("mean_ns"),
                most: of("max_ns"),
                bound: of("error_bound_ns"),
            }
        })
    }

    /// Whether each can be true that is `moved` from one of the true times.
    fn is_within(&self, truth: &Self, moved: i64) -> bool {
        let all = self
            .middle
            .into_iter()
            .chain([self.least, self.mean, self.most]);
        let margin = self.bound + truth.bound;
        let possible = truth.least + moved - margin..=truth.most + moved + margin;
        // quantiles of many are within 1/128
        all.into_iter().all(|time| {
            let rounded = if time == self.least || time == self.most {
                0
            } else {
                time.abs() / 128
            };
            possible.contains(&(time + rounded))
                || possible.contains(&(time - rounded))
                || possible.contains(&time)
        })
    }
}

/// A place to work in, and the true times by what they are of.
struct Bench {
    folder: tempfile::TempDir,
    truths: HashMap<String, HashMap<String, Times>>,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("made"),
            truths: HashMap::new(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Captures what passes a NIC.
    fn capture(&self, toml: &str, nic: &str, source: &str) -> PathBuf {
        let scenario = file(self.path(), "scenario.toml", &with_traffic(toml));
        let captured = self.path().join(format!("{nic}.pcapng"));
        let head = ["--sim", utf8(&scenario), "capture", nic, "--for", "1300ms"];
        let output = run(&[&head[..], &["--source", source, "-w", utf8(&captured)]].concat());
        assert!(output.status.success(), "{output:?}\n{toml}");
        captured
    }

    /// The true times of a preset, by `what` is measured.
    fn truths(
        &mut self,
        toml: &str,
        what: &str,
        times: impl Fn(&Self, &str) -> HashMap<String, Times>,
    ) -> HashMap<String, Times> {
        let preset = toml.lines().next().expect("a preset").to_owned();
        let key = format!("{preset} {what}");
        if !self.truths.contains_key(&key) {
            let times = times(self, &preset);
            assert!(!times.is_empty(), "{key}");
            self.truths.insert(key.clone(), times);
        }
        self.truths[&key].clone()
    }
}

/// The events stand behind the tables.
fn with_traffic(toml: &str) -> String {
    let (preset, events) = toml.split_once('\n').unwrap_or((toml, ""));
    format!("{preset}\n{TRAFFIC}{events}")
}

fn answered(bench: &Bench, toml: &str, nic: &str, source: &str) -> Value {
    let captured = bench.capture(toml, nic, source);
    json(&[0], &["capture", "answers", utf8(&captured)])
}

/// Counts the times that are printed, and those that a step left out. Within one host's clock some are left; packets between two clocks
/// may have no time in the whole of a short run.
fn count(found: &mut Found, timed: i64, lost: i64, is_one_host: bool, world: impl Fn() -> String) {
    found.values += timed.unsigned_abs();
    found.lost += lost.unsigned_abs();
    found.check(timed > 0 || !is_one_host, || {
        format!("{}: {timed} have a time, {lost} do not", world())
    });
}

fn services(report: &Value) -> HashMap<String, Times> {
    let services = report["services"].as_array().expect("services").iter();
    services
        .filter_map(|service| Some((service["port"].to_string(), Times::of(&service["answers"])?)))
        .collect()
}

fn answers(world: u64, bench: &mut Bench, found: &mut Found) {
    let mut chance = Chance::of(world);
    let Changed { toml, .. } = CLOCKS.scenario(&mut chance);
    let nic = chance.one_of(&NICS);
    let source = chance.one_of(&["software", "hardware"]);
    let truths = bench.truths(&toml, &format!("answers {nic}"), |bench, preset| {
        services(&answered(bench, preset, nic, "software"))
    });
    let report = answered(bench, &toml, nic, source);
    for service in report["services"].as_array().expect("services") {
        let timed = service["answers"]["count"].as_i64().unwrap_or(0);
        count(found, timed, number(&service["across_step"]), true, || {
            format!(
                "world {world}, {nic}, {source}: port {}:\n{toml}",
                service["port"]
            )
        });
    }
    for (port, times) in services(&report) {
        let truth = widened(truths[&port], source);
        found.check(times.is_within(&truth, 0), || {
            format!(
                "world {world}, {nic}, {source}: port {port}: {times:?}, really {truth:?}:\n{toml}"
            )
        });
    }
}

/// Between the NIC's timestamps and the kernel's there is a way of less than 10 µs.
fn widened(truth: Times, source: &str) -> Times {
    let bound = truth.bound + if source == "hardware" { 10_000 } else { 0 };
    Times { bound, ..truth }
}

#[test]
fn capture_answers_prints_no_bound_that_a_time_breaks() {
    let (mut bench, mut found) = (Bench::new(), Found::default());
    worlds().for_each(|world| answers(world, &mut bench, &mut found));
    found.report("capture answers");
}

fn compared(bench: &Bench, tomls: [&str; 2], sources: [&str; 2]) -> Value {
    let files = [0, 1].map(|side| bench.capture(tomls[side], NICS[side], sources[side]));
    let [a, b] = files.each_ref().map(|file| utf8(file));
    json(&[0], &["capture", "compare", a, b])
}

/// Each flow by its port, and whether it went from A to B.
fn flows(report: &Value) -> impl Iterator<Item = (String, bool, &Value)> {
    let flows = report["flows"].as_array().expect("flows").iter();
    flows.map(|flow| {
        let [from, to] =
            ["source_port", "destination_port"].map(|name| number(&flow["flow"][name]));
        (format!("{from} {to}"), flow["direction"] == "a_to_b", flow)
    })
}

/// A is captured at `sim0`, B at `sim1`: on one host, or on two, each with a clock of its own.
fn compare(world: u64, bench: &mut Bench, found: &mut Found) {
    let mut chance = Chance::of(world);
    let one = CLOCKS.scenario(&mut chance);
    let is_one_host = chance.below(2) == 0;
    let two = if is_one_host {
        Changed {
            toml: one.toml.clone(),
            utc: one.utc,
            slewed: one.slewed,
            stepped: one.stepped,
            failovers: one.failovers.clone(),
        }
    } else {
        let preset = one.toml.lines().next().expect("a preset");
        let other = CLOCKS.scenario(&mut chance);
        let (_, events) = other.toml.split_once('\n').expect("events");
        Changed {
            toml: format!("{preset}\n{events}"),
            utc: other.utc,
            slewed: other.slewed,
            stepped: other.stepped,
            failovers: other.failovers,
        }
    };
    let truths = bench.truths(&one.toml, "compare", |bench, preset| {
        let report = compared(bench, [preset; 2], ["software"; 2]);
        let delay =
            |(ports, _, flow): (String, bool, &Value)| Some((ports, Times::of(&flow["delay"])?));
        flows(&report).filter_map(delay).collect()
    });
    let sources = [(); 2].map(|()| chance.one_of(&["software", "hardware"]));
    let report = compared(bench, [&one.toml, &two.toml], sources);
    let moved = |steps: &Value| {
        let by = |side: &str, changed: &Changed| {
            let step = changed.utc.filter(|_| number(&steps[side]) > 0);
            step.map_or(0, |(_, by)| by)
        };
        by("b", &two) - by("a", &one)
    };
    for (ports, is_forward, flow) in flows(&report) {
        let delays = flow["delays"].as_array().expect("delays");
        let timed = delays
            .iter()
            .map(|told| number(&told["delay"]["count"]))
            .sum();
        count(
            found,
            timed,
            number(&flow["across_step"]),
            is_one_host,
            || {
                let (one, two) = (&one.toml, &two.toml);
                format!(
                    "world {world}, one host: {is_one_host}, {sources:?}: {ports}:\n{one}\n{two}"
                )
            },
        );
        for told in delays {
            let times = Times::of(&told["delay"]).expect("an object");
            let moved = moved(&told["steps"]);
            let moved = if is_forward { moved } else { -moved };
            // between the NIC's timestamps and the kernel's there is a way
            let truth = widened(
                truths[&ports],
                if sources == ["software"; 2] {
                    "software"
                } else {
                    "hardware"
                },
            );
            found.check(times.is_within(&truth, moved), || {
                let (one, two) = (&one.toml, &two.toml);
                format!("world {world}, one host: {is_one_host}, {sources:?}: {ports}: {told:#}, really {truth:?}:\n{one}\n{two}")
            });
        }
    }
}

#[test]
fn capture_compare_prints_no_bound_that_a_delay_breaks() {
    let (mut bench, mut found) = (Bench::new(), Found::default());
    worlds().for_each(|world| compare(world, &mut bench, &mut found));
    found.report("capture compare");
}
