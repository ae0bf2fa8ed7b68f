//! Several configured sources of time: one is followed while they agree within their error bounds,
//! and none while they do not.

use crate::forge::{Attacker, Forged};
use crate::pair::{Cable, quick, run};
use crate::steered::SimulatedClock;
use std::rc::Rc;
use wirestamp::{MonotonicTime, Span};
use wirestamp_ptp::{Agreement, Configuration, Engine, Node, PortState, Role};

/// Number, domain and lead in nanoseconds of a forged timeTransmitter.
type Clock = (u8, u8, i64);
const A: Clock = (1, 0, 0);
const B: Clock = (3, 0, 0);
const OTHER_DOMAIN: u8 = 7;

/// A receiver, and timeTransmitters whose messages are forged.
struct Rig<'e> {
    cable: &'e Cable,
    attacker: Attacker,
    receiver: Node<'e>,
    clocks: Vec<Clock>,
    sequence: u16,
    /// Samples since the last call.
    samples: usize,
}

fn engine(cable: &Cable, pins: &[Clock], domains: &[u8]) -> Engine {
    cable.engine(1, configuration(pins, domains))
}

fn configuration(pins: &[Clock], domains: &[u8]) -> Configuration {
    let mut configuration: Configuration = quick(Role::TimeReceiver);
    let pins = pins
        .iter()
        .map(|(who, ..)| format!("020000.0000.0000{who:02x}"));
    configuration.trust.timetransmitters.extend(pins);
    configuration.trust.compare_domains.extend(domains);
    configuration
}

impl<'e> Rig<'e> {
    fn new(cable: &'e Cable, engine: &'e Engine, clocks: &[Clock]) -> Self {
        let (attacker, receiver) = (Attacker::on(cable), cable.node(engine, 1));
        let mut rig = Self {
            cable,
            attacker,
            receiver,
            clocks: clocks.to_vec(),
            sequence: 0,
            samples: 0,
        };
        rig.pass(500);
        rig
    }

    fn now(&self) -> MonotonicTime {
        self.receiver.now()
    }

    fn pass(&mut self, milliseconds: i64) {
        let until = self.now() + Span::from_milliseconds(milliseconds);
        while self.now() < until {
            let step = Span::from_milliseconds(5);
            run(&mut [&mut self.receiver], step, |_, _, _| self.samples += 1);
            self.attacker.answer_delay_requests(&self.clocks);
        }
    }

    /// The messages of the timeTransmitters in an eighth of a second.
    fn interval(&mut self) {
        self.sequence += 1;
        for (who, domain, ahead) in self.clocks.clone() {
            let message = |kind| Forged::new(kind, who, self.sequence).with(4, &[domain]);
            self.attacker.send(&message(0xb));
            let shown = self.cable.nic_clock(0, self.cable.world().truth().now()) + ahead;
            self.attacker.send(&message(0));
            self.attacker.send(&message(8).at(shown + 1_000));
        }
        self.pass(120);
    }

    /// Lets this many seconds pass; returns the state of the sources after each interval.
    fn seconds(&mut self, seconds: i64) -> Vec<Agreement> {
        let until = self.now() + Span::from_seconds(seconds);
        let mut said = Vec::new();
        while self.now() < until {
            self.interval();
            said.push(self.receiver.agreement());
        }
        said
    }

    fn lies(&mut self, place: usize, ahead: i64) {
        self.clocks[place].2 = ahead;
    }
}

#[test]
fn two_pinned_timetransmitters_that_agree_are_measured_and_one_is_followed() {
    let cable = Cable::new("");
    let engine = engine(&cable, &[A, B], &[]);
    let mut rig = Rig::new(&cable, &engine, &[A, B]);
    let said = rig.seconds(10);
    assert!(
        said[16..]
            .iter()
            .all(|agreement| *agreement == Agreement::Agree),
        "{said:?}"
    );
    let status = rig.receiver.status();
    assert_eq!(
        (status.ports[0].state, status.sources.len()),
        (PortState::TimeReceiver, 2)
    );
    assert_eq!(
        status.time_transmitter.map(|followed| followed.clock[7]),
        Some(A.0)
    );
    let truth = cable.true_offset(rig.now());
    for source in &status.sources {
        assert!(
            (source.offset.value.saturating_nanoseconds() - truth).abs()
                <= source.offset.bound.saturating_nanoseconds() + 2_000,
            "{source:?}, and {truth} is true"
        );
        assert!(
            source.offset.bound.saturating_nanoseconds() < 20_000,
            "{source:?}"
        );
    }
    assert!(rig.samples > 50, "{}", rig.samples);
}

#[test]
fn two_that_disagree_by_more_than_bounds_and_tolerance_are_both_refused() {
    for (ahead, tolerance, agreement) in [
        (1_000, 1_000, Agreement::Agree),
        (1_500, 0, Agreement::Disagree),
        (100_000, 1_000, Agreement::Disagree),
        (-100_000, 1_000, Agreement::Disagree),
    ] {
        let cable = Cable::new("");
        let mut configuration = configuration(&[A, B], &[]);
        configuration.trust.tolerance_ns = tolerance;
        let engine = cable.engine(1, configuration);
        let mut rig = Rig::new(&cable, &engine, &[A, (B.0, B.1, ahead)]);
        let said = rig.seconds(12);
        assert_eq!(said.last(), Some(&agreement), "{ahead}: {said:?}");
    }
}

