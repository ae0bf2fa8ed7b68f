//! Row 5: receive timestamps on every kind of UDP socket, and datagrams without one.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, is_between};
use crate::rig::{Family, Need, Pair, Rig, SYNC};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp::{
    HardwareGuard, HardwareRequest, Received, Source, Timestamping, Timestamps, UdpSocket,
};

/// Everything that can be told of a datagram.
const ARRIVING: Timestamping = Timestamping::OFF.receive().packet_information();

/// A receive timestamp of value zero, always.
const ZERO_TIMESTAMPS: &str = r#"
preset = "ideal"
[nic.faults]
receive_zero = 1.0
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(5, "software-timestamps-over-ipv4", |rig| {
        unicast(rig, Family::V4)
    }),
    Behaviour::new(5, "software-timestamps-over-ipv6", |rig| {
        unicast(rig, Family::V6)
    }),
    Behaviour::new(
        5,
        "software-timestamps-on-dual-stack-sockets-over-either",
        dual_stack,
    ),
    Behaviour::new(5, "software-timestamps-on-connected-sockets", connected),
    Behaviour::new(5, "software-timestamps-of-multicast-over-ipv4", |rig| {
        multicast(rig, Ipv4Addr::new(239, 77, 0, 1))
    }),
    Behaviour::new(5, "software-timestamps-of-multicast-over-ipv6", |rig| {
        multicast(rig, Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 0, 0x77))
    })
    .needs(&[Need::MulticastIpv6]),
    Behaviour::new(5, "hardware-timestamps-where-the-nic-makes-them", hardware)
        .needs(&[Need::HardwareClock, Need::Simulation]),
    Behaviour::new(5, "both-timestamps-where-the-system-gives-both", both)
        .needs(&[Need::HardwareClock, Need::Simulation])
        .also(&[Need::BothClocks]),
    Behaviour::new(
        5,
        "where-there-is-no-hardware-timestamp-software-is-what-there-is",
        software_is_what_there_is,
    )
    .preset("software-only"),
    Behaviour::new(
        5,
        "without-a-timestamp-the-datagram-is-delivered-all-the-same",
        delivered_either_way,
    ),
    Behaviour::new(
        5,
        "a-timestamp-of-zero-is-no-timestamp",
        zero_is_no_timestamp,
    )
    .needs(&[Need::Simulation])
    .toml(ZERO_TIMESTAMPS),
    Behaviour::new(
        5,
        "a-filter-for-ptp-timestamps-no-other-datagram",
        filter_timestamps_ptp_alone,
    )
    .needs(&[
        Need::HardwareClock,
        Need::Driver("igb"),
        Need::HardwareReceivePtp,
    ])
    .preset("igb"),
    Behaviour::new(5, "a-sockets-timestamps-are-its-own-choice", own_choice),
    Behaviour::new(
        5,
        "the-destination-is-told-where-it-is-asked-for-and-nowhere-else",
        destination_on_request,
    ),
];

/// Sends a datagram from one socket and checks what arrives at the other.
fn check_arrival(sender: &UdpSocket, to: SocketAddr, receiver: &UdpSocket) -> Outcome<Received> {
    let before = sender.now();
    sender.send_to(b"arrival", to, None)?;
    let mut buffer = [0; 64];
    let received = receiver
        .receive(&mut buffer, PATIENCE)?
        .expect("it arrives");
    let after = receiver.now();
    is_between(
        &received.timestamps.software.expect("a software timestamp"),
        before,
        after,
    );
    assert_eq!(received.timestamps.hardware, None);
    assert_eq!(&buffer[..received.length], b"arrival");
    assert_eq!(received.destination, Some(to.ip()));
    assert_eq!(
        received.source.map(|source| source.port()),
        Some(sender.local_address()?.port())
    );
    assert!(!received.truncated && !received.control_truncated);
    let counters = receiver.receive_counters();
    assert_eq!(counters.without_timestamp, 0);
    Ok(received)
}

fn unicast(rig: &Rig, family: Family) -> Outcome {
    let Pair {
        sender,
        receiver,
        to,
    } = rig.pair(family, Timestamping::OFF, ARRIVING)?;
    let received = check_arrival(&sender, to, &receiver)?;
    assert_eq!(received.source, Some(sender.local_address()?));
    check_arrival(&sender, to, &receiver)?;
    assert_eq!(
        (
            receiver.receive_counters().datagrams,
            receiver.receive_counters().timestamped
        ),
        (2, 2)
    );
    Ok(())
}

fn dual_stack(rig: &Rig) -> Outcome {
    let receiver =
        rig.at_far(|| -> Outcome<_> { Ok(rig.far()?.bind((Ipv6Addr::UNSPECIFIED, 0).into())?) })?;
    receiver.configure(ARRIVING)?;
    rig.warm_up();
    let port = receiver.local_address()?.port();
    for family in Family::BOTH {
        let sender = rig.near_socket(family)?;
        let address = rig.at_far(|| rig.far().and_then(|far| family.address_of(&far)))?;
        let received = check_arrival(&sender, (address, port).into(), &receiver)?;
        assert_eq!(
            received.source,
            Some(sender.local_address()?),
            "IPv4 peers are named as IPv4"
        );
        assert_eq!(
            received.source.map(|source| source.is_ipv4()),
            Some(family == Family::V4)
        );
    }
    Ok(())
}

