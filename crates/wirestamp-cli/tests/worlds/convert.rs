//! `convert`: recordings of a NIC whose clock is stepped, adjusted, slewed or exchanged, each row against the truth.

use super::MS;
use super::program::{file, json, number, run, utf8};
use std::time::Duration;
use wirestamp::events::{CONFIRMING, Header, Writer};
use wirestamp::{ErrorKind, Frequency, HardwareClock, Interface, MonotonicTime, Simulation, Span};
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, Found, worlds};

/// A recording, and when each of its timestamps was made.
struct Recording {
    text: String,
    made: Vec<MonotonicTime>,
}

/// A recorder, as `record` is one.
struct Recorder<'s> {
    simulation: &'s Simulation,
    interface: Interface,
    clock: Option<HardwareClock>,
    writer: Writer<Vec<u8>>,
    made: Vec<MonotonicTime>,
}

impl<'s> Recorder<'s> {
    fn new(simulation: &'s Simulation) -> Self {
        let interface = simulation.interface("sim0").expect("a NIC");
        let hardware = interface.supported().expect("known").nominal_frequency;
        let system = Frequency::GIGAHERTZ;
        Self {
            simulation,
            clock: Some(interface.hardware_clock().expect("it has a clock")),
            interface,
            writer: Writer::new(Vec::new(), Header { system, hardware }).expect("written"),
            made: Vec::new(),
        }
    }

    /// A batch of readings; one that fails is left out.
    fn batch(&mut self) {
        let read = |clock: &HardwareClock| clock.cross_timestamps(5);
        let mut readings = self.clock.as_ref().map(read);
        if matches!(&readings, Some(Err(error)) if error.kind() == ErrorKind::NoSuchDevice) {
            self.writer.replaced().expect("written");
            self.interface = self.simulation.interface("sim0").expect("a NIC");
            self.clock = self.interface.hardware_clock().ok();
            readings = self.clock.as_ref().map(read);
        }
        for reading in readings.and_then(Result::ok).unwrap_or_default() {
            self.writer.cross(&reading).expect("written");
        }
    }

    fn timestamp(&mut self) {
        let truth = self.simulation.world().truth();
        let at = truth.now();
        if let Some(ticks) = truth.hardware_ticks_at(self.interface.index(), at) {
            self.writer.timestamp(ticks).expect("written");
            self.made.push(at);
        }
    }

    fn pass(&self, time: Duration) {
        self.simulation.world().advance(Span::from(time));
    }
}

fn recording(simulation: &Simulation, chance: &mut Chance) -> Recording {
    let mut recorder = Recorder::new(simulation);
    let period = Duration::from_millis(chance.one_of(&[20, 100, 200, 500]));
    let until = simulation.world().truth().now() + Span::from_milliseconds(5_000);
    while simulation.world().truth().now() < until {
        recorder.batch();
        let timestamps = 1 + chance.below(12) as u32;
        for _ in 0..timestamps {
            recorder.pass(period / (timestamps + 1));
            recorder.timestamp();
        }
        recorder.pass(period / (timestamps + 1));
    }
    // as `record` ends
    for _ in 0..CONFIRMING {
        recorder.batch();
        recorder.pass(period / 4);
    }
    Recording {
        text: String::from_utf8(recorder.writer.into_inner()).expect("text"),
        made: recorder.made,
    }
}

const PRESETS: [&str; 6] = [
    "i225",
    "igb",
    "igc",
    "ideal",
    "noisy-cross",
    "poor-oscillator",
];

fn convert(world: u64, changes: &[Change], found: &mut Found) {
    let mut chance = Chance::of(world);
    let clocks = Clocks {
        presets: &PRESETS,
        when: (300 * MS, 4_000 * MS),
        changes,
        steps_utc: false,
    };
    let Changed { toml, .. } = clocks.scenario(&mut chance);
    let simulation = Simulation::from_toml(&toml, world).expect("a scenario");
    let Recording { text, made } = recording(&simulation, &mut chance);
    let folder = tempfile::tempdir().expect("made");
    let events = file(folder.path(), "events", &text);
    let later: &[&str] = if chance.below(2) == 0 {
        &[]
    } else {
        &["--later"]
    };
    let printed = run(&[&["convert", utf8(&events)], later].concat());
    assert!(printed.status.success(), "{printed:?}");
    let printed = String::from_utf8(printed.stdout).expect("UTF-8");
    let rows: Vec<_> = printed.lines().skip(1).collect();
    assert_eq!(rows.len(), made.len(), "world {world}");
    let (mut converted, mut errors) = (0, 0);
    for (row, at) in rows.iter().zip(&made) {
        let columns: Vec<_> = row.split(',').collect();
        let [_, at_ns, bound_ns, _, error] = columns[..] else {
            panic!("world {world}: {row}")
        };
        if !error.is_empty() {
            errors += 1;
            continue;
        }
        converted += 1;
        let off = picoseconds(at_ns) - i128::from(at.nanoseconds()) * 1_000;
        // the truth is a whole nanosecond
        found.check(off.abs() <= picoseconds(bound_ns) + 1_000, || {
            format!("world {world} {later:?}: {row}, really {at:?}, off by {off} ps:\n{toml}")
        });
    }
    found.lost += errors as u64;
    if world.is_multiple_of(8) {
        let summary = json(&[0], &[&["convert", utf8(&events)], later].concat());
        let counted = ["converted", "conversion_errors"].map(|name| number(&summary[name]));
        assert_eq!(counted, [converted, errors], "world {world}: {summary:#}");
        let withdrawn = number(&summary["withdrawn"]);
        assert!(withdrawn <= errors, "world {world}: {summary:#}");
    }
}

/// Nanoseconds with three decimals.
fn picoseconds(text: &str) -> i128 {
    let digits: String = text.chars().filter(|character| *character != '.').collect();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("nanoseconds: {text}"))
}

#[test]
fn convert_prints_no_bound_that_a_time_breaks() {
    let changes = &[Change::Step, Change::Step, Change::Adjust, Change::Slew];
    let mut found = Found::default();
    worlds().for_each(|world| convert(world, changes, &mut found));
    found.report("convert");
}

#[test]
fn convert_prints_no_bound_that_a_time_breaks_across_failovers() {
    let mut found = Found::default();
    worlds().for_each(|world| convert(world, &[Change::Failover], &mut found));
    found.report("convert, failovers");
}
