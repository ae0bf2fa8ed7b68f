//! The program makes the same decisions as `trust`: run by a small interpreter, and by the kernel.

use super::super::{Arrived, BATCH, ROOM, ethernet};
use super::*;
use crate::message::PortIdentity;
use crate::trust::{CLASSES, MOST_KNOWN, Pin, class_of, source_of};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::{Duration, Instant};

/// A packet as the kernel passes it to a filter: network header and UDP datagram, or a frame.
#[derive(Default)]
struct Packet {
    network: Vec<u8>,
    data: Vec<u8>,
    ethertype: u32,
    addressed_to: u32,
    vlan: u32,
}

/// Where the kernel's machine finds a frame's ethertype and for whom it is.
const ETHERTYPE: u32 = 0xffff_f000;
const ADDRESSED_TO: u32 = 0xffff_f000 + 4;
/// `PACKET_OTHERHOST`, `PACKET_OUTGOING` (`linux/if_packet.h`).
const ANOTHER_HOST: u32 = 3;
const OUTGOING: u32 = 4;

impl Packet {
    fn new(from: IpAddr, payload: &[u8]) -> Self {
        let network = match from {
            IpAddr::V4(from) => [&[0x45][..], &[0; 11], &from.octets(), &[224, 0, 1, 129]].concat(),
            IpAddr::V6(from) => [&[0x60][..], &[0; 7], &from.octets(), &[0xff; 16]].concat(),
        };
        Self {
            network,
            data: [&[0; 8][..], payload].concat(),
            ..Self::default()
        }
    }

    fn frame(payload: &[u8], (ethertype, addressed_to, vlan): (u32, u32, u32)) -> Self {
        Self {
            network: Vec::new(),
            data: [&[0; 14][..], payload].concat(),
            ethertype,
            addressed_to,
            vlan,
        }
    }

    fn load(&self, at: u32, length: usize) -> Option<u32> {
        let whole;
        let (bytes, at) = if at >= NETWORK {
            whole = [&self.network[..], &self.data].concat();
            (&whole, (at - NETWORK) as usize)
        } else {
            (&self.data, at as usize)
        };
        bytes.get(at..at + length).map(|bytes| {
            bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte))
        })
    }
}

/// Runs a program like the kernel, and returns whether it accepts the packet.
fn run(program: &[Instruction], packet: &Packet, random: u32) -> bool {
    let (mut a, mut memory, mut at) = (0, [None; 16], 0);
    loop {
        let Instruction { code, jt, jf, k } = program[at];
        let jump = |condition: bool| usize::from(if condition { jt } else { jf });
        at += 1;
        match code {
            LD_W if k == RANDOM => a = random,
            LD_W if k == VLAN_TAG => a = packet.vlan,
            LD_H if k == ADDRESSED_TO => a = packet.addressed_to,
            LD_H if k == ETHERTYPE => a = packet.ethertype,
            LD_W | LD_H | LD_B => {
                let length = if code == LD_W {
                    4
                } else if code == LD_H {
                    2
                } else {
                    1
                };
                let Some(loaded) = packet.load(k, length) else {
                    return false;
                };
                a = loaded;
            }
            LD_LEN => a = packet.data.len() as u32,
            LD_MEM => a = memory[k as usize].expect("nothing is read that was not stored"),
            ST => memory[k as usize] = Some(a),
            AND => a &= k,
            JEQ => at += jump(a == k),
            JGE => at += jump(a >= k),
            JSET => at += jump(a & k != 0),
            RET => return k != 0,
            _ => panic!("code {code:#x}"),
        }
    }
}

fn identity(last: u8, port: u16) -> PortIdentity {
    PortIdentity {
        clock: [2, 0, 0, 0xff, 0xfe, 0, 0, last],
        port,
    }
}

fn sender(last: u8, port: Option<u16>, address: Option<IpAddr>) -> Sender {
    Sender {
        identity: Some(Pin {
            clock: identity(last, 0).clock,
            port,
        }),
        address,
    }
}

fn message(kind: u8, domain: u8, source: PortIdentity) -> Vec<u8> {
    let mut bytes = vec![0; 44];
    (bytes[0], bytes[1], bytes[3], bytes[4]) = (kind, 2, 44, domain);
    bytes[20..28].copy_from_slice(&source.clock);
    bytes[28..30].copy_from_slice(&source.port.to_be_bytes());
    bytes
}

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const HERE_6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1));

fn thinned() -> Thinned {
    let mut exponents = [0; CLASSES];
    (exponents[0], exponents[2], exponents[OTHER]) = (16, 4, 8);
    let known = vec![
        sender(1, None, None),
        sender(2, Some(7), Some(HERE)),
        sender(3, None, Some(HERE_6)),
    ];
    Thinned {
        domains: vec![0, 24],
        known,
        exponents,
    }
}

