//! Paths of a simulated host in virtual time: for ever, and once.

use wirestamp::latency::{LatencyOptions, PacketLatency, Progress};
use wirestamp::{Simulation, Span, TimestampSource};
use wirestamp_measure::{Engine, Kind, Measurements, Path, Place, Sample, Segment, Sink, Subject};

fn engine(path: Path) -> Engine {
    let simulation = Simulation::preset("ideal", 1).expect("a preset");
    let wanted = Measurements::default().path(path);
    Engine::new(wanted, Place::Simulation(simulation)).expect("it starts")
}

/// What a command takes.
#[derive(Default)]
struct Taken {
    wants_packets: bool,
    packets: Vec<PacketLatency>,
    progress: Vec<Progress>,
}

impl Sink for Taken {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn wants_packets(&self) -> bool {
        self.wants_packets
    }

    fn passed(&mut self, subject: Subject<'_>, packet: &PacketLatency) {
        assert_eq!((subject.kind, subject.name), (Kind::Path, "sim0"));
        self.packets.push(*packet);
    }

    fn progress(&mut self, _: Subject<'_>, progress: Progress) {
        self.progress.push(progress);
    }
}

fn run(engine: &mut Engine, sink: &mut Taken) {
    for _ in 0..10_000 {
        engine.serve(&engine.moment(), sink);
        if engine.is_over() {
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn a_packet_that_has_arrived_is_a_sample_at_once() {
    let mut engine = engine(Path::of("sim0"));
    let mut samples = Vec::new();
    let until = engine.now() + Span::from_milliseconds(100);
    let mut sink = |sample: &Sample<'_>| {
        let value = |segment| sample.value(segment).map(|known| known.value);
        let paths = [Segment::SendPath, Segment::Wire, Segment::ReceivePath].map(value);
        samples.push((sample.sequence, sample.has_arrived, paths));
    };
    engine.run_until(until, &mut sink).expect("it runs");
    // the ideal NIC: 700 ns to the software timestamp, 320 ns between both
    let (sequence, has_arrived, [send_path, wire, receive_path]) = samples[0];
    assert_eq!((samples.len(), sequence, has_arrived), (1, 0, true));
    let within = |path: Option<Span>, from, to| {
        let path = path.expect("measured").nanoseconds();
        assert!((from..to).contains(&path), "{path}");
    };
    within(send_path, 600, 1_000);
    within(wire, 250, 1_000);
    within(receive_path, 900, 1_000_000);
    let state = engine.state();
    let path = &state.paths[0];
    assert_eq!((path.sent, path.received, path.lost), (1, 1, 0));
    assert_eq!((path.in_flight, path.delays["wire"].count), (0, 1));
}

#[test]
fn a_path_that_is_measured_once_is_over_after_its_count_and_reports() {
    for source in [TimestampSource::Software, TimestampSource::Hardware] {
        let options = LatencyOptions {
            count: 300,
            rate: Some(1_000),
            source,
            ..LatencyOptions::default()
        };
        let mut engine = engine(Path::once("sim0", options));
        let mut taken = Taken {
            wants_packets: true,
            ..Taken::default()
        };
        run(&mut engine, &mut taken);
        let state = engine.state();
        assert_eq!((state.paths[0].sent, state.paths[0].lost), (300, 0));
        // those whose times the clock confirms last come with the report
        let report = engine.into_latency(&mut taken).remove(0).expect("measured");
        assert_eq!((report.packets, report.source), (300, source));
        assert!(report.lost.is_none(), "{:?}", report.lost);
        let mut numbers: Vec<_> = taken.packets.iter().map(|packet| packet.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
        // a batch takes 20 ms: the bar moves, and a signal is noticed
        let steps = taken.progress.iter().filter(|progress| {
            assert_eq!(progress.count, 300);
            (1..300).contains(&progress.sent)
        });
        assert!(steps.count() >= 10, "{:?}", taken.progress);
    }
}

#[test]
fn single_packets_cost_nothing_where_nobody_wants_them() {
    let options = LatencyOptions {
        count: 10,
        ..LatencyOptions::default()
    };
    let mut engine = engine(Path::once("sim0", options));
    let mut taken = Taken::default();
    run(&mut engine, &mut taken);
    let report = engine.into_latency(&mut taken).remove(0).expect("measured");
    assert_eq!((report.packets, taken.packets.len()), (10, 0));
}

#[test]
fn a_path_that_cannot_be_measured_once_says_why_and_is_over() {
    let options = LatencyOptions {
        count: 0,
        ..LatencyOptions::default()
    };
    let mut engine = engine(Path::once("sim0", options));
    let mut taken = Taken::default();
    run(&mut engine, &mut taken);
    let report = engine.into_latency(&mut taken).remove(0);
    let error = report.expect_err("nothing to send").to_string();
    assert!(error.contains("no datagram is to be sent"), "{error}");
}

#[test]
fn a_path_that_is_ended_early_has_what_was_measured_until_then() {
    let options = LatencyOptions {
        rate: Some(1_000),
        ..LatencyOptions::default()
    };
    let mut engine = engine(Path::once("sim0", options));
    let mut taken = Taken::default();
    // nobody is there before the first turn
    while taken
        .progress
        .last()
        .is_none_or(|progress| progress.sent < 100)
    {
        engine.serve(&engine.moment(), &mut taken);
    }
    assert!(!engine.is_over());
    let report = engine.into_latency(&mut taken).remove(0).expect("measured");
    assert!((100..1_000).contains(&report.packets), "{}", report.packets);
    assert_eq!(report.wire.count() + report.unresolved, report.packets);
}
