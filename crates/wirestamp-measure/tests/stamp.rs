//! STAMP sessions that end, in virtual time: the reflector is on another NIC of the simulated host.

use std::path::Path;
use std::time::Duration;
use wirestamp::interface::HardwareConfiguration;
use wirestamp::{ErrorKind, Result, Simulation, Span, TimestampSource};
use wirestamp_measure::state::TimestampCounts;
use wirestamp_measure::{
    Engine, Measurements, Place, Reflector, Relation, Sample, Segment, Sink, Stamp, StampReport,
    Subject, Timestamper,
};
use wirestamp_probe::session;
use wirestamp_probe::tlv::Method;

/// What a session yielded.
#[derive(Default)]
struct Kept {
    samples: u64,
    judged: Vec<session::Sample>,
}

impl Sink for Kept {
    fn sample(&mut self, _: &Sample<'_>) {
        self.samples += 1;
    }

    fn judged(&mut self, subject: Subject<'_>, packet: &session::Sample) {
        assert_eq!(subject.name, "peer");
        self.judged.push(*packet);
    }
}

/// A session of so many packets, and how long it took.
fn run(
    simulation: &Simulation,
    reflects: bool,
    wanted: impl FnOnce(&mut Stamp),
) -> (StampReport, Kept, Span) {
    let (report, kept, took) = tried(simulation, reflects, wanted);
    (report.expect("it was measured"), kept, took)
}

