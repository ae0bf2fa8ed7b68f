//! In a simulation everybody who is asked answers, and each measured value is the truth: both ends have one clock.

use wirestamp::{Simulation, Span};
use wirestamp_measure::state::State;
use wirestamp_measure::{
    Engine, Kind, Measurements, Ntp, Place, Ptp, Reflector, Relation, Sample, Segment, Stamp,
    Timestamper,
};
use wirestamp_ptp::{DelayMechanism, Role};

/// Runs in a preset for so many seconds; returns the values of a segment with their bounds, and what is known at the end.
fn run(
    preset: &str,
    asked: Measurements,
    seconds: i64,
    segment: Segment,
) -> (Vec<(Kind, Span, Span)>, State) {
    let simulation = Simulation::preset(preset, 1).expect("a preset");
    let place = Place::Simulation(simulation);
    let mut engine = Engine::new(asked.answered(), place).expect("it starts");
    let mut values = Vec::new();
    let until = engine.now() + Span::from_seconds(seconds);
    let mut keep = |sample: &Sample<'_>| {
        let value = sample.value(segment);
        values.extend(value.map(|value| (sample.subject.kind, value.value, value.bound)));
    };
    engine.run_until(until, &mut keep).expect("it runs");
    (values, engine.state())
}

#[test]
fn stamp_sessions_are_answered_and_their_delays_are_those_of_the_cable() {
    for (preset, source) in [
        ("igc", Timestamper::Software),
        ("igc", Timestamper::Hardware),
        ("software-only", Timestamper::Software),
    ] {
        let mut stamp = Stamp::with("sim1");
        stamp.interface = Some("sim0".to_owned());
        (stamp.clocks, stamp.source) = (Relation::Same, source);
        let asked = Measurements::default().stamp(stamp);
        let (delays, state) = run(preset, asked, 20, Segment::Forward);
        let peer = &state.peers[0];
        assert!(peer.answered > 150 && peer.lost == 0, "{peer:?}");
        assert!(delays.len() > 100, "{preset} {peer:?}");
        for (_, delay, bound) in delays {
            assert!(
                delay + bound > Span::ZERO && delay - bound < Span::from_microseconds(10),
                "{preset}: {delay} ± {bound}"
            );
        }
    }
}

#[test]
fn servers_and_clocks_at_the_other_end_show_the_time_of_this_one() {
    let ntp = |source| {
        let mut ntp = Ntp::of("sim1");
        ntp.source = source;
        Measurements::default().ntp(ntp)
    };
    let ptp = |mechanism| {
        let mut ptp = Ptp::at("sim0");
        (ptp.options.delay_mechanism, ptp.options.domain) = (mechanism, 7);
        Measurements::default().ptp(ptp)
    };
    for (asked, kind, least) in [
        (ntp(Timestamper::Software), Kind::Ntp, 4),
        (ntp(Timestamper::Hardware), Kind::Ntp, 4),
        (ptp(DelayMechanism::E2e), Kind::Ptp, 30),
        (ptp(DelayMechanism::P2p), Kind::Ptp, 30),
    ] {
        let (offsets, state) = run("igc", asked, 80, Segment::Offset);
        assert!(offsets.len() >= least, "{kind:?}: {state:?}");
        for (of, offset, bound) in offsets {
            assert_eq!(of, kind);
            assert!(offset.abs() <= bound, "{kind:?}: {offset} ± {bound}");
            assert!(bound < Span::from_milliseconds(1), "{kind:?}: {bound}");
        }
    }
}

#[test]
fn a_reflector_and_a_transmitter_are_asked() {
    for interface in [None, Some("sim1".to_owned())] {
        let mut reflector = Reflector::default();
        reflector.interface = interface;
        let asked = Measurements::default().reflector(reflector);
        let state = run("igc", asked, 10, Segment::Offset).1;
        let reflector = state.reflector.expect("it runs");
        assert!((95..=101).contains(&reflector.replies), "{reflector:?}");
    }
    let mut ptp = Ptp::at("sim0");
    ptp.options.role = Role::TimeTransmitter;
    let asked = Measurements::default().ptp(ptp);
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let peers = asked.peers(&simulation);
    assert_eq!(peers.ptp[0].interface, "sim1");
    assert_eq!(peers.ptp[0].options.role, Role::TimeReceiver);
}

