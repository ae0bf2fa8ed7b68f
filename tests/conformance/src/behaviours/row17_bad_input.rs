//! The first half of "bad input and faults": values that make no sense, each with a
//! clear answer. What happens while a socket is in use is in `row17_faults`.

use super::Behaviour;
use crate::exchange::{PATIENCE, ask, loss_of, timestamps_of};
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Family, Need, Rig, without_privilege};
use crate::{Outcome, Stop};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp::{
    ErrorKind, InterfaceIndex, MissingReason, Outgoing, Simulation, Source, Span, Timestamping,
    TransmitAnswer, TransmitId, UdpSocket,
};

const CUT_CONTROL: &str = r#"
preset = "ideal"
[nic.faults]
control_truncated = 1.0
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(17, "an-unknown-interface", unknown_interface),
    Behaviour::new(17, "no-hardware-clock", no_hardware_clock)
        .needs(&[Need::NoHardwareClock])
        .preset("software-only"),
    Behaviour::new(17, "no-permission", no_permission).preset("unprivileged"),
    Behaviour::new(17, "capacity-0", |rig| capacity(rig, 0)),
    Behaviour::new(17, "capacity-65535", |rig| capacity(rig, u16::MAX)),
    Behaviour::new(17, "an-id-that-is-still-in-use", duplicate_id),
    Behaviour::new(17, "more-ids-than-can-be-awaited", too_many_ids),
    Behaviour::new(17, "an-id-that-was-never-sent", unsent_id),
    Behaviour::new(17, "an-empty-datagram", empty_datagram),
    Behaviour::new(17, "a-datagram-of-the-largest-size", largest_datagram),
    Behaviour::new(17, "a-datagram-that-is-too-long", oversized_datagram),
    Behaviour::new(17, "a-datagram-longer-than-the-buffer", cut_datagram),
    Behaviour::new(17, "control-data-that-was-cut", cut_control)
        .needs(&[Need::Simulation])
        .toml(CUT_CONTROL),
    Behaviour::new(17, "an-address-of-the-other-family", wrong_family),
    Behaviour::new(
        17,
        "a-source-of-another-family-than-the-destination",
        foreign_source,
    ),
    Behaviour::new(17, "no-destination", no_destination),
    Behaviour::new(17, "an-address-that-is-taken", taken_address),
    Behaviour::new(17, "an-address-that-is-nobodys-here", foreign_address),
    Behaviour::new(17, "multicast-that-makes-no-sense", bad_multicast),
    Behaviour::new(17, "malformed-toml", malformed_toml).needs(&[Need::Simulation]),
    Behaviour::new(17, "a-count-of-zero", count_zero).needs(&[Need::HardwareClock]),
];

fn unknown_interface(rig: &Rig) -> Outcome {
    for name in [
        "wirestamp-has-none-of-this-name",
        "",
        "\u{1f980}",
        "a/b",
        "lo\n",
    ] {
        let error = refused_with_remedy(rig.find(name), ErrorKind::NoSuchDevice);
        assert!(error.target().contains(name), "{error}");
        let few = rig.list()?.len() <= 8;
        assert!(
            !few || error.remedy().contains(rig.near()?.name()),
            "those that there are: {error}"
        );
        let told = ["Interface::list", "did you mean"]
            .iter()
            .any(|words| error.remedy().contains(words));
        assert!(few || told, "{error}");
    }
    Ok(())
}

fn no_hardware_clock(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    refused_with_remedy(near.hardware_clock(), ErrorKind::NotSupported);
    refused_with_remedy(near.correlator(Default::default()), ErrorKind::NotSupported);
    // a socket may ask for hardware timestamps all the same, and is told of each that none came
    let sending = Timestamping::OFF
        .transmit(8)
        .source(Source::Hardware)
        .transmit_deadline(Span::from_milliseconds(5));
    let pair = rig.pair(
        Family::V4,
        sending,
        Timestamping::OFF.receive().source(Source::Hardware),
    )?;
    pair.send(1)?;
    assert!(pair.receive()?.timestamps.is_none());
    assert_eq!(loss_of(&pair.sender, 1)?, MissingReason::NeverGenerated);
    Ok(())
}

