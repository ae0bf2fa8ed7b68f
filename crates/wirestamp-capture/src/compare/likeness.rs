//! The parts of a packet that are compared.

use super::pairs::Run;
use super::stream::Range;
use super::tunnels::may_carry;
use super::{DIGESTED, Options, Side};
use crate::copies::Vantage;
use crate::frames::{self, Frame, Frames, unaltered};
use crate::link::Link;
use crate::packet::{self, Flow, Ip, Unreadable};
use crate::read::FilePacket;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use wirestamp_core::capture::CapturedDirection;

/// A longer payload of UDP fits no Ethernet frame: datagrams that GRO joined, or that the NIC has yet to split.
const LONGEST_DATAGRAM: u32 = 1_472;
/// UDP's ports of PTP.
const PTP: [u16; 2] = [319, 320];
/// So many flows are known by two names.
const MOST_NAMES: usize = 65_536;

/// The parts of a packet that are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    pub(super) utc_ns: Option<i64>,
    pub(super) bound_ns: Option<u64>,
    /// Of the clock, but for the first.
    pub(super) run: Run,
    pub(super) direction: Option<CapturedDirection>,
    pub(super) vantage: Vantage,
    /// Whether the vantage may be several interfaces: the first version of Linux' cooked header names none.
    pub(super) is_of_any_interface: bool,
    pub(super) found: Result<Packet, Unreadable>,
}

/// An IP packet, or a frame without one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    /// `None`: a frame.
    pub(super) flow: Option<Flow>,
    pub(super) frames: Option<Frames>,
    /// The same for all packets that look like it. `None`: too little of it was captured.
    pub(super) key: Option<u128>,
    /// Its VLAN, and what its key is without one.
    pub(super) untagged: Option<(u16, u128)>,
    /// The bytes of TCP's stream that it brings.
    pub(super) bytes: Option<Range>,
    /// That of IPv4.
    pub(super) identification: Option<u16>,
    pub(super) is_syn: bool,
    pub(super) is_fragment: bool,
    /// Whether it is UDP or a tunnel's, and longer than an Ethernet frame.
    pub(super) is_long: bool,
    /// Whether another packet may be in it.
    pub(super) may_carry: bool,
    /// How long it is, if it is UDP, and whole.
    pub(super) datagram: Option<u32>,
}

/// The key by which packets are alike.
#[derive(Debug)]
pub(super) struct Likeness {
    options: Options,
    hashers: [RandomState; 2],
    /// A part of the keys of packets with a VLAN.
    tag: u128,
}

impl Likeness {
    pub(super) fn new(options: Options) -> Self {
        let mut likeness = Self {
            options,
            hashers: [RandomState::new(), RandomState::new()],
            tag: 0,
        };
        likeness.tag = likeness.hashed(|hasher| hasher.write_u8(0)) | 1;
        likeness
    }

    pub(super) fn observe(&self, packet: &FilePacket<'_>) -> Observed {
        let found = packet::read(packet.link, packet.data, packet.length);
        Observed {
            utc_ns: packet.utc_ns,
            bound_ns: packet.bound_ns,
            run: packet
                .run
                .filter(|run| run.generation > 0)
                .map(|run| (packet.section, run)),
            direction: packet.direction,
            vantage: packet.vantage,
            is_of_any_interface: packet.link == Link::Sll,
            found: found
                .map(|found| self.packet(&found))
                .or_else(|why| self.without_ip(packet, why)),
        }
    }

    /// A packet in which no IP packet was found, if it is a frame that can be compared by its bytes.
    fn without_ip(&self, packet: &FilePacket<'_>, why: Unreadable) -> Result<Packet, Unreadable> {
        let found = match why {
            Unreadable::NotIp => frames::read(packet.link, packet.data, packet.length),
            _ => None,
        };
        found.map(|found| self.frame(&found)).ok_or(why)
    }

    fn frame(&self, found: &Frame<'_>) -> Packet {
        let payload = found.payload.get(..DIGESTED.min(found.length));
        let bare = payload.map(|payload| {
            self.hashed(|hasher| {
                (found.frames, found.length).hash(hasher);
                write(hasher, payload, found.frames.are_ptp());
            })
        });
        Packet {
            flow: None,
            frames: Some(found.frames),
            key: bare.map(|bare| self.tagged(bare, found.vlan)),
            untagged: bare.map(|bare| (found.vlan, bare)),
            bytes: None,
            identification: None,
            is_syn: false,
            is_fragment: false,
            is_long: false,
            may_carry: false,
            datagram: None,
        }
    }

