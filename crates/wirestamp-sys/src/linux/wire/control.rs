//! The meaning of control messages: of received datagrams, and of error-queue entries.
//!
//! Source: `linux/net_tstamp.h`, `linux/errqueue.h`, ip(7), ipv6(7).

use super::address;
use super::constants::{
    ORIGIN_ICMP, ORIGIN_ICMP6, ORIGIN_TIMESTAMPING, ORIGIN_ZEROCOPY, SCM_TIMESTAMPING_PKTINFO,
    SO_RXQ_OVFL, SO_TIMESTAMPING_NEW, SO_TIMESTAMPING_OLD, TSTAMP_SCHED, TSTAMP_SND, VLAN_VALID,
};
use crate::cmsg::{ControlMessage, messages, split_first};
use libc::{
    IP_PKTINFO, IP_RECVERR, IP_TOS, IP_TTL, IPPROTO_IP, IPPROTO_IPV6, IPV6_HOPLIMIT, IPV6_PKTINFO,
    IPV6_RECVERR, IPV6_TCLASS, PACKET_AUXDATA, PACKET_TX_TIMESTAMP, SOL_PACKET, SOL_SOCKET,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, UtcTime};
use wirestamp_core::timestamp::{IcmpError, Notice, TransmitId};

/// The raw timestamps of one control message. Zero is "no timestamp", never a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawTimestamps {
    /// On the real-time clock.
    pub software: Option<UtcTime>,
    /// On the NIC's clock, in nanoseconds.
    pub hardware: Option<HardwareTicks>,
}

/// What the control messages of a received datagram say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceivedControl {
    /// Its timestamps.
    pub timestamps: RawTimestamps,
    /// The interface that delivered it.
    pub interface: Option<InterfaceIndex>,
    /// The device that timestamped it, where the driver lets the kernel know.
    pub device: Option<InterfaceIndex>,
    /// To which address it came.
    pub destination: Option<IpAddr>,
    /// The VLAN tag of a frame.
    pub vlan: Option<VlanTag>,
    /// How many datagrams this socket had dropped so far.
    pub dropped: Option<u32>,
    /// DSCP and ECN.
    pub traffic_class: Option<u8>,
    /// TTL or hop limit.
    pub hop_limit: Option<u8>,
}

/// One entry of the error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueEntry {
    /// A transmit timestamp; `timestamps` may be empty if reporting was switched off meanwhile.
    Timestamp {
        /// The caller's id or the kernel's count.
        id: TransmitId,
        /// The timestamps.
        timestamps: RawTimestamps,
        /// The device that made them, if the socket asked the kernel to name it.
        device: Option<InterfaceIndex>,
    },
    /// The packet entered the queueing discipline of a device: one entry for each device layer.
    Queued {
        /// The caller's id or the kernel's count.
        id: TransmitId,
        /// When, on the real-time clock.
        at: UtcTime,
    },
    /// A timestamp made elsewhere (acknowledgement), or one of the queueing discipline without a value.
    OtherPoint,
    /// No timestamp at all.
    Notice(Notice),
}

/// Reads the control messages of a received datagram.
#[inline]
pub fn received(control: &[u8]) -> ReceivedControl {
    usual(control).unwrap_or_else(|| walked(control))
}

/// What nearly every datagram has and nothing else: its timestamps, and over IPv4 interface and address where they
/// are asked for.
#[inline]
fn usual(control: &[u8]) -> Option<ReceivedControl> {
    let (three, rest) = split_first::<THREE_PAIRS>(control, SOL_SOCKET, SO_TIMESTAMPING_NEW)?;
    let mut found = ReceivedControl {
        timestamps: timestamps(three),
        ..ReceivedControl::default()
    };
    if rest.is_empty() {
        return Some(found);
    }
    let (information, rest) = split_first::<IPV4_INFORMATION>(rest, IPPROTO_IP, IP_PKTINFO)?;
    ipv4_packet_information(information, &mut found);
    rest.is_empty().then_some(found)
}

fn walked(control: &[u8]) -> ReceivedControl {
    let mut found = ReceivedControl::default();
    for message in messages(control) {
        match (message.level, message.kind) {
            (SOL_SOCKET, SO_TIMESTAMPING_NEW | SO_TIMESTAMPING_OLD) => {
                found.timestamps = timestamps(message.data);
            }
            (SOL_SOCKET, SCM_TIMESTAMPING_PKTINFO) => {
                found.device = word(message.data, 0).and_then(InterfaceIndex::new);
            }
            (IPPROTO_IP, IP_PKTINFO) => ipv4_packet_information(message.data, &mut found),
            (IPPROTO_IPV6, IPV6_PKTINFO) => ipv6_packet_information(message.data, &mut found),
            _ => seldom(message, &mut found),
        }
    }
    found
}

