//! Row 11: whose clock made a timestamp, and what a step of the real-time clock does to it.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{is_between, outcome_of, timestamps_of};
use crate::rig::{Family, Need, Rig};
use std::time::Duration;
use wirestamp::time::UtcCrossTimestamp;
use wirestamp::timestamp::SoftwareTimestamp;
use wirestamp::{
    HardwareGuard, HardwareRequest, MissingReason, Source, Span, Timestamping, TransmitId,
    TransmitOutcome, UdpSocket,
};

/// Who asks for the distance of the clocks is held up.
const HELD_UP: &str = "preset = \"ideal\"\n[host]\nutc_held = \"2ms\"\n";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        11,
        "a-received-datagram-names-the-interface-it-came-through",
        names_the_interface,
    ),
    Behaviour::new(
        11,
        "a-hardware-timestamp-names-the-nic-whose-clock-it-is",
        names_the_nic,
    )
    .needs(&[
        Need::HardwareClock,
        Need::HardwareTransmit,
        Need::HardwareReceive,
    ]),
    Behaviour::new(
        11,
        "a-software-timestamp-is-system-time-with-the-utc-time-beside-it",
        utc_beside,
    )
    .also(&[Need::Linux]),
    Behaviour::new(
        11,
        "a-step-between-receive-timestamp-and-reading-is-noticed",
        step_before_receiving,
    )
    .needs(&[Need::SteppableClock]),
    Behaviour::new(
        11,
        "a-step-between-transmit-timestamp-and-reading-is-noticed",
        step_before_fetching,
    )
    .needs(&[Need::SteppableClock]),
    Behaviour::new(11, "a-step-changes-no-monotonic-time", steps_change_nothing)
        .needs(&[Need::SteppableClock]),
    Behaviour::new(
        11,
        "after-a-step-back-timestamps-come-as-before",
        timestamps_come_as_before,
    )
    .needs(&[Need::SteppableClock]),
    Behaviour::new(
        11,
        "after-a-small-step-no-timestamp-lies-beyond-its-bound",
        small_steps,
    )
    .needs(&[Need::Simulation, Need::SteppableClock]),
    Behaviour::new(
        11,
        "a-step-while-the-clocks-are-read-puts-no-timestamp-beyond-its-bound",
        small_steps,
    )
    .needs(&[Need::Simulation, Need::SteppableClock])
    .toml(HELD_UP),
    Behaviour::new(
        11,
        "more-steps-than-are-remembered-put-no-timestamp-beyond-its-bound",
        many_steps,
    )
    .needs(&[Need::Simulation, Need::SteppableClock]),
    Behaviour::new(11, "the-monotonic-clock-never-runs-backwards", steady),
    Behaviour::new(11, "what-adjusts-the-monotonic-clock-can-be-read", adjusted),
];

fn names_the_interface(rig: &Rig) -> Outcome {
    let far = rig.at_far(|| rig.far())?;
    for family in Family::BOTH {
        // bound to an address alone, it could come through any
        let asked = Timestamping::OFF.receive().packet_information();
        let pair = rig.pair(family, Timestamping::OFF, asked)?;
        pair.sender.send_to(b"x", pair.to, None)?;
        assert_eq!(pair.receive()?.interface, Some(far.index()));
    }
    Ok(())
}

fn names_the_nic(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near()?, rig.at_far(|| rig.far())?);
    near.enable_hardware(HardwareRequest::AllPackets)?.keep();
    rig.at_far(|| {
        far.enable_hardware(HardwareRequest::AllPackets)
            .map(HardwareGuard::keep)
    })?;
    let hardware = Timestamping::OFF.source(Source::Hardware);
    let pair = rig.pair(Family::V4, hardware.transmit(8), hardware.receive())?;
    let exchange = pair.exchange(1)?;
    let sent = exchange.sent.hardware.expect("a hardware timestamp");
    let received = exchange
        .received
        .timestamps
        .hardware
        .expect("a hardware timestamp");
    assert_eq!(
        (sent.interface, received.interface),
        (Some(near.index()), Some(far.index()))
    );
    assert!(sent.read_at >= exchange.after_send && received.read_at <= exchange.after_receive);
    Ok(())
}

