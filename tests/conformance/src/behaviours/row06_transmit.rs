//! Row 6: transmit timestamps under the caller's ids, and the buffer they wait in.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{ask, is_between, loss_of, outcome_of, timestamps_of};
use crate::rig::{Family, Need, Rig};
use std::time::Duration;
use wirestamp::{
    HardwareRequest, MissingReason, Source, Span, Timestamping, Timestamps, TransmitAnswer,
    TransmitId, TransmitOutcome, TransmitRecord,
};

/// Hardware timestamps take five milliseconds to be collected.
const SLOW_COLLECTION: &str = r#"
preset = "ideal"
[nic.transmit]
collection = "5ms"
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        6,
        "one-call-sets-everything-and-says-what-is-in-force",
        one_call_sets_everything,
    )
    .also(&[Need::BothClocks]),
    Behaviour::new(6, "what-is-omitted-is-off", omitted_is_off),
    Behaviour::new(6, "each-timestamp-comes-under-its-own-id", own_id),
    Behaviour::new(6, "every-32-bit-value-is-an-id", every_value),
    Behaviour::new(6, "a-datagram-without-an-id-is-not-timestamped", without_id),
    Behaviour::new(6, "capacity-zero-discards-every-timestamp", capacity_zero),
    Behaviour::new(6, "capacity-one-keeps-the-oldest", capacity_one),
    Behaviour::new(6, "capacity-65535-is-taken", capacity_most),
    Behaviour::new(6, "fetching-makes-room", fetching_makes_room),
    Behaviour::new(6, "fetching-removes", fetching_removes),
    Behaviour::new(6, "four-answers-are-told-apart", four_answers),
    Behaviour::new(
        6,
        "a-smaller-capacity-discards-the-newest",
        smaller_capacity,
    ),
    Behaviour::new(
        6,
        "hardware-timestamps-are-there-when-they-are-collected",
        hardware,
    )
    .needs(&[Need::HardwareClock, Need::Simulation])
    .toml(SLOW_COLLECTION),
    Behaviour::new(6, "both-timestamps-of-a-packet-come-under-one-id", both)
        .needs(&[Need::HardwareClock, Need::Simulation])
        .toml(SLOW_COLLECTION)
        .also(&[Need::BothClocks]),
    Behaviour::new(
        6,
        "a-packet-that-finds-no-slot-falls-back-to-software",
        falls_back,
    )
    .needs(&[
        Need::HardwareClock,
        Need::Driver("igb"),
        Need::HardwareTransmit,
    ])
    .preset("igb")
    .also(&[Need::BothClocks]),
];

fn one_call_sets_everything(rig: &Rig) -> Outcome {
    let socket = rig.near_socket(Family::V4)?;
    let wanted = Timestamping::OFF
        .receive()
        .transmit(16)
        .source(Source::Both)
        .transmit_deadline(Span::from_milliseconds(70))
        .icmp_errors();
    let granted = socket.configure(wanted)?;
    assert_eq!(
        granted.timestamping,
        wanted.identification(granted.timestamping.identification)
    );
    assert!(
        granted.system_queue.is_none_or(|room| room >= 16),
        "{granted:?}"
    );
    assert_eq!(
        socket.configure(Timestamping::OFF)?.timestamping,
        Timestamping::OFF
    );
    Ok(())
}

fn omitted_is_off(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.exchange(1)?.check_software();
    pair.sender.configure(Timestamping::OFF.receive())?;
    pair.receiver.configure(Timestamping::OFF.transmit(4))?;
    pair.send(2)?;
    assert_eq!(ask(&pair.sender, 2)?, TransmitAnswer::NotEnabled);
    assert_eq!(pair.receive()?.timestamps, Timestamps::NONE);
    assert_eq!(pair.sender.counters().sent, 1);
    Ok(())
}

