//! What real NICs showed about timestamps: rows 5, 6, 8 and 11 on hardware, and on the
//! simulated NICs that imitate it. What they showed about clocks is in `nic_clock`,
//! about the way of a packet in `nic_latency`.

use super::Behaviour;
use super::nic_clock::{enabled, enabled_at_far};
use crate::Outcome;
use crate::exchange::{PATIENCE, ask, is_between, outcome_of, timestamps_of};
use crate::rig::{Family, Need, PTP_EVENTS, Pair, Rig, SYNC};
use std::collections::BTreeMap;
use std::time::Duration;
use wirestamp::{
    HardwareTicks, MissingReason, Source, Span, Timestamping, Timestamps, TransmitAnswer,
    TransmitId, TransmitOutcome, TransmitRecord,
};

const TIMESTAMPS: &[Need] = &[Need::HardwareClock, Need::HardwareTransmit];
const SILENT: &[Need] = &[Need::HardwareClock, Need::HardwareSilent];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(6, "spaced-datagrams-are-all-timestamped-by-the-nic", spaced)
        .needs(TIMESTAMPS)
        .preset("igb"),
    Behaviour::new(
        6,
        "spaced-datagrams-have-both-timestamps-under-one-id",
        both,
    )
    .needs(TIMESTAMPS)
    .preset("igb")
    .also(&[Need::BothClocks]),
    Behaviour::new(6, "counted-ids-serve-the-nics-timestamps-too", counted)
        .needs(TIMESTAMPS)
        .preset("igb")
        .also(&[Need::Linux]),
    Behaviour::new(
        6,
        "switched-off-there-is-software-for-every-datagram",
        switched_off,
    )
    .needs(&[Need::HardwareClock, Need::Driver("igb")])
    .preset("igb")
    .also(&[Need::Switch]),
    Behaviour::new(
        8,
        "a-burst-on-one-register-ends-every-id-and-none-wrongly",
        burst,
    )
    .needs(TIMESTAMPS)
    .preset("igb"),
    Behaviour::new(
        8,
        "a-burst-of-both-kinds-ends-every-id-and-none-wrongly",
        burst_of_both,
    )
    .needs(TIMESTAMPS)
    .preset("igb")
    .also(&[Need::BothClocks]),
    Behaviour::new(
        8,
        "advertised-by-the-driver-and-never-made-they-end-as-never-generated",
        silent,
    )
    .needs(SILENT)
    .preset("e1000e-silent"),
    Behaviour::new(
        8,
        "advertised-and-never-made-software-is-what-there-is",
        silent_with_fallback,
    )
    .needs(SILENT)
    .preset("e1000e-silent")
    .also(&[Need::BothClocks]),
    Behaviour::new(
        8,
        "switched-off-the-register-is-reserved-all-the-same",
        silent_and_off,
    )
    .needs(&[
        Need::HardwareClock,
        Need::HardwareSilent,
        Need::Driver("e1000e"),
    ])
    .preset("e1000e-silent")
    .also(&[Need::BothClocks]),
    Behaviour::new(
        11,
        "a-hardware-transmit-timestamp-names-its-nic-and-its-reading",
        names_nic,
    )
    .needs(TIMESTAMPS)
    .preset("igb"),
    Behaviour::new(5, "ptp-messages-have-both-timestamps", ptp_messages)
        .needs(&[Need::HardwareClock, Need::HardwareReceivePtp])
        .preset("igb")
        .also(&[Need::BothClocks]),
    Behaviour::new(5, "every-datagram-has-both-timestamps", every_datagram)
        .needs(&[Need::HardwareClock, Need::HardwareReceive])
        .also(&[Need::BothClocks]),
    Behaviour::new(
        5,
        "a-burst-at-one-receive-register-is-delivered-and-timestamped-in-order",
        received_burst,
    )
    .needs(&[Need::HardwareClock, Need::HardwareReceive])
    .also(&[Need::BothClocks]),
];

