//! NTP in virtual time: a server on another NIC of the simulated host, whose clock is ahead by a known time.

use std::time::Duration;
use wirestamp::{Simulation, Span, UdpSocket};
use wirestamp_measure::{
    Engine, Kind, Measurements, Ntp, Place, Sample, Segment, Timestamper, state::NtpServerState,
};

/// The server's clock minus this host's.
const AHEAD: Span = Span::from_milliseconds(250);

/// How a server answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Answers,
    Rests,
}

/// NTP's timestamp of the server's clock.
fn shown(socket: &UdpSocket) -> [u8; 8] {
    let utc = socket.utc_cross_timestamp().utc + AHEAD;
    let nanoseconds = utc.nanoseconds() as u64;
    let seconds = nanoseconds / 1_000_000_000 + 2_208_988_800;
    let fraction = (nanoseconds % 1_000_000_000) * (1 << 32) / 1_000_000_000;
    (seconds << 32 | fraction).to_be_bytes()
}

fn answer(socket: &UdpSocket, manner: Manner) {
    let mut request = [0; 256];
    while let Ok(Some(came)) = socket.receive(&mut request, Duration::ZERO) {
        // version 4, mode 4, stratum 1, precision 2⁻²⁵ s, no root delay and dispersion
        let mut packet = vec![0x24, 1, 0, 0xe7, 0, 0, 0, 0, 0, 0, 0, 0];
        packet.extend(b"GPS\0");
        if manner == Manner::Rests {
            packet[1] = 0;
            packet[12..16].copy_from_slice(b"RATE");
        }
        packet.extend([0; 8]);
        packet.extend(&request[40..48]);
        packet.extend(shown(socket));
        packet.extend(shown(socket));
        let to = came.source.expect("it has one");
        socket.send_to(&packet, to, None).expect("sent");
    }
}

/// Asks until it is over: what was yielded, and what is known then.
fn run(manner: Manner, wanted: impl FnOnce(&mut Ntp)) -> (Vec<(Span, Span)>, NtpServerState, Span) {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let interface = simulation.interface("sim1").expect("it has one");
    let own = interface.description().addresses[0].address;
    let server = interface.bind((own, 12_300).into()).expect("bound");
    let mut ntp = Ntp::of(server.local_address().expect("bound").to_string());
    ntp.interval = Duration::from_secs(1);
    ntp.count = Some(4);
    wanted(&mut ntp);
    let asked = Measurements::default().ntp(ntp);
    let mut engine = Engine::new(asked, Place::Simulation(simulation)).expect("it starts");
    let mut samples = Vec::new();
    let begun = engine.now();
    while !engine.is_over() {
        assert!(
            engine.now() - begun < Span::from_seconds(100),
            "it never ends"
        );
        let until = engine.now() + Span::from_microseconds(200);
        let mut keep = |sample: &Sample<'_>| {
            assert_eq!(sample.subject.kind, Kind::Ntp);
            let offset = sample.value(Segment::Offset).expect("it has one");
            samples.push((offset.value, offset.bound));
        };
        engine.run_until(until, &mut keep).expect("it runs");
        answer(&server, manner);
    }
    let took = engine.now() - begun;
    let mut outcomes = engine.outcomes();
    let ntp = outcomes.remove(0).state.ntp.expect("it was asked");
    (samples, ntp.servers[0].clone(), took)
}

#[test]
fn the_offset_lies_within_its_bound_whoever_timestamps() {
    for (source, name) in [
        (Timestamper::Hardware, "hardware"),
        (Timestamper::Software, "software"),
    ] {
        let (samples, server, _) = run(Manner::Answers, |ntp| ntp.source = source);
        assert_eq!(samples.len(), 4, "{server:?}");
        for (offset, bound) in samples {
            assert!((offset + AHEAD).abs() <= bound, "{offset} ± {bound}");
        }
        let (offset, bound) = (server.offset_ns, server.bound_ns);
        let (offset, bound) = (offset.expect("measured"), bound.expect("measured"));
        assert!((offset + 250_000_000).abs() <= bound, "{server:?}");
        assert_eq!(server.source.as_deref(), Some(name));
        assert_eq!((server.status.as_str(), server.stamps), ("measured", 8));
        assert_eq!((server.requests, server.samples_since_step), (4, 4));
        assert_eq!(server.reference.as_deref(), Some("GPS"));
    }
}

/// RFC 5905, section 7.4; from the answer on, not from the next request on.
#[test]
fn a_server_that_wants_rest_has_it_and_the_measurement_ends() {
    let (samples, server, took) = run(Manner::Rests, |ntp| ntp.count = Some(12));
    assert!(samples.is_empty());
    // in intervals 0, 2 and 6
    assert_eq!((server.requests, server.status.as_str()), (3, "denied"));
    let error = server.error.expect("it says why");
    assert!(error.contains("RATE"), "{error}");
    assert!(
        took < Span::from_seconds(7),
        "nothing is left to ask: {took}"
    );
}

#[test]
fn a_host_that_cannot_be_found_ends_the_measurement_with_the_reason() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let mut ntp = Ntp::of(format!("{}.invalid", "a".repeat(70)));
    ntp.count = Some(4);
    let asked = Measurements::default().ntp(ntp);
    let mut engine = Engine::new(asked, Place::Simulation(simulation)).expect("it starts");
    while !engine.is_over() {
        let until = engine.now() + Span::from_milliseconds(1);
        engine
            .run_until(until, &mut |_: &Sample<'_>| {})
            .expect("it runs");
        std::thread::yield_now(); // the name is looked for meanwhile
    }
    let outcomes = engine.outcomes();
    let error = outcomes[0].error.expect("it failed");
    assert_eq!(error.operation(), wirestamp_measure::goal::FIND);
}
