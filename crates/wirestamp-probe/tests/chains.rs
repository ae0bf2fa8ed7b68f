//! The number of packets that follow one forged packet among reflectors and other programs that
//! answer each packet, in virtual time. No rate limit ends a chain here: a reply may take half a
//! minute.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_probe::packet::Request;
use wirestamp_probe::reflector::{Arrival, Decision, Reflector, ReflectorConfiguration};
use wirestamp_probe::tlv::Method;
use wirestamp_probe::{HostTimestamp, Key, TimestampFormat, WireTimestamp};

const UTC: i64 = 1_795_334_706_000_000_000;
const SECOND: i64 = 1_000_000_000;
/// Replies of a reflector to one address and port before one is omitted: 32, and three for each
/// answer that is counted by accident, like the first echoes of echoes.
const REPLIES: u64 = 32 + 3 * 3;
/// Replies until the one in eight that is omitted: seven on average, and this many once in 400
/// billion times.
const LUCK: u64 = 200;

/// Answers each received packet.
#[derive(Debug, Clone)]
enum Other {
    Echo,
    /// Octets of this length before the echo.
    Prefix(Vec<u8>),
    /// The same text, longer or shorter than the received packet.
    Text(Vec<u8>),
    /// Random octets, one fewer than received, like QUIC's stateless reset.
    Reset(u64),
    /// A reflector without the rules for ports, echoes and limits.
    Reflector {
        counts: bool,
        copies_ssid: bool,
        has_times: bool,
        clock: i64,
    },
}

#[derive(Debug, Clone)]
struct Ours {
    stateful: bool,
    key: bool,
    format: TimestampFormat,
    sessions: usize,
}

#[derive(Debug, Clone)]
enum Node {
    Ours(Ours),
    Other(Other),
}

struct Host {
    reflector: Option<Reflector>,
    other: Option<Other>,
    answered: u32,
}

fn key() -> Key {
    Key::from_octets(&[3; 32]).expect("a key")
}

/// Not a server port: that rule is not tested here.
fn address(host: usize) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host as u8), 20_000 + host as u16).into()
}

impl Host {
    fn new(node: &Node) -> Self {
        let (reflector, other) = match node {
            Node::Ours(ours) => {
                let configuration = ReflectorConfiguration {
                    stateful: ours.stateful,
                    key: ours.key.then(key),
                    format: ours.format,
                    sessions: ours.sessions,
                    rate: 1_000_000,
                    ..Default::default()
                };
                (Some(Reflector::new(configuration)), None)
            }
            Node::Other(other) => (None, Some(other.clone())),
        };
        Self {
            reflector,
            other,
            answered: 0,
        }
    }

    fn answer(&mut self, octets: &[u8], from: SocketAddr, port: u16, now: i64) -> Option<Vec<u8>> {
        self.answered += 1;
        match (&mut self.reflector, &mut self.other) {
            (Some(reflector), _) => ours(reflector, octets, from, port, now),
            (None, Some(other)) => other.answer(octets, now, self.answered),
            (None, None) => None,
        }
    }
}

fn ours(
    reflector: &mut Reflector,
    octets: &[u8],
    from: SocketAddr,
    port: u16,
    now: i64,
) -> Option<Vec<u8>> {
    let at = MonotonicTime::from_nanoseconds(now);
    let arrival = Arrival {
        payload: octets,
        source: from,
        destination: None,
        port,
        now: at,
        received: Some(HostTimestamp {
            at: Bounded::new(at, Span::from_nanoseconds(40)),
            utc: UtcTime::from_nanoseconds(UTC + now),
            method: Method::Software,
        }),
        hop_limit: Some(64),
        traffic_class: Some(0),
    };
    let mut into = Vec::new();
    match reflector.prepare(&arrival, &mut into) {
        Decision::Reply(prepared) => {
            let key = reflector.key().cloned();
            prepared.complete(at, key.as_ref(), &mut into);
            reflector.batch_sent([prepared.id].into_iter(), at);
            Some(into)
        }
        Decision::SendFirst => panic!("everything is sent"),
        Decision::Drop(_) => None,
    }
}