/// Longer than a NIC with one register takes from a datagram to its timestamp.
const APART: Duration = Duration::from_millis(20);
/// Long enough for a timestamp that an emulated NIC makes on a busy machine.
const DEADLINE: Span = Span::from_seconds(1);

fn sending(source: Source) -> Timestamping {
    Timestamping::OFF
        .transmit(64)
        .source(source)
        .transmit_deadline(DEADLINE)
}

fn pair(rig: &Rig, source: Source) -> Outcome<Pair> {
    rig.pair(Family::V4, sending(source), Timestamping::OFF)
}

fn spaced(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    for family in Family::BOTH {
        let pair = rig.pair(family, sending(Source::Hardware), Timestamping::OFF)?;
        let mut last = None;
        for id in 0..20 {
            pair.send(id)?;
            let timestamps = timestamps_of(&pair.sender, id)?;
            assert_eq!(timestamps.software, None, "it was not asked for");
            let ticks = timestamps.hardware.expect("a hardware timestamp").ticks;
            assert!(
                last.is_none_or(|last| ticks.since(last) > 0),
                "{ticks:?} of {id} after {last:?}"
            );
            last = Some(ticks);
            rig.pass(APART);
        }
        assert_eq!(pair.sender.counters().missing_in_all(), 0);
    }
    Ok(())
}

fn both(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let pair = pair(rig, Source::Both)?;
    for id in [7, u32::MAX, 0, 0x8000_0000] {
        let before = pair.sender.now();
        pair.send(id)?;
        let timestamps = timestamps_of(&pair.sender, id)?;
        let software = timestamps.software.expect("a software timestamp");
        assert!(
            software.at.value + software.at.bound >= before,
            "{software:?} before {before:?}"
        );
        assert!(timestamps.hardware.is_some(), "{timestamps:?}");
        rig.pass(APART);
    }
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.sent, counters.timestamped, counters.stray),
        (4, 4, 0),
        "{counters:?}"
    );
    Ok(())
}

fn counted(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let sending = sending(Source::Both).identification(wirestamp::socket::Identification::Counter);
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let mut last = None;
    for id in [77, 5, 1_000_000, 6] {
        pair.send(id)?;
        pair.sender.send_to(b"without an id", pair.to, None)?;
        let ticks = timestamps_of(&pair.sender, id)?
            .hardware
            .expect("a hardware timestamp")
            .ticks;
        assert!(
            last.is_none_or(|last| ticks.since(last) > 0),
            "the timestamp of {id} is an older one's"
        );
        last = Some(ticks);
        rig.pass(APART);
    }
    Ok(())
}

fn switched_off(rig: &Rig) -> Outcome {
    let pair = pair(rig, Source::HardwareElseSoftware)?;
    for id in 0..10 {
        pair.send(id)?;
        let timestamps = timestamps_of(&pair.sender, id)?;
        assert!(
            timestamps.software.is_some() && timestamps.hardware.is_none(),
            "{timestamps:?}"
        );
    }
    Ok(())
}

/// Sends `count` datagrams as fast as it goes; every outcome, each told once.
fn outcomes(pair: &Pair, count: u32) -> Outcome<BTreeMap<u32, TransmitOutcome>> {
    for id in 0..count {
        pair.send(id)?;
    }
    let (mut ended, mut records) = (BTreeMap::new(), [TransmitRecord::EMPTY; 16]);
    while ended.len() < count as usize {
        let told = pair
            .sender
            .wait_transmit_timestamps(&mut records, PATIENCE)?;
        assert!(told > 0, "only {} of {count} ended", ended.len());
        for TransmitRecord {
            id: TransmitId(id),
            outcome,
            ..
        } in records[..told].iter().copied()
        {
            assert!(ended.insert(id, outcome).is_none(), "{id} ended twice");
        }
    }
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.pending, counters.sent),
        (0, count.into()),
        "{counters:?}"
    );
    Ok(ended)
}