/// The decision of `trust` about a packet.
fn passes(thinned: &Thinned, from: IpAddr, payload: &[u8], random: u32) -> bool {
    let class = class_of(payload, &thinned.domains);
    let known = |source| {
        class != OTHER
            && thinned
                .known
                .iter()
                .any(|sender| sender.is(source, Some(from)))
    };
    source_of(payload).is_some_and(known) || random & ((1 << thinned.exponents[class]) - 1) == 0
}

#[test]
fn the_program_decides_as_trust_does() {
    let (thinned, mut random) = (thinned(), SmallRng::seed_from_u64(1));
    let program = program(Carried::InUdp, Some(&thinned));
    let (mut passed, mut dropped) = (0, 0);
    for _ in 0..200_000 {
        let from = [HERE, HERE_6, IpAddr::from([192, 0, 2, 9])][random.gen_range(0..3)];
        let source = identity(random.gen_range(0..5), random.gen_range(6..9));
        let mut payload = message(
            random.gen_range(0..16),
            [0, 24, 5][random.gen_range(0..3)],
            source,
        );
        if random.gen_bool(0.2) {
            payload.truncate(random.gen_range(0..44));
        }
        if random.gen_bool(0.2) && !payload.is_empty() {
            let at = random.gen_range(0..payload.len());
            payload[at] ^= 1 << random.gen_range(0..8);
        }
        let draw: u32 = random.r#gen::<u32>() & random.r#gen::<u32>() & random.r#gen::<u32>();
        let passes = passes(&thinned, from, &payload, draw);
        assert_eq!(
            run(&program, &Packet::new(from, &payload), draw),
            passes,
            "{payload:02x?} from {from}"
        );
        *(if passes { &mut passed } else { &mut dropped }) += 1;
    }
    assert!(
        passed > 10_000 && dropped > 10_000,
        "{passed} and {dropped}"
    );
}

#[test]
fn the_longest_program_fits_into_old_kernels_memory_for_options() {
    let all = |address| Thinned {
        domains: (0..8).collect(),
        known: vec![sender(1, Some(1), address); MOST_KNOWN],
        exponents: [16; CLASSES],
    };
    // net.core.optmem_max is 20 KiB before Linux 6.7; few instructions become more than two of 8 bytes
    for address in [None, Some(HERE), Some(HERE_6)] {
        assert!(program(Carried::InUdp, Some(&all(address))).len() * 2 * 8 < 20_480);
    }
    let longest = program(Carried::InFrames { event: true }, Some(&all(None)));
    assert!(longest.len() * 2 * 8 < 20_480);
}

#[test]
fn each_socket_for_frames_has_its_messages_and_no_other_frames() {
    // to a group, with a priority at most
    const PTP: [(u32, u32, u32); 2] = [(0x88f7, 2, 0), (0x88f7, 2, 0xe000)];
    let mut thinned = thinned();
    thinned.known = vec![sender(1, None, None), sender(2, Some(7), None)];
    let mut random = SmallRng::seed_from_u64(2);
    let mut passed = [0; 4];
    for round in 0..100_000 {
        let (event, is_thinned) = (round & 1 == 0, round & 2 == 0);
        let known = is_thinned.then_some(&thinned);
        let program = program(Carried::InFrames { event }, known);
        let source = identity(random.gen_range(0..5), random.gen_range(6..9));
        let mut payload = message(random.gen_range(0..16), [0, 24, 5][round % 3], source);
        payload.resize(random.gen_range(0..64), 0); // truncated, or padded
        let draw: u32 = random.r#gen::<u32>() & random.r#gen::<u32>();
        let own = !payload.is_empty() && ethernet::is_for(event, &payload);
        let expected = own && (!is_thinned || passes(&thinned, HERE, &payload, draw));
        let passes = run(&program, &Packet::frame(&payload, PTP[round & 1]), draw);
        assert_eq!(passes, expected, "{payload:02x?}, event: {event}");
        passed[round & 3] += u32::from(passes);
        // of another protocol, for another host, sent by this one, or of a VLAN
        for other in [
            (0x0800, 2, 0),
            (0x88f7, ANOTHER_HOST, 0),
            (0x88f7, OUTGOING, 0),
            (0x88f7, 2, 0xe00a),
        ] {
            assert!(
                !run(&program, &Packet::frame(&payload, other), draw),
                "{other:?}"
            );
        }
    }
    assert!(passed.iter().all(|passed| *passed > 1_000), "{passed:?}");
}

