//! `convert`: recordings of a NIC whose clock is stepped, adjusted, slewed or exchanged, each row against the truth.

use super::MS;
use super::program::{file, json, number, run, utf8};
use std::time::Duration;
use wirestamp::events::{CONFIRMING_BATCHES, Header, Writer};
use wirestamp::time::Frequency;
use wirestamp::{ErrorKind, HardwareClock, Interface, MonotonicTime, Simulation, Span};
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, Found, worlds};

/// A recording, and when each of its timestamps was made.
struct Recording {
    text: String,
    made: Vec<MonotonicTime>,
    began: MonotonicTime,
    /// In nanoseconds, as what follows.
    period: i64,
    /// Half the width of the narrowest bracket of a batch, of the worst batch.
    half_width: i64,
}

impl Recording {
    /// What a step of the NIC's clock may be off by for this timestamp, as it hides: the first batches after it can take
    /// it for the frequency if the brackets leave it open (`docs/error-bound.md`, "When a time is final").
    fn hidden(&self, stepped: Option<(i64, i64)>, at: MonotonicTime) -> i64 {
        let Some((when, ticks)) = stepped else {
            return 0;
        };
        let since = (at - self.began).saturating_nanoseconds() - when;
        let may_hide = ticks.abs() <= 4 * self.half_width;
        if may_hide && (0..=4 * self.period).contains(&since) {
            ticks.abs()
        } else {
            0
        }
    }
}

/// A recorder, as `record` is one.
struct Recorder<'s> {
    simulation: &'s Simulation,
    interface: Interface,
    clock: Option<HardwareClock>,
    writer: Writer<Vec<u8>>,
    made: Vec<MonotonicTime>,
    half_width: i64,
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
            half_width: 0,
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
        let readings = readings.and_then(Result::ok).unwrap_or_default();
        for reading in &readings {
            self.writer.cross(reading).expect("written");
        }
        let widths = readings
            .iter()
            .map(|reading| reading.monotonic_after() - reading.monotonic_before());
        let least = widths.min().unwrap_or(Span::ZERO).saturating_nanoseconds();
        self.half_width = self.half_width.max(least / 2);
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

fn recording(simulation: &Simulation, period: Duration, chance: &mut Chance) -> Recording {
    let mut recorder = Recorder::new(simulation);
    let began = simulation.world().truth().now();
    let until = began + Span::from_milliseconds(5_000);
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
    for _ in 0..CONFIRMING_BATCHES {
        recorder.batch();
        recorder.pass(period / 4);
    }
    Recording {
        text: String::from_utf8(recorder.writer.into_inner()).expect("text"),
        made: recorder.made,
        began,
        period: Span::from(period).saturating_nanoseconds(),
        half_width: recorder.half_width,
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
    let period = chance.one_of(&[20, 100, 200, 500]);
    let clocks = Clocks {
        presets: &PRESETS,
        // three batches before it (A6)
        when: ((3 * period).max(300) * MS, 4_000 * MS),
        changes,
        steps_utc: false,
    };
    let Changed { toml, stepped, .. } = clocks.scenario(&mut chance);
    let simulation = Simulation::from_toml(&toml, world).expect("a scenario");
    let recording = recording(
        &simulation,
        Duration::from_millis(period.unsigned_abs()),
        &mut chance,
    );
    let Recording { text, made, .. } = &recording;
    let folder = tempfile::tempdir().expect("made");
    let events = file(folder.path(), "events", text);
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
    for (row, &at) in rows.iter().zip(made) {
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
        let hidden = recording.hidden(stepped, at);
        // the truth is a whole nanosecond
        let most = picoseconds(bound_ns) + (i128::from(hidden) + 1) * 1_000;
        found.check(off.abs() <= most, || {
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