fn no_permission(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let low_port = (Family::V4.address_of(&near)?, 319).into();
    let privileged_port = || near.bind(low_port);
    let bound = if rig.is_simulated() {
        privileged_port()
    } else {
        without_privilege(privileged_port).map_err(Stop::Lacking)?
    };
    let everybodys = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if !rig.is_simulated()
        && everybodys.is_ok_and(|first| first.trim().parse().is_ok_and(|first: u16| first <= 319))
    {
        return Err(Stop::lacking("this system lets everybody have low ports"));
    }
    let error = refused_with_remedy(bound, ErrorKind::NotPermitted);
    assert!(error.code().is_some(), "{error:?}");
    // timestamping itself needs none
    let exchange = |rig: &Rig| rig.timestamping_pair()?.exchange(1);
    let exchanged = if rig.is_simulated() || matches!(rig, Rig::Veth(_) | Rig::Cable(_)) {
        exchange(rig)
    } else {
        without_privilege(|| exchange(rig)).map_err(Stop::Lacking)?
    };
    exchanged?.check_software();
    Ok(())
}

fn capacity(rig: &Rig, capacity: u16) -> Outcome {
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(capacity),
        Timestamping::OFF.receive(),
    )?;
    let granted = pair
        .sender
        .configure(Timestamping::OFF.transmit(capacity))?;
    assert_eq!(granted.timestamping.transmit, Some(capacity));
    pair.send(1)?;
    pair.receive()?;
    if capacity == 0 {
        assert_eq!(loss_of(&pair.sender, 1)?, MissingReason::BufferFull);
    } else {
        timestamps_of(&pair.sender, 1)?;
    }
    Ok(())
}

fn duplicate_id(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.send(1)?;
    let error = refused_with_remedy(
        pair.sender.send_to(b"again", pair.to, Some(TransmitId(1))),
        ErrorKind::InvalidInput,
    );
    assert!(error.to_string().contains("id 1"), "{error}");
    pair.receive()?;
    assert_eq!(
        pair.receiver
            .receive(&mut [0; 8], std::time::Duration::from_millis(5))?,
        None,
        "it was not sent"
    );
    timestamps_of(&pair.sender, 1)?;
    pair.send(1)?; // fetched: it is free
    pair.receive()?;
    timestamps_of(&pair.sender, 1)?;
    assert_eq!(pair.sender.counters().sent, 2);
    Ok(())
}

fn too_many_ids(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(4)
        .source(Source::Hardware)
        .transmit_deadline(Span::from_seconds(1_000));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let refusal = (0..100_000).find_map(|id| {
        pair.sender
            .send_to(b"x", pair.to, Some(TransmitId(id)))
            .err()
    });
    let error = refused_with_remedy(refusal.map_or(Ok(()), Err), ErrorKind::Busy);
    assert!(error.to_string().contains("id "), "{error}");
    let pending = pair.sender.counters().pending;
    assert!(pending >= 4, "{pending}");
    pair.sender.reset_timestamps();
    pair.send(1_000_000)?;
    assert_eq!(pair.sender.counters().pending, 1);
    Ok(())
}

fn unsent_id(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in [0, 1, u32::MAX] {
        assert_eq!(ask(&pair.sender, id)?, TransmitAnswer::Unknown);
    }
    assert_eq!(ask(&pair.receiver, 1)?, TransmitAnswer::NotEnabled);
    Ok(())
}

fn empty_datagram(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for buffer in [&mut [0; 8][..], &mut []] {
        pair.sender.send_to(b"", pair.to, Some(TransmitId(1)))?;
        let received = pair
            .receiver
            .receive(buffer, crate::exchange::PATIENCE)?
            .expect("it arrives");
        assert_eq!((received.length, received.truncated), (0, false));
        assert!(received.timestamps.software.is_some());
        timestamps_of(&pair.sender, 1)?;
    }
    Ok(())
}

