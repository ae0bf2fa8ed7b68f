//! Owns row 11: whose clock made a stamp, and what a step of the civil clock does to it.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{is_between, outcome_of, stamps_of};
use crate::rig::{Family, Need, Rig};
use std::time::Duration;
use wirestamp::{
    HardwareGuard, HardwareRequest, LossReason, SoftwareStamp, Source, Span, Timestamping,
    TransmitId, TransmitOutcome, UdpSocket, WallReading,
};

/// Who asks for the distance of the clocks is held up.
const HELD_UP: &str = "preset = \"ideal\"\n[host]\ncivil_held = \"2ms\"\n";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        11,
        "a-received-datagram-names-the-interface-it-came-through",
        names_the_interface,
    ),
    Behaviour::new(
        11,
        "a-hardware-stamp-names-the-adapter-whose-clock-it-is",
        names_the_adapter,
    )
    .needs(&[
        Need::HardwareClock,
        Need::HardwareTransmit,
        Need::HardwareReceive,
    ]),
    Behaviour::new(
        11,
        "a-software-stamp-is-system-time-with-the-civil-time-beside-it",
        civil_time_beside,
    )
    .also(&[Need::Linux]),
    Behaviour::new(
        11,
        "a-step-between-receive-stamp-and-reading-is-noticed",
        step_before_receiving,
    )
    .needs(&[Need::SteppableClock]),
    Behaviour::new(
        11,
        "a-step-between-transmit-stamp-and-reading-is-noticed",
        step_before_fetching,
    )
    .needs(&[Need::SteppableClock]),
    Behaviour::new(11, "a-step-changes-no-steady-time", steps_change_nothing)
        .needs(&[Need::SteppableClock]),
    Behaviour::new(
        11,
        "after-a-step-back-stamps-come-as-before",
        stamps_come_as_before,
    )
    .needs(&[Need::SteppableClock]),
    Behaviour::new(
        11,
        "after-a-small-step-no-stamp-lies-beyond-its-bound",
        small_steps,
    )
    .needs(&[Need::Simulation, Need::SteppableClock]),
    Behaviour::new(
        11,
        "a-step-while-the-clocks-are-read-puts-no-stamp-beyond-its-bound",
        small_steps,
    )
    .needs(&[Need::Simulation, Need::SteppableClock])
    .toml(HELD_UP),
    Behaviour::new(
        11,
        "more-steps-than-are-remembered-put-no-stamp-beyond-its-bound",
        many_steps,
    )
    .needs(&[Need::Simulation, Need::SteppableClock]),
    Behaviour::new(11, "the-steady-clock-never-runs-backwards", steady),
];

fn names_the_interface(rig: &Rig) -> Outcome {
    let far = rig.at_far(|| rig.far())?;
    for family in Family::BOTH {
        // bound to an address alone, it could come through any
        let pair = rig.pair(family, Timestamping::OFF, Timestamping::OFF.receive())?;
        pair.sender.send_to(b"x", pair.to, None)?;
        assert_eq!(pair.receive()?.interface, Some(far.index()));
    }
    Ok(())
}

fn names_the_adapter(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near()?, rig.at_far(|| rig.far())?);
    near.enable_hardware(HardwareRequest::AllPackets)?.keep();
    rig.at_far(|| {
        far.enable_hardware(HardwareRequest::AllPackets)
            .map(HardwareGuard::keep)
    })?;
    let hardware = Timestamping::OFF.source(Source::Hardware);
    let pair = rig.pair(Family::V4, hardware.transmit(8), hardware.receive())?;
    let exchange = pair.exchange(1)?;
    let sent = exchange.sent.hardware.expect("a hardware stamp");
    let received = exchange.received.stamps.hardware.expect("a hardware stamp");
    assert_eq!(
        (sent.interface, received.interface),
        (Some(near.index()), Some(far.index()))
    );
    assert!(sent.read_at >= exchange.after_send && received.read_at <= exchange.after_receive);
    Ok(())
}

/// Checks that the civil time of a stamp is the steady time of the stamp, on the other clock.
#[track_caller]
fn check_civil(stamp: &SoftwareStamp, socket: &UdpSocket) {
    let WallReading {
        before,
        wall,
        after,
    } = socket.wall();
    assert!(before <= after);
    let civil = stamp
        .wall
        .expect("this system gives civil time")
        .nanoseconds();
    let offset = wall.nanoseconds() - before.nanoseconds();
    let difference = i128::from(civil) - i128::from(stamp.at.nanoseconds()) - i128::from(offset);
    let slack = (after - before) + stamp.bound + Span::from_microseconds(1);
    assert!(
        difference.abs() <= slack.nanoseconds(),
        "{difference} ns off: {stamp:?}"
    );
    assert!(!stamp.clock_stepped);
}

fn civil_time_beside(rig: &Rig) -> Outcome {
    let pair = rig.stamping_pair()?;
    let exchange = pair.exchange(1)?;
    exchange.check_software();
    check_civil(
        &exchange.sent.software.expect("a software stamp"),
        &pair.sender,
    );
    check_civil(
        &exchange.received.stamps.software.expect("a software stamp"),
        &pair.receiver,
    );
    Ok(())
}

fn step_before_receiving(rig: &Rig) -> Outcome {
    let pair = rig.stamping_pair()?;
    for (id, step) in [(1, 100), (2, -100), (3, 86_400)] {
        let before = pair.sender.now();
        pair.send(id)?;
        rig.pass(Duration::from_millis(1));
        let after = pair.sender.now();
        rig.step_civil_clock(Span::from_seconds(step))?;
        let received = pair.receive()?;
        let stamp = received
            .stamps
            .software
            .unwrap_or_else(|| panic!("after {step} s: {received:?}"));
        is_between(&stamp, before, after);
        assert!(stamp.clock_stepped, "{stamp:?}");
    }
    Ok(())
}

