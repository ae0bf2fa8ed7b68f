//! Sockets that others made: what they are when they are adopted, what of their owner is left,
//! and what they are when they are given back.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, loss_of, outcome_of, timestamps_of};
use crate::rig::{Family, Need, Rig, sharing};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket as StdSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::socket::Identification;
use wirestamp::timestamp::LateTimestamp;
use wirestamp::{
    ErrorKind, MissingReason, MonotonicTime, Span, Timestamping, TransmitId, TransmitOutcome,
    UdpSocket,
};

const BOTH: Timestamping = Timestamping::OFF.receive().transmit(64);
/// As long as timestamps of a former owner's datagrams can come.
const QUARANTINE: Duration = Duration::from_secs(4);

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        5,
        "an-adopted-socket-stays-as-its-owner-made-it",
        as_it_was_made,
    )
    .needs(&[Need::Native]),
    Behaviour::new(
        5,
        "a-socket-of-another-namespace-has-no-interface-numbers",
        elsewhere,
    )
    .needs(&[Need::OwnNetwork]),
    Behaviour::new(
        9,
        "timestamps-that-wait-for-a-former-owner-are-nobodys",
        waiting,
    )
    .needs(&[Need::Native]),
    Behaviour::new(
        9,
        "timestamps-that-come-late-for-a-former-owner-are-nobodys",
        under_way,
    )
    .needs(&[Need::OwnNetwork, Need::DelayedTimestamps]),
    Behaviour::new(5, "a-socket-is-given-back-and-adopted-again", given_back)
        .needs(&[Need::Native]),
];

/// Sends one byte to itself under `id`, and checks both timestamps.
fn check_loop(socket: &UdpSocket, to: Option<SocketAddr>, id: u32) -> Outcome {
    let before = socket.now();
    let id_of = Some(TransmitId(id));
    match to {
        Some(to) => socket.send_to(&[7], to, id_of)?,
        None => socket.send(&[7], id_of)?,
    }
    let received = socket.receive(&mut [0; 8], PATIENCE)?;
    let received = received.expect("it arrives");
    let software = received.timestamps.software.expect("a receive timestamp");
    assert!(software.at.value >= before, "{received:?}");
    assert!(timestamps_of(socket, id)?.software.is_some());
    Ok(())
}

fn as_it_was_made(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let own = Family::V4.address_of(&near)?;
    let made = |error: std::io::Error| error.to_string();

    // not connected, and its calls wait
    let plain = StdSocket::bind((own, 0)).map_err(made)?;
    let to = plain.local_addr().map_err(made)?;
    let plain = UdpSocket::try_from(plain)?;
    assert_eq!(plain.local_address()?, to);
    plain.configure(BOTH)?;
    check_loop(&plain, Some(to), 1)?;
    let begun = Instant::now();
    let nothing = plain.receive(&mut [0; 8], Duration::from_millis(20))?;
    assert!(nothing.is_none() && begun.elapsed() < PATIENCE);

    // connected
    let connected = StdSocket::bind((own, 0)).map_err(made)?;
    let peer = connected.local_addr().map_err(made)?;
    connected.connect(peer).map_err(made)?;
    let connected = UdpSocket::adopt(connected)?;
    connected.configure(BOTH)?;
    check_loop(&connected, None, 1)?;

    // two on one port
    let first = sharing((own, 0).into()).map_err(made)?;
    let to = first.local_addr().map_err(made)?;
    let to = to.as_socket().expect("an Internet address");
    let second = UdpSocket::adopt(sharing(to).map_err(made)?)?;
    let first = UdpSocket::adopt(first)?;
    first.configure(BOTH)?;
    second.configure(BOTH)?;
    first.send_to(&[7], to, Some(TransmitId(1)))?;
    let deadline = Instant::now() + PATIENCE;
    let received = loop {
        let either = first.receive(&mut [0; 8], Duration::ZERO)?;
        match either.or(second.receive(&mut [0; 8], Duration::ZERO)?) {
            Some(received) => break received,
            None => assert!(Instant::now() < deadline, "it comes to neither"),
        }
    };
    assert!(received.timestamps.software.is_some());
    assert!(timestamps_of(&first, 1)?.software.is_some());

    // both families
    if Family::V6.address_of(&near).is_ok() {
        let dual = StdSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).map_err(made)?;
        let port = dual.local_addr().map_err(made)?.port();
        let dual = UdpSocket::adopt(dual)?;
        dual.configure(BOTH)?;
        check_loop(&dual, Some((own, port).into()), 1)?;
        check_loop(&dual, Some((Family::V6.address_of(&near)?, port).into()), 2)?;
    }

    // neither bound nor connected
    let unbound = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None);
    let unbound = UdpSocket::adopt(unbound.map_err(made)?)?;
    unbound.configure(BOTH)?;
    unbound.send_to(&[7], to, Some(TransmitId(1)))?;
    assert!(timestamps_of(&unbound, 1)?.software.is_some());
    Ok(())
}