fn largest_datagram(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    let payload: Vec<u8> = (0..65_507u32).map(|at| (at % 251) as u8).collect();
    pair.sender
        .send_to(&payload, pair.to, Some(TransmitId(1)))?;
    let mut buffer = vec![0; 65_535];
    let received = pair
        .receiver
        .receive(&mut buffer, crate::exchange::PATIENCE)?
        .expect("it arrives");
    assert_eq!((received.length, received.truncated), (65_507, false));
    assert!(buffer[..65_507] == payload, "as it was sent");
    assert!(received.timestamps.software.is_some());
    timestamps_of(&pair.sender, 1)?;
    assert_eq!(
        pair.sender.counters().duplicate,
        0,
        "one timestamp, however many fragments"
    );
    Ok(())
}

fn oversized_datagram(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for length in [65_508, 65_535, 70_000] {
        let sent = pair
            .sender
            .send_to(&vec![0; length], pair.to, Some(TransmitId(1)));
        let error = refused_with_remedy(sent, ErrorKind::InvalidInput);
        assert!(error.code().is_some(), "{error:?}");
        assert_eq!(
            ask(&pair.sender, 1)?,
            TransmitAnswer::Unknown,
            "as if it had never begun"
        );
    }
    pair.exchange(1)?.check_software();
    Ok(())
}

fn cut_datagram(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.sender.send_to(b"0123456789", pair.to, None)?;
    let mut buffer = [0; 4];
    let received = pair
        .receiver
        .receive(&mut buffer, crate::exchange::PATIENCE)?
        .expect("it arrives");
    assert_eq!(
        (received.length, received.truncated, &buffer),
        (4, true, b"0123")
    );
    assert!(
        received.timestamps.software.is_some(),
        "its timestamp is whole"
    );
    assert_eq!(pair.receiver.receive_counters().truncated, 1);
    Ok(())
}

fn cut_control(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    pair.sender.send_to(b"x", pair.to, None)?;
    let received = pair.receive()?;
    assert!(
        received.control_truncated && received.timestamps.is_none() && received.length == 1,
        "{received:?}"
    );
    let counters = pair.receiver.receive_counters();
    assert_eq!(
        (counters.control_truncated, counters.without_timestamp),
        (1, 1)
    );
    Ok(())
}

fn wrong_family(rig: &Rig) -> Outcome {
    let sender = rig.near_socket(Family::V4)?;
    let elsewhere = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    refused(
        sender.send_to(b"x", elsewhere, None),
        ErrorKind::InvalidInput,
    );
    refused(sender.connect(elsewhere), ErrorKind::InvalidInput);
    Ok(())
}

/// Systems ignore such a source: the datagram would leave from another address than its sender believes.
fn foreign_source(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let sender = near.bind((Family::V6.unspecified(), 0).into())?;
    let own = |family: Family| family.address_of(&near);
    let sources = [own(Family::V4)?, own(Family::V6)?];
    for (family, [foreign, fitting]) in [
        (Family::V6, sources),
        (Family::V4, [sources[1], sources[0]]),
    ] {
        let receiver = rig.far_socket(family)?;
        let to = receiver.local_address()?;
        let send = |source: IpAddr| sender.send_batch(&[Outgoing::new(b"x").to(to).source(source)]);
        refused_with_remedy(send(foreign), ErrorKind::InvalidInput);
        assert_eq!(send(fitting)?, 1);
        let received = receiver.receive(&mut [0; 8], PATIENCE)?;
        let source = received.expect("it arrives").source;
        assert_eq!(source.map(|source| source.ip()), Some(fitting));
    }
    // the socket's own source is for its family alone
    sender.set_source(Some(sources[0]))?;
    let receiver = rig.far_socket(Family::V6)?;
    sender.connect(receiver.local_address()?)?;
    sender.send(b"x", None)?;
    assert!(receiver.receive(&mut [0; 8], PATIENCE)?.is_some());
    let to_peer = Outgoing::new(b"x").source(sources[0]);
    refused_with_remedy(sender.send_batch(&[to_peer]), ErrorKind::InvalidInput);
    Ok(())
}

