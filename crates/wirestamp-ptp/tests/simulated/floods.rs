//! Floods of each kind at 100,000 messages per second of virtual time, while listening, measuring
//! and transmitting: the pinned peer is served as before.

use crate::forge::{Attacker, Forged};
use crate::pair::{Cable, quick, run};
use crate::rig::{Rig, WHO};
use wirestamp::Span;
use wirestamp_ptp::{Configuration, Counts, DelayMechanism, Fault, Lost, Node, PortState, Role};

/// Messages per burst, one burst per millisecond: a socket's buffer holds about a hundred.
const BURST: u32 = 100;
const EVERY: Span = Span::from_milliseconds(1);
/// A second's.
const BURSTS: u32 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sync,
    Announce,
    DelayRequest,
    PeerDelayRequest,
    RandomBytes,
}

const KINDS: [Kind; 5] = [
    Kind::Sync,
    Kind::Announce,
    Kind::DelayRequest,
    Kind::PeerDelayRequest,
    Kind::RandomBytes,
];

impl Kind {
    /// From an identity that changes with every message.
    fn forged(self, number: u32) -> Forged {
        let kind = match self {
            Self::Sync => 0,
            Self::Announce => 0xb,
            Self::DelayRequest => 1,
            Self::PeerDelayRequest => 2,
            Self::RandomBytes => {
                // a Lehmer generator; any bytes will do
                let mut state = u64::from(number) * 2 + 1;
                let mut forged = Forged::new(0, 0, 0);
                for byte in &mut forged.bytes {
                    state = state.wrapping_mul(0xda94_2042_e4dd_58b5);
                    *byte = (state >> 56) as u8;
                }
                return forged;
            }
        };
        let forged =
            Forged::new(kind, 0, number as u16).with(20, &(0xaa00_0000 | number).to_be_bytes());
        if self == Self::Announce {
            forged.with(47, &[1])
        } else {
            forged
        }
    }

    fn send(self, attacker: &Attacker, burst: u32) {
        (burst * BURST..(burst + 1) * BURST).for_each(|number| attacker.send(&self.forged(number)));
    }
}

fn pinned(role: Role, mechanism: DelayMechanism) -> Configuration {
    let mut configuration = quick(role);
    configuration.delay_mechanism = mechanism;
    configuration
        .trust
        .timetransmitters
        .push(format!("020000.0000.0000{WHO:02x}-1"));
    configuration
}

fn ignored(counts: &Counts, fault: Fault) -> u64 {
    counts.ignored.get(fault.name()).copied().unwrap_or(0)
}

#[test]
fn while_listening_the_pinned_timetransmitter_is_found_and_while_measuring_it_is_kept() {
    for kind in KINDS {
        let cable = Cable::new("");
        let engine = cable.engine(1, pinned(Role::TimeReceiver, DelayMechanism::E2e));
        let mut rig = Rig::unheard(&cable, &engine);
        let mut followed = 0_u32;
        for burst in 0..BURSTS {
            kind.send(&rig.attacker, burst);
            if burst % 125 == 0 {
                rig.announce_and_sync();
            }
            rig.pass(1);
            let state = rig.receiver.status().ports[0].state;
            followed += u32::from(state == PortState::TimeReceiver);
            assert!(
                state == PortState::TimeReceiver || burst < BURSTS / 2,
                "{kind:?}: still {state:?} after {burst} bursts"
            );
        }
        let status = rig.receiver.status();
        assert_eq!(
            status.time_transmitter.map(|followed| followed.clock[7]),
            Some(WHO),
            "{kind:?}"
        );
        assert!(followed > BURSTS / 2, "{kind:?}: {followed}");
        if matches!(kind, Kind::Sync | Kind::Announce) {
            assert!(
                rig.ignored(Fault::Identity) > 50_000,
                "{kind:?}: {:?}",
                rig.counts()
            );
        }
    }
}

