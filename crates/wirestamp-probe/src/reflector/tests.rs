use super::*;
use crate::packet::Reply;
use crate::timestamp::TimestampFormat;
use crate::tlv::{Area, ClassOfService, DirectMeasurement, FollowUp, accept};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp_core::time::UtcTime;

const UTC: i64 = 1_795_334_706_000_000_000;

fn key() -> Key {
    Key::from_octets(&[3; 32]).expect("a key")
}

fn source(number: u32) -> SocketAddr {
    (Ipv4Addr::from(0x0a00_0000 + number), 50_000).into()
}

fn at(microseconds: i64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(microseconds * 1_000)
}

fn arrival<'a>(payload: &'a [u8], from: SocketAddr, microseconds: i64) -> Arrival<'a> {
    let now = at(microseconds);
    Arrival {
        payload,
        source: from,
        destination: Some(Ipv4Addr::new(10, 1, 1, 1).into()),
        port: 862,
        now,
        received: Some(HostTimestamp {
            at: Bounded::new(now, Span::from_nanoseconds(40)),
            utc: UtcTime::from_nanoseconds(UTC + now.nanoseconds()),
            method: Method::Software,
        }),
        hop_limit: Some(61),
        traffic_class: Some(0b1011_1001),
    }
}

/// A request with follow-up telemetry, counts and class of service.
fn request(sequence: u32, key: Option<&Key>) -> Vec<u8> {
    let mut area = Area::default();
    area.push(kind::FOLLOW_UP, &FollowUp::octets(None));
    area.push(kind::DIRECT_MEASUREMENT, &[0; 12]);
    let class = ClassOfService {
        wanted_dscp: 10,
        ..ClassOfService::default()
    };
    area.push(kind::CLASS_OF_SERVICE, &class.octets());
    area.push(kind::TIMESTAMP_INFORMATION, &[0; 4]);
    if let Some(key) = key {
        area.sign(sequence, key);
    }
    let mut octets = request_at(sequence, i64::from(sequence) * 1_000, key);
    octets.extend_from_slice(area.octets());
    octets
}

/// A request without extensions, with its own transmit time.
fn request_at(sequence: u32, microseconds: i64, key: Option<&Key>) -> Vec<u8> {
    let sent = UtcTime::from_nanoseconds(UTC + microseconds * 1_000);
    let mut octets = vec![0; Mode::of(key).base_length()];
    Request {
        sequence,
        timestamp: WireTimestamp::encode(sent, TimestampFormat::Ntp, 37),
        error_bits: 0x0587,
        ssid: 9,
    }
    .write(key, &mut octets);
    octets
}

fn reply(reflector: &mut Reflector, arrival: &Arrival<'_>) -> (Prepared, Vec<u8>) {
    let mut octets = Vec::new();
    match reflector.prepare(arrival, &mut octets) {
        Decision::Reply(prepared) => {
            let written = arrival.now + Span::from_microseconds(20);
            let key = reflector.key().cloned();
            prepared.complete(written, key.as_ref(), &mut octets);
            reflector.batch_sent([prepared.id].into_iter(), written);
            (prepared, octets)
        }
        other => panic!("{other:?}"),
    }
}

fn refusal(reflector: &mut Reflector, arrival: &Arrival<'_>) -> Dropped {
    let before = reflector.counters();
    match reflector.prepare(arrival, &mut Vec::new()) {
        Decision::Drop(reason) => {
            assert_eq!(
                reflector.counters().dropped_for(reason),
                before.dropped_for(reason) + 1
            );
            assert_eq!(reflector.counters().replies, before.replies);
            reason
        }
        other => panic!("{other:?}"),
    }
}

fn extension<T>(
    octets: &[u8],
    key: Option<&Key>,
    wanted: u8,
    read: fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let base = Mode::of(key).base_length();
    let sequence = Reply::read(octets, key).expect("a reply").sequence;
    let mut found = None;
    accept(&octets[base..], sequence, key, |kind, value| {
        if kind == wanted {
            found = read(value);
        }
    })
    .expect("extensions to be trusted");
    found
}

fn utc(timestamp: WireTimestamp, format: TimestampFormat) -> i64 {
    let near = UtcTime::from_nanoseconds(UTC);
    timestamp
        .decode(format, 37, near)
        .expect("a time")
        .nanoseconds()
        - UTC
}