/// What only some sockets ask for: apart, so that it costs the others nothing.
#[cold]
#[inline(never)]
fn seldom(message: ControlMessage<'_>, found: &mut ReceivedControl) {
    match (message.level, message.kind) {
        (SOL_SOCKET, SO_RXQ_OVFL) => found.dropped = word(message.data, 0),
        (SOL_PACKET, PACKET_AUXDATA) => found.vlan = vlan_tag(message.data),
        // IPv4's is one octet, the others are ints
        (IPPROTO_IP, IP_TOS) => found.traffic_class = message.data.first().copied(),
        (IPPROTO_IPV6, IPV6_TCLASS) => found.traffic_class = octet(message.data),
        (IPPROTO_IP, IP_TTL) | (IPPROTO_IPV6, IPV6_HOPLIMIT) => {
            found.hop_limit = octet(message.data);
        }
        _ => {}
    }
}

/// An int that holds an octet.
fn octet(data: &[u8]) -> Option<u8> {
    word(data, 0).and_then(|word| word.try_into().ok())
}

/// Reads the control messages of an error-queue entry; `None` if they hold no
/// `sock_extended_err`. `destination` returns the
/// entry's address, if it is of use.
pub fn queue_entry(
    control: &[u8],
    destination: impl FnOnce() -> Option<SocketAddr>,
) -> Option<QueueEntry> {
    let (found, device, extended) = match usual_entry(control) {
        Some((three, extended)) => (timestamps(three), None, extended.as_slice()),
        None => walked_entry(control)?,
    };
    let extended = ExtendedError::read(extended)?;
    // an ICMP entry can carry a timestamp too (of the ICMP packet): origin *and* number decide
    if extended.origin != ORIGIN_TIMESTAMPING || extended.code != libc::ENOMSG {
        return Some(QueueEntry::Notice(extended.notice(destination)));
    }
    Some(match extended.info {
        TSTAMP_SND => QueueEntry::Timestamp {
            id: TransmitId(extended.data),
            timestamps: found,
            device,
        },
        point => elsewhere(point, TransmitId(extended.data), found.software),
    })
}

/// The entry of a packet that was not timestamped at the driver, but at this point.
#[inline]
pub(super) fn elsewhere(point: u32, id: TransmitId, software: Option<UtcTime>) -> QueueEntry {
    match (point, software) {
        (TSTAMP_SCHED, Some(at)) => QueueEntry::Queued { id, at },
        _ => QueueEntry::OtherPoint,
    }
}

/// The two messages of nearly every entry of an IPv4 socket: timestamps, and what they are of.
#[inline]
fn usual_entry(control: &[u8]) -> Option<(&[u8; THREE_PAIRS], &[u8; IPV4_ERROR])> {
    let (three, rest) = split_first(control, SOL_SOCKET, SO_TIMESTAMPING_NEW)?;
    let (extended, rest) = split_first(rest, IPPROTO_IP, IP_RECVERR)?;
    rest.is_empty().then_some((three, extended))
}

fn walked_entry(control: &[u8]) -> Option<(RawTimestamps, Option<InterfaceIndex>, &[u8])> {
    let mut found = RawTimestamps::default();
    let (mut device, mut extended) = (None, None);
    for message in messages(control) {
        match (message.level, message.kind) {
            (SOL_SOCKET, SO_TIMESTAMPING_NEW | SO_TIMESTAMPING_OLD) => {
                found = timestamps(message.data);
            }
            // of an entry of the error queue: the device that sent the packet
            (IPPROTO_IP, IP_PKTINFO) => {
                device = word(message.data, 0).and_then(InterfaceIndex::new);
            }
            (IPPROTO_IPV6, IPV6_PKTINFO) => {
                device = word(message.data, 16).and_then(InterfaceIndex::new);
            }
            (IPPROTO_IP, IP_RECVERR)
            | (IPPROTO_IPV6, IPV6_RECVERR)
            | (SOL_PACKET, PACKET_TX_TIMESTAMP) => {
                extended = Some(message.data);
            }
            _ => {}
        }
    }
    Some((found, device, extended?))
}

