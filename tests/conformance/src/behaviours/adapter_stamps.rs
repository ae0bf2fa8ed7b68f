//! Owns what real adapters showed about stamps: rows 5, 6, 8 and 11 on hardware, and on the
//! simulated adapters that imitate it. What they showed about clocks is in `adapter_clock`,
//! about the way of a packet in `adapter_latency`.

use super::Behaviour;
use super::adapter_clock::{enabled, enabled_at_far};
use crate::Outcome;
use crate::exchange::{PATIENCE, ask, is_between, outcome_of, stamps_of};
use crate::rig::{Family, Need, PTP_EVENTS, Pair, Rig, SYNC};
use std::collections::BTreeMap;
use std::time::Duration;
use wirestamp::{
    HardwareTicks, LossReason, Source, Span, Stamps, Timestamping, TransmitAnswer, TransmitId,
    TransmitOutcome, TransmitRecord,
};

const STAMPS: &[Need] = &[Need::HardwareClock, Need::HardwareTransmit];
const SILENT: &[Need] = &[Need::HardwareClock, Need::HardwareSilent];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(6, "spaced-datagrams-are-all-stamped-by-the-adapter", spaced)
        .needs(STAMPS)
        .preset("igb"),
    Behaviour::new(6, "spaced-datagrams-have-both-stamps-under-one-id", both)
        .needs(STAMPS)
        .preset("igb")
        .also(&[Need::BothClocks]),
    Behaviour::new(6, "counted-ids-serve-the-adapters-stamps-too", counted)
        .needs(STAMPS)
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
    .needs(STAMPS)
    .preset("igb"),
    Behaviour::new(
        8,
        "a-burst-of-both-kinds-ends-every-id-and-none-wrongly",
        burst_of_both,
    )
    .needs(STAMPS)
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
        "a-hardware-transmit-stamp-names-its-adapter-and-its-reading",
        names_adapter,
    )
    .needs(STAMPS)
    .preset("igb"),
    Behaviour::new(5, "ptp-messages-have-both-stamps", ptp_messages)
        .needs(&[Need::HardwareClock, Need::HardwareReceivePtp])
        .preset("igb")
        .also(&[Need::BothClocks]),
    Behaviour::new(5, "every-datagram-has-both-stamps", every_datagram)
        .needs(&[Need::HardwareClock, Need::HardwareReceive])
        .also(&[Need::BothClocks]),
    Behaviour::new(
        5,
        "a-burst-at-one-receive-register-is-delivered-and-stamped-in-order",
        received_burst,
    )
    .needs(&[Need::HardwareClock, Need::HardwareReceive])
    .also(&[Need::BothClocks]),
];

/// Longer than an adapter with one register takes from a datagram to its stamp.
const APART: Duration = Duration::from_millis(20);
/// Long enough for a stamp that an emulated adapter makes on a busy machine.
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
            let stamps = stamps_of(&pair.sender, id)?;
            assert_eq!(stamps.software, None, "it was not asked for");
            let ticks = stamps.hardware.expect("a hardware stamp").ticks;
            assert!(
                last.is_none_or(|last| ticks.since(last) > 0),
                "{ticks:?} of {id} after {last:?}"
            );
            last = Some(ticks);
            rig.pass(APART);
        }
        assert_eq!(pair.sender.counters().lost_in_all(), 0);
    }
    Ok(())
}

fn both(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let pair = pair(rig, Source::Both)?;
    for id in [7, u32::MAX, 0, 0x8000_0000] {
        let before = pair.sender.now();
        pair.send(id)?;
        let stamps = stamps_of(&pair.sender, id)?;
        let software = stamps.software.expect("a software stamp");
        assert!(
            software.at + software.bound >= before,
            "{software:?} before {before:?}"
        );
        assert!(stamps.hardware.is_some(), "{stamps:?}");
        rig.pass(APART);
    }
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.sent, counters.stamped, counters.stray),
        (4, 4, 0),
        "{counters:?}"
    );
    Ok(())
}