#[test]
fn the_kernel_lets_known_senders_through_and_of_others_what_it_is_told() {
    let open = || wirestamp::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (receiver, transmitter) = (open(), open());
    let to = receiver.local_address().expect("bound");
    let receiver = PortSocket::from(receiver);
    let here = IpAddr::from([127, 0, 0, 1]);
    let mut thinned = thinned();
    thinned.known = vec![
        sender(1, None, None),
        sender(2, Some(7), Some(here)),
        sender(3, None, Some(HERE)),
    ];
    let set = |thinned| set(&receiver, true, thinned) == Filtering::AsWanted;
    assert!(set(Some(&thinned)));
    let count = |kind, source, times| {
        (0..times).for_each(|_| {
            transmitter
                .send_to(&message(kind, 0, source), to, None)
                .expect("sent");
        });
        let (mut room, mut arrived) = ([0; ROOM * BATCH], [Arrived::EMPTY; BATCH]);
        let mut count = 0;
        loop {
            match receiver.receive(&mut room, &mut arrived).expect("open") {
                0 => return count,
                came => count += came,
            }
        }
    };
    assert_eq!(count(0, identity(1, 9), 50), 50, "a pinned sender");
    assert_eq!(count(0, identity(2, 7), 50), 50, "a learnt sender");
    assert_eq!(
        count(0, identity(3, 7), 50),
        0,
        "its identity from elsewhere"
    );
    assert_eq!(count(0, identity(4, 7), 50), 0, "a stranger, one in 65,536");
    assert_eq!(
        count(0xb, identity(4, 7), 50),
        50,
        "a stranger's message of which there are few"
    );
    let sampled: usize = (0..40).map(|_| count(2, identity(4, 7), 50)).sum();
    assert!(
        (60..=200).contains(&sampled),
        "{sampled} of 2,000, one in 16"
    );
    assert!(set(None));
    assert_eq!(count(0, identity(4, 7), 50), 50, "without a filter");
    let begun = Instant::now();
    assert!(
        (0..1_000).all(|_| set(Some(&thinned))),
        "a filter takes the place of another"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// On loopback, where other programs may send as well: only messages of these clocks are counted.
#[test]
fn the_kernel_separates_frames_and_holds_floods_of_them_back() {
    let lo = wirestamp::Interface::find("lo").expect("every Linux has it");
    let sockets = match [
        ethernet::open(&lo),
        ethernet::open(&lo),
        ethernet::open(&lo),
    ] {
        [Ok(event), Ok(general), Ok(transmitter)] => (event, general, transmitter),
        refused => {
            let refused = refused.into_iter().find_map(Result::err).expect("one");
            assert_eq!(
                refused.kind(),
                wirestamp::ErrorKind::NotPermitted,
                "{refused}"
            );
            assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{refused}");
            return;
        }
    };
    let (event, general) = (PortSocket::from(sockets.0), PortSocket::from(sockets.1));
    let clock = |last| {
        let [a, b, c, d] = std::process::id().to_be_bytes();
        PortIdentity {
            clock: [2, a, b, c, d, 0, 9, last],
            port: 1,
        }
    };
    let mut thinned = thinned();
    thinned.known = vec![Sender {
        identity: Some(Pin {
            clock: clock(1).clock,
            port: None,
        }),
        address: None,
    }];
    let count = |kind, last, times| {
        (0..times).for_each(|_| {
            let message = message(kind, 0, clock(last));
            ethernet::send(&sockets.2, &message, false, None).expect("sent");
        });
        [&event, &general].map(|socket| received_from(socket, clock(last)))
    };
    for is_thinned in [false, true] {
        let wanted = is_thinned.then_some(&thinned);
        let set = [set(&event, true, wanted), set(&general, false, wanted)];
        assert_eq!(set, [Filtering::AsWanted; 2]);
        assert_eq!(count(0, 1, 20), [20, 0], "events of a known clock");
        assert_eq!(count(0xb, 1, 20), [0, 20], "others of a known clock");
        let strangers = if is_thinned { 0 } else { 20 };
        assert_eq!(count(0, 2, 20), [strangers, 0], "one in 65,536");
    }
    assert_eq!(set(&event, true, None), Filtering::AsWanted);
    assert_eq!(count(0, 2, 20)[0], 20, "not held back any more");
}

/// Returns how many of the messages that wait at a socket are of this clock.
fn received_from(socket: &PortSocket, clock: PortIdentity) -> usize {
    let (mut room, mut arrived) = ([0; ROOM * BATCH], [Arrived::EMPTY; BATCH]);
    let mut count = 0;
    loop {
        let came = socket.receive(&mut room, &mut arrived).expect("open");
        if came == 0 {
            return count;
        }
        let messages = room.chunks_exact(ROOM).take(came);
        count += messages
            .filter(|message| source_of(message) == Some(clock))
            .count();
    }
}
