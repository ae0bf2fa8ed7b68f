//! A socket filter (classic BPF) that drops messages of unknown senders during a flood, before they
//! take room in the socket's receive buffer. Over Ethernet it also separates event messages from others.
//!
//! Source: the kernel's `Documentation/networking/filter.rst`, `linux/filter.h`, `linux/bpf_common.h`. The
//! packet that a UDP socket's filter sees begins with the UDP header, a packet socket's with the Ethernet
//! header, without a VLAN tag.

use super::ethernet::GENERAL_BIT;
use super::{Filtering, PortSocket};
use crate::trust::{HEADER, OTHER, Sender, Thinned};
use socket2::{SockFilter, SockRef};
use std::io;
use std::net::IpAddr;
use wirestamp::ethernet::Ethertype;
use wirestamp_sys::Frames;

/// Attaches or removes the filter.
pub(super) fn set(socket: &PortSocket, event: bool, thinned: Option<&Thinned>) -> Filtering {
    let (descriptor, carried) = match socket {
        PortSocket::Udp(socket) => (socket.descriptor(), Carried::InUdp),
        PortSocket::Ethernet(socket) => (socket.descriptor(), Carried::InFrames { event }),
    };
    let Some(descriptor) = descriptor else {
        return Filtering::Unfiltered;
    };
    let socket = SockRef::from(&descriptor);
    if thinned.is_none() && carried == Carried::InUdp {
        let detached = socket.detach_filter();
        // there was none
        let was_none = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        return match detached.as_ref().err().is_none_or(was_none) {
            true => Filtering::AsWanted,
            false => Filtering::AsBefore,
        };
    }
    let program: Vec<_> = program(carried, thinned)
        .iter()
        .map(|one| SockFilter::new(one.code, one.jt, one.jf, one.k))
        .collect();
    // a filter replaces another atomically
    let attached = socket.attach_filter(&program);
    if attached.is_ok() {
        return Filtering::AsWanted;
    }
    // without a filter an Ethernet socket would have frames of all ethertypes
    if carried != Carried::InUdp || socket.detach_filter().is_err() {
        return Filtering::AsBefore;
    }
    // there was no memory for two
    match socket.attach_filter(&program) {
        Ok(()) => Filtering::AsWanted,
        Err(_) => Filtering::Unfiltered,
    }
}

/// An instruction of classic BPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) code: u16,
    pub(super) jt: u8,
    pub(super) jf: u8,
    pub(super) k: u32,
}

const LD_W: u16 = 0x20;
const LD_H: u16 = 0x28;
const LD_B: u16 = 0x30;
const LD_LEN: u16 = 0x80;
const LD_MEM: u16 = 0x60;
const ST: u16 = 0x02;
const AND: u16 = 0x54;
const JEQ: u16 = 0x15;
const JGE: u16 = 0x35;
const JSET: u16 = 0x45;
const RET: u16 = 0x06;

/// The offsets of the network header, a VLAN tag, and a random number.
const NETWORK: u32 = 0xfff0_0000;
const VLAN_TAG: u32 = 0xffff_f000 + 44;
const RANDOM: u32 = 0xffff_f000 + 56;

/// What carries the messages of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    InUdp,
    /// In Ethernet frames: event messages, or all others.
    InFrames {
        event: bool,
    },
}

impl Carried {
    /// The length of the header before a message.
    const fn header(self) -> u32 {
        match self {
            Self::InUdp => 8,
            Self::InFrames { .. } => 14,
        }
    }

    /// Returns instructions that drop what does not belong to the socket. Those for frames begin as the
    /// filter does that they replace: the socket is of all ethertypes.
    fn own(self) -> Vec<Instruction> {
        let Self::InFrames { event } = self else {
            return Vec::new();
        };
        let frames = Frames::own(Ethertype::PTP).into_iter();
        let mut program: Vec<_> = frames
            .map(|(code, jt, jf, k)| Instruction { code, jt, jf, k })
            .collect();
        program.extend([plain(LD_W, VLAN_TAG), plain(AND, 0x0fff)]);
        else_take(&mut program, &[(JEQ, 0)], &[DROP]);
        program.push(plain(LD_B, self.header()));
        let is_general = Instruction {
            code: JSET,
            jt: 0,
            jf: 1,
            k: u32::from(GENERAL_BIT),
        };
        match event {
            true => program.extend([is_general, DROP]),
            false => else_take(&mut program, &[(JSET, is_general.k)], &[DROP]),
        }
        program
    }
}

/// The layout of the scratch memory: the sender's identity in three parts, the IP version, and the
/// four words at the position of an IPv6 source address.
const IDENTITY: [(u32, u32, u16); 3] = [(0, 20, LD_W), (1, 24, LD_W), (2, 28, LD_H)];
const VERSION: u32 = 3;
const ADDRESS: u32 = 4;
/// The one of these words that has an IPv4 source address.
const ADDRESS_4: u32 = ADDRESS + 1;