    fn packet(&self, found: &Ip<'_>) -> Packet {
        let length = found.payload_length;
        // the numbers of a TCP segment say which bytes its payload is
        let needed = match found.tcp {
            Some(_) => 0,
            None => DIGESTED.min(length as usize),
        };
        let payload = found.payload.get(..needed);
        let bare = payload.map(|payload| self.bare(found, payload));
        let bytes = found.tcp.map(|tcp| Range {
            start: tcp.sequence.wrapping_add(u32::from(tcp.syn)),
            length: length.saturating_add(u32::from(tcp.fin)),
        });
        let is_datagram = found.flow.protocol == 17 && !found.is_fragment;
        let datagram = is_datagram.then_some(length);
        let may_carry = may_carry(found.flow, found.is_fragment);
        Packet {
            flow: Some(found.flow),
            frames: None,
            key: bare.map(|bare| self.tagged(bare, found.vlan)),
            untagged: bare.map(|bare| (found.vlan, bare)),
            bytes: bytes.filter(|range| range.length > 0),
            identification: found.identification,
            is_syn: found.tcp.is_some_and(|tcp| tcp.syn),
            is_fragment: found.is_fragment,
            is_long: (is_datagram || may_carry) && length > LONGEST_DATAGRAM,
            may_carry,
            datagram,
        }
    }

    /// The key of packets with this VLAN.
    fn tagged(&self, bare: u128, vlan: u16) -> u128 {
        let vlan = if self.options.vlan { 0 } else { vlan };
        bare.wrapping_add(self.tag.wrapping_mul(vlan.into()))
    }

    /// The key that all packets like this one have, without its VLAN.
    fn bare(&self, found: &Ip<'_>, payload: &[u8]) -> u128 {
        let flow: Option<Flow> = (!self.options.nat).then_some(found.flow);
        let tcp = found
            .tcp
            .map(|tcp| (tcp.sequence, tcp.acknowledgment, tcp.syn, tcp.fin, tcp.rst));
        let ports = [found.flow.source_port, found.flow.destination_port];
        let is_ptp = found.flow.protocol == 17 && ports.iter().any(|port| PTP.contains(port));
        self.hashed(|hasher| {
            (flow, tcp, found.flow.protocol).hash(hasher);
            (found.identification, found.fragment, found.payload_length).hash(hasher);
            write(hasher, payload, is_ptp);
        })
    }

    fn hashed(&self, add: impl Fn(&mut DefaultHasher)) -> u128 {
        let halves = self.hashers.each_ref().map(|hasher| {
            let mut hasher = hasher.build_hasher();
            add(&mut hasher);
            hasher.finish()
        });
        u128::from(halves[0]) << 64 | u128::from(halves[1])
    }
}

/// Adds a payload, without what transparent clocks alter of PTP's.
fn write(hasher: &mut DefaultHasher, payload: &[u8], is_ptp: bool) {
    if is_ptp {
        hasher.write(&unaltered(payload));
    } else {
        hasher.write(payload);
    }
}

/// The names of flows at A. Behind a NAT they are known once packets of both names were found to be the same.
#[derive(Debug)]
pub(super) struct Names {
    nat: bool,
    of_b: HashMap<Flow, Flow>,
    of_a: HashSet<Flow>,
}

impl Names {
    pub(super) fn new(nat: bool) -> Self {
        Self {
            nat,
            of_b: HashMap::new(),
            of_a: HashSet::new(),
        }
    }

    pub(super) fn at_a(&self, side: Side, flow: Flow) -> Option<Flow> {
        match side {
            _ if !self.nat => Some(flow),
            Side::A => self.of_a.get(&flow).copied(),
            Side::B => self.of_b.get(&flow).copied(),
        }
    }

    /// A packet of `flow` at `side` was found to be one of `other` at the other side.
    pub(super) fn learn(&mut self, side: Side, flow: Flow, other: Option<Flow>) {
        let Some(other) = other.filter(|_| self.nat && self.of_b.len() < MOST_NAMES) else {
            return;
        };
        let (a, b) = match side {
            Side::A => (flow, other),
            Side::B => (other, flow),
        };
        self.of_a.insert(a);
        self.of_b.insert(b, a);
    }
}
