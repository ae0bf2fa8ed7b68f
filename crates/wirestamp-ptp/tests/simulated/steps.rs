//! A timeTransmitter's clock is stepped: every sample's bound holds, for steps of any size and
//! sign.

use crate::pair::{Cable, run};
use crate::rig::{Rig, WHO, receiver};
use wirestamp::sim::NicName;
use wirestamp::{MonotonicTime, Span};
use wirestamp_ptp::{Configuration, DelayMechanism, Lost, Node, PortState, Role};

/// A network delay of 15 µs and almost no jitter: a deviation of a Sync cannot be a queue.
const NETWORK: &str = "[link]\ndelay = { base = \"15us\", jitter = \"100ns\" }\n[sim1.clock]\nfrequency_error_ppb = 30_000";
/// In nanoseconds.
const SIZES: [i64; 6] = [1_000, 12_000, 25_000, 40_000, 900_000, 2_000_000];

/// Two nodes at the ends of a cable, and their results.
struct Stepped<'e> {
    cable: &'e Cable,
    nodes: [Node<'e>; 2],
    samples: usize,
    wrong: Vec<String>,
}

impl Stepped<'_> {
    fn pass(&mut self, time: Span) {
        let [transmitter, receiver] = &mut self.nodes;
        let check = |_, sample: wirestamp_ptp::Sample, now: MonotonicTime| {
            assert_eq!(sample.state, PortState::TimeReceiver);
            let error = sample.offset.value.saturating_nanoseconds() - self.cable.true_offset(now);
            self.samples += 1;
            if error.abs() > sample.offset.bound.saturating_nanoseconds() + 200 {
                self.wrong.push(format!("{sample:?} is off by {error}"));
            }
        };
        run(&mut [transmitter, receiver], time, check);
    }
}

/// Steps of each size and sign, each in its own network; returns the number of contradictions.
fn held(change: impl Fn(&mut Configuration), before: Span) -> u64 {
    let mut contradictions = 0;
    for by in SIZES.iter().flat_map(|size| [*size, -size]) {
        let cable = Cable::new(NETWORK);
        let engines = [Role::TimeTransmitter, Role::TimeReceiver].map(|role| {
            let mut configuration = Configuration::default();
            configuration.role = role;
            change(&mut configuration);
            cable.engine(usize::from(role == Role::TimeReceiver), configuration)
        });
        let nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let mut stepped = Stepped {
            cable: &cable,
            nodes,
            samples: 0,
            wrong: Vec::new(),
        };
        stepped.pass(before);
        let until_then = std::mem::take(&mut stepped.samples);
        cable.world().step_hardware_clock(NicName::Sim0, by);
        stepped.pass(Span::from_seconds(20));
        assert!(
            until_then > 3 && stepped.samples > 3,
            "{by} ns: {until_then}, {}",
            stepped.samples
        );
        assert_eq!(stepped.wrong, Vec::<String>::new(), "a step of {by} ns");
        contradictions += stepped.nodes[1].counts().lost_for(Lost::Contradiction);
    }
    contradictions
}

#[test]
fn at_default_rates() {
    let contradictions = held(|_| {}, Span::from_milliseconds(30_300));
    assert!(contradictions >= 6, "{contradictions}");
}

/// As ptp4l was asked to: between two delay exchanges there are 16 Syncs.
#[test]
fn with_four_syncs_a_second_and_a_delay_request_every_four() {
    for before in [40_300, 42_100] {
        let contradictions = held(
            |configuration| {
                configuration.log_sync_interval = -2;
                configuration.log_delay_interval = 2;
            },
            Span::from_milliseconds(before),
        );
        assert!(contradictions >= 4, "{contradictions}");
    }
}

#[test]
fn with_peer_delays() {
    let contradictions = held(
        |configuration| {
            configuration.delay_mechanism = DelayMechanism::P2p;
            configuration.log_sync_interval = -2;
        },
        Span::from_milliseconds(30_300),
    );
    assert!(contradictions >= 6, "{contradictions}");
}

/// An answer to a request of before the step comes after the first Sync that shows it: that is one contradiction.
#[test]
fn a_late_answer_contradicts_no_more() {
    let cable = Cable::new("");
    let engine = receiver(&cable);
    let mut rig = Rig::new(&cable, &engine);
    for step in 1..=10 {
        for _ in 0..30 {
            rig.exchange();
            rig.attacker.answer_delay_requests(&[(WHO, 0, rig.ahead)]);
        }
        for _ in 0..9 + step % 3 {
            rig.exchange();
        }
        let before = rig.ahead;
        rig.ahead += 1_000_000;
        rig.announce_and_sync();
        rig.attacker.answer_delay_requests(&[(WHO, 0, before)]);
        rig.pass(1);
        rig.announce_and_sync();
        rig.pass(1);
        let counts = rig.counts();
        let contradictions = counts.lost_for(Lost::Contradiction);
        assert_eq!(contradictions, step, "{counts:?}");
    }
    let late = rig.counts().lost_for(Lost::ClockGeneration);
    assert!(late > 5, "{late}");
}