#[test]
fn without_pins_there_is_one_source_and_a_domain_beside_it_makes_two() {
    let cable = Cable::new("");
    let alone = engine(&cable, &[], &[]);
    let mut rig = Rig::new(&cable, &alone, &[A, (B.0, B.1, 100_000)]);
    assert!(
        rig.seconds(5)
            .iter()
            .all(|agreement| *agreement == Agreement::Single)
    );
    drop(rig);
    for (ahead, agreement) in [(0, Agreement::Agree), (100_000, Agreement::Disagree)] {
        let cable = Cable::new("");
        let engine = engine(&cable, &[], &[OTHER_DOMAIN]);
        let mut rig = Rig::new(&cable, &engine, &[A, (B.0, OTHER_DOMAIN, ahead)]);
        let said = rig.seconds(12);
        assert_eq!(said.last(), Some(&agreement), "{ahead}: {said:?}");
        let status = rig.receiver.status();
        let domains: Vec<_> = status
            .sources
            .iter()
            .map(|source| (source.identity.clock[7], source.domain))
            .collect();
        assert_eq!(domains, [(A.0, 0), (B.0, OTHER_DOMAIN)]);
    }
}

#[test]
fn one_that_starts_to_lie_is_noticed_at_once_and_ten_seconds_of_agreement_end_it() {
    // the followed one, and the other one
    for liar in [0, 1] {
        let cable = Cable::new("");
        let engine = engine(&cable, &[A, B], &[]);
        let mut rig = Rig::new(&cable, &engine, &[A, B]);
        assert_eq!(rig.seconds(10).last(), Some(&Agreement::Agree));
        rig.lies(liar, 1_000_000);
        let said = rig.seconds(6);
        // a jump of the false source is first a contradiction: its estimate is restarted
        assert!(
            said[12..]
                .iter()
                .all(|agreement| *agreement == Agreement::Disagree),
            "liar {liar}: {said:?}"
        );
        rig.lies(liar, 0);
        let said = rig.seconds(9);
        assert!(!said.contains(&Agreement::Agree), "liar {liar}: {said:?}");
        assert_eq!(
            rig.seconds(6).last(),
            Some(&Agreement::Agree),
            "liar {liar}"
        );
    }
}

#[test]
fn while_they_disagree_a_steered_clock_keeps_its_base_frequency() {
    // with one source, a false time of a millisecond is followed
    for (pins, follows) in [(&[A, B][..], false), (&[A][..], true)] {
        let cable = Cable::new(
            "[sim1.clock]\nfrequency_error_ppb = 20_000\nstart = 1_700_000_000_001_000_000",
        );
        let mut configuration = configuration(pins, &[]);
        configuration.clock = wirestamp_ptp::Clock::Nic;
        let engine = cable.engine(1, configuration);
        let mut rig = Rig::new(&cable, &engine, &[A, B]);
        let clock = SimulatedClock::new(&cable, 20_000.0);
        let handle = Rc::clone(&clock.handle);
        rig.receiver.steer_with(Box::new(clock)).expect("a rate");
        rig.seconds(40);
        let off = |rig: &Rig<'_>| rig.cable.true_offset(rig.now()).abs();
        assert!(off(&rig) < 2_000, "{pins:?}: {} ns off", off(&rig));
        let steps = handle.borrow().steps.len();
        rig.lies(0, 1_000_000);
        rig.seconds(20);
        assert_eq!(
            off(&rig) > 500_000,
            follows,
            "{pins:?}: {} ns off",
            off(&rig)
        );
        assert_eq!(handle.borrow().steps.len(), steps, "{pins:?}");
        if follows {
            continue;
        }
        let ppm = handle.borrow().ppm;
        assert!(
            off(&rig) < 20_000 && (ppm + 20.0).abs() < 1.0,
            "{} ns off at {ppm} ppm",
            off(&rig)
        );
        rig.lies(0, 0);
        let said = rig.seconds(30);
        assert_eq!(
            said.last(),
            Some(&Agreement::Agree),
            "{:?}, {}",
            rig.receiver.status(),
            off(&rig)
        );
        assert!(
            off(&rig) < 2_000,
            "{} ns off when they agree again",
            off(&rig)
        );
    }
}

#[test]
fn a_slow_drag_is_noticed_when_it_leaves_the_bounds() {
    let cable = Cable::new("");
    let engine = engine(&cable, &[A, B], &[]);
    let mut rig = Rig::new(&cable, &engine, &[A, B]);
    assert_eq!(rig.seconds(10).last(), Some(&Agreement::Agree));
    for step in 1..=80 {
        rig.lies(0, step * 1_000); // 8 µs per second: possible for real clocks
        rig.interval();
    }
    assert_eq!(rig.receiver.agreement(), Agreement::Disagree);
}

#[test]
fn the_only_one_that_is_heard_is_followed_after_ten_seconds() {
    let cable = Cable::new("");
    let engine = engine(&cable, &[A, B], &[]);
    let mut rig = Rig::new(&cable, &engine, &[A]);
    let said = rig.seconds(9);
    assert!(
        said.iter()
            .all(|agreement| *agreement == Agreement::Waiting),
        "{said:?}"
    );
    assert_eq!(rig.seconds(5).last(), Some(&Agreement::Alone));
    rig.clocks.push((B.0, B.1, 500_000));
    assert_eq!(rig.seconds(4).last(), Some(&Agreement::Disagree));
    rig.clocks.pop();
    assert_eq!(
        rig.seconds(20).last(),
        Some(&Agreement::Disagree),
        "silence proves nobody right"
    );
}