/// Checks that the timestamps are in the order of their ids: none is another datagram's.
fn check_order(ended: &BTreeMap<u32, TransmitOutcome>) -> usize {
    let timestamps = ended.iter().filter_map(|(id, outcome)| match outcome {
        TransmitOutcome::Timestamped(Timestamps {
            hardware: Some(timestamp),
            ..
        }) => Some((id, timestamp.ticks)),
        _ => None,
    });
    let timestamps: Vec<_> = timestamps.collect();
    for pair in timestamps.windows(2) {
        assert!(pair[1].1.since(pair[0].1) > 0, "{pair:?}");
    }
    timestamps.len()
}

fn burst(rig: &Rig) -> Outcome {
    const COUNT: u32 = 60;
    let _guard = enabled(rig)?;
    // a sender that is held up between two packets leaves the register time to be free again
    for _ in 0..20 {
        let timestamped = check_order(&outcomes(&pair(rig, Source::Hardware)?, COUNT)?);
        assert!(timestamped >= 1, "none of {COUNT}");
        if timestamped < COUNT as usize {
            return Ok(());
        }
    }
    panic!("{COUNT} at once, one register, and all are timestamped");
}

fn burst_of_both(rig: &Rig) -> Outcome {
    const COUNT: u32 = 40;
    let _guard = enabled(rig)?;
    let pair = pair(rig, Source::Both)?;
    let ended = outcomes(&pair, COUNT)?;
    assert!(check_order(&ended) >= 1, "{ended:?}");
    for (id, outcome) in &ended {
        let TransmitOutcome::Timestamped(timestamps) = outcome else {
            panic!("{id} was lost: {outcome:?}")
        };
        assert!(
            timestamps.software.is_some(),
            "{id}: the system timestamps each: {timestamps:?}"
        );
    }
    Ok(())
}

fn silent(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let sending = sending(Source::Hardware).transmit_deadline(Span::from_milliseconds(100));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    for outcome in outcomes(&pair, 20)?.into_values() {
        assert_eq!(
            outcome,
            TransmitOutcome::Missing(MissingReason::NeverGenerated)
        );
    }
    assert_eq!(ask(&pair.sender, 0)?, TransmitAnswer::Unknown, "told once");
    assert!(!rig.near()?.observed().transmit_hardware);
    Ok(())
}

/// The packet that reserved the register gets neither timestamp; all others are the system's.
fn silent_with_fallback(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    falls_back(rig)
}

/// Its driver looks at the datagram, not at the switch.
fn silent_and_off(rig: &Rig) -> Outcome {
    rig.near()?.disable_hardware()?;
    falls_back(rig)
}

fn falls_back(rig: &Rig) -> Outcome {
    let sending =
        sending(Source::HardwareElseSoftware).transmit_deadline(Span::from_milliseconds(100));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let ended = outcomes(&pair, 20)?;
    let software = |outcome: &&TransmitOutcome| {
        matches!(
            outcome,
            TransmitOutcome::Timestamped(Timestamps {
                hardware: None,
                software: Some(_),
                ..
            })
        )
    };
    assert!(ended.values().filter(software).count() >= 15, "{ended:?}");
    if rig.is_simulated() {
        // nobody frees the register here
        assert!(
            matches!(ended.get(&0), Some(TransmitOutcome::Missing(_))),
            "{ended:?}"
        );
        assert_eq!(ended.values().filter(software).count(), 19, "{ended:?}");
    }
    Ok(())
}

fn names_nic(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let _guard = enabled(rig)?;
    let pair = pair(rig, Source::Hardware)?;
    let before = pair.sender.now();
    pair.send(1)?;
    let TransmitOutcome::Timestamped(timestamps) = outcome_of(&pair.sender, 1)? else {
        panic!("it was lost")
    };
    let timestamp = timestamps.hardware.expect("a hardware timestamp");
    assert_eq!(timestamp.interface, Some(near.index()));
    assert!(
        (before..=pair.sender.now()).contains(&timestamp.read_at),
        "{timestamp:?}"
    );
    assert!(near.observed().transmit_hardware);
    Ok(())
}