fn step_before_fetching(rig: &Rig) -> Outcome {
    let pair = rig.stamping_pair()?;
    for (id, step) in [(1, 100), (2, -100), (3, 86_400)] {
        let before = pair.sender.now();
        pair.send(id)?;
        pair.receive()?;
        let after = pair.sender.now();
        rig.step_civil_clock(Span::from_seconds(step))?;
        let stamp = stamps_of(&pair.sender, id)?
            .software
            .expect("it can be placed");
        is_between(&stamp, before, after);
        assert!(stamp.clock_stepped, "{stamp:?}");
        if let Some(host) = rig.simulated_host() {
            let truth = host.datagram_with_id(TransmitId(id)).expect("it was sent");
            assert_eq!(stamp.at, truth.transmit_software_at);
        }
    }
    Ok(())
}

fn steps_change_nothing(rig: &Rig) -> Outcome {
    let pair = rig.stamping_pair()?;
    let before = pair.sender.now();
    rig.step_civil_clock(Span::from_seconds(-3_600))?;
    assert!(pair.sender.now() - before < Span::from_seconds(100));
    for id in 1..4 {
        pair.exchange(id)?; // on a busy machine the first reading after the step may be a wide one
    }
    let exchange = pair.exchange(4)?;
    exchange.check_software();
    check_civil(
        &exchange.sent.software.expect("a software stamp"),
        &pair.sender,
    );
    Ok(())
}

/// The civil clock shows the same times twice: only the first stamp may be in doubt.
fn stamps_come_as_before(rig: &Rig) -> Outcome {
    let pair = rig.stamping_pair()?;
    pair.exchange(0)?.check_software();
    rig.pass(Duration::from_secs(4));
    rig.step_civil_clock(Span::from_seconds(-2))?;
    pair.send(1)?;
    pair.receive()?;
    let first = outcome_of(&pair.sender, 1)?;
    let in_doubt = matches!(first, TransmitOutcome::Lost(LossReason::ClockStepped));
    assert!(
        in_doubt || matches!(first, TransmitOutcome::Stamped(_)),
        "{first:?}"
    );
    for id in 2..20 {
        let received = pair.receiver.receive_counters();
        assert!(received.unstamped <= 1, "before id {id}: {received:?}");
        let exchange = pair.exchange(id)?;
        if id > 4 {
            exchange.check_software();
        }
        rig.pass(Duration::from_millis(20));
    }
    Ok(())
}

/// What is less than two readings of the clocks lie apart is a step all the same. While both sides of
/// it are possible, a stamp may be without a place; none has a wrong one.
fn small_steps(rig: &Rig) -> Outcome {
    let pair = rig.stamping_pair()?;
    let mut id = 0;
    for nanoseconds in [2, -2, 40, -40, 1_000, -1_000_000] {
        let mut placed = 0;
        for round in 0..16 {
            id += 1;
            pair.send(id)?;
            if round == 0 {
                rig.pass(Duration::from_millis(1));
                rig.step_civil_clock(Span::from_nanoseconds(nanoseconds))?;
            }
            let received = pair.receive()?.stamps.software;
            let sent = match outcome_of(&pair.sender, id)? {
                TransmitOutcome::Stamped(stamps) => stamps.software,
                TransmitOutcome::Lost(reason) => {
                    assert_eq!(reason, LossReason::ClockStepped, "id {id}");
                    None
                }
            };
            let way = rig
                .host()
                .datagram_with_id(TransmitId(id))
                .expect("it was sent");
            for (stamp, truly) in [
                (sent, Some(way.transmit_software_at)),
                (received, way.receive_software_at),
            ] {
                let off = stamp
                    .zip(truly)
                    .map(|(stamp, truly)| (stamp.at - truly).abs() - stamp.bound);
                assert!(
                    off.is_none_or(|off| off <= Span::ZERO),
                    "{nanoseconds} ns: {stamp:?}, truly {truly:?}"
                );
            }
            placed = if sent.is_some() && received.is_some() {
                placed + 1
            } else {
                0
            };
            rig.pass(Duration::from_millis(150));
        }
        // a second on, no stamp can be from before
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
            let pair = rig.stamping_pair()?;
            if compared {
                // after a step the clocks are compared each time
                rig.step_civil_clock(Span::from_seconds(10))?;
                pair.send(0)?;
                pair.receive()?;
            }
            for id in 1..=8 {
                pair.send(id)?;
                rig.pass(Duration::from_millis(1));
            }
            for id in 1..=8 {
                rig.step_civil_clock(step)?;
                rig.pass(Duration::from_millis(10));
                let Some(stamp) = pair.receive()?.stamps.software else {
                    continue;
                };
                let way = rig
                    .host()
                    .datagram_with_id(TransmitId(id))
                    .expect("it was sent");
                let off = (stamp.at - way.receive_software_at.expect("it arrived")).abs();
                assert!(
                    off <= stamp.bound,
                    "steps of {step}: {id} is off by {off}: {stamp:?}"
                );
            }
        }
    }
    Ok(())
}

fn steady(rig: &Rig) -> Outcome {
    let (sender, receiver) = (rig.near_socket(Family::V4)?, rig.far_socket(Family::V4)?);
    let mut last = sender.now();
    for _ in 0..1_000 {
        for now in [receiver.now(), sender.wall().before, sender.now()] {
            assert!(now >= last, "all sockets read one clock");
            last = now;
        }
    }
    Ok(())
}