/// Checks that the UTC of a timestamp is the monotonic time of the timestamp, on the other clock.
#[track_caller]
fn check_utc(timestamp: &SoftwareTimestamp, socket: &UdpSocket) {
    let UtcCrossTimestamp { before, utc, after } = socket.utc_cross_timestamp();
    assert!(before <= after);
    let made = timestamp.utc.expect("this system gives UTC").nanoseconds();
    let offset = utc.nanoseconds() - before.nanoseconds();
    let difference =
        i128::from(made) - i128::from(timestamp.at.value.nanoseconds()) - i128::from(offset);
    let slack = (after - before) + timestamp.at.bound + Span::from_microseconds(1);
    assert!(
        difference.abs() <= slack.nanoseconds(),
        "{difference} ns off: {timestamp:?}"
    );
    assert!(!timestamp.clock_stepped);
}

fn utc_beside(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    let exchange = pair.exchange(1)?;
    exchange.check_software();
    check_utc(
        &exchange.sent.software.expect("a software timestamp"),
        &pair.sender,
    );
    check_utc(
        &exchange
            .received
            .timestamps
            .software
            .expect("a software timestamp"),
        &pair.receiver,
    );
    Ok(())
}

fn step_before_receiving(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for (id, step) in [(1, 100), (2, -100), (3, 86_400)] {
        let before = pair.sender.now();
        pair.send(id)?;
        rig.pass(Duration::from_millis(1));
        let after = pair.sender.now();
        rig.step_real_time_clock(Span::from_seconds(step))?;
        let received = pair.receive()?;
        let timestamp = received
            .timestamps
            .software
            .unwrap_or_else(|| panic!("after {step} s: {received:?}"));
        is_between(&timestamp, before, after);
        assert!(timestamp.clock_stepped, "{timestamp:?}");
    }
    Ok(())
}

fn step_before_fetching(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for (id, step) in [(1, 100), (2, -100), (3, 86_400)] {
        let before = pair.sender.now();
        pair.send(id)?;
        pair.receive()?;
        let after = pair.sender.now();
        rig.step_real_time_clock(Span::from_seconds(step))?;
        let timestamp = timestamps_of(&pair.sender, id)?
            .software
            .expect("it can be placed");
        is_between(&timestamp, before, after);
        assert!(timestamp.clock_stepped, "{timestamp:?}");
        if let Some(host) = rig.simulated_host() {
            let truth = host.datagram_with_id(TransmitId(id)).expect("it was sent");
            assert_eq!(timestamp.at.value, truth.transmit_software_at);
        }
    }
    Ok(())
}

fn steps_change_nothing(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    let before = pair.sender.now();
    rig.step_real_time_clock(Span::from_seconds(-3_600))?;
    assert!(pair.sender.now() - before < Span::from_seconds(100));
    for id in 1..4 {
        pair.exchange(id)?; // on a busy machine the first reading after the step may be a wide one
    }
    let exchange = pair.exchange(4)?;
    exchange.check_software();
    check_utc(
        &exchange.sent.software.expect("a software timestamp"),
        &pair.sender,
    );
    Ok(())
}

/// The real-time clock shows the same times twice: only the first timestamp may be in doubt.
fn timestamps_come_as_before(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.exchange(0)?.check_software();
    rig.pass(Duration::from_secs(4));
    rig.step_real_time_clock(Span::from_seconds(-2))?;
    pair.send(1)?;
    pair.receive()?;
    let first = outcome_of(&pair.sender, 1)?;
    let in_doubt = matches!(first, TransmitOutcome::Missing(MissingReason::ClockStepped));
    assert!(
        in_doubt || matches!(first, TransmitOutcome::Timestamped(_)),
        "{first:?}"
    );
    for id in 2..20 {
        let received = pair.receiver.receive_counters();
        assert!(
            received.without_timestamp <= 1,
            "before id {id}: {received:?}"
        );
        let exchange = pair.exchange(id)?;
        if id > 4 {
            exchange.check_software();
        }
        rig.pass(Duration::from_millis(20));
    }
    Ok(())
}

