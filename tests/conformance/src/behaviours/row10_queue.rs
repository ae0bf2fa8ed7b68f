//! Row 10: what shares the queue with timestamps and is none, and queues that are full.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, loss_of, outcome_of, timestamps_of};
use crate::rig::{Family, Need, Rig};
use std::net::IpAddr;
use std::time::Duration;
use wirestamp::timestamp::{IcmpError, Notice};
use wirestamp::{
    ErrorKind, MissingReason, Span, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome,
    UdpSocket,
};

const ZERO_COPY: &str = r#"
preset = "ideal"
[nic.faults]
zero_copy_notice = 1.0
"#;
const SMALL_BUFFER: &str = r#"
preset = "ideal"
[host]
receive_buffer = 8_000
"#;
const NOTHING: Notice = Notice::Other { origin: 0, code: 0 };

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        10,
        "an-icmp-error-is-set-apart-and-the-timestamp-still-comes",
        |rig| icmp(rig, Family::V4),
    )
    .also(&[Need::Linux]),
    Behaviour::new(10, "an-icmpv6-error-is-set-apart-too", |rig| {
        icmp(rig, Family::V6)
    })
    .also(&[Need::Linux]),
    Behaviour::new(
        10,
        "icmp-errors-do-not-fail-later-sends",
        icmp_fails_nothing,
    )
    .also(&[Need::Linux]),
    Behaviour::new(
        10,
        "without-notices-a-connected-socket-gets-the-error-once",
        refused_once,
    ),
    Behaviour::new(
        10,
        "a-neighbour-that-does-not-answer-is-a-notice",
        silent_neighbour,
    )
    .needs(&[Need::Link])
    .also(&[Need::Linux]),
    Behaviour::new(10, "zero-copy-notices-are-set-apart", zero_copy)
        .needs(&[Need::ZeroCopy])
        .toml(ZERO_COPY),
    Behaviour::new(10, "a-full-receive-queue-is-counted", full_receive_queue)
        .toml(SMALL_BUFFER)
        .also(&[Need::Linux]),
    Behaviour::new(
        10,
        "timestamps-that-unread-datagrams-keep-out-are-lost-for-that-reason",
        kept_out,
    )
    .toml(SMALL_BUFFER)
    .also(&[Need::Linux]),
    Behaviour::new(
        10,
        "sending-empties-the-queue-before-it-is-full",
        emptied_in_time,
    ),
    Behaviour::new(10, "notices-that-nobody-takes-are-counted", untaken_notices)
        .toml(ZERO_COPY)
        .also(&[Need::Linux]),
];

/// Waits for the next notice.
fn notice(rig: &Rig, socket: &UdpSocket) -> Notice {
    let mut notices = [NOTHING];
    assert!(
        rig.until(|| socket.notices(&mut notices).expect("the queue is readable") == 1),
        "no notice comes"
    );
    notices[0]
}

fn icmp(rig: &Rig, family: Family) -> Outcome {
    let nobody = rig.nobody(family)?;
    let sender = rig.near_socket(family)?;
    sender.configure(Timestamping::OFF.transmit(8).icmp_errors())?;
    sender.send_to(b"x", nobody, Some(TransmitId(1)))?;
    assert!(
        timestamps_of(&sender, 1)?.software.is_some(),
        "the datagram was sent"
    );
    let Notice::Icmp(IcmpError {
        destination,
        reporter,
        icmp_type,
        icmp_code,
        ..
    }) = notice(rig, &sender)
    else {
        panic!("an ICMP error")
    };
    assert_eq!((destination, reporter), (Some(nobody), Some(nobody.ip())));
    let port_unreachable = if family == Family::V4 { (3, 3) } else { (1, 4) };
    assert_eq!((icmp_type, icmp_code), port_unreachable);
    let counters = sender.counters();
    assert_eq!(
        (counters.timestamped, counters.stray, counters.duplicate),
        (1, 0, 0),
        "no timestamp was made of it"
    );
    Ok(())
}

fn icmp_fails_nothing(rig: &Rig) -> Outcome {
    let nobody = rig.nobody(Family::V4)?;
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(64).icmp_errors(),
        Timestamping::OFF.receive(),
    )?;
    for id in 0..10 {
        pair.sender.send_to(b"x", nobody, None)?;
        rig.pass(Duration::from_millis(1));
        pair.exchange(id)?;
        assert!(matches!(notice(rig, &pair.sender), Notice::Icmp(_)));
    }
    Ok(())
}

fn refused_once(rig: &Rig) -> Outcome {
    let nobody = rig.nobody(Family::V4)?;
    let sender = rig.near_socket(Family::V4)?;
    sender.connect(nobody)?;
    sender.send(b"x", None)?;
    let error = sender
        .receive(&mut [0; 8], PATIENCE)
        .expect_err("the refusal");
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert_eq!(
        sender.receive(&mut [0; 8], Duration::from_millis(5))?,
        None,
        "nothing is lost, and it is told once"
    );
    Ok(())
}

