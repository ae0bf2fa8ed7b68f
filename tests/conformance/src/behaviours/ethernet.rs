//! Ethernet sockets: frames of one ethertype, with the timestamps, the outcomes and the reasons that datagrams have.
//! Behaviours that differ from those of datagrams alone; what both share is the same code, and shown there.

use super::Behaviour;
use super::row07_waiting::block_on;
use crate::exchange::{PATIENCE, is_between};
use crate::refusal::refused;
use crate::rig::{Frames, Need, Rig, RigKind, SYNC, without_privilege};
use crate::{Outcome, Stop};
use std::time::Duration;
use wirestamp::ethernet::{EthernetSocket, Ethertype, MacAddress, VlanTag};
use wirestamp::socket::Identification;
use wirestamp::tokio::AsyncEthernetSocket;
use wirestamp::{
    ErrorKind, HardwareRequest, Incoming, MissingReason, Outgoing, Source, Timestamping,
    TransmitAnswer, TransmitId, TransmitOutcome,
};

const CARRIED: Timestamping = Timestamping::OFF.transmit(64);
const COUNTED: Timestamping = CARRIED.identification(Identification::Counter);
/// The shortest payload on a wire: a NIC fills up what is shorter.
const SHORTEST: usize = 46;
/// A moment in which a frame would have come.
const MOMENT: Duration = Duration::from_millis(50);

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(5, "frames-have-both-timestamps-and-their-addresses", both)
        .also(&[Need::Frames]),
    Behaviour::new(5, "a-short-frame-is-filled-up-behind-its-payload", short).also(&[Need::Frames]),
    Behaviour::new(5, "frames-of-a-group-come-to-who-has-joined-it", groups).also(&[Need::Frames]),
    Behaviour::new(5, "frames-of-others-do-not-come", of_others).also(&[Need::Frames]),
    Behaviour::new(5, "a-frames-vlan-tag-is-told", vlan)
        .needs(&[Need::Native])
        .also(&[Need::Frames]),
    Behaviour::new(5, "ptp-frames-have-hardware-timestamps", hardware_receive)
        .needs(&[Need::HardwareReceivePtp])
        .also(&[Need::Frames]),
    Behaviour::new(6, "sent-frames-have-hardware-timestamps", hardware_transmit)
        .needs(&[Need::HardwareTransmit])
        .also(&[Need::Frames]),
    Behaviour::new(6, "each-frames-timestamp-comes-under-its-own-id", |rig| {
        ids(rig, CARRIED)
    })
    .also(&[Need::Frames]),
    Behaviour::new(6, "a-frame-without-an-id-is-not-timestamped", without_id).also(&[Need::Frames]),
    Behaviour::new(6, "one-call-sends-a-frame-and-tells-when-it-left", one_call)
        .also(&[Need::Frames]),
    Behaviour::new(7, "tasks-wait-for-frames-and-for-their-timestamps", tasks)
        .also(&[Need::Frames]),
    Behaviour::new(8, "frames-that-are-given-up-end-with-a-reason", given_up).also(&[Need::Frames]),
    Behaviour::new(9, "counted-ids-of-frames-are-the-callers", |rig| {
        ids(rig, COUNTED)
    })
    .also(&[Need::Frames]),
    Behaviour::new(
        9,
        "a-frame-that-is-too-long-does-not-shift-the-count",
        too_long,
    )
    .also(&[Need::Frames]),
    Behaviour::new(10, "frames-for-which-there-is-no-room-are-counted", dropped)
        .needs(&[Need::Lossless])
        .also(&[Need::Frames]),
    Behaviour::new(
        14,
        "an-interface-that-is-gone-fails-its-frames-by-name",
        gone,
    )
    .needs(&[Need::Changes])
    .also(&[Need::Frames]),
    Behaviour::new(16, "a-batch-of-frames-arrives-whole-and-in-order", batch)
        .needs(&[Need::Lossless])
        .also(&[Need::Frames]),
    Behaviour::new(17, "frames-without-the-privilege", unprivileged)
        .needs(&[Need::Native])
        .also(&[Need::Frames]),
    Behaviour::new(17, "an-ethernet-socket-where-there-are-none", none_here),
    Behaviour::new(17, "a-station-is-no-group", no_group).also(&[Need::Frames]),
];