fn connected(rig: &Rig) -> Outcome {
    for family in Family::BOTH {
        let Pair {
            sender,
            receiver,
            to,
        } = rig.pair(family, Timestamping::OFF, Timestamping::OFF.receive())?;
        receiver.connect(sender.local_address()?)?;
        sender.connect(to)?;
        let before = sender.now();
        sender.send(b"x", None)?;
        let received = receiver
            .receive(&mut [0; 8], PATIENCE)?
            .expect("it arrives");
        is_between(
            &received.timestamps.software.expect("a software timestamp"),
            before,
            receiver.now(),
        );
        let stranger = rig.near_socket(family)?;
        stranger.send_to(b"stranger", to, None)?;
        sender.send(b"y", None)?;
        let mut buffer = [0; 8];
        let next = receiver
            .receive(&mut buffer, PATIENCE)?
            .expect("it arrives");
        assert_eq!(
            &buffer[..next.length],
            b"y",
            "only the peer's datagrams are received"
        );
    }
    Ok(())
}

fn multicast(rig: &Rig, group: impl Into<IpAddr>) -> Outcome {
    let group = group.into();
    let family = if group.is_ipv4() {
        Family::V4
    } else {
        Family::V6
    };
    let receiver = rig.at_far(|| -> Outcome<_> {
        let far = rig.far()?;
        let receiver = far.bind((family.unspecified(), 0).into())?;
        receiver.join_multicast(group, far.index())?;
        receiver.configure(ARRIVING)?;
        Ok(receiver)
    })?;
    rig.warm_up();
    let sender = rig.near_socket(family)?;
    sender.set_multicast(rig.near()?.index(), 1, false)?;
    let to = SocketAddr::new(group, receiver.local_address()?.port());
    check_arrival(&sender, to, &receiver)?;
    let far = rig.at_far(|| rig.far())?;
    receiver.leave_multicast(group, far.index())?;
    sender.send_to(b"nobody listens", to, None)?;
    assert_eq!(
        receiver.receive(&mut [0; 64], std::time::Duration::from_millis(20))?,
        None
    );
    Ok(())
}

/// Hardware timestamping of both NICs.
fn switched_on(rig: &Rig, request: HardwareRequest) -> Outcome<[HardwareGuard; 2]> {
    Ok([
        rig.near()?.enable_hardware(request)?,
        rig.far()?.enable_hardware(request)?,
    ])
}

fn hardware(rig: &Rig) -> Outcome {
    let _guards = switched_on(rig, HardwareRequest::AllPackets)?;
    for family in Family::BOTH {
        let receiving = Timestamping::OFF.receive().source(Source::Hardware);
        let pair = rig.pair(family, Timestamping::OFF, receiving)?;
        pair.sender.send_to(b"x", pair.to, None)?;
        let timestamps = pair.receive()?.timestamps;
        assert_eq!(timestamps.software, None, "it was not asked for");
        let timestamp = timestamps.hardware.expect("a hardware timestamp");
        let truth = rig.host();
        let datagram = truth.datagram(truth.datagrams() - 1).expect("it was sent");
        let at = datagram.receive_hardware_at.expect("it passed the NIC");
        assert_eq!(
            Some(timestamp.ticks),
            truth.hardware_ticks_at(rig.far()?.index(), at)
        );
    }
    Ok(())
}

fn both(rig: &Rig) -> Outcome {
    let _guards = switched_on(rig, HardwareRequest::AllPackets)?;
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF,
        Timestamping::OFF.receive().source(Source::Both),
    )?;
    pair.sender.send_to(b"x", pair.to, None)?;
    let timestamps = pair.receive()?.timestamps;
    let truth = rig.host();
    let datagram = truth.datagram(truth.datagrams() - 1).expect("it was sent");
    assert_eq!(
        timestamps.software.map(|timestamp| timestamp.at.value),
        datagram.receive_software_at
    );
    let began = truth.monotonic_time_of(
        rig.far()?.index(),
        timestamps.hardware.expect("a hardware timestamp").ticks,
    );
    assert_eq!(began, datagram.receive_hardware_at);
    Ok(())
}

fn software_is_what_there_is(rig: &Rig) -> Outcome {
    for source in [Source::Both, Source::HardwareElseSoftware] {
        let pair = rig.pair(
            Family::V4,
            Timestamping::OFF,
            Timestamping::OFF.receive().source(source),
        )?;
        pair.sender.send_to(b"x", pair.to, None)?;
        let timestamps = pair.receive()?.timestamps;
        assert!(
            timestamps.software.is_some() && timestamps.hardware.is_none(),
            "{source:?}: {timestamps:?}"
        );
    }
    Ok(())
}

