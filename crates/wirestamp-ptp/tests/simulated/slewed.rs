//! Another program on the receiving host slews the system clock, which timestamps: no step is counted, and bounds hold.

use crate::pair::{Cable, quick, run};
use wirestamp::{MonotonicTime, Span};
use wirestamp_ptp::{
    Configuration, DelayMechanism, Held, Lost, Node, Role, Sample, Source, Unmeasured,
};

/// The transmitter's NIC timestamps, the receiver's does not.
const NETWORK: &str = "[link]\ndelay = { base = \"15us\", jitter = \"2us\" }\n[sim0.clock]\nfrequency_error_ppb = 30_000";
const UTC_OFFSET: i64 = 37_000_000_000;

/// A receiver on a host whose clock is slewed.
struct Slewed<'e> {
    cable: &'e Cable,
    nodes: [Node<'e>; 2],
    /// The real-time clock minus the monotonic clock.
    apart: i64,
    samples: usize,
    widest: i64,
    wrong: Vec<String>,
}

impl<'e> Slewed<'e> {
    fn new(cable: &'e Cable, nodes: [Node<'e>; 2]) -> Self {
        let truth = cable.world().truth();
        let apart = truth.utc().nanoseconds() - truth.now().nanoseconds();
        Self {
            cable,
            nodes,
            apart,
            samples: 0,
            widest: 0,
            wrong: Vec::new(),
        }
    }

    /// The true offset of the real-time clock at an instant of the monotonic clock.
    fn truth(&self, at: MonotonicTime) -> i64 {
        at.nanoseconds() + self.apart + UTC_OFFSET - self.cable.nic_clock(0, at)
    }

    fn check(&mut self, at: MonotonicTime, offset: wirestamp::Bounded<Span>, what: &str) {
        let error = (offset.value.saturating_nanoseconds() - self.truth(at)).abs();
        let bound = offset.bound.saturating_nanoseconds();
        self.widest = self.widest.max(bound);
        if error > bound {
            self.wrong.push(format!("off by {error}: {what}"));
        }
    }

    /// Slews the clock for a time; returns the widest bound.
    fn slew(&mut self, ppb: i32, time: Span) -> i64 {
        self.cable.world().slew_system_clock(ppb);
        (self.widest, self.samples) = (0, 0);
        let [transmitter, receiver] = &mut self.nodes;
        let mut taken: Vec<Sample> = Vec::new();
        run(&mut [transmitter, receiver], time, |_, sample, _| {
            taken.push(sample);
        });
        self.samples += taken.len();
        for sample in taken {
            let came = sample.local_ns - UTC_OFFSET - self.apart;
            let came = MonotonicTime::from_nanoseconds(came);
            self.check(came, sample.offset, &format!("{ppb} ppb, {sample:?}"));
        }
        self.widest
    }
}

fn engines(cable: &Cable, change: impl Fn(&mut Configuration)) -> [wirestamp_ptp::Engine; 2] {
    [
        (Role::TimeTransmitter, Source::Hardware),
        (Role::TimeReceiver, Source::Software),
    ]
    .map(|(role, source)| {
        let mut configuration = quick(role);
        configuration.source = source;
        change(&mut configuration);
        cable.engine(usize::from(role == Role::TimeReceiver), configuration)
    })
}

/// Slews by adjtime and by chronyd, after each of which the clock runs by itself; each at any time between two Syncs.
#[test]
fn by_a_daemon_of_the_receivers_host() {
    for (mechanism, interval) in [
        (DelayMechanism::E2e, -3),
        (DelayMechanism::E2e, 0),
        (DelayMechanism::P2p, -3),
    ] {
        let cable = Cable::new(NETWORK);
        let engines = engines(&cable, |configuration| {
            configuration.delay_mechanism = mechanism;
            configuration.log_delay_interval = interval;
        });
        let nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let mut slewed = Slewed::new(&cable, nodes);
        slewed.slew(0, Span::from_seconds(8));
        let calm = slewed.slew(0, Span::from_seconds(3));
        for ppb in [
            500_000,
            -500_000,
            83_333_000,
            -83_333_000,
            20_000_000,
            40_000,
        ] {
            for length in [3_011, 1_456] {
                slewed.slew(ppb, Span::from_milliseconds(length));
                slewed.slew(0, Span::from_milliseconds(2_203));
                let after = slewed.slew(0, Span::from_seconds(2));
                assert!(
                    slewed.samples > 5,
                    "{mechanism:?} {interval}, {ppb}: {}",
                    slewed.samples
                );
                assert!(
                    after < 3 * calm,
                    "{mechanism:?} {interval}, {ppb}: {after} after {calm}"
                );
            }
        }
        let counts = slewed.nodes[1].counts();
        assert_eq!(
            slewed.wrong,
            Vec::<String>::new(),
            "{mechanism:?} {interval}"
        );
        assert_eq!(
            counts.lost_for(Lost::Contradiction),
            0,
            "{mechanism:?} {interval}, {counts:?}"
        );
        assert_eq!(counts.lost_for(Lost::ClockGeneration), 0, "{counts:?}");
    }
}

