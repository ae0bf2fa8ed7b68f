//! Readings of a simulated NIC's clock in virtual time, across failovers and without a NIC.

use wirestamp::sim::{NicName, World};
use wirestamp::{ErrorKind, Simulation, Span};
use wirestamp_measure::{
    ClockReading, Engine, Kind, Measurements, Place, Readings, Sample, Sink, Subject,
};

const INTERVAL: Span = Span::from_milliseconds(100);
const SECOND: Span = Span::from_seconds(1);

/// What a command takes.
#[derive(Default)]
struct Taken {
    readings: Vec<ClockReading>,
    unread: Vec<ErrorKind>,
}

impl Sink for Taken {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn reading(&mut self, subject: Subject<'_>, reading: &ClockReading) {
        assert_eq!((subject.kind, subject.name), (Kind::Clock, "sim0"));
        self.readings.push(*reading);
    }

    fn unread(&mut self, _: Subject<'_>, error: &wirestamp::Error) {
        self.unread.push(error.kind());
    }
}

struct Host {
    simulation: Simulation,
    engine: Engine,
    taken: Taken,
}

impl Host {
    fn new(preset: &str, count: Option<u32>) -> Self {
        let simulation = Simulation::preset(preset, 1).expect("a preset");
        let mut readings = Readings::of("sim0");
        readings.count = count;
        let asked = Measurements::default().readings(readings);
        let engine = Engine::new(asked, Place::Simulation(simulation.clone()));
        Self {
            simulation,
            engine: engine.expect("it starts"),
            taken: Taken::default(),
        }
    }

    fn run(&mut self, time: Span) {
        let until = self.engine.now() + time;
        let run = self.engine.run_until(until, &mut self.taken);
        run.expect("it runs");
    }

    fn world(&self) -> &World {
        self.simulation.world()
    }
}

#[test]
fn readings_are_as_far_apart_as_asked_and_end_after_their_count() {
    let mut host = Host::new("igb", Some(5));
    host.run(SECOND);
    assert!(host.engine.is_over());
    assert_eq!((host.taken.readings.len(), host.taken.unread.len()), (5, 0));
    for pair in host.taken.readings.windows(2) {
        let apart = pair[1].cross.monotonic_before() - pair[0].cross.monotonic_before();
        assert!(
            (apart - INTERVAL).abs() < Span::from_milliseconds(1),
            "{apart}"
        );
    }
}

#[test]
fn without_a_count_they_do_not_end_and_one_that_is_late_is_not_caught_up_with() {
    let mut host = Host::new("igb", None);
    host.run(SECOND);
    let before = host.taken.readings.len();
    host.world().advance(SECOND);
    host.run(SECOND);
    let more = host.taken.readings.len() - before;
    assert!(
        (10..=11).contains(&before) && (10..=11).contains(&more),
        "{before}, {more}"
    );
    assert!(!host.engine.is_over());
}

#[test]
fn the_offset_to_utc_contains_the_truth_before_and_after_a_failover() {
    let mut host = Host::new("igb", None);
    host.run(SECOND);
    let ahead = Span::from_seconds(30);
    host.world().change_clock(NicName::Sim0, 1, ahead);
    host.run(SECOND);
    let others = host.taken.readings.iter().filter(|one| one.is_another);
    assert_eq!((others.count(), host.taken.unread.len()), (1, 0));
    let (mut former, mut now) = (0, 0);
    for reading in &host.taken.readings {
        now += u32::from(reading.is_another || now > 0);
        former += u32::from(now == 0);
        let offset = reading.offset_to_utc().expect("extended cross timestamps");
        let truth = host.world().truth();
        // the clock that was behind it at that time
        let middle = reading.cross.middle();
        let ticks = truth.hardware_ticks_at(reading.interface, middle);
        let shown = i128::from(ticks.expect("it was there").raw());
        // nobody steps or slews the real-time clock here
        let utc = i128::from(truth.utc().nanoseconds()) - (truth.now() - middle).nanoseconds();
        let off = (offset.value.nanoseconds() - (shown - utc)).abs();
        assert!(
            off <= offset.bound.nanoseconds(),
            "{off} ns off, {offset:?}"
        );
        assert!(offset.bound < Span::from_milliseconds(1), "{offset:?}");
    }
    assert!(
        (10..=11).contains(&former) && (10..=11).contains(&now),
        "{former}, {now}"
    );
}

#[test]
fn a_nic_that_is_gone_is_said_and_read_again_when_it_is_back() {
    let mut host = Host::new("igb", None);
    host.run(SECOND);
    host.world().remove_nic(NicName::Sim0);
    host.run(SECOND);
    let before = host.taken.readings.len();
    let gone = host.taken.unread.len();
    assert!((9..=11).contains(&gone), "{gone} readings failed");
    assert!(
        host.taken
            .unread
            .iter()
            .all(|kind| *kind == ErrorKind::NoSuchDevice)
    );
    host.world().add_nic(NicName::Sim0);
    host.run(SECOND);
    let back = &host.taken.readings[before..];
    assert!((9..=11).contains(&back.len()), "{} readings", back.len());
    assert!(back[0].is_another && !back[1].is_another);
    assert_eq!(host.taken.unread.len(), gone);
}

#[test]
fn an_interface_without_a_clock_ends_what_has_a_count_with_the_reason() {
    let mut host = Host::new("software-only", Some(5));
    host.run(SECOND);
    assert!(host.engine.is_over() && host.taken.readings.is_empty());
    let outcomes = host.engine.outcomes();
    let error = outcomes[0].error.expect("it failed");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}