/// Lets a second of bursts pass, calling `each` in between; returns the duration in virtual
/// seconds.
fn flooded(node: &mut Node<'_>, attacker: &Attacker, kind: Kind, mut each: impl FnMut(u32)) -> f64 {
    let begun = node.now();
    for burst in 0..BURSTS {
        kind.send(attacker, burst);
        each(burst);
        run(&mut [&mut *node], EVERY, |_, _, _| {});
    }
    (node.now() - begun).saturating_nanoseconds() as f64 / 1e9
}

#[test]
fn while_transmitting_the_pinned_peer_is_answered_and_syncs_go_on() {
    for kind in KINDS {
        let cable = Cable::new("");
        let engine = cable.engine(1, pinned(Role::TimeTransmitter, DelayMechanism::E2e));
        let attacker = Attacker::on(&cable);
        let mut node = cable.node(&engine, 1);
        run(&mut [&mut node], Span::from_seconds(4), |_, _, _| {});
        assert_eq!(node.status().ports[0].state, PortState::TimeTransmitter);
        attacker.forget();
        let (mut asked, mut follow_ups, mut answers, mut others) = (0_u16, 0, 0_u16, 0_u32);
        let seconds = flooded(&mut node, &attacker, kind, |burst| {
            if burst % 100 == 0 && burst < 900 {
                attacker.send(&Forged::new(1, WHO, asked));
                asked += 1;
            }
            let mut room = [0; 200];
            while let Some(received) = attacker.take_general(&mut room) {
                let bytes = &room[..received];
                let to_the_pinned =
                    bytes[0] & 0xf == 9 && bytes[44..52] == [2, 0, 0, 0, 0, 0, 0, WHO];
                follow_ups += usize::from(bytes[0] & 0xf == 8);
                answers += u16::from(to_the_pinned);
                others += u32::from(bytes[0] & 0xf == 9 && !to_the_pinned);
            }
        });
        assert!(
            follow_ups >= 6,
            "{kind:?}: {follow_ups} of eight Syncs were completed"
        );
        assert_eq!(answers, asked, "{kind:?}");
        assert_eq!(others > 0, kind == Kind::DelayRequest, "{kind:?}: {others}");
        assert!(
            f64::from(others) <= 4_096.0 * seconds + 128.0,
            "{others} answers in {seconds} s"
        );
        if kind == Kind::DelayRequest {
            assert!(
                ignored(&node.counts(), Fault::Rate) > 50_000,
                "{:?}",
                node.counts()
            );
        }
    }
}

#[test]
fn peer_requests_leave_room_for_the_timestamps_of_our_own_messages() {
    // no transmit timestamp arrives within two milliseconds: until then the timestamps of all
    // answers are awaited
    let cable = Cable::new("[sim1.transmit]\ncollection = \"2ms\"");
    let mut configuration = pinned(Role::TimeTransmitter, DelayMechanism::P2p);
    configuration.trust.timetransmitters.clear();
    let engine = cable.engine(1, configuration);
    let attacker = Attacker::on(&cable);
    let mut node = cable.node(&engine, 1);
    run(&mut [&mut node], Span::from_seconds(4), |_, _, _| {});
    attacker.forget();
    let before = node.counts();
    let (mut requests, mut syncs, mut answers) = (0, 0, 0_u32);
    let seconds = flooded(&mut node, &attacker, Kind::PeerDelayRequest, |_| {
        let mut room = [0; 200];
        while let Some(received) = attacker.take_event(&mut room) {
            let own = room[0] & 0xf;
            assert!(received >= 44);
            requests += usize::from(own == 2);
            syncs += usize::from(own == 0);
            answers += u32::from(own == 3);
        }
    });
    let counts = node.counts();
    assert!(
        requests >= 5 && syncs >= 6,
        "{requests} requests and {syncs} Syncs of our own, of eight each"
    );
    assert!(
        answers > 100 && f64::from(answers) <= 512.0 * seconds + 128.0,
        "{answers} answers in {seconds} s"
    );
    assert_eq!(
        counts.lost_for(Lost::NotSent),
        before.lost_for(Lost::NotSent),
        "{counts:?}"
    );
    assert!(ignored(&counts, Fault::Rate) > 50_000, "{counts:?}");
}