fn no_destination(rig: &Rig) -> Outcome {
    let sender = rig.near_socket(Family::V4)?;
    sender.configure(Timestamping::OFF.transmit(4))?;
    refused_with_remedy(
        sender.send(b"x", Some(TransmitId(1))),
        ErrorKind::InvalidInput,
    );
    refused(
        sender.send_batch(&[Outgoing::new(b"x")]),
        ErrorKind::InvalidInput,
    );
    assert_eq!(ask(&sender, 1)?, TransmitAnswer::Unknown);
    Ok(())
}

fn taken_address(rig: &Rig) -> Outcome {
    let first = rig.near_socket(Family::V4)?;
    let error = refused_with_remedy(rig.near()?.bind(first.local_address()?), ErrorKind::Busy);
    assert!(error.code().is_some(), "{error:?}");
    let address = first.local_address()?;
    drop(first);
    // a child process of another test may still hold the socket for a moment
    assert!(
        rig.until(|| rig.near().is_ok_and(|near| near.bind(address).is_ok())),
        "it is free again"
    );
    Ok(())
}

fn foreign_address(rig: &Rig) -> Outcome {
    for address in [
        IpAddr::from([198, 51, 100, 77]),
        IpAddr::from([0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 1]),
    ] {
        refused_with_remedy(
            rig.near()?.bind((address, 0).into()),
            ErrorKind::NoSuchDevice,
        );
        if !rig.is_simulated() {
            refused_with_remedy(UdpSocket::bind((address, 0)), ErrorKind::NoSuchDevice);
        }
    }
    Ok(())
}

fn bad_multicast(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let socket = near.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let group = IpAddr::from([239, 77, 0, 2]);
    let nobody = InterfaceIndex::new(u32::MAX - 7).expect("not zero");
    refused(
        socket.join_multicast([10, 0, 0, 1].into(), near.index()),
        ErrorKind::InvalidInput,
    );
    refused(
        socket.join_multicast(group, nobody),
        ErrorKind::NoSuchDevice,
    );
    refused(
        socket.leave_multicast(group, near.index()),
        ErrorKind::NoSuchDevice,
    );
    refused(
        socket.set_multicast(near.index(), 256, true),
        ErrorKind::InvalidInput,
    );
    refused(
        socket.set_multicast(nobody, 1, true),
        ErrorKind::NoSuchDevice,
    );
    socket.join_multicast(group, near.index())?;
    refused(socket.join_multicast(group, near.index()), ErrorKind::Busy);
    socket.leave_multicast(group, near.index())?;
    Ok(())
}

fn malformed_toml(_: &Rig) -> Outcome {
    let texts = [
        ("preset = \"i225\"\n[nic.faults]\nlost = 2.0", "line 3"),
        ("[nic\n", "line 1"),
        ("\n\nnobody_knows_this = 1", "line 3"),
        ("[nic]\nmtu = \"big\"", "line 2"),
        ("[nic.transmit]\ncollection = \"5 parsecs\"", "line 2"),
        ("[nic]\nmtu = 12", "line 2"),
        ("[[event]]\nat = \"1s\"\naction = \"explode\"", "line"),
        ("\0", "line 1"),
    ];
    for (text, place) in texts {
        let error = refused(Simulation::from_toml(text, 1), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(place), "{text:?}: {error}");
    }
    let error = refused_with_remedy(Simulation::preset("i224", 1), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("i225"), "{error}");
    refused(
        Simulation::from_toml("preset = \"i224\"", 1),
        ErrorKind::InvalidInput,
    );
    Ok(())
}

fn count_zero(rig: &Rig) -> Outcome {
    let clock = rig.near()?.hardware_clock()?;
    refused_with_remedy(clock.cross_timestamps(0), ErrorKind::InvalidInput);
    assert_eq!(clock.cross_timestamps(1)?.len(), 1);
    Ok(())
}
