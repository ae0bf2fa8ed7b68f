//! Worlds in which somebody steps or exchanges the clocks at any time: both offsets of each sample of a running clock, held against the truth.

use crate::pair::{quick, run};
use wirestamp::sim::Truth;
use wirestamp::{
    HardwareGuard, HardwareRequest, HardwareTicks, Interface, InterfaceIndex, MonotonicTime,
    Simulation, Span, TimestampSource, UtcTime,
};
use wirestamp_ptp::{Configuration, Engine, Node, Role, Sample, Source};
use wirestamp_test_worlds::{Chance, Change, Clocks, Found, worlds};

const MS: i64 = 1_000_000;
/// TAI − UTC, as the timeTransmitter says it.
const UTC_OFFSET: i64 = 37_000 * MS;
const LENGTH: Span = Span::from_seconds(5);

struct World {
    ends: [Interface; 2],
    truth: Truth,
    /// When it began, and what the real-time clock showed then.
    start: (MonotonicTime, UtcTime),
    /// When that is stepped, and by how much.
    step: Option<(MonotonicTime, Span)>,
    source: Source,
    told: String,
}

impl World {
    fn of(number: u64, clocks: &Clocks<'_>) -> Self {
        let mut chance = Chance::of(number);
        let changed = clocks.scenario(&mut chance);
        let source = chance.one_of(&[Source::Hardware, Source::Hardware, Source::Software]);
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
            told: format!("world {number}, {source:?}:\n{}", changed.toml),
        }
    }

    fn configuration(&self, role: Role) -> Configuration {
        let mut configuration = quick(role);
        configuration.source = self.source;
        configuration
    }

    /// What the receiving end says, and how many samples it withheld.
    fn measure(&self) -> (Vec<Sample>, u64) {
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
        let [mut transmitter, mut receiver] = [0, 1].map(|place| {
            let end = std::slice::from_ref(&self.ends[place]);
            Node::start_seeded(&engines[place], end, place as u64).expect("started")
        });
        let mut samples = Vec::new();
        run(
            &mut [&mut transmitter, &mut receiver],
            LENGTH,
            |place, sample, _| {
                if place == 1 {
                    samples.push(sample);
                }
            },
        );
        samples.extend(receiver.finish());
        (samples, receiver.counts().lost_in_all())
    }

    /// What the real-time clock showed.
    fn utc(&self, at: MonotonicTime) -> i64 {
        let stepped = self.step.filter(|(then, _)| at >= *then);
        let step = stepped.map_or(Span::ZERO, |(_, by)| by);
        (self.start.1 + (at - self.start.0) + step).nanoseconds()
    }

    fn shown(&self, end: usize, at: MonotonicTime) -> i64 {
        match self.source {
            Source::Hardware => {
                let ticks = self.truth.hardware_ticks_at(self.ends[end].index(), at);
                ticks.expect("it has a clock").raw().cast_signed()
            }
            _ => self.utc(at),
        }
    }

    fn hold(&self, sample: &Sample, found: &mut Found) {
        let told = || format!("{sample:?}, {}", self.told);
        let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
        let came = match sample.source {
            TimestampSource::Hardware => {
                let ticks = HardwareTicks::new(sample.local_ns.cast_unsigned());
                arrival(&self.truth, self.ends[1].index(), ticks)
            }
            // both read the same clock
            TimestampSource::Software => Some(sample.at),
        };
        if let Some(came) = came {
            let real = self.shown(1, came) - self.shown(0, came);
            let (offset, bound) = (span(sample.offset_ns), span(sample.error_bound_ns));
            found.hold(offset, bound, span(real), told);
        }
        if sample.source == TimestampSource::Hardware
            && let (Some(offset), Some(bound)) =
                (sample.system_offset_ns, sample.system_error_bound_ns)
        {
            let real = self.utc(sample.at) - (self.shown(0, sample.at) - UTC_OFFSET);
            found.hold(span(offset), span(bound), span(real), told);
        }
    }
}

/// When the message came that the NIC gave this timestamp: a clock that was set back may show the same again.
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
        let (samples, lost) = world.measure();
        found.lost += lost;
        samples
            .iter()
            .for_each(|sample| world.hold(sample, &mut found));
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