fn outcome_of(socket: &EthernetSocket, id: u32) -> Outcome<TransmitOutcome> {
    match socket.wait_transmit_timestamp(TransmitId(id), PATIENCE)? {
        TransmitAnswer::Resolved(outcome) => Ok(outcome),
        other => panic!("id {id} has no outcome: {other:?}"),
    }
}

/// Whether both NICs are one: what is sent comes back to all sockets.
fn comes_back(rig: &Rig) -> bool {
    matches!(rig.kind(), RigKind::LinuxLoopback)
}

fn both(rig: &Rig) -> Outcome {
    let frames = rig.frames(CARRIED, Timestamping::OFF.receive())?;
    let payload = [0x5a; 100];
    let before = frames.near.now();
    let id = Some(TransmitId(7));
    frames.near.send_to(&payload, frames.to, id)?;
    let mut buffer = [0; 2_048];
    let received = frames.receive(&mut buffer)?;
    let after = frames.far.now();
    assert_eq!(buffer[..received.length], payload);
    assert_eq!(received.source, Some(frames.near.local_address()?));
    let destination = received.destination.expect("each frame has one");
    assert_eq!((destination.address, destination.vlan), (frames.to, None));
    assert_eq!(received.interface, Some(frames.far_index));
    let arrived = received.timestamps.software.expect("a receive timestamp");
    let TransmitOutcome::Timestamped(sent) = outcome_of(&frames.near, 7)? else {
        panic!("a transmit timestamp");
    };
    let sent = sent.software.expect("a software timestamp");
    is_between(&sent, before, after);
    is_between(&arrived, sent.at.value - sent.at.bound, after);
    if rig.is_simulated() {
        let host = rig.host();
        let course = host.datagram_with_id(TransmitId(7)).expect("it was sent");
        assert!(host.is_true(sent.at.value, Some(course.transmit_software_at)));
        assert!(host.is_true(arrived.at.value, course.receive_software_at));
    }
    Ok(())
}

fn short(rig: &Rig) -> Outcome {
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF)?;
    for payload in [&b""[..], b"short", &[0x5a; SHORTEST]] {
        frames.near.send_to(payload, frames.to, None)?;
        let mut buffer = [0xff; 2_048];
        let length = frames.receive(&mut buffer)?.length;
        // a pair of virtual interfaces has no wire, and fills nothing up
        let fills_up = matches!(rig.kind(), RigKind::Simulator | RigKind::LinuxHardware);
        let expected = if fills_up { SHORTEST } else { payload.len() };
        assert_eq!(length, expected);
        let (own, padding) = buffer[..length].split_at(payload.len());
        assert_eq!(own, payload);
        assert!(padding.iter().all(|byte| *byte == 0), "{padding:?}");
    }
    Ok(())
}

fn groups(rig: &Rig) -> Outcome {
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF)?;
    let (group, mut buffer) = (MacAddress::PTP_PRIMARY, [0; 64]);
    let came = |frames: &Frames, buffer: &mut [u8]| -> Outcome<bool> {
        frames.near.send_to(b"to all", group, None)?;
        Ok(frames.far.receive(buffer, MOMENT)?.is_some())
    };
    // other NICs let through what they like
    assert!(!rig.is_simulated() || !came(&frames, &mut buffer)?);
    frames.far.join_group(group)?;
    frames.far.join_group(group)?;
    frames.near.send_to(b"to all", group, None)?;
    let received = frames.receive(&mut buffer)?;
    let destination = received.destination.expect("each frame has one");
    assert_eq!(destination.address, group);
    frames.far.leave_group(group)?;
    assert!(
        !rig.is_simulated() || came(&frames, &mut buffer)?,
        "once more"
    );
    frames.far.leave_group(group)?;
    assert!(!rig.is_simulated() || !came(&frames, &mut buffer)?);
    frames.far.leave_group(group)?; // of no consequence
    frames
        .near
        .send_to(b"everybody", MacAddress::BROADCAST, None)?;
    frames.receive(&mut buffer)?;
    Ok(())
}

