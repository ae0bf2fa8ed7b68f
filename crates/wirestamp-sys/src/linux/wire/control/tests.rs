use super::*;
use crate::cmsg::ControlBuffer;
use proptest::prelude::*;

fn scm_timestamping(software: (i64, i64), hardware: (i64, i64)) -> Vec<u8> {
    [software.0, software.1, 0, 0, hardware.0, hardware.1]
        .into_iter()
        .flat_map(i64::to_ne_bytes)
        .collect()
}

fn extended(code: i32, origin: u8, info: u32, data: u32) -> Vec<u8> {
    let mut bytes = code.to_ne_bytes().to_vec();
    bytes.extend([origin, 3, 1, 0]);
    bytes.extend(info.to_ne_bytes());
    bytes.extend(data.to_ne_bytes());
    bytes
}

fn buffer(parts: &[(i32, i32, Vec<u8>)]) -> Vec<u8> {
    let mut buffer = ControlBuffer::<256>::new();
    for (level, kind, data) in parts {
        assert!(buffer.push(*level, *kind, data));
    }
    buffer.written().to_vec()
}

#[test]
fn a_received_datagram_tells_timestamp_interface_destination_and_drops() {
    let mut information = 7u32.to_ne_bytes().to_vec();
    information.extend([0; 4]);
    information.extend([127, 0, 0, 1]);
    let control = buffer(&[
        (SOL_SOCKET, SO_RXQ_OVFL, 3u32.to_ne_bytes().to_vec()),
        (
            SOL_SOCKET,
            SO_TIMESTAMPING_NEW,
            scm_timestamping((5, 6), (0, 0)),
        ),
        (IPPROTO_IP, IP_PKTINFO, information),
    ]);
    let found = received(&control);
    assert_eq!(
        found.timestamps.software,
        Some(UtcTime::from_nanoseconds(5_000_000_006))
    );
    assert_eq!(found.timestamps.hardware, None, "zero is no timestamp");
    assert_eq!(found.interface, InterfaceIndex::new(7));
    assert_eq!(found.destination, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    assert_eq!(found.dropped, Some(3));
}

#[test]
fn a_frame_tells_its_vlan_tag_where_the_kernel_says_that_there_is_one() {
    // as Linux 6.18 wrote them: TP_STATUS_USER, with VLAN_VALID and VLAN_TPID_VALID for a tagged frame
    let auxiliary = |status: u32, tag: u16| {
        let mut data = status.to_ne_bytes().to_vec();
        data.extend([19, 0, 0, 0, 19, 0, 0, 0, 0, 0, 14, 0]);
        data.extend(tag.to_ne_bytes());
        data.extend([0, 0x81]);
        received(&buffer(&[(SOL_PACKET, PACKET_AUXDATA, data)])).vlan
    };
    assert_eq!(auxiliary(0x51, 0x6005), VlanTag::new(5, 3));
    assert_eq!(auxiliary(0x51, 0), VlanTag::new(0, 0));
    assert_eq!(auxiliary(0x01, 0x6005), None);
    let cut = buffer(&[(SOL_PACKET, PACKET_AUXDATA, vec![0xff; 17])]);
    assert_eq!(received(&cut).vlan, None);
}

#[test]
fn a_packet_sockets_entry_is_a_timestamp_without_a_reporter() {
    let control = buffer(&[
        (
            SOL_SOCKET,
            SO_TIMESTAMPING_NEW,
            scm_timestamping((5, 6), (0, 0)),
        ),
        (
            SOL_PACKET,
            PACKET_TX_TIMESTAMP,
            extended(libc::ENOMSG, ORIGIN_TIMESTAMPING, TSTAMP_SND, 0xdead_beef),
        ),
    ]);
    let Some(QueueEntry::Timestamp { id, timestamps, .. }) = queue_entry(&control, || None) else {
        panic!("no timestamp")
    };
    assert_eq!(id, TransmitId(0xdead_beef));
    let expected = Some(UtcTime::from_nanoseconds(5_000_000_006));
    assert_eq!(timestamps.software, expected);
}

#[test]
fn ipv4_tells_its_traffic_class_in_one_octet_and_the_others_in_ints() {
    let control = buffer(&[
        (IPPROTO_IP, libc::IP_TOS, vec![0xb9]),
        (IPPROTO_IP, libc::IP_TTL, 61i32.to_ne_bytes().to_vec()),
    ]);
    let found = received(&control);
    assert_eq!(
        (found.traffic_class, found.hop_limit),
        (Some(0xb9), Some(61))
    );
    let control = buffer(&[
        (
            IPPROTO_IPV6,
            libc::IPV6_TCLASS,
            0xb9i32.to_ne_bytes().to_vec(),
        ),
        (
            IPPROTO_IPV6,
            libc::IPV6_HOPLIMIT,
            255i32.to_ne_bytes().to_vec(),
        ),
    ]);
    let found = received(&control);
    assert_eq!(
        (found.traffic_class, found.hop_limit),
        (Some(0xb9), Some(255))
    );
    let control = buffer(&[
        (IPPROTO_IPV6, libc::IPV6_TCLASS, vec![0xb9]),
        (
            IPPROTO_IPV6,
            libc::IPV6_HOPLIMIT,
            (-1i32).to_ne_bytes().to_vec(),
        ),
        (IPPROTO_IP, libc::IP_TOS, Vec::new()),
    ]);
    let found = received(&control);
    assert_eq!((found.traffic_class, found.hop_limit), (None, None));
}

#[test]
fn the_device_that_timestamped_is_told_from_the_interface_that_delivered() {
    let mut information = [0u8; 20];
    information[15] = 1;
    information[16..].copy_from_slice(&9u32.to_ne_bytes());
    let control = buffer(&[
        (
            SOL_SOCKET,
            SCM_TIMESTAMPING_PKTINFO,
            [4u32, 60, 0, 0]
                .into_iter()
                .flat_map(u32::to_ne_bytes)
                .collect(),
        ),
        (IPPROTO_IPV6, IPV6_PKTINFO, information.to_vec()),
    ]);
    let found = received(&control);
    assert_eq!(found.device, InterfaceIndex::new(4));
    assert_eq!(found.interface, InterfaceIndex::new(9));
    assert_eq!(found.destination, Some(IpAddr::V6(Ipv6Addr::LOCALHOST)));
}

#[test]
fn nanoseconds_out_of_range_are_no_timestamp() {
    for bad in [(5, 1_000_000_000), (5, -1), (i64::MAX, 0), (0, 0)] {
        let control = buffer(&[(SOL_SOCKET, SO_TIMESTAMPING_NEW, scm_timestamping(bad, bad))]);
        assert_eq!(
            received(&control).timestamps,
            RawTimestamps::default(),
            "{bad:?}"
        );
    }
}

#[test]
fn a_transmit_timestamp_has_the_callers_id() {
    let control = buffer(&[
        (
            SOL_SOCKET,
            SO_TIMESTAMPING_OLD,
            scm_timestamping((0, 0), (1, 2)),
        ),
        (
            IPPROTO_IP,
            IP_RECVERR,
            extended(libc::ENOMSG, ORIGIN_TIMESTAMPING, TSTAMP_SND, u32::MAX),
        ),
    ]);
    let timestamps = RawTimestamps {
        software: None,
        hardware: Some(HardwareTicks::new(1_000_000_002)),
    };
    assert_eq!(
        queue_entry(&control, || None),
        Some(QueueEntry::Timestamp {
            id: TransmitId(u32::MAX),
            timestamps,
            device: None,
        })
    );
}

/// In the order in which Linux 6.18 writes them for a socket that has `SOF_TIMESTAMPING_OPT_CMSG` and no `OPT_TSONLY`.
#[test]
fn a_transmit_timestamp_names_the_device_that_the_kernel_names() {
    let three = || {
        (
            SOL_SOCKET,
            SO_TIMESTAMPING_NEW,
            scm_timestamping((0, 0), (1, 2)),
        )
    };
    let error = || extended(libc::ENOMSG, ORIGIN_TIMESTAMPING, TSTAMP_SND, 9);
    let of_v4 = [4u32.to_ne_bytes(), [10, 0, 0, 1], [10, 0, 0, 2]].concat();
    let of_v6 = [[0x20; 16].as_slice(), &5u32.to_ne_bytes()].concat();
    let none = [0u32.to_ne_bytes(), [10, 0, 0, 1], [10, 0, 0, 2]].concat();
    for (level, kind, data, named) in [
        (IPPROTO_IP, IP_PKTINFO, of_v4, Some(4)),
        (IPPROTO_IPV6, IPV6_PKTINFO, of_v6, Some(5)),
        (IPPROTO_IP, IP_PKTINFO, none, None),
        (IPPROTO_IP, IP_PKTINFO, vec![4, 0], None),
    ] {
        let error = match level {
            IPPROTO_IP => (IPPROTO_IP, IP_RECVERR, error()),
            _ => (IPPROTO_IPV6, IPV6_RECVERR, error()),
        };
        let control = buffer(&[three(), (level, kind, data), error]);
        let Some(QueueEntry::Timestamp { id, device, .. }) = queue_entry(&control, || None) else {
            panic!("no timestamp")
        };
        assert_eq!((id.0, device.map(InterfaceIndex::get)), (9, named));
    }
}

#[test]
fn icmp_errors_with_a_timestamp_are_no_transmit_timestamps() {
    let mut error = extended(libc::ECONNREFUSED, ORIGIN_ICMP, 0, 77);
    let mut reporter = [0u8; 16];
    reporter[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    reporter[4..8].copy_from_slice(&[192, 0, 2, 9]);
    error.extend(reporter);
    let control = buffer(&[
        (
            SOL_SOCKET,
            SO_TIMESTAMPING_NEW,
            scm_timestamping((5, 6), (7, 8)),
        ),
        (IPPROTO_IP, IP_RECVERR, error),
    ]);
    let Some(QueueEntry::Notice(Notice::Icmp(icmp))) = queue_entry(&control, || None) else {
        panic!("no ICMP notice")
    };
    assert_eq!(
        (icmp.code, icmp.icmp_type, icmp.icmp_code),
        (libc::ECONNREFUSED, 3, 1)
    );
    assert_eq!(icmp.reporter, Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9))));
}