fn own_id(rig: &Rig) -> Outcome {
    for family in Family::BOTH {
        let pair = rig.pair(
            family,
            Timestamping::OFF.transmit(64),
            Timestamping::OFF.receive(),
        )?;
        let mut sent = Vec::new();
        for id in [30, 10, 20] {
            let before = pair.sender.now();
            pair.send(id)?;
            let received = pair.receive()?;
            sent.push((
                id,
                before,
                received.timestamps.software.expect("a receive timestamp"),
            ));
        }
        for (id, before, received) in sent.into_iter().rev() {
            let timestamp = timestamps_of(&pair.sender, id)?
                .software
                .expect("a software timestamp");
            is_between(&timestamp, before, received.at.value + received.at.bound);
        }
    }
    Ok(())
}

fn every_value(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in [0, u32::MAX, 0x8000_0000, 0x7fff_ffff, 1] {
        pair.exchange(id)?.check_software();
    }
    Ok(())
}

fn without_id(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.sender.send_to(b"x", pair.to, None)?;
    pair.exchange(5)?;
    pair.sender.send_to(b"x", pair.to, None)?;
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.sent, counters.timestamped, counters.stray),
        (1, 1, 0),
        "{counters:?}"
    );
    Ok(())
}

fn capacity_zero(rig: &Rig) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(0),
        Timestamping::OFF.receive(),
    )?;
    for id in 0..3 {
        pair.send(id)?;
        assert_eq!(
            pair.receive()?.length,
            1,
            "the datagram is sent all the same"
        );
        assert_eq!(loss_of(&pair.sender, id)?, MissingReason::BufferFull);
    }
    assert_eq!(
        pair.sender
            .counters()
            .missing_for(MissingReason::BufferFull),
        3
    );
    Ok(())
}

fn capacity_one(rig: &Rig) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(1),
        Timestamping::OFF.receive(),
    )?;
    for id in 0..3 {
        pair.send(id)?;
        pair.receive()?;
    }
    timestamps_of(&pair.sender, 0)?;
    assert_eq!(
        [loss_of(&pair.sender, 1)?, loss_of(&pair.sender, 2)?],
        [MissingReason::BufferFull; 2]
    );
    Ok(())
}

fn capacity_most(rig: &Rig) -> Outcome {
    const COUNT: u32 = 500;
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(u16::MAX),
        Timestamping::OFF.receive(),
    )?;
    for id in 0..COUNT {
        pair.send(id)?;
        pair.receive()?;
    }
    for id in 0..COUNT {
        timestamps_of(&pair.sender, id)?;
    }
    assert_eq!(pair.sender.counters().missing_in_all(), 0);
    Ok(())
}

fn fetching_makes_room(rig: &Rig) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(1),
        Timestamping::OFF.receive(),
    )?;
    for id in 0..20 {
        pair.exchange(id)?;
    }
    assert_eq!(pair.sender.counters().missing_in_all(), 0);
    Ok(())
}

fn fetching_removes(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.exchange(1)?;
    assert_eq!(ask(&pair.sender, 1)?, TransmitAnswer::Unknown);
    assert_eq!(
        pair.sender
            .transmit_timestamps(&mut [TransmitRecord::EMPTY; 4])?,
        0
    );
    assert_eq!(
        pair.sender.counters().timestamped,
        1,
        "fetched, it still counts"
    );
    Ok(())
}

/// Hardware timestamps are asked for and none come: an id stays pending until its deadline.
fn four_answers(rig: &Rig) -> Outcome {
    let off = rig.pair(Family::V4, Timestamping::OFF, Timestamping::OFF)?;
    off.send(1)?;
    assert_eq!(ask(&off.sender, 1)?, TransmitAnswer::NotEnabled);
    let silent = Timestamping::OFF.transmit(8).source(Source::Hardware);
    let pair = rig.pair(
        Family::V4,
        silent.transmit_deadline(Span::from_milliseconds(50)),
        Timestamping::OFF,
    )?;
    pair.send(1)?;
    assert_eq!(ask(&pair.sender, 1)?, TransmitAnswer::Pending);
    assert_eq!(ask(&pair.sender, 2)?, TransmitAnswer::Unknown, "never sent");
    rig.pass(Duration::from_millis(60));
    assert_eq!(
        ask(&pair.sender, 1)?,
        TransmitAnswer::Resolved(TransmitOutcome::Missing(MissingReason::NeverGenerated))
    );
    assert_eq!(ask(&pair.sender, 1)?, TransmitAnswer::Unknown, "told once");
    Ok(())
}

