//! What a comparison found, flow by flow.

use super::tally::Tally;
use super::{Comparison, Options, Side};
use crate::packet::Flow;
use crate::read::Reader;
use crate::spread::Summary;

/// Which way the packets of a flow went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From where A was captured to where B was.
    AToB,
    /// The other way.
    BToA,
}

/// What happened to a flow's packets between the captures.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowReport {
    /// The flow, as it is called at A where it was seen there; `None`: all flows beyond the first 1,024.
    pub flow: Option<Flow>,
    /// Which way it went: what the captures say of the direction, or else the sign of the delay.
    pub way: Way,
    /// Packets at A, of the time in which both captures were made.
    pub in_a: u64,
    /// Packets at B, likewise.
    pub in_b: u64,
    /// Packets found in both.
    pub matched: u64,
    /// Of these, packets that look like others on the way, so that nobody knows which one is which: they have no delay.
    pub ambiguous: u64,
    /// Packets that were sent and not seen to arrive.
    pub lost: u64,
    /// Packets that arrived again.
    pub duplicated: u64,
    /// Packets that arrived and were not seen to be sent.
    pub extra: u64,
    /// Packets that arrived after one that was sent later (RFC 4737). If the receiver's clock is behind by more than the delay, packets
    /// that others overtook.
    pub reordered: u64,
    /// Packets of times when only one capture was made: they are counted nowhere else.
    pub outside: u64,
    /// How long packets took; `None` if none was found in both. Its error bound includes that of both timestamps, and that of the
    /// clocks if it was given.
    pub delay: Option<Summary>,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Flows, the one with most packets first.
    pub flows: Vec<FlowReport>,
    /// Packets in A and in B.
    pub packets: [u64; 2],
    /// Packets that the captures themselves dropped, as they say; they are among the lost ones. `None`: they don't say.
    pub dropped: [Option<u64>; 2],
    /// Packets that are not IP, or too little of them was captured to tell whose they are.
    pub not_ip: u64,
    /// Packets of whose payload too little was captured to compare it.
    pub cut_off: u64,
    /// Packets without a time.
    pub without_time: u64,
    /// Packets that were given up because too many waited for their like.
    pub given_up: u64,
    /// Whether a file ends within a packet.
    pub truncated: [bool; 2],
}

pub(super) fn of(comparison: Comparison, readers: [&Reader<'_>; 2]) -> Report {
    let Comparison {
        options,
        tallies,
        extents,
        not_ip,
        cut_off,
        given_up,
        ..
    } = comparison;
    let seen = |tally: &Tally| tally.packets(Side::A) + tally.packets(Side::B) + tally.outside > 0;
    let all = tallies.into_all();
    let mut flows: Vec<_> = all
        .iter()
        .filter(|tally| seen(tally))
        .map(|tally| flow(tally, &options))
        .collect();
    flows.sort_by_key(|flow| (std::cmp::Reverse(flow.in_a.max(flow.in_b)), flow.flow));
    Report {
        flows,
        packets: [extents[0].packets, extents[1].packets],
        dropped: readers.map(Reader::dropped),
        not_ip,
        cut_off,
        without_time: readers.iter().map(|reader| reader.skipped()).sum(),
        given_up,
        truncated: readers.map(Reader::is_truncated),
    }
}

fn flow(tally: &Tally, options: &Options) -> FlowReport {
    let way = way(tally, options);
    let (origin, end) = match way {
        Way::AToB => (Side::A, Side::B),
        Way::BToA => (Side::B, Side::A),
    };
    let [origin, end] = [origin as usize, end as usize];
    let mut delay = tally.delay.summary(way == Way::BToA);
    if let Some(delay) = &mut delay {
        let clocks = options.clock_bound_ns.unwrap_or(0);
        delay.error_bound_ns = delay
            .error_bound_ns
            .map(|bound| bound.saturating_add(clocks));
    }
    FlowReport {
        flow: tally.flow,
        way,
        in_a: tally.packets(Side::A),
        in_b: tally.packets(Side::B),
        matched: tally.matched,
        ambiguous: tally.ambiguous,
        lost: tally.alone[origin] + tally.surplus[origin],
        duplicated: tally.surplus[end],
        extra: tally.alone[end],
        reordered: tally.overtaken[0] + tally.overtaken[1],
        outside: tally.outside,
        delay,
    }
}

/// The directions that the captures tell, unless the clocks are known well enough to show that it was the other way: a
/// router receives what it is to send.
fn way(tally: &Tally, options: &Options) -> Way {
    let median = tally.delay.median();
    let by_sign = match median {
        Some(median) if median < 0 => Way::BToA,
        None if tally.packets(Side::A) == 0 => Way::BToA,
        _ => Way::AToB,
    };
    let certain = median.zip(options.clock_bound_ns);
    let certain = certain.is_some_and(|(median, bound)| median.unsigned_abs() > bound);
    match tally.votes.signum() {
        1 if !certain => Way::AToB,
        -1 if !certain => Way::BToA,
        _ => by_sign,
    }
}