#[test]
fn the_entry_into_the_queue_is_set_apart_from_the_transmit_timestamp() {
    let entry = |software, hardware| {
        let control = buffer(&[
            (
                SOL_SOCKET,
                SO_TIMESTAMPING_NEW,
                scm_timestamping(software, hardware),
            ),
            (
                IPPROTO_IP,
                IP_RECVERR,
                extended(libc::ENOMSG, ORIGIN_TIMESTAMPING, TSTAMP_SCHED, 9),
            ),
        ]);
        queue_entry(&control, || None)
    };
    let queued = QueueEntry::Queued {
        id: TransmitId(9),
        at: UtcTime::from_nanoseconds(5_000_000_006),
    };
    assert_eq!(entry((5, 6), (0, 0)), Some(queued));
    for without in [((0, 0), (0, 0)), ((0, 0), (5, 6)), ((5, -1), (0, 0))] {
        assert_eq!(entry(without.0, without.1), Some(QueueEntry::OtherPoint));
    }
}

#[test]
fn zero_copy_completions_and_other_points_are_set_apart() {
    let entry = |code, origin, info| {
        queue_entry(
            &buffer(&[(IPPROTO_IPV6, IPV6_RECVERR, extended(code, origin, info, 9))]),
            || None,
        )
    };
    assert_eq!(
        entry(0, ORIGIN_ZEROCOPY, 4),
        Some(QueueEntry::Notice(Notice::ZeroCopy { first: 4, last: 9 }))
    );
    assert_eq!(
        entry(libc::ENOMSG, ORIGIN_TIMESTAMPING, 2),
        Some(QueueEntry::OtherPoint)
    );
    assert_eq!(
        entry(5, 6, 0),
        Some(QueueEntry::Notice(Notice::Other { origin: 6, code: 5 }))
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = received(&bytes);
        let _ = queue_entry(&bytes, || None);
    }
}