#[test]
fn a_reply_has_the_requests_size_and_the_times_of_its_packets() {
    for key in [None, Some(key())] {
        for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
            let mut reflector = Reflector::new(ReflectorConfiguration {
                key: key.clone(),
                format,
                ..Default::default()
            });
            let asked = request(5, key.as_ref());
            let (prepared, octets) = reply(&mut reflector, &arrival(&asked, source(1), 1_000));
            assert_eq!(octets.len(), asked.len());
            assert_eq!(
                (prepared.to, prepared.traffic_class),
                (source(1), 0b1011_1001)
            );
            let read = Reply::read(&octets, key.as_ref()).expect("a reply");
            assert_eq!(
                (
                    read.sequence,
                    read.sender_sequence,
                    read.ssid,
                    read.sender_ttl
                ),
                (0, 5, 9, 61)
            );
            assert_eq!(read.error.format(), format);
            assert_eq!(utc(read.received, format), 1_000_000);
            assert_eq!(utc(read.timestamp, format), 1_020_000);
            assert_eq!(utc(read.sender_timestamp, TimestampFormat::Ntp), 5_000_000);
            assert!(
                read.error.bound() >= Span::from_nanoseconds(41) && !read.error.is_synchronized()
            );
            assert!(read.error.bound() <= Span::from_nanoseconds(43));
        }
    }
}

#[test]
fn the_next_reply_carries_the_transmit_timestamp_of_the_one_before() {
    for key in [None, Some(key())] {
        let mut reflector = Reflector::new(ReflectorConfiguration {
            key: key.clone(),
            ..Default::default()
        });
        let (first, octets) = reply(
            &mut reflector,
            &arrival(&request(0, key.as_ref()), source(1), 1_000),
        );
        assert_eq!(
            extension(&octets, key.as_ref(), kind::FOLLOW_UP, FollowUp::read),
            None
        );
        // of another session, and of an unknown reply
        let (other, _) = reply(
            &mut reflector,
            &arrival(&request(0, key.as_ref()), source(2), 1_001),
        );
        reflector.sent(other.id, Bounded::exact(at(1_999)), Method::Software);
        reflector.sent(TransmitId(777), Bounded::exact(at(1_888)), Method::Software);
        reflector.sent(
            first.id,
            Bounded::new(at(1_031), Span::from_microseconds(3)),
            Method::Hardware,
        );
        let (_, octets) = reply(
            &mut reflector,
            &arrival(&request(1, key.as_ref()), source(1), 3_000),
        );
        let follow_up =
            extension(&octets, key.as_ref(), kind::FOLLOW_UP, FollowUp::read).expect("a follow-up");
        assert_eq!(
            (follow_up.sequence, follow_up.method),
            (0, Method::Hardware)
        );
        assert_eq!(utc(follow_up.timestamp, TimestampFormat::Ntp), 1_031_000);
        // the estimate covers the reported time
        let read = Reply::read(&octets, key.as_ref()).expect("a reply");
        assert!(read.error.bound() >= Span::from_nanoseconds(3_001));
        // none arrived for the second one: an older one is not repeated
        let (_, octets) = reply(
            &mut reflector,
            &arrival(&request(2, key.as_ref()), source(1), 4_000),
        );
        assert_eq!(
            extension(&octets, key.as_ref(), kind::FOLLOW_UP, FollowUp::read),
            None
        );
        let counts = extension(
            &octets,
            key.as_ref(),
            kind::DIRECT_MEASUREMENT,
            DirectMeasurement::read,
        );
        assert_eq!(
            counts.map(|counts| (counts.reflector_received, counts.reflector_sent)),
            Some((3, 3))
        );
    }
}

#[test]
fn replies_of_one_session_are_not_sent_together_if_the_second_carries_the_first() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let (first, second) = (request(0, None), request(1, None));
    let mut octets = Vec::new();
    let Decision::Reply(prepared) = reflector.prepare(&arrival(&first, source(1), 0), &mut octets)
    else {
        panic!("no reply");
    };
    let again = arrival(&second, source(1), 1);
    assert!(matches!(
        reflector.prepare(&again, &mut octets),
        Decision::SendFirst
    ));
    reflector.batch_sent([prepared.id].into_iter(), at(2));
    reflector.sent(prepared.id, Bounded::exact(at(3)), Method::Software);
    let (_, octets) = reply(&mut reflector, &again);
    assert!(extension(&octets, None, kind::FOLLOW_UP, FollowUp::read).is_some());
    assert_eq!(reflector.counters().replies, 2);
}