impl Other {
    fn answer(&mut self, octets: &[u8], now: i64, answered: u32) -> Option<Vec<u8>> {
        match self {
            Self::Echo => Some(octets.to_vec()),
            Self::Prefix(prefix) => Some([prefix, octets].concat()).filter(|all| all.len() < 9_000),
            Self::Text(text) => Some(text.clone()),
            Self::Reset(random) => {
                let mut octets = octets.to_vec();
                octets.pop();
                for octet in &mut octets {
                    *random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    *octet = (*random >> 56) as u8;
                }
                (octets.len() > 20).then_some(octets)
            }
            Self::Reflector {
                counts,
                copies_ssid,
                has_times,
                clock,
            } => {
                let mut reply = octets.to_vec();
                let head: [u8; 16] = *octets.first_chunk()?;
                reply.resize(octets.len().max(44), 0);
                if *counts {
                    reply[..4].copy_from_slice(&answered.to_be_bytes());
                }
                let utc = UtcTime::from_nanoseconds(UTC + now + *clock);
                let time = WireTimestamp::encode(utc, TimestampFormat::Ntp, 37).0;
                let time = if *has_times { time } else { [0; 8] };
                reply[4..12].copy_from_slice(&time);
                reply[16..24].copy_from_slice(&time);
                reply[24..40].copy_from_slice(&head);
                if !*copies_ssid {
                    reply[38..40].fill(0);
                }
                Some(reply)
            }
        }
    }
}

/// The counts afterwards: all packets, and the packets that each of our reflectors sent.
struct Followed {
    all: u64,
    by_ours: BTreeMap<usize, u64>,
}

/// Host `from`'s address is forged; the packet goes to host `to`. Each delay is used in turn.
fn follow(
    nodes: &[Node],
    from: usize,
    to: usize,
    packet: &[u8],
    delays: &[i64],
    most: u64,
) -> Followed {
    let mut hosts: Vec<_> = nodes.iter().map(Host::new).collect();
    follow_on(&mut hosts, 0, from, to, packet, delays, most)
}

/// Like [`follow`], among hosts that have already received packets, from time `since`.
fn follow_on(
    hosts: &mut [Host],
    since: i64,
    from: usize,
    to: usize,
    packet: &[u8],
    delays: &[i64],
    most: u64,
) -> Followed {
    let mut delays = delays.iter().cycle();
    let mut under_way = BTreeSet::from([(since, 0, from, to, packet.to_vec())]);
    let mut followed = Followed {
        all: 1,
        by_ours: BTreeMap::new(),
    };
    while let Some((now, _, from, to, octets)) = under_way.pop_first() {
        let answer = hosts[to].answer(&octets, address(from), address(to).port(), now);
        let Some(answer) = answer else { continue };
        followed.all += 1;
        if hosts[to].reflector.is_some() {
            *followed.by_ours.entry(to).or_default() += 1;
        }
        assert!(
            followed.all < most,
            "no end in sight after {} packets",
            followed.all
        );
        let delay = *delays.next().expect("endless");
        under_way.insert((now + delay, followed.all, to, from, answer));
    }
    followed
}

fn delays() -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        prop::collection::vec(10_000..29 * SECOND, 1..4),
        prop::collection::vec(10_000..5_000_000_i64, 1..4),
    ]
}

fn format() -> impl Strategy<Value = TimestampFormat> {
    prop_oneof![Just(TimestampFormat::Ntp), Just(TimestampFormat::Ptp)]
}

fn reflector() -> impl Strategy<Value = Ours> {
    let sessions = prop_oneof![Just(0_usize), Just(1), Just(1_000)];
    (any::<bool>(), any::<bool>(), format(), sessions).prop_map(
        |(stateful, key, format, sessions)| Ours {
            stateful,
            key,
            format,
            sessions,
        },
    )
}

/// Reflectors and echoes: their packets are recognised by their contents.
fn known() -> impl Strategy<Value = Other> {
    let times = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        -10_i64.pow(18)..10_i64.pow(18),
    );
    prop_oneof![
        Just(Other::Echo),
        times.prop_map(|(counts, copies_ssid, has_times, clock)| Other::Reflector {
            counts,
            copies_ssid,
            has_times,
            clock
        }),
    ]
}

fn any_other() -> impl Strategy<Value = Other> {
    prop_oneof![
        known(),
        prop::collection::vec(any::<u8>(), 1..64).prop_map(Other::Prefix),
        prop::collection::vec(any::<u8>(), 14..200).prop_map(Other::Text),
        any::<u64>().prop_map(Other::Reset),
    ]
}