#[test]
fn the_usual_messages_mean_what_the_walk_says_and_others_are_walked() {
    let three = || {
        let data = scm_timestamping((5, 6), (7, 8));
        (SOL_SOCKET, SO_TIMESTAMPING_NEW, data)
    };
    let information = || (IPPROTO_IP, IP_PKTINFO, vec![3; 12]);
    let drops = || (SOL_SOCKET, SO_RXQ_OVFL, vec![1; 4]);
    let cut = |(level, kind, mut data): (i32, i32, Vec<u8>)| {
        data.truncate(data.len() - 1);
        (level, kind, data)
    };
    let received_with = [
        (true, vec![three(), information()]),
        (false, vec![]),
        (true, vec![three()]),
        (false, vec![information(), three()]),
        (false, vec![three(), information(), drops()]),
        (false, vec![three(), drops(), information()]),
        (false, vec![cut(three()), information()]),
        (false, vec![three(), cut(information())]),
        (
            false,
            vec![three(), (IPPROTO_IPV6, IP_PKTINFO, vec![3; 12])],
        ),
    ];
    for (is_usual, parts) in received_with {
        let control = buffer(&parts);
        assert_eq!(usual(&control).is_some(), is_usual, "{parts:?}");
        assert_eq!(received(&control), walked(&control), "{parts:?}");
    }
    let error = || {
        let mut data = extended(libc::ENOMSG, ORIGIN_TIMESTAMPING, TSTAMP_SND, 9);
        data.extend([2; 16]);
        (IPPROTO_IP, IP_RECVERR, data)
    };
    let entries = [
        (true, vec![three(), error()]),
        (false, vec![error(), three()]),
        (false, vec![three(), cut(error())]),
        (false, vec![three(), error(), drops()]),
        (false, vec![three()]),
    ];
    for (is_usual, parts) in entries {
        let control = buffer(&parts);
        let read = usual_entry(&control);
        assert_eq!(read.is_some(), is_usual, "{parts:?}");
        if let Some((three, extended)) = read {
            let seen = (timestamps(three), None, extended.as_slice());
            assert_eq!(Some(seen), walked_entry(&control));
        }
        let is_timestamp = matches!(
            queue_entry(&control, || None),
            Some(QueueEntry::Timestamp {
                id: TransmitId(9),
                timestamps: RawTimestamps { software: Some(software), .. },
                ..
            }) if software == UtcTime::from_nanoseconds(5_000_000_006)
        );
        assert_eq!(is_timestamp, parts.len() > 1, "{parts:?}");
    }
}