fn elsewhere(rig: &Rig) -> Outcome {
    let made = |error: std::io::Error| error.to_string();
    let theirs = rig
        .at_far(|| StdSocket::bind("10.77.0.2:0"))
        .map_err(made)?;
    let to = theirs.local_addr().map_err(made)?;
    let at_home = rig.at_far(|| {
        UdpSocket::adopt(theirs.try_clone().map_err(made)?).map_err(crate::Stop::from)
    })?;
    at_home.configure(BOTH.packet_information())?;
    let sender = rig.near_socket(Family::V4)?;
    sender.send_to(&[7], to, None)?;
    let received = at_home.receive(&mut [0; 8], PATIENCE)?.expect("it arrives");
    let far = rig.at_far(|| rig.far())?;
    assert_eq!(received.interface, Some(far.index()));
    drop(at_home);

    let abroad = UdpSocket::adopt(theirs)?;
    abroad.configure(BOTH.packet_information())?;
    sender.send_to(&[7], to, None)?;
    let received = abroad.receive(&mut [0; 8], PATIENCE)?.expect("it arrives");
    assert_eq!(received.interface, None);
    assert!(received.timestamps.software.is_some());
    let near = rig.near()?;
    let group = Ipv4Addr::new(224, 0, 1, 129).into();
    let error = abroad
        .join_multicast(group, near.index())
        .expect_err("another interface");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(
        error.to_string().contains("another network namespace"),
        "{error}"
    );
    Ok(())
}

/// Whoever has the same socket as `owner`.
fn heir_of(owner: &UdpSocket) -> Outcome<UdpSocket> {
    let descriptor = owner.as_fd().try_clone_to_owned();
    Ok(UdpSocket::adopt(
        descriptor.map_err(|error| error.to_string())?,
    )?)
}

/// How many timestamps came after their id had ended.
fn late(socket: &UdpSocket) -> Outcome<usize> {
    let nothing = LateTimestamp::EMPTY;
    Ok(socket.late_timestamps(&mut [nothing; 4])?)
}

/// Owners whose timestamps nobody fetched: 0, 1 and 2. An heir with ids of either kind.
fn waiting(rig: &Rig) -> Outcome {
    let mut heirs = Vec::new();
    for identification in [Identification::Counter, Identification::Carried] {
        let sending = Timestamping::OFF
            .transmit(64)
            .identification(Identification::Counter);
        let pair = rig.pair(Family::V4, sending, Timestamping::OFF.receive())?;
        for id in 0..3 {
            pair.send(id)?;
            pair.receive()?;
        }
        let heir = heir_of(&pair.sender)?;
        heir.configure(sending.identification(identification))?;
        assert_eq!(lost_or_timestamped_after(&heir, pair.to, 0)?, None);
        heirs.push((heir, pair));
    }
    thread::sleep(QUARANTINE + Duration::from_millis(100));
    for (heir, pair) in &heirs {
        let sent_at = heir.now();
        heir.send_to(&[7], pair.to, Some(TransmitId(1)))?;
        let software = timestamps_of(heir, 1)?.software.expect("a timestamp");
        assert!(
            software.at.value >= sent_at,
            "{software:?} is of before {sent_at:?}"
        );
        let counters = heir.counters();
        assert_eq!((counters.timestamped, late(heir)?), (1, 0));
    }
    Ok(())
}

/// Sends under `id`; the time of its timestamp, or `None` if the id ended by reset.
fn lost_or_timestamped_after(
    socket: &UdpSocket,
    to: SocketAddr,
    id: u32,
) -> Outcome<Option<MonotonicTime>> {
    socket.send_to(&[7], to, Some(TransmitId(id)))?;
    Ok(match outcome_of(socket, id)? {
        TransmitOutcome::Missing(MissingReason::Reset) => None,
        TransmitOutcome::Timestamped(timestamps) => {
            timestamps.software.map(|software| software.at.value)
        }
        other => panic!("{other:?}"),
    })
}

/// An owner whose timestamp comes after the adoption.
fn under_way(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(64)
        .identification(Identification::Counter);
    let (pair, _guard) = rig.delayed_pair(sending)?;
    pair.sender
        .send_to(&[0; 240], pair.to, Some(TransmitId(0)))?;
    let heir = heir_of(&pair.sender)?;
    heir.configure(sending.transmit_deadline(Span::from_seconds(10)))?;
    heir.send_to(&[7], pair.to, Some(TransmitId(0)))?;
    assert_eq!(loss_of(&heir, 0)?, MissingReason::Reset);
    pair.receive()?;
    pair.receive()?;
    assert_eq!(late(&heir)?, 0);
    assert_eq!(heir.counters().timestamped, 0);
    Ok(())
}

fn given_back(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let made = |error: std::io::Error| error.to_string();
    let theirs = StdSocket::bind((Family::V4.address_of(&near)?, 0)).map_err(made)?;
    let to = theirs.local_addr().map_err(made)?;
    theirs.set_read_timeout(Some(PATIENCE)).map_err(made)?;
    let ours = UdpSocket::try_from(theirs)?;
    ours.configure(BOTH)?;
    check_loop(&ours, Some(to), 1)?;

    let theirs = ours.into_std()?;
    theirs.send_to(b"back", to).map_err(made)?;
    assert_eq!(theirs.recv(&mut [0; 8]).map_err(made)?, 4, "its calls wait");

    let ours = UdpSocket::try_from(theirs)?;
    ours.configure(BOTH)?;
    check_loop(&ours, Some(to), 1)
}
