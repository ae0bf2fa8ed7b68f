//! Simulated worlds in which clocks are stepped or exchanged at any time: both offsets of each
//! sample of a running clock, and its status in between, are compared with the truth.

use crate::pair::{quick, run};
use wirestamp::sim::Truth;
use wirestamp::{
    Bounded, HardwareGuard, HardwareRequest, HardwareTicks, Interface, InterfaceIndex,
    MonotonicTime, Simulation, Span, TimestampSource, UtcTime,
};
use wirestamp_ptp::{Configuration, Engine, Held, Node, Role, Sample, Source};
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

const MS: i64 = 1_000_000;
/// TAI − UTC, as announced by the timeTransmitter.
const UTC_OFFSET: i64 = 37_000 * MS;
const LENGTH: Span = Span::from_seconds(5);
/// The interval of the status checks.
const LOOK: Span = Span::from_milliseconds(50);
/// `max_drift_ppm` of a clock, in parts per billion.
const MOST_DRIFT: i64 = 200_000;
/// The age up to which a sample is shown unchanged, at eight messages per second: three Syncs and
/// five seconds.
const FRESH: i64 = 5_375 * MS;

struct World {
    ends: [Interface; 2],
    truth: Truth,
    /// The begin of the world, and the real-time clock's time then.
    start: (MonotonicTime, UtcTime),
    /// The time and size of the real-time clock's step.
    step: Option<(MonotonicTime, Span)>,
    source: Source,
    /// The time for which there is a transmitter.
    transmits: Span,
    told: String,
}

/// The reports of the receiving end.
#[derive(Default)]
struct Said {
    samples: Vec<Sample>,
    /// The status reports and the times at which they were asked for.
    held: Vec<(MonotonicTime, Held)>,
    /// The number of withheld samples.
    lost: u64,
}

impl World {
    fn of(number: u64, clocks: &Clocks<'_>) -> Self {
        let mut chance = Chance::of(number);
        let changed = clocks.scenario(&mut chance);
        // by software timestamps both read one clock, and the timeTransmitter's may not drift by more
        let is_within = changed
            .slewed
            .is_none_or(|(_, ppb)| ppb.abs() <= MOST_DRIFT);
        let chosen = chance.one_of(&[Source::Hardware, Source::Hardware, Source::Software]);
        let source = if is_within { chosen } else { Source::Hardware };
        let simulation = Simulation::from_toml(&changed.toml, number).expect("a scenario");
        let truth = simulation.world().truth();
        let start = (truth.now(), truth.utc());
        let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
        Self {
            ends: ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC")),
            truth,
            start,
            step: changed.utc.map(|(at, by)| (start.0 + span(at), span(by))),
            source,
            transmits: chance.one_of(&[LENGTH, LENGTH, Span::from_milliseconds(1_700)]),
            told: format!("world {number}, {source:?}:\n{}", changed.toml),
        }
    }

    fn configuration(&self, role: Role) -> Configuration {
        let mut configuration = quick(role);
        configuration.source = self.source;
        configuration
    }

    fn measure(&self) -> Said {
        let _on: Vec<HardwareGuard> = self
            .ends
            .iter()
            .filter(|_| self.source == Source::Hardware)
            .map(|end| end.enable_hardware(HardwareRequest::Ptp).expect("it can"))
            .collect();
        let engine = |role, place| {
            let identity = [2, 0, 0, 0, 0, 0, 0, place];
            Engine::new(self.configuration(role), identity).expect("valid")
        };
        let engines = [
            engine(Role::TimeTransmitter, 1),
            engine(Role::TimeReceiver, 2),
        ];
        let [transmitter, mut receiver] = [0, 1].map(|place| {
            let end = std::slice::from_ref(&self.ends[place]);
            Node::start_seeded(&engines[place], end, place as u64).expect("started")
        });
        let mut transmitter = Some(transmitter);
        let mut said = Said::default();
        while self.truth.now() - self.start.0 < LENGTH {
            let past = self.truth.now() - self.start.0;
            transmitter = transmitter.filter(|_| past < self.transmits);
            let mut nodes = vec![&mut receiver];
            nodes.extend(transmitter.as_mut());
            run(&mut nodes, LOOK, |place, sample, _| {
                if place == 0 {
                    said.samples.push(sample);
                }
            });
            // the status takes as long as the clocks' readings do
            let asked = self.truth.now();
            let held = receiver.status().ports[0].estimate;
            said.held.extend(held.map(|held| (asked, held)));
        }
        said.samples.extend(receiver.finish());
        said.lost = receiver.counts().lost_in_all();
        said
    }