fn of_others(rig: &Rig) -> Outcome {
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF)?;
    let other = rig.near()?.open_ethernet(rig.ethertype())?;
    let stranger = MacAddress::new([2, 0, 0, 0, 0, 0x99]);
    let mut buffer = [0; 64];
    other.send_to(b"another ethertype", frames.to, None)?;
    frames.near.send_to(b"another station", stranger, None)?;
    frames.near.send_to(b"this one", frames.to, None)?;
    let length = frames.receive(&mut buffer)?.length;
    assert!(buffer[..length].starts_with(b"this one"));
    assert!(frames.far.receive(&mut buffer, MOMENT)?.is_none());
    // what this host sends it does not receive, except from a cable that comes back to it
    let own = frames.near.receive(&mut buffer, MOMENT)?;
    assert_eq!(own.is_some(), comes_back(rig));
    Ok(())
}

fn vlan(rig: &Rig) -> Outcome {
    if rig.kind() == RigKind::LinuxHardware {
        let why = "a NIC drops frames of VLANs that its host is no member of";
        return Err(Stop::Skipped(why.to_owned()));
    }
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF.receive())?;
    let tag = VlanTag::new(5, 3).expect("a tag");
    frames.send_tagged(tag, b"tagged")?;
    let mut buffer = [0; 64];
    let received = frames.receive(&mut buffer)?;
    assert_eq!(buffer[..received.length], b"tagged"[..]);
    assert!(received.timestamps.software.is_some());
    let destination = received.destination.expect("each frame has one");
    assert_eq!(
        (destination.address, destination.vlan),
        (frames.to, Some(tag))
    );
    frames.near.send_to(b"untagged", frames.to, None)?;
    let received = frames.receive(&mut buffer)?;
    assert_eq!(received.destination.and_then(|to| to.vlan), None);
    Ok(())
}

fn hardware_receive(rig: &Rig) -> Outcome {
    let far = rig.at_far(|| rig.far())?;
    let guard = rig.at_far(|| far.enable_hardware(HardwareRequest::PtpOverEthernet))?;
    let receiving = Timestamping::OFF.receive().source(Source::Hardware);
    let frames = rig.frames_of(Ethertype::PTP, Timestamping::OFF, receiving)?;
    frames.far.join_group(MacAddress::PTP_PRIMARY)?;
    let mut buffer = [0; 2_048];
    frames.near.send_to(&SYNC, MacAddress::PTP_PRIMARY, None)?;
    let received = frames.receive(&mut buffer)?;
    let hardware = received.timestamps.hardware.expect("a hardware timestamp");
    assert_eq!(hardware.interface, Some(frames.far_index));
    assert_eq!(received.timestamps.software, None);
    drop(guard);
    Ok(())
}

fn hardware_transmit(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let guard = near.enable_hardware(HardwareRequest::PtpOverEthernet)?;
    let sending = CARRIED.source(Source::Hardware);
    let frames = rig.frames(sending, Timestamping::OFF)?;
    for id in [1, u32::MAX] {
        frames
            .near
            .send_to(&SYNC, frames.to, Some(TransmitId(id)))?;
        let TransmitOutcome::Timestamped(sent) = outcome_of(&frames.near, id)? else {
            panic!("a transmit timestamp");
        };
        let hardware = sent.hardware.expect("a hardware timestamp");
        assert_eq!(hardware.interface, Some(near.description().index));
        assert_eq!(sent.software, None);
    }
    drop(guard);
    Ok(())
}

fn ids(rig: &Rig, sending: Timestamping) -> Outcome {
    let frames = rig.frames(sending, Timestamping::OFF)?;
    let ids = [3, 0xffff_ffff, 0, 0x8000_0000, 4];
    let mut left = Vec::new();
    for id in ids {
        let before = frames.near.now();
        frames.near.send_to(b"x", frames.to, Some(TransmitId(id)))?;
        left.push((id, before));
    }
    let after = frames.near.now();
    // the newest first: whose a timestamp is does not depend on who asks when
    while let Some((id, before)) = left.pop() {
        let TransmitOutcome::Timestamped(sent) = outcome_of(&frames.near, id)? else {
            panic!("id {id} was lost");
        };
        let sent = sent.software.expect("a software timestamp");
        assert!(
            sent.at.value + sent.at.bound >= before,
            "id {id} has an older one's"
        );
        assert!(sent.at.value - sent.at.bound <= after || !rig.is_simulated());
    }
    let counters = frames.near.counters();
    assert_eq!(
        (counters.sent, counters.timestamped),
        (5, 5),
        "{counters:?}"
    );
    Ok(())
}

