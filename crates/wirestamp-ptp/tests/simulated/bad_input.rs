//! Malformed, forged, repeated and reordered messages, jumps and floods: each has its own counter,
//! none stops the service, and every reported error bound contains the truth.

use crate::forge::{Attacker, Forged};
use crate::pair::{Cable, quick, run};
use crate::rig::{OURS, PATH, Rig, WHO, receiver};
use wirestamp::{MonotonicTime, Span};
use wirestamp_ptp::{
    Configuration, DelayMechanism, Fault, Lost, PortState, Role, Sample, Unmeasured,
};

#[test]
fn what_is_malformed_is_counted_by_its_fault() {
    let cable = Cable::new("");
    let engine = receiver(&cable);
    let mut rig = Rig::new(&cable, &engine);
    let sync = || Forged::new(0, WHO, 900);
    let follow_up = || Forged::new(8, WHO, 900).at(1);
    for (forged, fault) in [
        (sync().with(1, &[1]), Fault::Version),
        (sync().with(4, &[9]), Fault::Domain),
        (sync().with(0, &[0x10]), Fault::Domain),
        (sync().with(0, &[0x4]), Fault::Kind),
        (sync().with(2, &[0, 43]), Fault::Truncated),
        (sync().with(2, &[0, 46]), Fault::Truncated),
        (sync().with(8, &[0x7f; 8]), Fault::Correction),
        (sync().with(20, &OURS), Fault::Own),
        (follow_up().with(40, &[0xff; 4]), Fault::Timestamp),
        (follow_up().with(34, &[0xff; 6]), Fault::Timestamp),
        (
            Forged::new(0xb, WHO, 900).with(61, &[0xff, 0xff]),
            Fault::StepsRemoved,
        ),
    ] {
        assert_eq!(
            rig.counted(&forged.bytes, forged.event, fault),
            1,
            "{fault:?}"
        );
    }
    for length in 0..44 {
        let counted: u64 = [true, false]
            .map(|event| rig.counted(&sync().bytes[..length], event, Fault::Truncated))
            .iter()
            .sum();
        assert_eq!(counted, 2, "{length} octets");
    }
    assert_eq!(rig.counted(&sync().bytes, false, Fault::Port), 1);
    let mut long = sync().bytes;
    long.resize(1_400, 0);
    long[2..4].copy_from_slice(&1_400u16.to_be_bytes());
    assert_eq!(rig.counted(&long, true, Fault::Oversized), 1);
    rig.still_follows();
}

#[test]
fn duplicates_reordering_and_forged_sequence_ids_cost_their_exchange_at_most() {
    let cable = Cable::new("");
    let engine = receiver(&cable);
    let mut rig = Rig::new(&cable, &engine);
    rig.finish();
    let told = rig.samples.len();
    for round in 0..20u16 {
        let sequence = 1_000 + round;
        let sent = rig.transmitters_time() + PATH;
        let (sync, follow_up) = (
            Forged::new(0, WHO, sequence),
            Forged::new(8, WHO, sequence).at(sent),
        );
        rig.attacker
            .send(&follow_up.clone().with(30, &(sequence + 500).to_be_bytes())); // of no Sync
        rig.attacker.send(&sync);
        rig.attacker.send(&sync);
        rig.attacker.send(&follow_up);
        rig.attacker.send(&follow_up);
        rig.attacker
            .send(&Forged::new(9, WHO, sequence).at(1).answering(OURS)); // answers nothing
        rig.attacker
            .send(&Forged::new(9, 7, sequence).at(1).answering(OURS)); // nor from the transmitter
        rig.attacker.send(&Forged::new(0xb, WHO, 100 + round));
        rig.pass(100);
    }
    assert_eq!(
        rig.receiver.status().ports[0].state,
        PortState::TimeReceiver
    );
    assert_eq!(rig.counts().lost_for(Lost::Contradiction), 0);
    rig.finish();
    assert_eq!(
        rig.samples.len(),
        told,
        "without delay responses nothing is told"
    );
}

