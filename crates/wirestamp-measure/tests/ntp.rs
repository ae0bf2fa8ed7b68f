//! NTP in virtual time: a server on another NIC of the simulated host, whose clock is ahead by a known time.

use std::time::Duration;
use wirestamp::{ErrorKind, MonotonicTime, Simulation, Span, Timestamping, UdpSocket, UtcTime};
use wirestamp_measure::{
    Engine, Kind, Measurements, Ntp, Place, Sample, Segment, Timestamper, state::NtpServerState,
};

/// The server's clock minus this host's.
const AHEAD: Span = Span::from_milliseconds(250);

/// How a server answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Answers,
    /// With a kiss code instead of a time.
    Kisses(&'static [u8; 4]),
    /// As a secondary server, whose clock is ahead by that and which has this reference.
    Second(Span, [u8; 4]),
}

impl Manner {
    fn ahead(self) -> Span {
        match self {
            Self::Second(ahead, _) => ahead,
            Self::Answers | Self::Kisses(_) => AHEAD,
        }
    }

    fn stratum_and_reference(self) -> (u8, [u8; 4]) {
        match self {
            Self::Answers => (1, *b"GPS\0"),
            Self::Kisses(code) => (0, *code),
            Self::Second(_, reference) => (2, reference),
        }
    }
}

/// NTP's timestamp of the server's clock.
fn stamp(utc: UtcTime, ahead: Span) -> [u8; 8] {
    let nanoseconds = (utc + ahead).nanoseconds() as u64;
    let seconds = nanoseconds / 1_000_000_000 + 2_208_988_800;
    let fraction = (nanoseconds % 1_000_000_000) * (1 << 32) / 1_000_000_000;
    (seconds << 32 | fraction).to_be_bytes()
}

/// Returns when requests came.
fn answer(socket: &UdpSocket, manner: Manner) -> Vec<UtcTime> {
    let mut request = [0; 256];
    let mut asked = Vec::new();
    while let Ok(Some(came)) = socket.receive(&mut request, Duration::ZERO) {
        let software = came.timestamps.software.expect("asked for");
        let arrived = software.utc.expect("on Linux");
        asked.push(arrived);
        let (stratum, reference) = manner.stratum_and_reference();
        // version 4, mode 4, precision 2⁻²⁵ s, no root delay and dispersion
        let mut packet = vec![0x24, stratum, 0, 0xe7, 0, 0, 0, 0, 0, 0, 0, 0];
        packet.extend(reference);
        packet.extend([0; 8]);
        packet.extend(&request[40..48]);
        packet.extend(stamp(arrived, manner.ahead()));
        packet.extend(stamp(socket.utc_cross_timestamp().utc, manner.ahead()));
        let to = came.source.expect("it has one");
        socket.send_to(&packet, to, None).expect("sent");
    }
    asked
}

/// The result of queries until the end.
struct Run {
    /// Offsets and their bounds, as they were yielded.
    samples: Vec<(Span, Span)>,
    /// The state at the end.
    server: NtpServerState,
    error: Option<String>,
    took: Span,
    /// When the server was asked, from the first time on.
    asked: Vec<Span>,
}

fn run(manner: Manner, wanted: impl FnOnce(&mut Ntp)) -> Run {
    run_in(
        Simulation::preset("igc", 1).expect("a preset"),
        manner,
        wanted,
    )
}

fn run_in(simulation: Simulation, manner: Manner, wanted: impl FnOnce(&mut Ntp)) -> Run {
    let server = server(&simulation, 12_300);
    let mut ntp = asked(&server);
    wanted(&mut ntp);
    let mut engine = engine(simulation, [ntp]);
    let (mut samples, mut asked) = (Vec::new(), Vec::new());
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
        asked.extend(answer(&server, manner));
    }
    let took = engine.now() - begun;
    let outcome = engine.outcomes().remove(0);
    let error = outcome.error.map(ToString::to_string);
    let ntp = outcome.state.ntp.expect("it was asked");
    Run {
        samples,
        server: ntp.servers[0].clone(),
        error,
        took,
        asked: asked.iter().map(|at| *at - asked[0]).collect(),
    }
}