#[test]
fn a_stateless_reflector_returns_the_requests_number_and_no_follow_up() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        stateful: false,
        ..Default::default()
    });
    for sequence in [7, 3, 900] {
        let (prepared, octets) = reply(
            &mut reflector,
            &arrival(&request(sequence, None), source(1), 0),
        );
        reflector.sent(prepared.id, Bounded::exact(at(30)), Method::Software);
        let read = Reply::read(&octets, None).expect("a reply");
        assert_eq!((read.sequence, read.sender_sequence), (sequence, sequence));
        assert_eq!(
            extension(&octets, None, kind::FOLLOW_UP, FollowUp::read),
            None
        );
    }
    assert_eq!(reflector.sessions(), 0);
}

#[test]
fn without_follow_up_the_estimate_covers_how_late_packets_leave() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let plain = &request(0, None)[..44];
    let (prepared, _) = reply(&mut reflector, &arrival(plain, source(1), 0));
    reflector.sent(prepared.id, Bounded::exact(at(520)), Method::Software);
    let (_, octets) = reply(&mut reflector, &arrival(plain, source(1), 1_000));
    let error = Reply::read(&octets, None).expect("a reply").error;
    assert!(
        error.bound() >= Span::from_microseconds(500),
        "{}",
        error.bound()
    );
}

#[test]
fn a_synchronised_clock_is_said_with_its_bound() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    reflector.set_clock_bound(Some(Span::from_microseconds(70)));
    let (_, octets) = reply(&mut reflector, &arrival(&request(0, None), source(1), 0));
    let error = Reply::read(&octets, None).expect("a reply").error;
    assert!(error.is_synchronized() && error.bound() >= Span::from_nanoseconds(70_041));
}

#[test]
fn the_class_of_service_is_reported_and_granted_by_policy_alone() {
    for grant_dscp in [false, true] {
        let mut reflector = Reflector::new(ReflectorConfiguration {
            grant_dscp,
            ..Default::default()
        });
        let (prepared, octets) = reply(&mut reflector, &arrival(&request(0, None), source(1), 0));
        let class =
            extension(&octets, None, kind::CLASS_OF_SERVICE, ClassOfService::read).expect("it");
        assert_eq!(
            (class.wanted_dscp, class.received_dscp, class.received_ecn),
            (10, 0b10_1110, 1)
        );
        assert_eq!(class.refused, !grant_dscp);
        let dscp = if grant_dscp { 10 } else { 0b10_1110 };
        assert_eq!(prepared.traffic_class, dscp << 2 | 1);
    }
}

#[test]
fn what_is_no_request_is_dropped_for_its_reason() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let good = request(0, None);
    let mut invalid = good.clone();
    invalid[13] = 0;
    let from_reflector: SocketAddr = (Ipv4Addr::new(10, 0, 0, 9), 862).into();
    assert_eq!(
        refusal(&mut reflector, &arrival(&good[..43], source(1), 0)),
        Dropped::Short
    );
    assert_eq!(
        refusal(&mut reflector, &arrival(&invalid, source(1), 0)),
        Dropped::Invalid
    );
    assert_eq!(
        refusal(&mut reflector, &arrival(&good, from_reflector, 0)),
        Dropped::Loop
    );
    let unstamped = Arrival {
        received: None,
        ..arrival(&good, source(1), 0)
    };
    assert_eq!(refusal(&mut reflector, &unstamped), Dropped::NoTimestamp);
    assert_eq!(reflector.sessions(), 0);
}

#[test]
fn with_a_key_forged_and_replayed_requests_are_dropped() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        key: Some(key()),
        ..Default::default()
    });
    let good = request(3, Some(&key()));
    reply(&mut reflector, &arrival(&good, source(1), 0));
    assert_eq!(
        refusal(&mut reflector, &arrival(&good, source(1), 1)),
        Dropped::Replayed
    );
    let other = request(4, Some(&Key::from_octets(&[4; 32]).expect("a key")));
    assert_eq!(
        refusal(&mut reflector, &arrival(&other, source(1), 2)),
        Dropped::WrongHmac
    );
    assert_eq!(
        refusal(&mut reflector, &arrival(&request(4, None), source(1), 2)),
        Dropped::Short
    );
    // reordering is not a replay, and a sender may restart
    for sequence in [9, 5, 6, 200] {
        reply(
            &mut reflector,
            &arrival(&request(sequence, Some(&key())), source(1), 3),
        );
        let again = request(sequence, Some(&key()));
        assert_eq!(
            refusal(&mut reflector, &arrival(&again, source(1), 4)),
            Dropped::Replayed
        );
    }
    assert_eq!(
        refusal(
            &mut reflector,
            &arrival(&request(7, Some(&key())), source(1), 3)
        ),
        Dropped::Replayed
    );
}