/// The clock is slewed when the measurement begins.
#[test]
fn which_has_begun_before() {
    let slews = [83_333_000, -83_333_000, 1_500_000, -1_500_000];
    for (ppb, mechanism) in slews
        .into_iter()
        .flat_map(|ppb| [(ppb, DelayMechanism::E2e), (ppb, DelayMechanism::P2p)])
    {
        let cable = Cable::new(NETWORK);
        let engines = engines(&cable, |configuration| {
            configuration.delay_mechanism = mechanism;
        });
        let nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let mut slewed = Slewed::new(&cable, nodes);
        slewed.slew(ppb, Span::from_seconds(8));
        assert!(
            slewed.samples > 20,
            "{ppb} {mechanism:?}: {}",
            slewed.samples
        );
        slewed.slew(0, Span::from_seconds(8));
        let counts = slewed.nodes[1].counts();
        assert_eq!(slewed.wrong, Vec::<String>::new(), "{ppb} {mechanism:?}");
        assert_eq!(
            counts.lost_for(Lost::Contradiction),
            0,
            "{ppb} {mechanism:?}, {counts:?}"
        );
    }
}

/// Coarse clocks show late that the slew is a fast one: packets of before were used as if the oscillator drifted.
#[test]
fn which_has_begun_before_and_is_seen_late() {
    for ppb in [1_013_000, 1_020_000] {
        let cable = Cable::new(&format!("{NETWORK}\n[host]\ntick = \"2us\""));
        let engines = engines(&cable, |configuration| {
            configuration.max_drift_ppm = 1_000;
        });
        let nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let mut slewed = Slewed::new(&cable, nodes);
        slewed.slew(ppb, Span::from_seconds(8));
        assert!(slewed.samples > 20, "{ppb}: {}", slewed.samples);
        slewed.slew(0, Span::from_seconds(8));
        let counts = slewed.nodes[1].counts();
        assert_eq!(slewed.wrong, Vec::<String>::new(), "{ppb}");
        assert_eq!(counts.lost_for(Lost::Contradiction), 0, "{ppb}, {counts:?}");
    }
}

/// The transmitter is gone: its last offset is carried on through a slew. Peer delays are still measured, on another
/// timescale: without a transmitter, a clock that shows UTC has no PTP time.
#[test]
fn while_no_transmitter_is_heard() {
    for (mechanism, first, ppb) in [
        (DelayMechanism::E2e, 0, 83_333_000),
        (DelayMechanism::E2e, 0, -83_333_000),
        (DelayMechanism::P2p, 0, 500_000),
        (DelayMechanism::P2p, 0, -83_333_000),
        (DelayMechanism::P2p, 400_000, 0),
    ] {
        let cable = Cable::new(NETWORK);
        let engines = engines(&cable, |configuration| {
            configuration.delay_mechanism = mechanism;
        });
        let nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let mut slewed = Slewed::new(&cable, nodes);
        slewed.slew(0, Span::from_seconds(4));
        slewed.slew(first, Span::from_seconds(4));
        let apart = slewed.apart;
        let [_, mut receiver] = slewed.nodes;
        let mut held: Vec<(MonotonicTime, Held)> = Vec::new();
        for ppb in [0, ppb, 0] {
            cable.world().slew_system_clock(ppb);
            for _ in 0..40 {
                run(
                    &mut [&mut receiver],
                    Span::from_milliseconds(200),
                    |_, _, _| {},
                );
                let shown = receiver.status().ports[0].estimate;
                held.extend(shown.map(|shown| (receiver.now(), shown)));
            }
        }
        let carried = held.iter().filter(|(_, held)| held.holdover);
        let count = carried.clone().count();
        assert!(count > 50, "{mechanism:?}, {first}, {ppb} ppb: {count}");
        for (now, held) in carried {
            let truth = now.nanoseconds() + apart + UTC_OFFSET - cable.nic_clock(0, *now);
            let error = held.offset.value.saturating_nanoseconds() - truth;
            assert!(
                held.offset.contains(Span::from_nanoseconds(truth.into())),
                "{mechanism:?}, {first}, {ppb} ppb: off by {error}: {held:?}"
            );
        }
    }
}

/// Slews are seen only after 20 µs, and may be of any size: no offset has a bound, and the reason is said.
#[test]
fn a_clock_too_coarse_to_show_adjustments_gives_no_offset_and_the_reason() {
    for (tick, is_measured) in [("1us", true), ("20us", false)] {
        let cable = Cable::new(&format!("{NETWORK}\n[host]\ntick = \"{tick}\"\n"));
        let engines = engines(&cable, |_| {});
        let nodes = [cable.node(&engines[0], 0), cable.node(&engines[1], 1)];
        let mut slewed = Slewed::new(&cable, nodes);
        slewed.slew(0, Span::from_seconds(8));
        let counts = slewed.nodes[1].counts();
        let unknown = counts.lost_for(Lost::AdjustmentsUnknown);
        assert_eq!(slewed.samples > 20, is_measured, "{tick}: {counts:?}");
        assert_eq!(unknown == 0, is_measured, "{tick}: {counts:?}");
        let why = slewed.nodes[1].unmeasured();
        assert_eq!(
            why != Unmeasured::AdjustmentsUnknown,
            is_measured,
            "{tick}: {why}"
        );
    }
}