#[test]
fn hosts_that_the_simulation_has_not_are_named_or_silent() {
    let asked = |host: &str| Measurements::default().stamp(Stamp::with(host));
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let place = Place::Simulation(simulation);
    let mut engine = Engine::new(asked("ntp.example.org").answered(), place).expect("it starts");
    engine.serve(&engine.moment(), &mut |_: &Sample<'_>| {});
    let outcomes = engine.outcomes();
    let error = outcomes[0].error.expect("it fails").to_string();
    assert!(error.contains("name one of sim0, sim1"), "{error}");

    let state = run("igc", asked("192.0.2.77"), 10, Segment::RoundTrip).1;
    let peer = &state.peers[0];
    assert!(peer.sent > 90 && peer.answered == 0, "{peer:?}");
}

/// A session, and the reflector that it asks.
fn asked_of_both() -> Measurements {
    let mut reflector = Reflector::default();
    reflector.interface = Some("sim1".to_owned());
    let asked = Measurements::default().stamp(Stamp::with("sim1"));
    asked.reflector(reflector)
}

#[test]
fn two_clocks_of_one_cable_have_no_others_and_other_ports_do() {
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let both = Measurements::default()
        .ptp(Ptp::at("sim0"))
        .ptp(Ptp::at("sim1"));
    assert!(both.peers(&simulation).ptp.is_empty());
    let mut reflector = Reflector::default();
    reflector.listen = vec!["192.0.2.2:8620".parse().expect("an address")];
    for (peer, is_own) in [("sim1:8620", true), ("sim1", false), ("sim0:8620", false)] {
        let asked = Measurements::default().stamp(Stamp::with(peer));
        let peers = asked.reflector(reflector.clone()).peers(&simulation);
        assert_eq!(peers.reflector.is_none(), is_own, "{peer}");
    }
}

/// A configuration that is read again.
#[test]
fn who_is_asked_later_answers_then() {
    let place = Place::Simulation(Simulation::preset("igc", 1).expect("a preset"));
    let mut engine = Engine::new(Measurements::default().answered(), place).expect("it starts");
    let asked = Measurements::default().stamp(Stamp::with("sim1"));
    engine.exchange(asked.answered());
    let until = engine.now() + Span::from_seconds(5);
    engine
        .run_until(until, &mut |_: &Sample<'_>| {})
        .expect("it runs");
    assert!(engine.state().peers[0].answered > 40);
}

/// A monitor whose own reflector is asked has no need of another.
#[test]
fn an_address_that_is_answered_already_is_left_alone() {
    let state = run("igc", asked_of_both(), 10, Segment::RoundTrip).1;
    let peers = asked_of_both().peers(&Simulation::preset("igc", 1).expect("a preset"));
    assert!(peers.reflector.is_none(), "no other");
    let (peer, reflector) = (&state.peers[0], state.reflector.expect("it runs"));
    assert!(peer.answered > 90, "{peer:?}");
    // the session here, and that of the other end
    assert!(reflector.replies > 180, "{reflector:?}");
}

/// Its times are final after two or three readings of the NIC's clock, a second apart: others come meanwhile, and what is shown goes on.
#[test]
fn a_server_that_is_asked_often_by_the_nic_is_shown_as_it_was_seconds_ago() {
    let simulation = Simulation::preset("i225", 1).expect("a preset");
    let mut ntp = wirestamp_measure::Ntp::of("sim1");
    ntp.interval = std::time::Duration::from_millis(200);
    ntp.source = wirestamp_measure::Timestamper::Hardware;
    let asked = Measurements::default().ntp(ntp).answered();
    let mut engine = Engine::new(asked, Place::Simulation(simulation)).expect("it starts");
    let (mut known, mut unchanged) = (0, 0);
    for second in 0..120 {
        let until = engine.now() + Span::from_seconds(1);
        let run = engine.run_until(until, &mut |_: &Sample<'_>| {});
        run.expect("it runs");
        let ntp = engine.ntp_at(&engine.moment()).expect("it is asked");
        let samples = ntp.servers[0].samples_since_step;
        unchanged = if samples > known { 0 } else { unchanged + 1 };
        known = samples;
        assert!(unchanged < 6, "after {second} s: {known} samples");
    }
    assert!(known > 100, "{known} samples");
}