#[test]
fn short_requests_are_answered_on_request_alone() {
    let configuration = ReflectorConfiguration {
        answer_short: true,
        ..Default::default()
    };
    let mut reflector = Reflector::new(configuration);
    let short = &request(0, None)[..14];
    let (_, octets) = reply(&mut reflector, &arrival(short, source(1), 0));
    assert_eq!(octets.len(), 44);
    assert_eq!(
        refusal(&mut reflector, &arrival(&short[..13], source(1), 0)),
        Dropped::Short
    );
}

#[test]
fn new_sessions_displace_idle_ones_only() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        sessions: 100,
        ..Default::default()
    });
    let asked = request(0, None);
    for number in 0..100 {
        reply(&mut reflector, &arrival(&asked, source(number), 0));
    }
    let (_, octets) = reply(&mut reflector, &arrival(&request(8, None), source(100), 1));
    assert_eq!(Reply::read(&octets, None).expect("a reply").sequence, 8);
    assert_eq!(reflector.sessions(), 100, "it has none");
    reply(&mut reflector, &arrival(&asked, source(7), 50_000_000));
    reply(&mut reflector, &arrival(&asked, source(100), 61_000_000));
    assert_eq!(
        reflector.sessions(),
        2,
        "the one that was heard and the new one"
    );
    let (_, octets) = reply(&mut reflector, &arrival(&asked, source(7), 62_000_000));
    assert_eq!(Reply::read(&octets, None).expect("a reply").sequence, 2);
}

#[test]
fn a_source_that_floods_is_limited_and_others_are_not() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        rate: 1_000,
        ..Default::default()
    });
    let asked: Vec<_> = (0..102).map(|sequence| request(sequence, None)).collect();
    for request in &asked[..100] {
        reply(&mut reflector, &arrival(request, source(1), 0));
    }
    assert_eq!(
        refusal(&mut reflector, &arrival(&asked[100], source(1), 0)),
        Dropped::RateLimit
    );
    reply(&mut reflector, &arrival(&asked[0], source(2), 0));
    reply(&mut reflector, &arrival(&asked[101], source(1), 2_000));
}

#[test]
fn a_sender_whose_clock_is_stepped_back_is_answered_on() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        key: Some(key()),
        ..Default::default()
    });
    for sequence in 0..200 {
        let mut asked = vec![0; 112];
        let sent = UtcTime::from_nanoseconds(UTC - i64::from(sequence) * 1_000_000_000);
        Request {
            sequence,
            timestamp: WireTimestamp::encode(sent, TimestampFormat::Ntp, 37),
            error_bits: 0x0587,
            ssid: 9,
        }
        .write(Some(&key()), &mut asked);
        reply(&mut reflector, &arrival(&asked, source(1), 0));
        let again = refusal(&mut reflector, &arrival(&asked, source(1), 1));
        assert_eq!(again, Dropped::Replayed);
    }
}

/// The class of service is a setting of the socket, so a reply with another class is prepared after
/// those before it are sent.
#[test]
fn a_reply_that_waits_alone_is_sent_before_the_next_of_its_session() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let octets = request(0, None);
    let Decision::Reply(first) =
        reflector.prepare(&arrival(&octets, source(1), 0), &mut Vec::new())
    else {
        panic!("a reply");
    };
    let octets = request(0, None);
    let Decision::Reply(other) =
        reflector.prepare(&arrival(&octets, source(2), 1), &mut Vec::new())
    else {
        panic!("a reply");
    };
    // only the replies prepared before it are sent
    reflector.batch_sent([first.id].into_iter(), at(2));
    let octets = request(1, None);
    let next = reflector.prepare(&arrival(&octets, source(2), 3), &mut Vec::new());
    assert!(matches!(next, Decision::SendFirst), "{next:?}");
    reflector.batch_sent([other.id].into_iter(), at(4));
    let next = reflector.prepare(&arrival(&octets, source(2), 5), &mut Vec::new());
    assert!(matches!(next, Decision::Reply(_)), "{next:?}");
}