fn without_id(rig: &Rig) -> Outcome {
    let frames = rig.frames(CARRIED, Timestamping::OFF)?;
    for id in [None, Some(TransmitId(1)), None] {
        frames.near.send_to(b"x", frames.to, id)?;
    }
    let outcome = outcome_of(&frames.near, 1)?;
    assert!(
        matches!(outcome, TransmitOutcome::Timestamped(_)),
        "{outcome:?}"
    );
    let counters = frames.near.counters();
    assert_eq!((counters.sent, counters.stray), (1, 0), "{counters:?}");
    Ok(())
}

fn one_call(rig: &Rig) -> Outcome {
    let frames = rig.frames(CARRIED, Timestamping::OFF)?;
    let before = frames.near.now();
    let outcome = frames.near.send_to_timestamped(b"x", frames.to, PATIENCE)?;
    let TransmitOutcome::Timestamped(sent) = outcome else {
        panic!("a transmit timestamp: {outcome:?}");
    };
    let software = sent.software.expect("a software timestamp");
    is_between(&software, before, frames.near.now());
    Ok(())
}

fn tasks(rig: &Rig) -> Outcome {
    let frames = rig.frames(CARRIED, Timestamping::OFF.receive())?;
    let to = frames.to;
    block_on(async {
        let near = AsyncEthernetSocket::new(frames.near)?;
        let far = AsyncEthernetSocket::new(frames.far)?;
        let sending = async {
            for payload in [b"1", b"2", b"3"] {
                let outcome = near.send_to_timestamped(payload, to, PATIENCE).await?;
                assert!(
                    matches!(outcome, TransmitOutcome::Timestamped(_)),
                    "{outcome:?}"
                );
            }
            Outcome::Ok(())
        };
        let receiving = async {
            for first in [b'1', b'2', b'3'] {
                let mut buffer = [0; 64];
                let received = far.receive(&mut buffer).await?;
                assert_eq!(buffer[0], first);
                assert!(received.timestamps.software.is_some());
            }
            Outcome::Ok(())
        };
        let both = async { tokio::try_join!(sending, receiving).map(drop) };
        match tokio::time::timeout(3 * PATIENCE, both).await {
            Ok(done) => done,
            Err(_) => panic!("a task waits for ever"),
        }
    })
}

fn given_up(rig: &Rig) -> Outcome {
    let sending = CARRIED.source(Source::Hardware); // nothing makes one: it is switched off
    let frames = rig.frames(sending, Timestamping::OFF)?;
    let reason = |id| match outcome_of(&frames.near, id) {
        Ok(TransmitOutcome::Missing(reason)) => Ok(reason),
        other => Err(Stop::Failed(format!("{other:?}"))),
    };
    let send = |id| frames.near.send_to(b"x", frames.to, Some(TransmitId(id)));
    send(1)?;
    assert_eq!(reason(1)?, MissingReason::NeverGenerated);
    send(2)?;
    frames.near.reset_timestamps();
    assert_eq!(reason(2)?, MissingReason::Reset);
    send(3)?;
    frames.near.close();
    assert_eq!(reason(3)?, MissingReason::SocketClosed);
    let refusal = refused(send(4), ErrorKind::Closed);
    assert!(refusal.to_string().contains("closed"), "{refusal}");
    Ok(())
}

fn too_long(rig: &Rig) -> Outcome {
    let frames = rig.frames(COUNTED, Timestamping::OFF)?;
    let mtu = rig.near()?.description().mtu as usize;
    let long = vec![0; mtu + 1];
    for id in [1, 2, 3] {
        let refusal = refused(
            frames.near.send_to(&long, frames.to, Some(TransmitId(100))),
            ErrorKind::InvalidInput,
        );
        assert!(refusal.to_string().contains("MTU"), "{refusal}");
        let before = frames.near.now();
        frames.near.send_to(b"x", frames.to, Some(TransmitId(id)))?;
        match outcome_of(&frames.near, id)? {
            TransmitOutcome::Timestamped(sent) => {
                let sent = sent.software.expect("a software timestamp");
                assert!(
                    sent.at.value + sent.at.bound >= before,
                    "id {id} has an older one's"
                );
            }
            // until the kernel's count is known again
            TransmitOutcome::Missing(reason) => assert_eq!(reason, MissingReason::Reset),
        }
    }
    assert_eq!(frames.near.counters().stray, 0);
    Ok(())
}

