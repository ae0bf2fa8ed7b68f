//! Packets that may carry others: where one capture has a packet by itself, the other may have it inside of a tunnel's.

use super::Side;
use super::tally::Tally;
use super::undecided::MOST_JOINED;
use crate::packet::Flow;
use std::collections::HashMap;
use std::net::IpAddr;

/// IP in IP, IPv6, GRE, ESP, Minimal Encapsulation, IPIP, EtherIP, ENCAP, L2TPv3, MPLS, Ethernet.
///
/// Source: IANA's registry of protocol numbers.
const PROTOCOLS: [u8; 11] = [4, 41, 47, 50, 55, 94, 97, 98, 115, 137, 143];
/// L2TP, GTP-U, Teredo, ESP, GRE, GRE over DTLS, VXLAN, VXLAN-GPE, GUE, Geneve, MPLS, VXLAN as Linux has it, WireGuard.
///
/// Source: IANA's registry of ports; the last two are the defaults of Linux' `ip link` and of `wg-quick`.
const PORTS: [u16; 13] = [
    1_701, 2_152, 3_544, 4_500, 4_754, 4_755, 4_789, 4_790, 6_080, 6_081, 6_635, 8_472, 51_820,
];

/// Whether packets of a flow may have whole packets in them. A fragment of UDP has no ports: it may.
pub(super) fn may_carry(flow: Flow, is_fragment: bool) -> bool {
    let has_port = |port| PORTS.contains(&port);
    match flow.protocol {
        17 => is_fragment || has_port(flow.source_port) || has_port(flow.destination_port),
        protocol => PROTOCOLS.contains(&protocol),
    }
}

/// Packets without a like, of A and of B.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// All of them.
    all: [u64; 2],
    /// So many may be inside of those that may carry packets.
    inside: [u64; 2],
}

/// What may be in tunnels, of all flows.
#[derive(Debug, Default)]
pub(super) struct Tunnels {
    all: Counts,
    by_way: HashMap<(IpAddr, IpAddr), Counts>,
}

impl Tunnels {
    pub(super) fn of(tallies: &[Tally]) -> Self {
        let mut tunnels = Self::default();
        for tally in tallies {
            let way = tally.flow.map(|flow| (flow.source, flow.destination));
            let of_way = way.map(|way| tunnels.by_way.entry(way).or_default());
            for counts in of_way.into_iter().chain([&mut tunnels.all]) {
                for side in [Side::A, Side::B] {
                    let place = side as usize;
                    counts.all[place] += tally.without_like(side);
                    counts.inside[place] += tally.inside(side);
                }
            }
        }
        tunnels
    }

    /// Of a flow's packets of `side` without a like, how many the other capture may have in a tunnel, or have carried in these.
    pub(super) fn undecided(&self, tally: &Tally, side: Side) -> u64 {
        let other = 1 - side as usize;
        // nothing is carried back to where it comes from
        let back = tally.flow.map(|flow| (flow.destination, flow.source));
        let back = back.and_then(|way| self.by_way.get(&way).copied());
        let back = back.unwrap_or_default();
        let carried = if tally.carriers[side as usize] > 0 {
            self.all.all[other] - back.all[other]
        } else {
            0
        };
        carried
            .min(tally.carriers[side as usize])
            .saturating_add(self.all.inside[other] - back.inside[other])
    }
}

impl Tally {
    /// How many packets may be inside of those that may carry some. One that the NIC has yet to split carries many.
    fn inside(&self, side: Side) -> u64 {
        let long = self.long[side as usize].min(self.carriers[side as usize]);
        self.carriers[side as usize] + long.saturating_mul(MOST_JOINED)
    }
}