#[test]
fn a_reply_without_a_transmit_timestamp_is_counted_once_with_its_reason() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let octets = request(0, None);
    let (prepared, _) = reply(&mut reflector, &arrival(&octets, source(1), 0));
    for _ in 0..2 {
        reflector.not_timestamped(prepared.id, Missing::NotSent);
    }
    let counters = reflector.counters();
    assert_eq!(counters.missing_transmit_timestamps.total(), 1);
    assert_eq!(
        (
            counters.missing_transmit_timestamps.of(Missing::NotSent),
            counters.not_sent
        ),
        (1, 1)
    );
}

/// Of a million sources, as many get sessions as are allowed, and keep them. All sources that can
/// be remembered are answered, and seven in eight of the others.
#[test]
fn a_million_sources_need_bounded_memory_and_displace_nobody() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        sessions: 1_000,
        ..ReflectorConfiguration::default()
    });
    let octets = request(0, None);
    let (mut into, mut answered) = (Vec::new(), 0);
    for number in 0..1_000_000 {
        let arrival = arrival(&octets, source(number), i64::from(number) / 100);
        if let Decision::Reply(prepared) = reflector.prepare(&arrival, &mut into) {
            answered += 1;
            reflector.batch_sent([prepared.id].into_iter(), arrival.now);
        }
    }
    let others = 1_000_000 - (1 << 16);
    let beyond = i64::from(answered - (1 << 16)) - i64::from(others) * 7 / 8;
    assert!(beyond.abs() < 3_000, "{answered} answered"); // 2,000 or more occur by chance once in a billion runs
    assert_eq!(reflector.sessions(), 1_000);
    assert!(reflector.sessions.slots() <= 1_000);
    assert_eq!(reflector.pending.len(), PENDING);
    let dropped = reflector.counters().dropped_for(Dropped::SessionsFull);
    assert_eq!(dropped, 1_000_000 - answered as u64);
    // one second after its first packet, the first source is still answered
    let octets = request(1, None);
    reply(&mut reflector, &arrival(&octets, source(0), 1_000_000));
}

/// The number of the reply to a packet of a session, on a reflector that counts replies.
fn number_of_reply(reflector: &mut Reflector, from: SocketAddr, ssid: u16, sequence: u32) -> u32 {
    let mut octets = request(sequence, None);
    octets[14..16].copy_from_slice(&ssid.to_be_bytes());
    let (_, octets) = reply(reflector, &arrival(&octets, from, sequence.into()));
    Reply::read(&octets, None).expect("a reply").sequence
}

#[test]
fn who_opens_many_sessions_leaves_room_for_others() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        sessions: 1_000,
        rate: 1_000_000,
        ..Default::default()
    });
    // IPv6 addresses of one network are one source; each port is new and gets its own session
    for number in 0..60_000 {
        let network = [
            0x2001,
            0xdb8,
            0,
            0,
            0,
            0,
            (number >> 8) as u16,
            number as u16,
        ];
        let from = (Ipv6Addr::from(network), 50_000).into();
        reply(&mut reflector, &arrival(&request(0, None), from, 0));
    }
    assert_eq!(reflector.sessions(), 500);
    for other in 0..400 {
        for sequence in 40..43 {
            let told = number_of_reply(&mut reflector, source(other), 9, sequence);
            assert_eq!(told, sequence - 40, "a session of its own");
        }
    }
    assert_eq!(reflector.sessions(), 900);
    // a source that has used up its sessions is still answered: the replies have its own numbers
    for sequence in 40..1_000 {
        let mut octets = request(sequence, None);
        octets[14..16].copy_from_slice(&7_u16.to_be_bytes());
        let from = (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 9, 9, 9, 9), 50_000).into();
        let (_, octets) = reply(&mut reflector, &arrival(&octets, from, sequence.into()));
        assert_eq!(
            Reply::read(&octets, None).expect("a reply").sequence,
            sequence
        );
    }
}