/// The report of a receiver that has received some of a timeTransmitter's messages eight times a
/// second for three seconds.
fn unmeasured(
    change: impl Fn(&mut Configuration),
    sends: impl Fn(&mut Rig<'_>),
) -> (Unmeasured, usize) {
    let cable = Cable::new("");
    let mut configuration = quick(Role::TimeReceiver);
    change(&mut configuration);
    let engine = cable.engine(1, configuration);
    let mut rig = Rig::unheard(&cable, &engine);
    for _ in 0..24 {
        rig.sequence += 1;
        sends(&mut rig);
        rig.pass(120);
    }
    (rig.receiver.unmeasured(), rig.samples.len())
}

fn announce_and_sync(rig: &mut Rig<'_>) {
    rig.announce_and_sync();
}

#[test]
fn a_receiver_that_measures_nothing_says_which_message_is_missing() {
    let announce = |rig: &mut Rig<'_>| rig.attacker.send(&Forged::new(0xb, WHO, rig.sequence));
    let sync = |rig: &mut Rig<'_>| rig.attacker.send(&Forged::new(0, WHO, rig.sequence));
    let why = |sends: &dyn Fn(&mut Rig<'_>)| unmeasured(|_| {}, sends);
    assert_eq!(why(&|_| {}), (Unmeasured::Silent, 0));
    assert_eq!(why(&announce), (Unmeasured::NoSync, 0));
    let (without_follow_up, samples) = why(&|rig| {
        announce(rig);
        sync(rig);
    });
    assert!(
        matches!(without_follow_up, Unmeasured::NoFollowUp(20..)),
        "{without_follow_up:?}"
    );
    assert_eq!(samples, 0);
    let (without_answers, samples) = why(&announce_and_sync);
    let Unmeasured::NoResponse { requests, is_peer } = without_answers else {
        panic!("{without_answers:?}");
    };
    assert!(requests > 5 && !is_peer && samples == 0, "{requests}");
    let peer = |chosen: &mut Configuration| chosen.delay_mechanism = DelayMechanism::P2p;
    let (without_neighbour, _) = unmeasured(peer, announce_and_sync);
    let text = without_neighbour.to_string();
    assert!(text.contains("the neighbour answered none"), "{text}");
}

#[test]
fn a_receiver_names_the_domain_that_it_hears_and_its_own_pins() {
    let announce = |rig: &mut Rig<'_>| rig.attacker.send(&Forged::new(0xb, WHO, rig.sequence));
    let other = |chosen: &mut Configuration| chosen.domain = 7;
    assert_eq!(unmeasured(other, announce).0, Unmeasured::OtherDomain(0));
    let pinned = |chosen: &mut Configuration| {
        chosen.trust.timetransmitters = vec!["020000.0000.000009-1".to_owned()];
    };
    assert_eq!(unmeasured(pinned, announce).0, Unmeasured::Unpinned);
}

#[test]
fn a_transparent_clock_between_is_told_where_it_leaves_no_bound() {
    for (neighbour, unbounded) in [(9, true), (WHO, false)] {
        let cable = Cable::new("");
        let mut configuration = quick(Role::TimeReceiver);
        configuration.delay_mechanism = DelayMechanism::P2p;
        let engine = cable.engine(1, configuration);
        let attacker = Attacker::on(&cable);
        let mut rig = Rig {
            cable: &cable,
            attacker,
            receiver: cable.node(&engine, 1),
            sequence: 0,
            samples: Vec::new(),
            ahead: 0,
        };
        for _ in 0..30 {
            rig.exchange();
            rig.attacker.answer_peer(neighbour, rig.transmitters_time());
        }
        assert_eq!(rig.samples.is_empty(), unbounded, "{:?}", rig.counts());
        assert_eq!(
            rig.counts().lost_for(Lost::Unbounded) > 10,
            unbounded,
            "{:?}",
            rig.counts()
        );
    }
}

#[test]
fn an_estimate_is_as_old_as_its_sync_and_not_as_the_follow_up() {
    let cable = Cable::new("");
    let mut configuration = quick(Role::TimeReceiver);
    configuration.delay_mechanism = DelayMechanism::P2p;
    let (engine, attacker) = (cable.engine(1, configuration), Attacker::on(&cable));
    let receiver = cable.node(&engine, 1);
    let mut rig = Rig {
        cable: &cable,
        attacker,
        receiver,
        sequence: 0,
        samples: Vec::new(),
        ahead: 0,
    };
    for _ in 0..30 {
        rig.exchange();
        rig.attacker.answer_peer(WHO, rig.transmitters_time());
    }
    rig.finish();
    let told = rig.samples.len();
    rig.sequence += 1;
    let sent = rig.transmitters_time() + PATH;
    rig.attacker.send(&Forged::new(0, WHO, rig.sequence));
    rig.pass(60);
    rig.attacker
        .send(&Forged::new(8, WHO, rig.sequence).at(sent));
    rig.pass(1);
    let held = rig.receiver.status().ports[0].estimate.expect("told");
    assert!(held.age_ns >= 20_000_000, "{held:?}");
    rig.finish();
    assert_eq!(rig.samples.len(), told + 1);
}

#[test]
fn an_hours_jump_of_the_transmitter_is_told_and_its_bound_holds() {
    let cable = Cable::new("");
    let engines = [
        cable.engine(0, quick(Role::TimeTransmitter)),
        receiver(&cable),
    ];
    let (mut transmitter, mut receiver) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    let check = |sample: &Sample, now: MonotonicTime| {
        let error = sample.offset.value.saturating_nanoseconds() - cable.true_offset(now);
        assert!(
            error.abs() <= sample.offset.bound.saturating_nanoseconds() + 200,
            "{sample:?} is off by {error}"
        );
    };
    run(
        &mut [&mut transmitter, &mut receiver],
        Span::from_seconds(5),
        |_, sample, now| check(&sample, now),
    );
    // another program sets its NIC's clock an hour ahead, without a notification
    let before = receiver.counts();
    let stepped =
        Cable::new("[[event]]\naction = \"step_hardware\"\nat = \"5s\"\nticks = 3_600_000_000_000");
    drop((transmitter, receiver));
    let engines = [
        stepped.engine(0, quick(Role::TimeTransmitter)),
        self::receiver(&stepped),
    ];
    let (mut transmitter, mut receiver) =
        (stepped.node(&engines[0], 0), stepped.node(&engines[1], 1));
    let (mut late, mut begun) = (0, None);
    run(
        &mut [&mut transmitter, &mut receiver],
        Span::from_seconds(30),
        |_, sample, now| {
            let error = sample.offset.value.saturating_nanoseconds() - stepped.true_offset(now);
            assert!(
                error.abs() <= sample.offset.bound.saturating_nanoseconds() + 200,
                "{sample:?} is off by {error}"
            );
            let begun = *begun.get_or_insert(now);
            late += usize::from(
                now - begun > Span::from_seconds(20)
                    && sample.offset.value.saturating_nanoseconds() < -3_599_000_000_000,
            );
        },
    );
    assert!(late > 10, "{late} samples an hour off");
    assert_eq!(before.lost_for(Lost::Contradiction), 0);
    assert!(
        receiver.counts().lost_for(Lost::Contradiction) > 0,
        "{:?}",
        receiver.counts()
    );
}

#[test]
fn a_flood_ends_with_the_receiver_where_it_was() {
    let cable = Cable::new("");
    let engine = receiver(&cable);
    let mut rig = Rig::new(&cable, &engine);
    let messages: Vec<_> = (0..100u16)
        .flat_map(|number| {
            let who = 50 + (number % 100) as u8;
            [
                Forged::new(0, who, number),
                Forged::new(9, WHO, 20_000 + number).at(5).answering(OURS),
                Forged::new(8, who, number).at(7),
            ]
        })
        .collect();
    for second in 0..4 {
        for message in messages.iter().cycle().take(5_000) {
            rig.attacker.send(message);
            rig.receiver.serve();
        }
        rig.exchange();
        assert_eq!(
            rig.receiver.status().ports[0].state,
            PortState::TimeReceiver,
            "second {second}"
        );
    }
    assert_eq!(rig.counts().lost_for(Lost::Contradiction), 0);
    rig.still_follows();
}