/// `sock_extended_err`, followed by the address of who reported it.
#[derive(Debug, Clone, Copy)]
struct ExtendedError<'a> {
    code: i32,
    origin: u8,
    icmp_type: u8,
    icmp_code: u8,
    info: u32,
    data: u32,
    reporter: &'a [u8],
}

/// Of `sock_extended_err`.
const EXTENDED_ERROR: usize = 16;
/// With a `sockaddr_in`.
const IPV4_ERROR: usize = 32;

impl<'a> ExtendedError<'a> {
    #[inline]
    fn read(data: &'a [u8]) -> Option<Self> {
        let fixed: &[u8; EXTENDED_ERROR] = data.first_chunk()?;
        Some(Self {
            code: word(fixed, 0)? as i32,
            origin: fixed[4],
            icmp_type: fixed[5],
            icmp_code: fixed[6],
            info: word(fixed, 8)?,
            data: word(fixed, 12)?,
            reporter: &data[EXTENDED_ERROR..],
        })
    }

    #[cold]
    #[inline(never)]
    fn notice(self, destination: impl FnOnce() -> Option<SocketAddr>) -> Notice {
        match self.origin {
            ORIGIN_ICMP | ORIGIN_ICMP6 => Notice::Icmp(IcmpError {
                destination: destination(),
                reporter: address::read(self.reporter).map(|address| address.ip()),
                code: self.code,
                icmp_type: self.icmp_type,
                icmp_code: self.icmp_code,
            }),
            ORIGIN_ZEROCOPY => Notice::ZeroCopy {
                first: self.info,
                last: self.data,
            },
            origin => Notice::Other {
                origin,
                code: self.code,
            },
        }
    }
}

/// Of `scm_timestamping64`.
const THREE_PAIRS: usize = 48;
/// Of `in_pktinfo`.
const IPV4_INFORMATION: usize = 12;

/// `scm_timestamping64`: three pairs of 64-bit seconds and nanoseconds, of which the second
/// is always zero. (The old layout is the same on 64-bit systems.)
#[inline]
fn timestamps(data: &[u8]) -> RawTimestamps {
    let both = |data: &[u8]| {
        let (software, hardware) = (pair(data, 0), pair(data, 32));
        RawTimestamps {
            software,
            hardware: hardware.map(|time| HardwareTicks::new(time.nanoseconds() as u64)),
        }
    };
    match data.first_chunk::<THREE_PAIRS>() {
        Some(whole) => both(whole), // compiled for that length
        None => both(data),
    }
}

/// A time that is not zero; anything that is no time is no timestamp.
#[inline]
fn pair(data: &[u8], at: usize) -> Option<UtcTime> {
    let seconds = i64::from_ne_bytes(*data.get(at..)?.first_chunk()?);
    let nanoseconds = i64::from_ne_bytes(*data.get(at + 8..)?.first_chunk()?);
    if seconds == 0 && nanoseconds == 0 {
        return None;
    }
    let time =
        UtcTime::from_seconds_and_nanoseconds(seconds, u32::try_from(nanoseconds).ok()?).ok()?;
    (time.nanoseconds() != 0).then_some(time)
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*data.get(at..)?.first_chunk()?))
}

/// `in_pktinfo`: index, local address, header destination.
#[inline]
fn ipv4_packet_information(data: &[u8], found: &mut ReceivedControl) {
    let Some(fixed) = data.first_chunk::<IPV4_INFORMATION>() else {
        return;
    };
    let [.., a, b, c, d] = *fixed;
    found.interface = word(fixed, 0).and_then(InterfaceIndex::new);
    found.destination = Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
}

/// `in6_pktinfo`: address, index. A dual-stack socket gives IPv4 addresses as mapped ones.
fn ipv6_packet_information(data: &[u8], found: &mut ReceivedControl) {
    let Some(octets) = data.first_chunk::<16>() else {
        return;
    };
    found.interface = word(data, 16).and_then(InterfaceIndex::new);
    found.destination = Some(Ipv6Addr::from(*octets).to_canonical());
}

/// `tpacket_auxdata`: status, two lengths, two offsets, tag, type of tag.
fn vlan_tag(data: &[u8]) -> Option<VlanTag> {
    let tag = u16::from_ne_bytes(*data.get(16..)?.first_chunk()?);
    (word(data, 0)? & VLAN_VALID != 0).then_some(VlanTag::from_bits(tag))
}

#[cfg(test)]
mod tests;