const fn plain(code: u16, k: u32) -> Instruction {
    Instruction {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

const PASS: Instruction = plain(RET, u32::MAX);
const DROP: Instruction = plain(RET, 0);

/// Returns the filter program.
pub(super) fn program(carried: Carried, thinned: Option<&Thinned>) -> Vec<Instruction> {
    let mut program = carried.own();
    let Some(thinned) = thinned else {
        program.push(PASS);
        return program;
    };
    let header = carried.header();
    let other = let_through(thinned.exponents[OTHER]);
    let field = |code, at: u32| plain(code, header + at);
    program.push(plain(LD_LEN, 0));
    else_take(&mut program, &[(JGE, header + HEADER as u32)], &other);
    program.extend([field(LD_B, 1), plain(AND, 0x0f)]);
    else_take(&mut program, &[(JEQ, 2)], &other);
    program.extend([field(LD_B, 0), plain(AND, 0xf0)]);
    else_take(&mut program, &[(JEQ, 0)], &other);
    program.push(field(LD_B, 4));
    let domains: Vec<_> = thinned
        .domains
        .iter()
        .map(|domain| (JEQ, u32::from(*domain)))
        .collect();
    else_take(&mut program, &domains, &other);

    for (place, at, code) in IDENTITY {
        program.extend([field(code, at), plain(ST, place)]);
    }
    if thinned.known.iter().any(|sender| sender.address.is_some()) {
        program.extend([plain(LD_B, NETWORK), plain(AND, 0xf0), plain(ST, VERSION)]);
        program.extend((0..4).flat_map(|word| {
            [
                plain(LD_W, NETWORK + 8 + 4 * word),
                plain(ST, ADDRESS + word),
            ]
        }));
    }
    thinned
        .known
        .iter()
        .for_each(|sender| program.extend(pass_if(sender)));

    program.extend([field(LD_B, 0), plain(AND, 0x0f)]);
    for (kind, exponent) in thinned.exponents[..OTHER]
        .iter()
        .enumerate()
        .filter(|(_, exponent)| **exponent > 0)
    {
        let block = let_through(*exponent);
        program.push(Instruction {
            code: JEQ,
            jt: 0,
            jf: block.len() as u8,
            k: kind as u32,
        });
        program.extend(block);
    }
    program.push(PASS);
    program
}

/// Returns instructions that pass one in 2^`exponent` messages.
fn let_through(exponent: u8) -> Vec<Instruction> {
    if exponent == 0 {
        return vec![PASS];
    }
    let rest = Instruction {
        code: JSET,
        jt: 0,
        jf: 1,
        k: (1 << exponent) - 1,
    };
    vec![plain(LD_W, RANDOM), rest, DROP, PASS]
}

/// Appends `block`, which is skipped if one of the comparisons holds.
fn else_take(program: &mut Vec<Instruction>, comparisons: &[(u16, u32)], block: &[Instruction]) {
    for (number, (code, k)) in comparisons.iter().enumerate() {
        let rest = comparisons.len() - 1 - number;
        program.push(Instruction {
            code: *code,
            jt: (rest + block.len()) as u8,
            jf: 0,
            k: *k,
        });
    }
    program.extend(block);
}

/// Returns instructions that pass the message if it is from this sender, and continue otherwise.
fn pass_if(sender: &Sender) -> Vec<Instruction> {
    let mut wanted = Vec::new();
    if let Some(pin) = sender.identity {
        let [a, b, c, d, e, f, g, h] = pin.clock;
        wanted.extend([
            (0, u32::from_be_bytes([a, b, c, d])),
            (1, u32::from_be_bytes([e, f, g, h])),
        ]);
        wanted.extend(pin.port.map(|port| (2, u32::from(port))));
    }
    match sender.address {
        Some(IpAddr::V4(address)) => {
            wanted.extend([(VERSION, 0x40), (ADDRESS_4, address.to_bits())]);
        }
        Some(IpAddr::V6(address)) => {
            wanted.push((VERSION, 0x60));
            let words = (0..4).map(|word| (address.to_bits() >> (96 - 32 * word)) as u32);
            wanted.extend((ADDRESS..).zip(words));
        }
        None => {}
    }
    let length = 2 * wanted.len() + 1;
    let mut block = Vec::with_capacity(length);
    for (place, value) in wanted {
        block.push(plain(LD_MEM, place));
        let rest = length - block.len() - 1;
        block.push(Instruction {
            code: JEQ,
            jt: 0,
            jf: rest as u8,
            k: value,
        });
    }
    block.push(PASS);
    block
}

#[cfg(test)]
mod tests;