/// What is less than two readings of the clocks lie apart is a step all the same. While both sides of
/// it are possible, a timestamp may be without a place; none has a wrong one.
fn small_steps(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    let mut id = 0;
    for nanoseconds in [2, -2, 40, -40, 1_000, -1_000_000] {
        let mut placed = 0;
        for round in 0..16 {
            id += 1;
            pair.send(id)?;
            if round == 0 {
                rig.pass(Duration::from_millis(1));
                rig.step_real_time_clock(Span::from_nanoseconds(nanoseconds))?;
            }
            let received = pair.receive()?.timestamps.software;
            let sent = match outcome_of(&pair.sender, id)? {
                TransmitOutcome::Timestamped(timestamps) => timestamps.software,
                TransmitOutcome::Missing(reason) => {
                    assert_eq!(reason, MissingReason::ClockStepped, "id {id}");
                    None
                }
            };
            let way = rig
                .host()
                .datagram_with_id(TransmitId(id))
                .expect("it was sent");
            for (timestamp, truly) in [
                (sent, Some(way.transmit_software_at)),
                (received, way.receive_software_at),
            ] {
                let off = timestamp.zip(truly).map(|(timestamp, truly)| {
                    (timestamp.at.value - truly).abs() - timestamp.at.bound
                });
                assert!(
                    off.is_none_or(|off| off <= Span::ZERO),
                    "{nanoseconds} ns: {timestamp:?}, truly {truly:?}"
                );
            }
            placed = if sent.is_some() && received.is_some() {
                placed + 1
            } else {
                0
            };
            rig.pass(Duration::from_millis(150));
        }
        // a second on, no timestamp can be from before
        assert!(
            placed >= 8,
            "{nanoseconds} ns: the last {placed} of 16 have a place"
        );
    }
    Ok(())
}

/// Datagrams that waited through several steps, of which the oldest are forgotten, or each so small
/// that it could be taken for none.
fn many_steps(rig: &Rig) -> Outcome {
    for step in [
        Span::from_milliseconds(300),
        Span::from_milliseconds(-300),
        Span::from_nanoseconds(1),
    ] {
        for compared in [false, true] {
            let pair = rig.timestamping_pair()?;
            if compared {
                // after a step the clocks are compared each time
                rig.step_real_time_clock(Span::from_seconds(10))?;
                pair.send(0)?;
                pair.receive()?;
            }
            for id in 1..=8 {
                pair.send(id)?;
                rig.pass(Duration::from_millis(1));
            }
            for id in 1..=8 {
                rig.step_real_time_clock(step)?;
                rig.pass(Duration::from_millis(10));
                let Some(timestamp) = pair.receive()?.timestamps.software else {
                    continue;
                };
                let way = rig
                    .host()
                    .datagram_with_id(TransmitId(id))
                    .expect("it was sent");
                let off = (timestamp.at.value - way.receive_software_at.expect("it arrived")).abs();
                assert!(
                    off <= timestamp.at.bound,
                    "steps of {step}: {id} is off by {off}: {timestamp:?}"
                );
            }
        }
    }
    Ok(())
}

/// A time daemon may adjust this host's clock, by up to 500 ppm, or chronyd slews it.
fn adjusted(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near_socket(Family::V4)?, rig.far_socket(Family::V4)?);
    let mut last = near.adjusted();
    for _ in 0..100 {
        for reading in [far.adjusted(), near.adjusted()] {
            let unsure = reading.by.bound + last.by.bound;
            assert!(reading.at >= last.at, "{reading:?} {last:?}");
            let most = Span::from_nanoseconds((reading.at - last.at).nanoseconds() / 10);
            let moved = (reading.by.value - last.by.value).abs();
            assert!(moved <= most + unsure, "{reading:?} {last:?}");
            last = reading;
        }
    }
    Ok(())
}

fn steady(rig: &Rig) -> Outcome {
    let (sender, receiver) = (rig.near_socket(Family::V4)?, rig.far_socket(Family::V4)?);
    let mut last = sender.now();
    for _ in 0..1_000 {
        for now in [
            receiver.now(),
            sender.utc_cross_timestamp().before,
            sender.now(),
        ] {
            assert!(now >= last, "all sockets read one clock");
            last = now;
        }
    }
    Ok(())
}