fn tried(
    simulation: &Simulation,
    reflects: bool,
    wanted: impl FnOnce(&mut Stamp),
) -> (Result<StampReport>, Kept, Span) {
    let place = || Place::Simulation(simulation.clone());
    let other = simulation.interface("sim1").expect("it has one");
    let address = (other.description().addresses[0].address, 862).into();
    let mut reflector = Reflector::default();
    reflector.listen = vec![address];
    let answers = Measurements::default().reflector(reflector);
    let answers = if reflects {
        answers
    } else {
        Measurements::default()
    };
    let mut answers = Engine::new(answers, place()).expect("it starts");
    let mut stamp = Stamp::with(address.to_string());
    stamp.name = Some("peer".to_owned());
    stamp.interface = Some("sim0".to_owned());
    stamp.interval = Duration::from_millis(1);
    stamp.count = Some(100);
    wanted(&mut stamp);
    let asked = Measurements::default().stamp(stamp);
    let mut engine = Engine::new(asked, place()).expect("it starts");
    let mut kept = Kept::default();
    let begun = engine.now();
    while !engine.is_over() {
        let took = engine.now() - begun;
        assert!(took < Span::from_seconds(100), "it never ends");
        let until = engine.now() + Span::from_microseconds(50);
        engine.run_until(until, &mut kept).expect("it runs");
        let moment = answers.moment();
        answers.wait(moment.now).expect("it looks");
        answers.serve(&moment, &mut |_: &Sample<'_>| {});
    }
    let took = engine.now() - begun;
    let report = engine.into_reports(&mut kept).remove(0);
    (report, kept, took)
}

/// The program was stopped while a second of answers was under way: more than one look takes.
#[test]
fn answers_that_wait_in_the_socket_are_not_lost() {
    let simulation = Simulation::from_toml(
        "preset = \"igc\"\n[link]\ndelay = \"300ms\"\n[host]\nreceive_buffer = 16_000_000\n",
        1,
    );
    let simulation = simulation.expect("a scenario");
    let place = || Place::Simulation(simulation.clone());
    let mut reflector = Reflector::default();
    let other = simulation.interface("sim1").expect("it has one");
    reflector.listen = vec![(other.description().addresses[0].address, 862).into()];
    let mut stamp = Stamp::with(reflector.listen[0].to_string());
    stamp.interface = Some("sim0".to_owned());
    stamp.interval = Duration::from_millis(1);
    stamp.count = Some(1_000);
    stamp.timeout = Duration::from_secs(1);
    let answers = Measurements::default().reflector(reflector);
    let mut answers = Engine::new(answers, place()).expect("it starts");
    let mut engine = Engine::new(Measurements::default().stamp(stamp), place()).expect("it starts");
    let begun = engine.now();
    let stopped = Span::from_milliseconds(800)..Span::from_milliseconds(2_800);
    while !engine.is_over() {
        let now = engine.now();
        assert!(now - begun < Span::from_seconds(100), "it never ends");
        let until = now + Span::from_microseconds(500);
        if stopped.contains(&(now - begun)) {
            answers
                .run_until(until, &mut |_: &Sample<'_>| {})
                .expect("it runs");
            continue;
        }
        engine
            .run_until(until, &mut |_: &Sample<'_>| {})
            .expect("it runs");
        let moment = answers.moment();
        answers.wait(moment.now).expect("it looks");
        answers.serve(&moment, &mut |_: &Sample<'_>| {});
    }
    let report = engine.into_reports(&mut |_: &Sample<'_>| {}).remove(0);
    let losses = report.expect("it was measured").session.losses;
    assert_eq!((losses.sent, losses.lost()), (1_000, 0));
}

/// Ten packets a second, whose time is two seconds.
#[test]
fn a_reply_of_a_session_without_an_end_is_a_result_at_once() {
    let simulation = preset();
    let place = || Place::Simulation(simulation.clone());
    let mut reflector = Reflector::default();
    let other = simulation.interface("sim1").expect("it has one");
    reflector.listen = vec![(other.description().addresses[0].address, 862).into()];
    let mut stamp = Stamp::with(reflector.listen[0].to_string());
    stamp.interface = Some("sim0".to_owned());
    stamp.interval = Duration::from_millis(100);
    stamp.timeout = Duration::from_secs(2);
    let answers = Measurements::default().reflector(reflector);
    let mut answers = Engine::new(answers, place()).expect("it starts");
    let mut engine = Engine::new(Measurements::default().stamp(stamp), place()).expect("it starts");
    let mut sequences = Vec::new();
    let end = engine.now() + Span::from_seconds(10);
    while engine.now() < end {
        let until = engine.now() + Span::from_microseconds(500);
        let mut keep = |sample: &Sample<'_>| {
            let followed_up = sample.value(Segment::Residence).is_some();
            sequences.push((sample.sequence, sample.has_arrived && followed_up));
        };
        engine.run_until(until, &mut keep).expect("it runs");
        let moment = answers.moment();
        answers.wait(moment.now).expect("it looks");
        answers.serve(&moment, &mut |_: &Sample<'_>| {});
    }
    let state = engine.state();
    let peer = &state.peers[0];
    let count = sequences.len() as u32;
    assert!((97..=101).contains(&count), "{count}");
    assert!(
        sequences
            .iter()
            .copied()
            .eq((0..count).map(|number| (number, true)))
    );
    assert_eq!((peer.lost, peer.answered), (0, count.into()));
    assert!(peer.in_flight <= 2, "{} in flight", peer.in_flight);
    let age = peer.age_ns.expect("answered");
    assert!(age <= 250_000_000, "{age} ns");
}

/// An address of the peer's network that nobody has.
fn nobody(simulation: &Simulation) -> std::net::IpAddr {
    let peer = simulation.interface("sim1").expect("it has one");
    match peer.description().addresses[0].address {
        std::net::IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            [a, b, c, 77].into()
        }
        address @ std::net::IpAddr::V6(_) => panic!("{address}"),
    }
}

/// As readers of a monitor's counters need them.
fn never_falls(before: &TimestampCounts, now: &TimestampCounts) {
    let missing: u64 = now.missing.values().sum();
    let ended = now.transmitted + now.pending + missing;
    assert_eq!(now.requested, ended, "{now:?}");
    assert!(now.requested >= before.requested, "{before:?} {now:?}");
    for (reason, count) in &before.missing {
        assert!(now.missing[reason] >= *count, "{before:?} {now:?}");
    }
}

#[test]
fn packets_that_find_no_neighbour_are_no_missing_timestamps() {
    let simulation = preset();
    let mut stamp = Stamp::with(nobody(&simulation).to_string());
    stamp.interface = Some("sim0".to_owned());
    stamp.interval = Duration::from_millis(500);
    let asked = Measurements::default().stamp(stamp);
    let mut engine = Engine::new(asked, Place::Simulation(simulation)).expect("it starts");
    let mut before = TimestampCounts::default();
    for _ in 0..300 {
        let until = engine.now() + Span::from_milliseconds(100);
        engine
            .run_until(until, &mut |_: &Sample<'_>| {})
            .expect("it runs");
        let counts = engine.state().peers[0].timestamps.clone();
        never_falls(&before, &counts);
        before = counts;
    }
    let peer = &engine.state().peers[0];
    let counts = &peer.timestamps;
    assert_eq!((counts.missing_of_sent(), peer.answered), (0, 0));
    let (refused, sent) = (peer.refused, peer.sent);
    // nothing is known yet of the newest
    let not_sent = counts.missing[TimestampCounts::NOT_SENT];
    assert!(not_sent >= sent - 8, "{counts:?}");
    assert!(refused >= sent - 1 && sent >= 60, "{refused} of {sent}");
    let error = peer.error.as_deref().expect("it says why");
    let words = "packets did not leave: no neighbour";
    assert!(error.contains(words), "{error}");
}

/// How a reply differs from a right one.
type Spoil = fn(&mut Vec<u8>);

/// Asks what answers wrongly: what a session that ends says of it, and one that does not.
fn spoiled(key: Option<&Path>, spoil: Spoil) -> (String, String) {
    let simulation = preset();
    let answers = simulation.interface("sim1").expect("it has one");
    let own = (answers.description().addresses[0].address, 862).into();
    let answers = answers.bind(own).expect("bound");
    let stamp = |count| {
        let mut stamp = Stamp::with(answers.local_address().expect("bound").to_string());
        stamp.interface = Some("sim0".to_owned());
        stamp.interval = Duration::from_millis(10);
        stamp.timeout = Duration::from_millis(100);
        stamp.count = count;
        stamp.key_file = key.map(Path::to_path_buf);
        Measurements::default().stamp(stamp)
    };
    let place = || Place::Simulation(simulation.clone());
    let said = [Some(5), None].map(|count| {
        let mut engine = Engine::new(stamp(count), place()).expect("it starts");
        let end = engine.now() + Span::from_milliseconds(500);
        while !engine.is_over() && engine.now() < end {
            let until = engine.now() + Span::from_microseconds(100);
            engine
                .run_until(until, &mut |_: &Sample<'_>| {})
                .expect("it runs");
            let mut request = [0; 256];
            while let Ok(Some(came)) = answers.receive(&mut request, Duration::ZERO) {
                let mut reply = request[..16].to_vec();
                reply.extend(&request[4..12]);
                reply.extend(&request[..14]);
                reply.extend([0, 0, 64, 0, 0, 0]);
                spoil(&mut reply);
                let to = came.source.expect("it has one");
                answers.send_to(&reply, to, None).expect("sent");
            }
        }
        let error = engine.state().peers[0].error.clone();
        let report = engine.into_reports(&mut |_: &Sample<'_>| {}).remove(0);
        let unusable = report.expect("it ran").session.unusable;
        match count {
            Some(_) => unusable.map(|unusable| unusable.to_string()),
            None => error,
        }
        .unwrap_or_default()
    });
    said.into()
}

#[test]
fn replies_that_cannot_be_used_are_named_by_sessions_that_end_and_those_that_do_not() {
    let nothing = spoiled(None, |_| {});
    assert_eq!(nothing, (String::new(), String::new()), "a right one");
    let cases: [(Spoil, &str); 6] = [
        (|reply| reply.truncate(38), "38 octets, too short (44)"),
        (|reply| reply[13] = 0, "Error Estimate"),
        (|reply| reply[4..12].fill(0), "timestamps"),
        (|reply| reply[19] += 1, "sent before they were received"),
        (|reply| reply[14] ^= 1, "another session"),
        (|reply| reply[27] ^= 1, "number and timestamp"),
    ];
    for (spoil, said) in cases {
        let (ends, endless) = spoiled(None, spoil);
        assert!(
            ends.contains(said) && ends.contains("replies came"),
            "{ends}"
        );
        assert!(endless.contains(said), "{endless}");
    }
}

#[test]
fn replies_without_the_keys_signature_are_named_as_such() {
    let folder = tempfile::tempdir().expect("made");
    let key = folder.path().join("key");
    std::fs::write(&key, "00112233445566778899aabbccddeeff").expect("written");
    let cases: [(Spoil, &str); 2] = [
        (|reply| reply.resize(112, 0), "none is signed with this key"),
        (|_| {}, "without a signature: the reflector has no key"),
    ];
    for (spoil, said) in cases {
        let (ends, endless) = spoiled(Some(&key), spoil);
        assert!(ends.contains(said), "{ends}");
        assert!(ends.contains("replies came"), "{ends}");
        assert!(endless.contains(said), "{endless}");
    }
}

fn preset() -> Simulation {
    Simulation::preset("igc", 1).expect("a preset")
}

#[test]
fn a_session_ends_when_all_is_answered_and_reports() {
    for (source, by, longest) in [
        (Timestamper::Software, Method::Software, 300),
        (Timestamper::Hardware, Method::Hardware, 6_000),
    ] {
        let (report, kept, took) = run(&preset(), true, |stamp| {
            stamp.clocks = Relation::Same;
            stamp.source = source;
        });
        let session = &report.session;
        assert_eq!((session.losses.sent, session.losses.answered), (100, 100));
        assert_eq!(
            (report.sent, kept.samples, kept.judged.len()),
            (100, 100, 100)
        );
        // the last reply's follow-up came with a closing request, which is none of them
        assert!(kept.judged.iter().all(|packet| packet.residence.is_some()));
        assert_eq!(session.not_followed_up, 0);
        for packet in &kept.judged {
            // two paths and a cable, without what the reflector took
            let path = packet.path_delay.expect("all timestamps are there");
            assert!(path.value > Span::ZERO && path.value < Span::from_microseconds(20));
        }
        let sent = kept.judged.iter().map(|packet| packet.sent);
        let methods = sent.map(|sent| sent.expect("it has one").method);
        assert!(methods.into_iter().all(|method| method == by));
        let is_fast = took < Span::from_milliseconds(longest);
        assert!(is_fast, "it waits for no timeout: {took}");
    }
}

/// The NIC's clock is stepped: a timestamp that was converted with the clock before the step gives no delay.
#[test]
fn no_delay_stays_that_a_step_of_the_nics_clock_has_made() {
    let mut withdrawn = 0;
    for step in 0..20 {
        let text = format!(
            "preset = \"igc\"\n[[event]]\nat = \"{}ms\"\naction = \"step_hardware\"\nticks = -10_000_000\n",
            500 + 100 * step
        );
        let simulation = Simulation::from_toml(&text, step).expect("a scenario");
        let (report, kept, _) = tried(&simulation, true, |stamp| {
            stamp.clocks = Relation::Same;
            stamp.source = Timestamper::Hardware;
            stamp.interval = Duration::from_millis(20);
        });
        match report {
            Err(error) => {
                withdrawn += 1;
                let error = error.to_string();
                assert!(error.contains("changed meanwhile"), "{text}: {error}");
            }
            Ok(_) => {
                let forward = kept.judged.iter().filter_map(|packet| packet.forward);
                let longest = forward.map(|forward| forward.value.abs()).max();
                let longest = longest.unwrap_or(Span::ZERO);
                assert!(longest < Span::from_milliseconds(1), "{text}: {longest}");
            }
        }
    }
    assert!(
        withdrawn > 0,
        "no packet came between a step and the next reading"
    );
}

/// A session without an end begins again after a step. What it yields before is final, and what it shows.
#[test]
fn a_session_without_an_end_yields_no_delay_that_a_step_has_made() {
    let (delay, limit) = (Span::from_milliseconds(30), Span::from_milliseconds(1));
    for step in 0..20_u32 {
        let text = format!(
            "preset = \"igc\"\n[link]\ndelay = \"30ms\"\n[[event]]\nat = \"{}ms\"\naction = \"step_hardware\"\nnic = \"sim0\"\nticks = -10_000_000\n",
            2_000 + 97 * step
        );
        let simulation = Simulation::from_toml(&text, step.into()).expect("a scenario");
        let place = || Place::Simulation(simulation.clone());
        let other = simulation.interface("sim1").expect("it has one");
        let mut reflector = Reflector::default();
        reflector.listen = vec![(other.description().addresses[0].address, 862).into()];
        let mut stamp = Stamp::with(reflector.listen[0].to_string());
        stamp.name = Some("peer".to_owned());
        stamp.interface = Some("sim0".to_owned());
        stamp.clocks = Relation::Same;
        stamp.source = Timestamper::Hardware;
        stamp.interval = Duration::from_millis(20);
        stamp.timeout = Duration::from_millis(100);
        let asked = Measurements::default().reflector(reflector).stamp(stamp);
        let mut engine = Engine::new(asked, place()).expect("it starts");
        let (mut kept, end) = (Kept::default(), engine.now() + Span::from_seconds(12));
        while engine.now() < end {
            let until = engine.now() + Span::from_milliseconds(50);
            engine.run_until(until, &mut kept).expect("it runs");
            if let Some(path) = engine.state().peers[0].path_delay_ns {
                assert!((59_000_000..61_000_000).contains(&path), "{text}: {path}");
            }
        }
        let delays = kept
            .judged
            .iter()
            .flat_map(|packet| [packet.forward, packet.backward]);
        let errors: Vec<_> = delays
            .flatten()
            .map(|known| (known.value - delay).abs())
            .collect();
        let largest = errors.iter().max().expect("some");
        assert!(*largest < limit, "{text}: {largest}");
        // it goes on after the step, and what is final does not wait
        assert!(errors.len() > 2 * 350, "{text}: {}", errors.len());
        assert_eq!(kept.samples, kept.judged.len() as u64);
    }
}

/// Delays of two points of measurement in one distribution are none of either.
#[test]
fn a_packet_that_the_nic_did_not_timestamp_has_no_timestamp() {
    let text = "preset = \"igc\"\n[[event]]\nat = \"3s\"\naction = \"reconfigure\"\nnic = \"sim0\"\ntransmit = false\nreceive = \"none\"\n";
    for source in [Timestamper::Hardware, Timestamper::Software] {
        let simulation = Simulation::from_toml(text, 1).expect("a scenario");
        let (report, kept, _) = run(&simulation, true, |stamp| {
            stamp.source = source;
            stamp.interval = Duration::from_millis(50);
        });
        let sent: Vec<_> = kept.judged.iter().map(|packet| packet.sent).collect();
        let by = |wanted| {
            sent.iter()
                .flatten()
                .filter(move |sent| sent.method == wanted)
        };
        let (hardware, software) = (by(Method::Hardware).count(), by(Method::Software).count());
        let received = report.session.missing_receive_timestamps;
        match source {
            Timestamper::Software => assert_eq!((hardware, software, received), (0, 100, 0)),
            _ => {
                assert!(
                    (50..70).contains(&hardware) && software == 0,
                    "{hardware} {software}"
                );
                assert_eq!(received, 100 - hardware as u64);
                assert_eq!(report.stamps, 2 * hardware as u64);
            }
        }
        let expected = match source {
            Timestamper::Software => TimestampSource::Software,
            _ => TimestampSource::Hardware,
        };
        assert_eq!(report.source, expected);
    }
}

/// A reflector on sim1, and a session with it.
fn at_the_other_end(simulation: &Simulation) -> (Reflector, Stamp) {
    let interface = simulation.interface("sim1").expect("it has one");
    let address = interface.description().addresses[0].address;
    let mut reflector = Reflector::default();
    reflector.listen = vec![(address, 862).into()];
    (reflector, Stamp::with(format!("{address}:862")))
}

/// Another program that ends switches the NIC off: a session that goes on is opened anew, and switches it on.
#[test]
fn a_nic_that_somebody_switches_off_is_switched_on_again() {
    let text = "preset = \"igc\"\n[[event]]\nat = \"3s\"\naction = \"reconfigure\"\nnic = \"sim0\"\ntransmit = false\nreceive = \"none\"\n";
    let simulation = Simulation::from_toml(text, 1).expect("a scenario");
    let (reflector, mut stamp) = at_the_other_end(&simulation);
    stamp.interface = Some("sim0".to_owned());
    (stamp.source, stamp.interval) = (Timestamper::Hardware, Duration::from_millis(100));
    let wanted = Measurements::default().reflector(reflector).stamp(stamp);
    let place = Place::Simulation(simulation);
    let mut engine = Engine::new(wanted, place).expect("it starts");
    let mut measured = Vec::new();
    let begun = engine.now();
    let mut keep = |sample: &Sample<'_>| {
        if sample.value(Segment::RoundTrip).is_some() {
            measured.push((sample.at - begun).nanoseconds() / 1_000_000_000);
        }
    };
    engine
        .run_until(begun + Span::from_seconds(30), &mut keep)
        .expect("it runs");
    let late = measured.iter().filter(|second| **second >= 20).count();
    assert!(late > 80, "{measured:?}");
}

#[test]
fn silence_takes_the_timeout_and_is_lost() {
    let (report, kept, took) = run(&preset(), false, |stamp| {
        stamp.timeout = Duration::from_millis(500);
    });
    let losses = &report.session.losses;
    assert_eq!((losses.sent, losses.answered, losses.lost()), (100, 0, 100));
    assert!(kept.judged.iter().all(|packet| !packet.is_answered));
    // 100 intervals, six waits of 20 ms, and the timeout
    let expected = Span::from_milliseconds(100 + 6 * 20 + 500);
    assert!(
        (took - expected).abs() < Span::from_milliseconds(20),
        "{took}"
    );
}

/// As the signal handler of a command does.
#[test]
fn what_is_cut_short_reports_what_was_judged() {
    let simulation = preset();
    let mut stamp = Stamp::with("192.0.2.1:862");
    stamp.count = Some(1_000);
    stamp.interval = Duration::from_millis(1);
    let asked = Measurements::default().stamp(stamp);
    let mut engine = Engine::new(asked, Place::Simulation(simulation)).expect("it starts");
    let until = engine.now() + Span::from_milliseconds(50);
    engine
        .run_until(until, &mut |_: &Sample<'_>| {})
        .expect("it runs");
    let mut judged = 0_u64;
    let mut keep = |_: &Sample<'_>| judged += 1;
    let report = engine.into_reports(&mut keep).remove(0);
    let report = report.expect("it runs");
    assert_eq!(report.session.losses.sent, report.sent);
    assert!((40..=51).contains(&report.sent), "{}", report.sent);
    assert_eq!(judged, report.sent);
}

/// NICs that lack a direction, and what is said of them.
fn one_way() -> [(&'static str, Simulation, &'static str); 2] {
    let text = "preset = \"igc\"\n[nic]\nreceive_filters = [\"none\", \"ptpv2_udp\"]\n";
    [
        (
            "PTP only",
            Simulation::from_toml(text, 1).expect("a scenario"),
            "of received packets this NIC timestamps PTP messages only",
        ),
        (
            "ena",
            Simulation::preset("ena", 1).expect("a preset"),
            "this NIC timestamps received packets only",
        ),
    ]
}

/// A path delay is of four timestamps: where one is never made, the reason and a remedy that exists are said at once.
#[test]
fn a_session_by_a_nic_that_lacks_a_direction_says_what_the_nic_timestamps() {
    for (name, simulation, limit) in one_way() {
        let (report, kept, _) = tried(&simulation, true, |stamp| {
            stamp.source = Timestamper::Hardware;
        });
        let error = report.expect_err("its timestamps do not exist");
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{name}: {error}");
        let said = error.to_string();
        assert!(said.contains(limit), "{name}: {said}");
        assert!(said.contains("a STAMP session needs"), "{name}: {said}");
        assert!(
            error.remedy().contains("--source software"),
            "{name}: {said}"
        );
        assert_eq!(kept.samples, 0, "{name}");
        let nic = simulation.interface("sim0").expect("it has one");
        let now = nic.configuration().expect("told");
        assert_eq!(now, HardwareConfiguration::OFF, "{name}");
        let (report, ..) = run(&simulation, true, |stamp| {
            stamp.source = Timestamper::Software;
        });
        assert_eq!(report.session.losses.answered, 100, "{name}: the remedy");
    }
}

/// Replies say of each timestamp who made it, so a reflector uses what the NIC has and counts both.
#[test]
fn a_reflector_uses_the_direction_that_its_nic_timestamps() {
    let [ptp_only, ena] = one_way();
    let everything = ("igc", preset(), "");
    for (name, simulation, limit) in [ptp_only, ena, everything] {
        let (mut reflector, mut stamp) = at_the_other_end(&simulation);
        reflector.interface = Some("sim1".to_owned());
        reflector.source = Timestamper::Hardware;
        stamp.interface = Some("sim0".to_owned());
        (stamp.source, stamp.interval) = (Timestamper::Software, Duration::from_millis(100));
        let wanted = Measurements::default().reflector(reflector).stamp(stamp);
        let mut engine = Engine::new(wanted, Place::Simulation(simulation)).expect("it starts");
        let mut answered = 0;
        let until = engine.now() + Span::from_seconds(20);
        let mut keep = |sample: &Sample<'_>| {
            answered += u64::from(sample.value(Segment::RoundTrip).is_some());
        };
        engine.run_until(until, &mut keep).expect("it runs");
        let state = engine.state();
        let state = state.reflector.expect("it runs");
        assert!(answered > 100, "{name}: {state:?}");
        let count = |source| state.stamps.get(source).copied().unwrap_or(0);
        let (hardware, software) = (count("hardware"), count("software"));
        // of each reply the last transmit timestamp may still be awaited
        let each = state.replies - 1..=state.replies;
        match limit {
            "" => assert!(
                software == 0 && hardware >= 2 * state.replies - 1,
                "{state:?}"
            ),
            _ => assert!(
                each.contains(&hardware) && each.contains(&software),
                "{name}: {state:?}"
            ),
        }
        assert_eq!(
            state.warnings.len(),
            usize::from(!limit.is_empty()),
            "{name}"
        );
        assert!(
            state.warnings.iter().all(|why| why.contains(limit)),
            "{state:?}"
        );
    }
}