/// A request, a reply, or arbitrary octets.
fn forged() -> impl Strategy<Value = Vec<u8>> {
    let request = (any::<u32>(), any::<u16>(), any::<bool>(), 0..200_usize).prop_map(
        |(sequence, ssid, signed, more)| {
            let mut octets = vec![0; if signed { 112 } else { 44 } + more];
            let sent = UtcTime::from_nanoseconds(UTC);
            let timestamp = WireTimestamp::encode(sent, TimestampFormat::Ntp, 37);
            let request = Request {
                sequence,
                timestamp,
                error_bits: 0x0587,
                ssid,
            };
            request.write(signed.then(key).as_ref(), &mut octets);
            octets
        },
    );
    prop_oneof![3 => request, 1 => prop::collection::vec(any::<u8>(), 44..300)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The forged packet, one reply, and its receiver's answer.
    #[test]
    fn reflectors_and_echoes_do_not_answer_each_other(
        first in reflector(),
        second in prop_oneof![reflector().prop_map(Node::Ours), known().prop_map(Node::Other)],
        packet in forged(),
        delays in delays(),
        into_first: bool,
    ) {
        let nodes = [Node::Ours(first), second];
        // to our reflector first, or to the program that then answers to its address
        let (from, to) = if into_first { (1, 0) } else { (0, 1) };
        let followed = follow(&nodes, from, to, &packet, &delays, 1_000);
        prop_assert!(followed.all <= 4, "{} packets", followed.all);
        prop_assert!(followed.by_ours.values().all(|sent| *sent <= 1), "{:?}", followed.by_ours);
    }

    /// A program that answers with arbitrary octets gets as many replies as one that sends
    /// arbitrary octets.
    #[test]
    fn a_chain_of_answers_ends_whatever_they_are(
        ours in reflector(),
        other in any_other(),
        packet in forged(),
        delays in delays(),
        into_ours: bool,
    ) {
        let nodes = [Node::Ours(ours), Node::Other(other)];
        let (from, to) = if into_ours { (1, 0) } else { (0, 1) };
        let followed = follow(&nodes, from, to, &packet, &delays, 1_000);
        prop_assert!(followed.all <= 2 * (REPLIES + LUCK) + 2, "{} packets", followed.all);
        prop_assert!(followed.by_ours.values().all(|sent| *sent <= REPLIES + LUCK), "{:?}", followed.by_ours);
    }
}

/// An attacker that keeps forging gets a short chain for each packet, not a lasting one.
#[test]
fn each_packet_that_is_forged_into_a_chain_begins_a_short_one() {
    const SECONDS: i64 = 30;
    let ours = Ours {
        stateful: true,
        key: false,
        format: TimestampFormat::Ntp,
        sessions: 10,
    };
    // a request with the same contents each time, which looks like a sender's
    let mut text = vec![0; 44];
    (text[3], text[13]) = (77, 1);
    let nodes = [Node::Ours(ours), Node::Other(Other::Text(text.clone()))];
    let mut hosts: Vec<_> = nodes.iter().map(Host::new).collect();
    let mut all = 0;
    for turn in 0..1_000 {
        let since = turn * SECONDS * SECOND;
        let followed = follow_on(&mut hosts, since, 1, 0, &text, &[1_000_000], 1_000);
        let sent = followed.by_ours.get(&0).copied().unwrap_or(0);
        let before = if turn == 0 { REPLIES } else { 0 };
        assert!(sent <= before + LUCK, "{sent} replies to packet {turn}");
        all += sent;
    }
    // 7,000 are expected; 9,000 or more occur by chance once in a quadrillion runs
    assert!(all < 9_000, "{all} replies to 1,000 packets");
}

/// The chain of a reflector with itself.
#[test]
fn a_reflector_does_not_answer_itself() {
    let ours = Ours {
        stateful: true,
        key: false,
        format: TimestampFormat::Ntp,
        sessions: 10,
    };
    let mut packet = vec![0; 44];
    packet[13] = 1;
    let followed = follow(&[Node::Ours(ours)], 0, 0, &packet, &[1_000_000], 1_000);
    assert_eq!(followed.all, 1);
}