fn delivered_either_way(rig: &Rig) -> Outcome {
    for receiving in [
        Timestamping::OFF,
        Timestamping::OFF.receive().source(Source::Hardware),
    ] {
        let pair = rig.pair(Family::V4, Timestamping::OFF, receiving)?;
        pair.sender.send_to(b"x", pair.to, None)?;
        let received = pair.receive()?;
        assert_eq!(
            (received.timestamps, received.length),
            (Timestamps::NONE, 1),
            "{receiving:?}"
        );
        let counters = pair.receiver.receive_counters();
        assert_eq!(
            (
                counters.datagrams,
                counters.timestamped,
                counters.without_timestamp
            ),
            (1, 0, 1)
        );
    }
    Ok(())
}

fn zero_is_no_timestamp(rig: &Rig) -> Outcome {
    // on Windows a NIC timestamps with one clock, here the system's
    let _guards = if let Rig::Model(_) = rig {
        None
    } else {
        Some(switched_on(rig, HardwareRequest::AllPackets)?)
    };
    for source in [Source::Software, Source::Hardware, Source::Both] {
        let pair = rig.pair(
            Family::V4,
            Timestamping::OFF,
            Timestamping::OFF.receive().source(source),
        )?;
        pair.sender.send_to(b"x", pair.to, None)?;
        let received = pair.receive()?;
        assert_eq!(
            (received.timestamps, received.length),
            (Timestamps::NONE, 1),
            "{source:?}"
        );
        assert_eq!(pair.receiver.receive_counters().without_timestamp, 1);
    }
    Ok(())
}

fn filter_timestamps_ptp_alone(rig: &Rig) -> Outcome {
    let far = rig.at_far(|| rig.far())?;
    rig.near()?.enable_hardware(HardwareRequest::Ptp)?.keep();
    rig.at_far(|| {
        far.enable_hardware(HardwareRequest::Ptp)
            .map(HardwareGuard::keep)
    })?;
    let receiving = Timestamping::OFF.receive().source(Source::Hardware);
    let sender = rig.near_socket(Family::V4)?;
    for (port, timestamped) in [(319, true), (320, false), (5_000, false)] {
        let receiver = rig.at_far(|| -> Outcome<_> {
            let far = rig.far()?;
            Ok(far.bind((Family::V4.address_of(&far)?, port).into())?)
        })?;
        receiver.configure(receiving)?;
        sender.send_to(&SYNC, receiver.local_address()?, None)?;
        let received = receiver
            .receive(&mut [0; 64], PATIENCE)?
            .expect("it arrives");
        assert_eq!(
            received.timestamps.hardware.is_some(),
            timestamped,
            "port {port}"
        );
    }
    Ok(())
}

fn own_choice(rig: &Rig) -> Outcome {
    // another socket of the same host timestamps: that changes nothing for this one
    let other = rig.pair(Family::V4, Timestamping::OFF, Timestamping::OFF.receive())?;
    let pair = rig.pair(Family::V4, Timestamping::OFF.transmit(4), Timestamping::OFF)?;
    for Pair { sender, to, .. } in [&other, &pair] {
        sender.send_to(b"x", *to, None)?;
    }
    assert!(other.receive()?.timestamps.software.is_some());
    assert_eq!(pair.receive()?.timestamps, Timestamps::NONE);
    pair.receiver.configure(Timestamping::OFF.receive())?;
    rig.warm_up();
    pair.sender.send_to(b"x", pair.to, None)?;
    assert!(pair.receive()?.timestamps.software.is_some());
    Ok(())
}

fn destination_on_request(rig: &Rig) -> Outcome {
    let far = rig.at_far(|| rig.far())?;
    let without = Timestamping::OFF.receive();
    for family in Family::BOTH {
        let receiver =
            rig.at_far(|| -> Outcome<_> { Ok(far.bind((family.unspecified(), 0).into())?) })?;
        let address = family.address_of(&far)?;
        let to = (address, receiver.local_address()?.port());
        let sender = rig.near_socket(family)?;
        let told = |timestamping: Timestamping| -> Outcome<_> {
            receiver.configure(timestamping)?;
            rig.warm_up();
            sender.send_to(b"x", to, None)?;
            let received = receiver.receive(&mut [0; 8], PATIENCE)?;
            let received = received.expect("it arrives");
            assert_eq!(
                received.timestamps.software.is_some(),
                timestamping.receive,
                "{timestamping:?}"
            );
            Ok((received.destination, received.interface))
        };
        let both = (Some(address), Some(far.index()));
        assert_eq!(told(without)?.0, None, "not asked for");
        assert_eq!(told(without.packet_information())?, both);
        assert_eq!(told(without)?.0, None, "not asked for any more");
        assert_eq!(told(Timestamping::OFF.packet_information())?, both);
        assert_eq!(told(Timestamping::OFF)?, (None, None));
    }
    Ok(())
}