/// A server's socket on the other NIC.
fn server(simulation: &Simulation, port: u16) -> UdpSocket {
    let interface = simulation.interface("sim1").expect("it has one");
    let own = interface.description().addresses[0].address;
    let server = interface.bind((own, port).into()).expect("bound");
    server
        .configure(Timestamping::new().receive())
        .expect("software timestamps");
    server
}

/// Asks it four times, once a second.
fn asked(server: &UdpSocket) -> Ntp {
    let mut ntp = Ntp::of(server.local_address().expect("bound").to_string());
    ntp.interval = Duration::from_secs(1);
    ntp.count = Some(4);
    ntp
}

fn engine(simulation: Simulation, asked: impl IntoIterator<Item = Ntp>) -> Engine {
    let asked = asked
        .into_iter()
        .fold(Measurements::default(), Measurements::ntp);
    Engine::new(asked, Place::Simulation(simulation)).expect("it starts")
}

/// Runs for so long, while these servers answer.
fn run_for(engine: &mut Engine, seconds: i64, servers: &[&UdpSocket]) {
    let end = engine.now() + Span::from_seconds(seconds);
    while engine.now() < end {
        let until = engine.now() + Span::from_microseconds(200);
        engine
            .run_until(until, &mut |_: &Sample<'_>| {})
            .expect("it runs");
        for server in servers {
            drop(answer(server, Manner::Answers));
        }
    }
}

/// Runs until then, while the server answers: it is waited for.
fn run_seldom(engine: &mut Engine, until: MonotonicTime, server: &UdpSocket) {
    while engine.now() < until {
        let next = engine.serve(&engine.moment(), &mut |_: &Sample<'_>| {});
        engine
            .wait_beside(next.min(until), &[server])
            .expect("it waits");
        drop(answer(server, Manner::Answers));
    }
}

fn shown(engine: &Engine) -> Vec<NtpServerState> {
    engine.state().ntp.expect("it was asked").servers
}

#[test]
fn the_offset_lies_within_its_bound_whoever_timestamps() {
    // a NIC's timestamps leave the ways through the host out
    for (source, name, widest) in [
        (Timestamper::Hardware, "hardware", 2_000),
        (Timestamper::Software, "software", 20_000),
    ] {
        let Run {
            samples, server, ..
        } = run(Manner::Answers, |ntp| ntp.source = source);
        assert_eq!(samples.len(), 4, "{server:?}");
        for (offset, bound) in samples {
            assert!((offset + AHEAD).abs() <= bound, "{offset} ± {bound}");
        }
        let (offset, bound) = (server.offset_ns, server.bound_ns);
        let (offset, bound) = (offset.expect("measured"), bound.expect("measured"));
        assert!((offset + 250_000_000).abs() <= bound, "{server:?}");
        assert!((widest / 20..widest).contains(&bound), "{server:?}");
        assert_eq!(server.source.as_deref(), Some(name));
        assert_eq!(
            (server.status.as_str(), server.stamps[name]),
            ("measured", 8)
        );
        assert_eq!((server.requests, server.samples_since_step), (4, 4));
        assert_eq!(server.reference.as_deref(), Some("GPS"));
    }
}

/// RFC 5905, section 7.4; from the request on that it answered so.
#[test]
fn a_server_that_wants_rest_has_it_and_the_measurement_ends() {
    let Run {
        samples,
        server,
        took,
        asked,
        ..
    } = run(Manner::Kisses(b"RATE"), |ntp| ntp.count = Some(12));
    assert!(samples.is_empty());
    // in intervals 0, 2 and 6
    for (at, expected) in asked.iter().zip([0, 2, 6]) {
        let late = *at - Span::from_seconds(expected);
        assert!(late.abs() < Span::from_milliseconds(10), "{asked:?}");
    }
    assert_eq!((server.requests, server.status.as_str()), (3, "denied"));
    let error = server.error.expect("it says why");
    assert!(error.contains("RATE"), "{error}");
    assert!(
        took < Span::from_seconds(7),
        "nothing is left to ask: {took}"
    );
}

/// Seldom enough that ICMP speaks long after the request, and long before the next.
#[test]
fn requests_that_find_no_neighbour_are_no_missing_timestamps() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let peer = simulation.interface("sim1").expect("it has one");
    let std::net::IpAddr::V4(own) = peer.description().addresses[0].address else {
        panic!("it has IPv4");
    };
    let [a, b, c, _] = own.octets();
    let mut ntp = Ntp::of(format!("{a}.{b}.{c}.77:12300"));
    ntp.interval = Duration::from_secs(64);
    let mut engine = engine(simulation, [ntp]);
    run_for(&mut engine, 400, &[]);
    let server = &engine.state().ntp.expect("asked").servers[0];
    let counts = &server.timestamps;
    assert!(
        counts.missing_of_sent() == 0 && server.requests >= 6,
        "{counts:?}"
    );
    let not_sent = counts.missing["not_sent"];
    assert!(not_sent + 1 >= server.requests, "{counts:?}");
    assert_eq!(server.status, "unreachable", "{:?}", server.error);
    let error = server.error.as_deref().unwrap_or_default();
    let words = "packets did not leave: no neighbour";
    assert!(error.contains(words), "{error}");
}

/// A NIC that makes no timestamp: that the server answers says that packets leave.
#[test]
fn after_an_answer_nobody_waits_for_icmp() {
    let none = "preset = \"igc\"\n[sim0.faults]\nlost = 1.0\nreceive_zero = 1.0\n";
    let simulation = Simulation::from_toml(none, 1).expect("a scenario");
    let run = run_in(simulation, Manner::Answers, |ntp| {
        (ntp.source, ntp.count) = (Timestamper::Hardware, Some(1));
    });
    assert_eq!((run.server.responses, run.server.samples), (1, 0));
    let patience = Duration::from_secs(3);
    assert!(run.took < patience.into(), "{}", run.took);
}

#[test]
fn a_kiss_code_is_said_as_what_it_means() {
    for (code, status, said) in [
        (b"INIT", "unsynchronized", "not synchronized yet"),
        (b"STEP", "unsynchronized", "stepped"),
        (b"NKEY", "denied", "key"),
        (b"DENY", "denied", "refuses"),
        (b"X123", "denied", "gives this code as the reason"),
    ] {
        let server = run(Manner::Kisses(code), |_| {}).server;
        let error = server.error.expect("it says why");
        assert_eq!(server.status, status, "{error}");
        let code = String::from_utf8_lossy(code);
        assert!(error.contains(said) && error.contains(&*code), "{error}");
    }
}

#[test]
fn a_server_that_shows_another_timescale_or_smears_gets_a_hint() {
    let hint = |ahead: Span, reference| run(Manner::Second(ahead, reference), |_| {}).server.hint;
    let says = |hint: Option<String>, what: [&str; 2]| {
        let hint = hint.expect("a hint");
        assert!(what.iter().all(|part| hint.contains(part)), "{hint}");
    };
    let (usual, seconds) = ([192, 0, 2, 1], Span::from_seconds);
    says(hint(seconds(37), usual), ["the server's", "TAI"]);
    says(hint(seconds(-37), usual), ["this host's", "TAI"]);
    says(hint(seconds(18), usual), ["the server's", "GPS time"]);
    says(
        hint(Span::ZERO, [254, 1, 2, 3]),
        ["254.", "smear a leap second"],
    );
    for (ahead, reference) in [(Span::ZERO, usual), (seconds(36), usual), (AHEAD, usual)] {
        assert_eq!(hint(ahead, reference), None, "{ahead}");
    }
    assert_eq!(run(Manner::Answers, |_| {}).server.hint, None);
}

/// Somebody steps the NIC's clock at any time. An exchange just after it is converted with the clock as it was before, and
/// looks right in itself: only the next readings of the clock show it.
#[test]
fn no_offset_stays_that_a_step_of_the_nics_clock_has_made() {
    let mut withdrawn = 0;
    for tenth in 0..45 {
        let text = format!(
            "preset = \"igc\"\n[[event]]\nat = \"{}ms\"\naction = \"step_hardware\"\nticks = -10_000_000\n",
            1_990 + 100 * tenth
        );
        let simulation = Simulation::from_toml(&text, tenth).expect("a scenario");
        let run = run_in(simulation, Manner::Answers, |ntp| {
            ntp.source = Timestamper::Hardware;
        });
        let known = run.server.offset_ns.zip(run.server.bound_ns);
        match known {
            Some((offset, bound)) => assert!(
                (offset + 250_000_000).abs() <= bound,
                "{text}: {:?}",
                run.server
            ),
            None => {
                withdrawn += 1;
                let error = run.error.expect("it says why");
                assert!(error.contains("changed meanwhile"), "{text}: {error}");
            }
        }
    }
    assert!(
        withdrawn > 0,
        "no step came between an exchange and the next reading"
    );
}

/// As another program does that ends, or sets what it needs itself.
#[test]
fn a_nic_that_somebody_switches_off_is_switched_on_again() {
    let text = "preset = \"igc\"\n[[event]]\nat = \"10s\"\naction = \"reconfigure\"\ntransmit = false\nreceive = \"none\"\n";
    let simulation = Simulation::from_toml(text, 1).expect("a scenario");
    let (first, second) = (server(&simulation, 12_300), server(&simulation, 12_301));
    let endless = |server, every| {
        let mut ntp = asked(server);
        (ntp.source, ntp.count) = (Timestamper::Hardware, None);
        ntp.interval = Duration::from_secs(every);
        ntp
    };
    let mut engine = engine(simulation, [endless(&first, 1), endless(&second, 4)]);
    let is_measured = |engine: &Engine, place: usize| {
        let server = &shown(engine)[place];
        let is_new = server.age_ns.is_some_and(|age| age < 5_000_000_000);
        is_new && server.source.as_deref() == Some("hardware")
    };
    run_for(&mut engine, 9, &[&first, &second]);
    assert!(is_measured(&engine, 0) && is_measured(&engine, 1));
    // the second one has not found out yet: what it measures with is of no use to the first one
    run_for(&mut engine, 12, &[&first, &second]);
    assert!(is_measured(&engine, 0), "{:?}", shown(&engine));
    run_for(&mut engine, 30, &[&first, &second]);
    assert!(is_measured(&engine, 0) && is_measured(&engine, 1));
}

/// A server that is asked every 16 s: offset and bound of now, with what the default contract lets the clocks do since the last
/// sample. `guide/ntp.md` has these bounds.
#[test]
fn between_samples_the_bound_grows_by_microseconds() {
    for (source, most) in [
        // of the sample before, until readings of the NIC's clock have made the newest one final
        (Timestamper::Hardware, [80, 100, 120, 600]),
        (Timestamper::Software, [15, 40, 140, 800]),
    ] {
        let simulation = Simulation::preset("igc", 1).expect("a preset");
        let server = server(&simulation, 12_300);
        let mut ntp = asked(&server);
        (ntp.source, ntp.count) = (source, None);
        ntp.interval = Duration::from_secs(16);
        let mut engine = engine(simulation, [ntp]);
        let until = engine.now() + Span::from_seconds(600);
        run_seldom(&mut engine, until, &server);
        let of = |engine: &Engine| shown(engine).remove(0);
        let samples = of(&engine).samples;
        while of(&engine).samples == samples {
            let next = engine.now() + Span::from_milliseconds(20);
            run_seldom(&mut engine, next, &server);
        }
        for (seconds, most) in [0, 4, 16, 64].into_iter().zip(most) {
            let age = Span::from_seconds(seconds).saturating_nanoseconds();
            while of(&engine).age_ns.is_some_and(|known| known < age) {
                let next = engine.now() + Span::from_milliseconds(10);
                engine
                    .run_until(next, &mut |_: &Sample<'_>| {})
                    .expect("it runs");
            }
            let known = of(&engine);
            let (offset, bound) = known.offset_ns.zip(known.bound_ns).expect("measured");
            assert!((offset + 250_000_000).abs() <= bound, "{known:?}");
            assert!(bound < most * 1_000, "after {seconds} s: {known:?}");
        }
        assert_eq!(of(&engine).steps["drift"], 0);
    }
}

/// Whoever floods the port keeps the loop from nothing else.
#[test]
fn a_flood_is_taken_in_portions() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let server = server(&simulation, 12_300);
    let mut engine = engine(simulation, [asked(&server)]);
    run_for(&mut engine, 1, &[&server]);
    let mut request = [0; 48];
    let client = loop {
        let until = engine.now() + Span::from_milliseconds(1);
        engine
            .run_until(until, &mut |_: &Sample<'_>| {})
            .expect("it runs");
        if let Ok(Some(came)) = server.receive(&mut request, Duration::ZERO) {
            break came.source.expect("it has one");
        }
    };
    let ignored = |engine: &Engine| shown(engine)[0].rejected.values().sum::<u64>();
    let before = ignored(&engine);
    for _ in 0..200 {
        server.send_to(&[0; 48], client, None).expect("sent");
    }
    server.sleep_until(server.now() + Span::from_milliseconds(10));
    let mut taken = Vec::new();
    for _ in 0..4 {
        engine.wait(engine.now()).expect("it looks");
        let moment = engine.moment();
        engine.serve(&moment, &mut |_: &Sample<'_>| {});
        taken.push(ignored(&engine) - before);
    }
    assert_eq!(taken, [64, 128, 192, 200]);
}

/// The response was there all the time, behind a timestamp that is awaited longer than it.
#[test]
fn a_short_timeout_loses_no_response() {
    let text =
        "preset = \"igc\"\n[nic.faults]\nlate = 1.0\nlate_from = \"70ms\"\nlate_to = \"80ms\"\n";
    let simulation = Simulation::from_toml(text, 1).expect("a scenario");
    let run = run_in(simulation, Manner::Answers, |ntp| {
        ntp.source = Timestamper::Hardware;
        ntp.timeout = Duration::from_millis(50);
    });
    let server = run.server;
    assert_eq!((server.responses, server.unanswered), (4, 0), "{server:?}");
    assert_eq!(server.status, "no_timestamps");
}

/// The instant at which servers are compared is as uncertain as the arrival that it is of: what one server's timestamps are off is
/// no step of the clock to the others.
#[test]
fn the_newest_sample_is_as_wide_as_its_timestamp_is_uncertain() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let (near, far) = (server(&simulation, 12_300), server(&simulation, 12_301));
    let mut hardware = asked(&far);
    hardware.source = Timestamper::Hardware;
    let mut engine = engine(simulation, [asked(&near), hardware]);
    run_for(&mut engine, 12, &[&near, &far]);
    assert!(engine.is_over());
    let newest = engine.newest().expect("measured");
    assert!(newest.reading.after - newest.reading.before > Span::ZERO);
    let together = engine.ntp_at(&newest).expect("asked");
    assert!(together.servers.iter().all(|one| one.status == "measured"));
    assert_eq!(together.right_servers, Some(2), "{together:?}");
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

/// An offset is of four timestamps: where one is never made, the reason and a remedy that exists are said at once.
#[test]
fn a_nic_that_lacks_a_direction_is_not_asked_to_time_ntp() {
    let text = "preset = \"igc\"\n[nic]\nreceive_filters = [\"none\", \"ptpv2_udp\"]\n";
    let ptp_only = || Simulation::from_toml(text, 1).expect("a scenario");
    let ena = || Simulation::preset("ena", 1).expect("a preset");
    let cases: [(&dyn Fn() -> Simulation, &str); 2] = [
        (
            &ptp_only,
            "of received packets this NIC timestamps PTP messages only",
        ),
        (&ena, "this NIC timestamps received packets only"),
    ];
    for (simulation, limit) in cases {
        let nic = simulation();
        let server = server(&nic, 12_300);
        let mut ntp = asked(&server);
        ntp.source = Timestamper::Hardware;
        let mut engine = engine(nic, [ntp]);
        run_for(&mut engine, 1, &[&server]);
        assert!(engine.is_over());
        let outcome = engine.outcomes().remove(0);
        let error = outcome.error.expect("it cannot be measured");
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        let said = error.to_string();
        assert!(said.contains(limit) && said.contains("NTP needs"), "{said}");
        assert!(error.remedy().contains("--source software"), "{said}");
        let remedied = run_in(simulation(), Manner::Answers, |ntp| {
            ntp.source = Timestamper::Software;
        });
        assert_eq!((remedied.samples.len(), remedied.error), (4, None));
    }
}