fn counted(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let sending = sending(Source::Both).identification(wirestamp::Identification::Counter);
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let mut last = None;
    for id in [77, 5, 1_000_000, 6] {
        pair.send(id)?;
        pair.sender.send_to(b"without an id", pair.to, None)?;
        let ticks = stamps_of(&pair.sender, id)?
            .hardware
            .expect("a hardware stamp")
            .ticks;
        assert!(
            last.is_none_or(|last| ticks.since(last) > 0),
            "the stamp of {id} is an older one's"
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
        let stamps = stamps_of(&pair.sender, id)?;
        assert!(
            stamps.software.is_some() && stamps.hardware.is_none(),
            "{stamps:?}"
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
        let told = pair.sender.wait_transmit_stamps(&mut records, PATIENCE)?;
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

/// Checks that the stamps are in the order of their ids: none is another datagram's.
fn check_order(ended: &BTreeMap<u32, TransmitOutcome>) -> usize {
    let stamps = ended.iter().filter_map(|(id, outcome)| match outcome {
        TransmitOutcome::Stamped(Stamps {
            hardware: Some(stamp),
            ..
        }) => Some((id, stamp.ticks)),
        _ => None,
    });
    let stamps: Vec<_> = stamps.collect();
    for pair in stamps.windows(2) {
        assert!(pair[1].1.since(pair[0].1) > 0, "{pair:?}");
    }
    stamps.len()
}

fn burst(rig: &Rig) -> Outcome {
    const COUNT: u32 = 60;
    let _guard = enabled(rig)?;
    // a sender that is held up between two packets leaves the register time to be free again
    for _ in 0..20 {
        let stamped = check_order(&outcomes(&pair(rig, Source::Hardware)?, COUNT)?);
        assert!(stamped >= 1, "none of {COUNT}");
        if stamped < COUNT as usize {
            return Ok(());
        }
    }
    panic!("{COUNT} at once, one register, and all are stamped");
}

fn burst_of_both(rig: &Rig) -> Outcome {
    const COUNT: u32 = 40;
    let _guard = enabled(rig)?;
    let pair = pair(rig, Source::Both)?;
    let ended = outcomes(&pair, COUNT)?;
    assert!(check_order(&ended) >= 1, "{ended:?}");
    for (id, outcome) in &ended {
        let TransmitOutcome::Stamped(stamps) = outcome else {
            panic!("{id} was lost: {outcome:?}")
        };
        assert!(
            stamps.software.is_some(),
            "{id}: the system stamps each: {stamps:?}"
        );
    }
    Ok(())
}

fn silent(rig: &Rig) -> Outcome {
    let _guard = enabled(rig)?;
    let sending = sending(Source::Hardware).transmit_deadline(Span::from_milliseconds(100));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    for outcome in outcomes(&pair, 20)?.into_values() {
        assert_eq!(outcome, TransmitOutcome::Lost(LossReason::NeverGenerated));
    }
    assert_eq!(ask(&pair.sender, 0)?, TransmitAnswer::Unknown, "told once");
    assert!(!rig.near()?.observed().transmit_hardware);
    Ok(())
}

/// The packet that reserved the register gets neither stamp; all others are the system's.
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
            TransmitOutcome::Stamped(Stamps {
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
            matches!(ended.get(&0), Some(TransmitOutcome::Lost(_))),
            "{ended:?}"
        );
        assert_eq!(ended.values().filter(software).count(), 19, "{ended:?}");
    }
    Ok(())
}

fn names_adapter(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let _guard = enabled(rig)?;
    let pair = pair(rig, Source::Hardware)?;
    let before = pair.sender.now();
    pair.send(1)?;
    let TransmitOutcome::Stamped(stamps) = outcome_of(&pair.sender, 1)? else {
        panic!("it was lost")
    };
    let stamp = stamps.hardware.expect("a hardware stamp");
    assert_eq!(stamp.interface, Some(near.index()));
    assert!(
        (before..=pair.sender.now()).contains(&stamp.read_at),
        "{stamp:?}"
    );
    assert!(near.observed().transmit_hardware);
    Ok(())
}

/// Receives one datagram of `payload` and checks both its stamps; its reading of the far clock.
fn received_both(rig: &Rig, pair: &Pair, payload: &[u8]) -> Outcome<HardwareTicks> {
    let before = pair.sender.now();
    pair.sender.send_to(payload, pair.to, None)?;
    let received = pair.receive()?;
    let software = received.stamps.software.expect("a software stamp");
    is_between(&software, before, pair.receiver.now());
    let hardware = received.stamps.hardware.expect("a hardware stamp");
    assert_eq!(hardware.interface, Some(rig.at_far(|| rig.far())?.index()));
    assert!(
        hardware.read_at >= software.at - software.bound,
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
        (counters.datagrams, counters.unstamped),
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

/// Until its driver has read it, one register holds one stamp: some datagrams have none, and
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
    let (mut arrived, mut stamped, mut last) = (0, 0, None);
    let mut buffer = [0; 8];
    // an emulated adapter loses some of what comes all at once
    while let Some(received) = pair
        .receiver
        .receive(&mut buffer, Duration::from_millis(500))?
    {
        arrived += 1;
        is_between(
            &received.stamps.software.expect("the system stamps each"),
            before,
            pair.receiver.now(),
        );
        let Some(hardware) = received.stamps.hardware else {
            continue;
        };
        stamped += 1;
        let order = (buffer[0], hardware.ticks);
        assert!(
            last.is_none_or(|(number, ticks)| number < order.0 && order.1.since(ticks) > 0),
            "{order:?}, {last:?}"
        );
        last = Some(order);
    }
    assert!(
        stamped >= 1 && arrived >= 4,
        "{stamped} of {arrived} stamped"
    );
    Ok(())
}