#[test]
fn a_sender_that_starts_again_from_its_port_is_numbered_anew() {
    for key in [None, Some(key())] {
        let key = key.as_ref();
        let mut reflector = Reflector::new(ReflectorConfiguration {
            key: key.cloned(),
            ..Default::default()
        });
        let mut number = |sequence, microseconds| {
            let octets = request_at(sequence, microseconds, key);
            let arrival = arrival(&octets, source(1), microseconds);
            let (_, octets) = reply(&mut reflector, &arrival);
            Reply::read(&octets, key).expect("a reply").sequence
        };
        let first = (0..20).map(|sequence| number(sequence, 1_000 + i64::from(sequence) * 100));
        assert!(first.eq(0..20));
        let again = (0..5).map(|sequence| number(sequence, 10_000 + i64::from(sequence) * 100));
        assert!(again.eq(0..5), "it starts again");
        // a duplicate of the first packet is older than others (with a key, it is dropped)
        if key.is_none() {
            assert_eq!(number(0, 10_000), 5);
        }
        assert_eq!(number(5, 10_500), if key.is_none() { 6 } else { 5 });
    }
}

#[test]
fn a_number_that_wraps_goes_on() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let mut number = |sequence, microseconds| {
        let octets = request_at(sequence, microseconds, None);
        let (_, octets) = reply(&mut reflector, &arrival(&octets, source(1), microseconds));
        Reply::read(&octets, None).expect("a reply").sequence
    };
    let told = [(u32::MAX - 1, 0), (u32::MAX, 100), (0, 200), (1, 300)];
    assert!(
        told.map(|(sequence, at)| number(sequence, at))
            .into_iter()
            .eq(0..4)
    );
}

/// Its sessions end because there is no room; its packets are still answered.
#[test]
fn many_sessions_of_one_socket_are_answered_without_a_share_too() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        sessions: 16,
        rate: 1_000_000,
        ..Default::default()
    });
    for sequence in 0..100 {
        for ssid in 1..32 {
            let told = number_of_reply(&mut reflector, source(1), ssid, sequence);
            assert_eq!(told, sequence);
        }
    }
    assert_eq!(reflector.sessions(), 8);
}

#[test]
fn what_was_sent_to_many_hosts_is_not_answered() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    let asked = request(0, None);
    for address in [
        "255.255.255.255",
        "224.0.1.1",
        "ff02::1",
        "::ffff:224.0.0.1",
    ] {
        let arrival = Arrival {
            destination: Some(address.parse().expect("an address")),
            ..arrival(&asked, source(1), 0)
        };
        let refused = refusal(&mut reflector, &arrival);
        assert_eq!(refused, Dropped::NotUnicast, "{address}");
    }
    assert_eq!(reflector.sessions(), 0);
}

#[test]
fn a_signed_packet_is_answered_once_by_a_stateless_reflector_too() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        stateful: false,
        key: Some(key()),
        ..Default::default()
    });
    for sequence in [70, 71, 75] {
        let asked = request(sequence, Some(&key()));
        let (_, octets) = reply(&mut reflector, &arrival(&asked, source(1), 0));
        let read = Reply::read(&octets, Some(&key())).expect("a reply");
        assert_eq!(read.sequence, sequence, "the request's");
        for microsecond in 1..50 {
            let again = arrival(&asked, source(1), microsecond);
            assert_eq!(refusal(&mut reflector, &again), Dropped::Replayed);
        }
    }
}

#[test]
fn servers_and_reflectors_are_not_answered() {
    let mut reflector = Reflector::new(ReflectorConfiguration::default());
    reflector.set_ports([862, 8_620]);
    let asked = request(0, None);
    for port in [0, 7, 19, 123, 862, 1_023, 8_620] {
        let from = (Ipv4Addr::new(10, 0, 0, 1), port).into();
        let refused = refusal(&mut reflector, &arrival(&asked, from, 0));
        assert_eq!(refused, Dropped::Loop, "{port}");
    }
    let from = (Ipv4Addr::new(10, 0, 0, 1), 1_024).into();
    reply(&mut reflector, &arrival(&asked, from, 0));
    // some senders have STAMP's port
    reflector.set_ports([8_620]);
    let elsewhere = Arrival {
        port: 8_620,
        ..arrival(&asked, (Ipv4Addr::new(10, 0, 0, 1), 862).into(), 0)
    };
    reply(&mut reflector, &elsewhere);
}