/// Nobody has the address: the send succeeds, no timestamp comes, and after some seconds the
/// system says why.
fn silent_neighbour(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let IpAddr::V4(own) = Family::V4.address_of(&near)? else {
        panic!("an IPv4 address")
    };
    // Linux gives its own host's errors only to sockets that are not bound to an interface
    let sender = if rig.is_simulated() {
        near.bind((own, 0).into())?
    } else {
        UdpSocket::bind((own, 0))?
    };
    let [a, b, c, _] = own.octets();
    let nobody = ([a, b, c, 200], 9).into();
    let configuration = Timestamping::OFF
        .transmit(8)
        .icmp_errors()
        .transmit_deadline(Span::from_milliseconds(50));
    sender.configure(configuration)?;
    sender.send_to(b"x", nobody, Some(TransmitId(1)))?;
    if !rig.is_simulated() {
        assert_eq!(loss_of(&sender, 1)?, MissingReason::NeverGenerated);
    } else {
        outcome_of(&sender, 1)?;
    }
    let Notice::Icmp(icmp) = notice(rig, &sender) else {
        panic!("an ICMP error")
    };
    assert_eq!(
        (icmp.destination, icmp.icmp_type, icmp.icmp_code),
        (Some(nobody), 3, 1),
        "host unreachable"
    );
    Ok(())
}

fn zero_copy(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..4 {
        pair.exchange(id)?;
        assert!(matches!(notice(rig, &pair.sender), Notice::ZeroCopy { .. }));
    }
    assert_eq!(
        (
            pair.sender.counters().timestamped,
            pair.sender.counters().stray
        ),
        (4, 0)
    );
    Ok(())
}

fn full_receive_queue(rig: &Rig) -> Outcome {
    const COUNT: u64 = 2_000;
    let pair = rig.pair(Family::V4, Timestamping::OFF, Timestamping::OFF.receive())?;
    for _ in 0..COUNT {
        pair.sender.send_to(&[0; 1_000], pair.to, None)?;
    }
    rig.pass(Duration::from_millis(20));
    let mut received = 0;
    while pair
        .receiver
        .receive(&mut [0; 1_024], Duration::ZERO)?
        .is_some()
    {
        received += 1;
    }
    // Linux says how many were dropped with the next datagram that is not
    pair.sender.send_to(b"x", pair.to, None)?;
    pair.receive()?;
    let counters = pair.receiver.receive_counters();
    assert!(received < COUNT, "the queue was never full");
    assert_eq!(
        (counters.datagrams, counters.dropped),
        (received + 1, COUNT - received),
        "{counters:?}"
    );
    Ok(())
}

/// Timestamps share the receive buffer with datagrams that nobody reads.
fn kept_out(rig: &Rig) -> Outcome {
    const FLOOD: usize = 4_000;
    let sending = Timestamping::OFF
        .receive()
        .transmit(8)
        .transmit_deadline(Span::from_milliseconds(50));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let own = pair.sender.local_address()?;
    for _ in 0..FLOOD {
        pair.receiver.send_to(b"x", own, None)?; // smaller than a timestamp: what is left holds none
    }
    rig.pass(Duration::from_millis(20));
    pair.send(1)?;
    assert_eq!(loss_of(&pair.sender, 1)?, MissingReason::BufferFull);
    while pair
        .sender
        .receive(&mut [0; 1_024], Duration::ZERO)?
        .is_some()
    {}
    pair.send(2)?;
    assert!(
        matches!(
            outcome_of(&pair.sender, 2)?,
            TransmitOutcome::Timestamped(_)
        ),
        "once they are read, timestamps come"
    );
    Ok(())
}

fn emptied_in_time(rig: &Rig) -> Outcome {
    const COUNT: u32 = 3_000;
    let pair = rig.pair(
        Family::V4,
        Timestamping::OFF.transmit(4_000),
        Timestamping::OFF,
    )?;
    for id in 0..COUNT {
        pair.send(id)?;
    }
    assert!(rig.until(|| pair.sender.counters().pending == 0));
    let counters = pair.sender.counters();
    assert_eq!(
        (counters.timestamped, counters.missing_in_all()),
        (u64::from(COUNT), 0),
        "{counters:?}"
    );
    assert!(matches!(
        pair.sender.transmit_timestamp(TransmitId(COUNT - 1))?,
        TransmitAnswer::Resolved(_)
    ));
    Ok(())
}

fn untaken_notices(rig: &Rig) -> Outcome {
    let nobody = rig.nobody(Family::V4)?;
    let sender = rig.near_socket(Family::V4)?;
    sender.configure(Timestamping::OFF.transmit(u16::MAX).icmp_errors())?;
    let mut ids = 0..20_000;
    let mut send = || {
        for id in ids.by_ref().take(100) {
            sender
                .send_to(b"x", nobody, Some(TransmitId(id)))
                .expect("sent");
        }
        sender.counters(); // collects
        sender.notices_dropped() > 0
    };
    assert!(rig.until(&mut send), "none is dropped");
    let mut notices = [NOTHING; 1_000];
    assert!(
        sender.notices(&mut notices)? > 0,
        "the newest or oldest are kept"
    );
    let counters = sender.counters();
    assert_eq!(
        (counters.missing_in_all(), counters.stray),
        (0, 0),
        "no timestamp is dropped with them: {counters:?}"
    );
    Ok(())
}