fn dropped(rig: &Rig) -> Outcome {
    let frames = rig.frames(Timestamping::OFF, Timestamping::OFF)?;
    let frame = [0; 1_400];
    for _ in 0..2_000 {
        frames.near.send_to(&frame, frames.to, None)?;
    }
    rig.pass(MOMENT);
    let (mut buffer, mut count) = ([0; 2_048], 0);
    while frames.far.receive(&mut buffer, MOMENT)?.is_some() {
        count += 1;
    }
    // Linux tells how many were dropped with the next frame that it delivers
    frames.near.send_to(&frame, frames.to, None)?;
    frames.receive(&mut buffer)?;
    let counters = frames.far.receive_counters();
    assert!(
        count < 2_000 && counters.datagrams == count + 1,
        "{counters:?}"
    );
    assert_eq!(counters.dropped, 2_000 - count, "{counters:?}");
    Ok(())
}

fn gone(rig: &Rig) -> Outcome {
    let frames = rig.frames(CARRIED, Timestamping::OFF)?;
    rig.remove_near()?;
    let refusal = || frames.near.send_to(b"x", frames.to, None).err();
    let is_gone = || refusal().is_some_and(|error| error.kind() == ErrorKind::NoSuchDevice);
    assert!(rig.until(is_gone), "{:?}", refusal());
    rig.add_near()?;
    Ok(())
}

fn batch(rig: &Rig) -> Outcome {
    const COUNT: usize = 40;
    let frames = rig.frames(CARRIED, Timestamping::OFF.receive())?;
    let payloads: Vec<_> = (0..COUNT).map(|number| [number as u8; 64]).collect();
    let outgoing: Vec<_> = payloads
        .iter()
        .enumerate()
        .map(|(number, payload)| {
            Outgoing::new(payload)
                .to(frames.to)
                .id((number % 2 == 0).then_some(TransmitId(number as u32)))
        })
        .collect();
    assert_eq!(frames.near.send_batch(&outgoing)?, COUNT);
    let mut buffers = [[0; 128]; COUNT];
    let mut incoming: Vec<_> = buffers.iter_mut().map(|room| Incoming::new(room)).collect();
    let mut received = 0;
    while received < COUNT {
        let more = frames
            .far
            .receive_batch(&mut incoming[received..], PATIENCE)?;
        assert!(more > 0, "only {received} came");
        received += more;
    }
    for (incoming, payload) in incoming.iter().zip(&payloads) {
        assert_eq!(incoming.payload(), payload);
        assert!(incoming.received.timestamps.software.is_some());
    }
    for id in (0..COUNT as u32).step_by(2) {
        let outcome = outcome_of(&frames.near, id)?;
        assert!(
            matches!(outcome, TransmitOutcome::Timestamped(_)),
            "{outcome:?}"
        );
    }
    Ok(())
}

fn unprivileged(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let opened = without_privilege(|| near.open_ethernet(Ethertype::PTP))?;
    let refusal = refused(opened, ErrorKind::NotPermitted);
    assert!(refusal.to_string().contains("CAP_NET_RAW"), "{refusal}");
    Ok(())
}

fn none_here(rig: &Rig) -> Outcome {
    let opened = rig.near()?.open_ethernet(Ethertype::PTP);
    if Need::Frames.check(rig.kind()).is_ok() {
        rig.privileged(opened)?;
    } else {
        let refusal = refused(opened, ErrorKind::NotSupported);
        assert!(refusal.to_string().contains("Linux alone"), "{refusal}");
    }
    Ok(())
}

fn no_group(rig: &Rig) -> Outcome {
    let socket = rig.privileged(rig.near()?.open_ethernet(Ethertype::PTP))?;
    let own = socket.local_address()?;
    refused(socket.join_group(own), ErrorKind::InvalidInput);
    refused(socket.leave_group(own), ErrorKind::InvalidInput);
    Ok(())
}