/// The numbers of a sender's packets and of its unanswered packets, if an attacker forges packets
/// before each of them. `forged` returns their sequence numbers from the sender's next one.
fn unanswered(
    configuration: ReflectorConfiguration,
    mut forged: impl FnMut(u32) -> Vec<u32>,
) -> [u32; 2] {
    const PACKETS: u32 = 8_000;
    let mut reflector = Reflector::new(ReflectorConfiguration {
        rate: 1_000_000,
        ..configuration
    });
    let (mut dropped, mut now) = (0, 0);
    let mut send = |reflector: &mut Reflector, number| {
        now += 100;
        let octets = request(number, None);
        let arrival = arrival(&octets, source(1), now);
        match reflector.prepare(&arrival, &mut Vec::new()) {
            Decision::Reply(prepared) => {
                reflector.batch_sent([prepared.id].into_iter(), arrival.now);
            }
            Decision::Drop(reason) => {
                assert_eq!(reason, Dropped::Loop);
                return 1;
            }
            Decision::SendFirst => panic!("everything is sent"),
        }
        0
    };
    for sequence in 0..PACKETS {
        for number in forged(sequence) {
            send(&mut reflector, number);
        }
        dropped += send(&mut reflector, sequence);
    }
    [PACKETS, dropped]
}

/// Below the rate limit, forged packets cost a sender one packet in eight if its address, port and
/// sequence numbers are known.
#[test]
fn forged_numbers_take_one_packet_in_eight_from_a_sender() {
    let random = || {
        let mut random = 7_u32;
        move || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random | 0x8000_0000 // beyond what continues a sender's count
        }
    };
    type Forger = Box<dyn FnMut(u32) -> Vec<u32>>;
    let forgers = || -> Vec<(&str, Forger, bool)> {
        let (mut one, mut three, mut seven) = (random(), random(), random());
        let (mut noise, mut tail) = (random(), random());
        vec![
            ("nothing", Box::new(|_| vec![]), true),
            ("the same number", Box::new(|next| vec![next]), true),
            ("one of no order", Box::new(move |_| vec![one()]), false),
            (
                "three of no order",
                Box::new(move |_| (0..3).map(|_| three()).collect()),
                false,
            ),
            (
                "seven of no order",
                Box::new(move |_| (0..7).map(|_| seven()).collect()),
                false,
            ),
            (
                "far ahead once, then noise",
                Box::new(move |next| {
                    if next == 3 {
                        vec![next + 65_536]
                    } else {
                        vec![noise()]
                    }
                }),
                false,
            ),
            (
                "two counts far ahead again and again, and noise",
                Box::new(move |next| match next % 50 {
                    1 => vec![next + 65_536, next + 65_537, next + 60_000, next + 60_001],
                    _ => vec![tail()],
                }),
                false,
            ),
            (
                "always ahead",
                Box::new(|next| vec![next.wrapping_add(40_000), next.wrapping_add(20_000)]),
                false,
            ),
            (
                "always behind",
                Box::new(|next| vec![next.wrapping_sub(9), next.wrapping_sub(90_000)]),
                false,
            ),
        ]
    };
    for (stateful, sessions) in [(true, 10), (true, 0), (false, 10)] {
        for (name, forger, is_harmless) in forgers() {
            let configuration = ReflectorConfiguration {
                stateful,
                sessions,
                ..Default::default()
            };
            let [packets, dropped] = unanswered(configuration, forger);
            // an eighth is 1,000; 1,200 or more occur by chance once in a billion runs
            let most = if is_harmless { 0 } else { packets * 3 / 20 };
            assert!(
                dropped <= most,
                "{name}, stateful {stateful}, {sessions} sessions: {dropped} of {packets}"
            );
        }
    }
}

/// Senders of TWAMP Light may pad with any octets: that is not an answer.
#[test]
fn padding_is_no_answer() {
    let mut reflector = Reflector::new(ReflectorConfiguration {
        rate: 1_000_000,
        ..Default::default()
    });
    let mut random = 1_u64;
    for sequence in 0..5_000 {
        let mut octets = request(sequence, None);
        octets.truncate(44);
        for octet in &mut octets[14..] {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *octet = (random >> 56) as u8;
        }
        reply(
            &mut reflector,
            &arrival(&octets, source(1), sequence.into()),
        );
    }
    assert_eq!(reflector.counters().dropped(), 0);
}
