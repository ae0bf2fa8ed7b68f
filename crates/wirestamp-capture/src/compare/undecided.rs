//! How many packets without a like may be in the other capture all the same, among its packets that could not be compared.

use super::Side;
use super::tally::Tally;
use super::tunnels::Tunnels;
use crate::packet::Flow;
use std::net::IpAddr;

/// A datagram that the NIC has yet to split (GSO), or that GRO joined, is at most so many: `UDP_MAX_SEGMENTS` of Linux.
pub(super) const MOST_JOINED: u64 = 128;

/// Flows with the same addresses and protocol, whose fragments look alike.
pub(super) type Group = (IpAddr, IpAddr, u8);

pub(super) fn group(flow: Flow) -> Group {
    (flow.source, flow.destination, flow.protocol)
}

/// Of a flow's packets without a like, of A and of B. `group`: fragments without a like, and other packets, of A and of B, of all flows
/// whose fragments look alike. `of_any_flow`: packets of A and of B that may be of this flow.
pub(super) fn undecided(
    tally: &Tally,
    group: [[u64; 2]; 2],
    of_any_flow: [u64; 2],
    tunnels: &Tunnels,
) -> [u64; 2] {
    [Side::A, Side::B].map(|side| {
        let (own, other) = (side as usize, 1 - side as usize);
        let [fragments, wholes] = group[other];
        let long = tally.long;
        let is_udp = tally.flow.is_none_or(|flow| flow.protocol == 17);
        let others = tally.alone[other] + tally.surplus[other];
        let mut may_be = tally.unusable[other] + of_any_flow[other] + fragments;
        may_be += tunnels.undecided(tally, side);
        if wholes > 0 {
            may_be += tally.fragments[own];
        }
        if is_udp {
            may_be += long[other].saturating_mul(MOST_JOINED);
            may_be += if others > long[other] { long[own] } else { 0 };
            // GSO cuts into any length: a datagram shorter than a frame may be several shorter ones
            let lengths = tally.lengths;
            may_be += lengths[own].joined(&lengths[other]);
            may_be += lengths[other]
                .joined(&lengths[own])
                .saturating_mul(MOST_JOINED);
        }
        may_be.min(tally.without_like(side))
    })
}