    /// The time of the real-time clock.
    fn utc(&self, at: MonotonicTime) -> i64 {
        let stepped = self.step.filter(|(then, _)| at >= *then);
        let step = stepped.map_or(Span::ZERO, |(_, by)| by);
        (self.start.1 + (at - self.start.0) + step).nanoseconds()
    }

    fn shown(&self, end: usize, at: MonotonicTime) -> i64 {
        match self.source {
            Source::Hardware => {
                let ticks = self.truth.hardware_ticks_at(self.ends[end].index(), at);
                ticks.expect("it has a clock").raw() as i64
            }
            _ => self.utc(at),
        }
    }

    /// A fresh offset is for the time of its Sync, a later one for now.
    fn hold_status(&self, now: MonotonicTime, held: &Held, found: &mut Found) {
        let told = || format!("at {now:?}: {held:?}, {}", self.told);
        let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
        if held.holdover && self.told.contains("sim0") {
            return; // the clock of a lost transmitter cannot be observed
        }
        let is_fresh = !held.holdover && held.age_ns <= FRESH;
        let when = if is_fresh {
            now - span(held.age_ns)
        } else {
            now
        };
        let real = self.shown(1, when) - self.shown(0, when);
        found.hold(held.offset.value, held.offset.bound, span(real), told);
    }

    fn hold(&self, sample: &Sample, found: &mut Found) {
        let told = || format!("{sample:?}, {}", self.told);
        let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
        let came = match sample.source {
            TimestampSource::Hardware => {
                let ticks = HardwareTicks::new(sample.local_ns as u64);
                arrival(&self.truth, self.ends[1].index(), ticks)
            }
            // both read the same clock
            TimestampSource::Software => Some(sample.at),
        };
        if let Some(came) = came {
            let real = self.shown(1, came) - self.shown(0, came);
            let Bounded { value, bound } = sample.offset;
            found.hold(value, bound, span(real), told);
        }
        let of_nic = sample.source == TimestampSource::Hardware;
        if let Some(Bounded { value, bound }) = sample.system_offset.filter(|_| of_nic) {
            let real = self.utc(sample.at) - (self.shown(0, sample.at) - UTC_OFFSET);
            found.hold(value, bound, span(real), told);
        }
    }
}

/// The arrival of the message with this NIC timestamp: a clock that was set back may show the same
/// value again.
fn arrival(truth: &Truth, index: InterfaceIndex, ticks: HardwareTicks) -> Option<MonotonicTime> {
    (0..truth.datagrams())
        .rev()
        .filter_map(|sequence| truth.datagram(sequence)?.receive_hardware_at)
        .find(|at| truth.hardware_ticks_at(index, *at) == Some(ticks))
}

fn held(changes: &[Change], what: &str) {
    let clocks = Clocks {
        presets: &["i225", "igc", "ideal", "noisy-cross"],
        when: (1_500 * MS, 3_000 * MS),
        changes,
        steps_utc: true,
    };
    let mut found = Found::default();
    for number in worlds() {
        let world = World::of(number, &clocks);
        let said = world.measure();
        found.lost += said.lost;
        let (samples, held) = (said.samples.iter(), said.held.iter());
        samples.for_each(|sample| world.hold(sample, &mut found));
        held.for_each(|(now, held)| world.hold_status(*now, held, &mut found));
    }
    found.report(what);
}

#[test]
fn a_clock_states_no_bound_that_an_offset_breaks() {
    held(&[Change::Step, Change::Step, Change::Slew], "ptp");
}

#[test]
fn a_clock_states_no_bound_that_an_offset_breaks_across_failovers() {
    held(&[Change::Failover], "ptp, failovers");
}