fn smaller_capacity(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..4 {
        pair.send(id)?;
        pair.receive()?;
    }
    assert_eq!(pair.sender.counters().timestamped, 4);
    pair.sender.configure(Timestamping::OFF.transmit(2))?;
    let timestamped: Vec<_> = (0..4)
        .map(|id| {
            outcome_of(&pair.sender, id)
                .map(|outcome| matches!(outcome, TransmitOutcome::Timestamped(_)))
        })
        .collect::<Result<_, _>>()?;
    assert_eq!(timestamped, [true, true, false, false]);
    assert_eq!(
        pair.sender
            .counters()
            .missing_for(MissingReason::BufferFull),
        2
    );
    Ok(())
}

fn hardware(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let _guard = near.enable_hardware(HardwareRequest::AllPackets)?;
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(8).source(Source::Hardware),
        Timestamping::OFF,
    )?;
    pair.send(7)?;
    assert_eq!(ask(&pair.sender, 7)?, TransmitAnswer::Pending);
    let timestamps = timestamps_of(&pair.sender, 7)?;
    assert_eq!(timestamps.software, None, "it was not asked for");
    let truth = rig.host();
    let left_at = truth
        .datagram_with_id(TransmitId(7))
        .and_then(|datagram| datagram.transmit_hardware_at);
    let ticks = timestamps.hardware.expect("a hardware timestamp").ticks;
    assert_eq!(
        Some(ticks),
        truth.hardware_ticks_at(near.index(), left_at.expect("it left"))
    );
    Ok(())
}

fn both(rig: &Rig) -> Outcome {
    let _guard = rig.near()?.enable_hardware(HardwareRequest::AllPackets)?;
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(8).source(Source::Both),
        Timestamping::OFF,
    )?;
    pair.send(7)?;
    pair.receive()?;
    assert_eq!(
        ask(&pair.sender, 7)?,
        TransmitAnswer::Pending,
        "one of two is not all"
    );
    let timestamps = timestamps_of(&pair.sender, 7)?;
    let truth = rig
        .host()
        .datagram_with_id(TransmitId(7))
        .expect("it was sent");
    assert_eq!(
        timestamps.software.map(|timestamp| timestamp.at.value),
        Some(truth.transmit_software_at)
    );
    assert!(timestamps.hardware.is_some());
    assert_eq!(pair.sender.counters().timestamped, 1, "one id, one end");
    Ok(())
}

fn falls_back(rig: &Rig) -> Outcome {
    let _guard = rig.near()?.enable_hardware(HardwareRequest::Ptp)?;
    let sending = Timestamping::OFF
        .transmit(64)
        .source(Source::HardwareElseSoftware);
    let (mut hardware, mut software) = (0, 0);
    // a sender that is held up between two packets leaves the slot time to be free again
    for _ in 0..20 {
        let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
        for id in 0..40 {
            pair.send(id)?;
        }
        for id in 0..40 {
            let timestamps = timestamps_of(&pair.sender, id)?;
            assert!(
                timestamps.hardware.is_some() != timestamps.software.is_some(),
                "one or the other: {timestamps:?}"
            );
            hardware += u32::from(timestamps.hardware.is_some());
            software += u32::from(timestamps.software.is_some());
        }
        if hardware > 0 && software > 0 {
            return Ok(());
        }
    }
    panic!("one slot, forty packets at once: {hardware} and {software}");
}