/// Receives one datagram of `payload` and checks both its timestamps; its reading of the far clock.
fn received_both(rig: &Rig, pair: &Pair, payload: &[u8]) -> Outcome<HardwareTicks> {
    let before = pair.sender.now();
    pair.sender.send_to(payload, pair.to, None)?;
    let received = pair.receive()?;
    let software = received.timestamps.software.expect("a software timestamp");
    is_between(&software, before, pair.receiver.now());
    let hardware = received.timestamps.hardware.expect("a hardware timestamp");
    assert_eq!(hardware.interface, Some(rig.at_far(|| rig.far())?.index()));
    assert!(
        hardware.read_at >= software.at.value - software.at.bound,
        "{received:?}"
    );
    assert_eq!(received.length, payload.len());
    rig.pass(APART);
    Ok(hardware.ticks)
}

fn received_in_order(rig: &Rig, pair: &Pair, payload: &[u8]) -> Outcome {
    let mut last = None;
    for _ in 0..10 {
        let ticks = received_both(rig, pair, payload)?;
        assert!(
            last.is_none_or(|last| ticks.since(last) > 0),
            "{ticks:?} after {last:?}"
        );
        last = Some(ticks);
    }
    let counters = pair.receiver.receive_counters();
    assert_eq!(
        (counters.datagrams, counters.without_timestamp),
        (10, 0),
        "{counters:?}"
    );
    Ok(())
}

fn ptp_messages(rig: &Rig) -> Outcome {
    let _guards = [enabled(rig)?, enabled_at_far(rig)?];
    for family in Family::BOTH {
        let receiving = Timestamping::OFF.receive().source(Source::Both);
        let pair = rig.pair_at(family, PTP_EVENTS, Timestamping::OFF, receiving)?;
        received_in_order(rig, &pair, &SYNC)?;
    }
    assert!(rig.at_far(|| rig.far())?.observed().receive_hardware);
    Ok(())
}

fn every_datagram(rig: &Rig) -> Outcome {
    let _guards = [enabled(rig)?, enabled_at_far(rig)?];
    for family in Family::BOTH {
        let pair = rig.pair(
            family,
            Timestamping::OFF,
            Timestamping::OFF.receive().source(Source::Both),
        )?;
        received_in_order(rig, &pair, b"no PTP message")?;
    }
    Ok(())
}

/// Until its driver has read it, one register holds one timestamp: some datagrams have none, and
/// none has another's.
fn received_burst(rig: &Rig) -> Outcome {
    const COUNT: u8 = 40;
    let _guards = [enabled(rig)?, enabled_at_far(rig)?];
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF,
        Timestamping::OFF.receive().source(Source::Both),
    )?;
    let before = pair.sender.now();
    for number in 0..COUNT {
        pair.sender.send_to(&[number], pair.to, None)?;
    }
    let (mut arrived, mut timestamped, mut last) = (0, 0, None);
    let mut buffer = [0; 8];
    // an emulated NIC loses some of what comes all at once
    while let Some(received) = pair
        .receiver
        .receive(&mut buffer, Duration::from_millis(500))?
    {
        arrived += 1;
        is_between(
            &received
                .timestamps
                .software
                .expect("the system timestamps each"),
            before,
            pair.receiver.now(),
        );
        let Some(hardware) = received.timestamps.hardware else {
            continue;
        };
        timestamped += 1;
        let order = (buffer[0], hardware.ticks);
        assert!(
            last.is_none_or(|(number, ticks)| number < order.0 && order.1.since(ticks) > 0),
            "{order:?}, {last:?}"
        );
        last = Some(order);
    }
    assert!(
        timestamped >= 1 && arrived >= 4,
        "{timestamped} of {arrived} timestamped"
    );
    Ok(())
}
