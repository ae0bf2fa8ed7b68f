//! The report of a comparison, flow by flow.

use super::pairs::Verdict;
use super::tally::Tally;
use super::tunnels::Tunnels;
use super::undecided::{Group, group, undecided};
use super::{Comparison, Extent, Observed, Options, Side};
use crate::frames::Frames;
use crate::order::Ordered;
use crate::packet::{Flow, Unusable};
use crate::read::FilePacket;
use crate::spread::{Spread, Summary};
use std::collections::HashMap;

/// Which way the packets of a flow went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From where A was captured to where B was.
    AToB,
    /// The other way.
    BToA,
}

/// Delay, loss, duplication and reordering of a flow's packets between the captures.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowReport {
    /// The flow, as it is called at A where it was seen there; `None`: all flows beyond the first 1,024.
    pub flow: Option<Flow>,
    /// The frames, if they have no IP packet; then `flow` is `None`.
    pub frames: Option<Frames>,
    /// Whether none of them is ever lost: no bridge forwards them and none is in both captures, or stations alter them. Those in one
    /// capture alone are undecided.
    pub never_lost: bool,
    /// Which way it went: as the captures say, or else by the sign of the delay.
    pub way: Way,
    /// Packets at A, of the time in which both captures were made.
    pub in_a: u64,
    /// Packets at B, likewise.
    pub in_b: u64,
    /// Packets found in both.
    pub matched: u64,
    /// Of these, packets that look like others on the way, so that it is unknown which one is which: they have no delay.
    pub ambiguous: u64,
    /// Of these, packets that have no time in one of the captures: they have no delay.
    pub without_time: u64,
    /// Of these, packets that may have been under way while a real-time clock was stepped that made both times, as the captures
    /// say; and those of further pairs of runs than there are histograms for (1,024 beside each flow's first): they have no delay.
    pub across_step: u64,
    /// TCP segments of A, and of B, whose bytes the other capture has in segments that are cut otherwise, because GRO or LRO joined them or
    /// TSO has yet to split them: they arrived, and have no delay.
    pub resegmented: [u64; 2],
    /// The longest of them, in bytes.
    pub longest_segment: [u32; 2],
    /// Packets of A, and of B, that the other capture may have: it has packets that could not be compared
    /// or UDP datagrams that GSO cut or GRO joined, or a tunnel's packets, in which they may be, they have no time themselves, they may be copies, too many waited, or a clock was stepped.
    pub undecided: [u64; 2],
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
    /// How long packets took, of the runs of both clocks that have most of them; `None` if none was found in both. Its error bound
    /// includes that of both timestamps, and that of the clocks if it was given.
    pub delay: Option<Summary>,
    /// The same for each pair of runs of the clocks: a step of either clock moves all delays after it.
    pub delays: Vec<RunDelay>,
}

/// How long packets took between two steps of the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunDelay {
    /// How many steps of its own clock there were before, in A and in B.
    pub steps: [u32; 2],
    /// How long packets took.
    pub delay: Summary,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Flows, the one with most packets first.
    pub flows: Vec<FlowReport>,
    /// Packets that were given up because too many waited for their like. They are undecided.
    pub given_up: u64,
    /// A and B.
    pub files: [FileReport; 2],
}

/// The counts of a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileReport {
    /// Packets in it.
    pub packets: u64,
    /// Packets that the capture itself dropped, as it says; they are among the lost ones. `None`: it does not say.
    pub dropped: Option<u64>,
    /// Whether it ends within a packet.
    pub truncated: bool,
    /// Packets that could not be compared, by reason.
    pub unusable: Unusable,
    /// Packets that it has again from another interface or direction, as captures of all interfaces do. Each counts once, where it was
    /// seen first.
    pub copies: u64,
    /// Packets that it has again from the same interface and direction within 10 ms, with the same IPv4 identification: a mirror port seems
    /// to have sent them twice.
    pub mirrored: u64,
    /// The first and the last time in it, in nanoseconds since 1970; across a step of its clock, as if there was none.
    pub during_ns: Option<(i64, i64)>,
    /// The unit of its times in nanoseconds, rounded up; the coarsest of several. A delay is known no better than the coarser unit of both
    /// files.
    pub unit_ns: u64,
    /// Packets that stand behind a later one. They were put in order.
    pub out_of_order: u64,
    /// Steps of the real-time clock that the file reports.
    pub clock_steps: u64,
    /// Packets of tunnels (GRE, ESP, IP in IP, VXLAN, Geneve, WireGuard …) that the other file has not: others may be in them.
    pub tunnel_packets: u64,
}

pub(super) fn of<F: FnMut(&FilePacket<'_>) -> Observed>(
    comparison: Comparison,
    files: &[Ordered<'_, '_, Observed, F>; 2],
) -> Report {
    let Comparison {
        options,
        tallies,
        mut extents,
        given_up,
        ..
    } = comparison;
    for (extent, file) in extents.iter_mut().zip(files) {
        extent.unusable.unknown_blocks = file.reader().unknown_blocks();
        extent.of_any_flow += extent.unusable.unknown_blocks;
    }
    let seen = |tally: &Tally| tally.packets(Side::A) + tally.packets(Side::B) + tally.outside > 0;
    let (all, verdict) = tallies.into_all(options.window_ns);
    let mut groups: HashMap<Option<Group>, [[u64; 2]; 2]> = HashMap::new();
    for tally in &all {
        let sums = groups.entry(tally.flow.map(group)).or_default();
        for side in [Side::A, Side::B] {
            let fragments = tally.fragments[side as usize];
            sums[side as usize][0] += fragments;
            sums[side as usize][1] += tally.without_like(side) - fragments;
        }
    }
    let tunnels = Tunnels::of(&all);
    let units = files.each_ref().map(|file| file.reader().unit_ns());
    let unit_ns = units[0].max(units[1]);
    let of_flow = |tally: &Tally| {
        let group = groups.get(&tally.flow.map(group)).copied();
        // a frame that could not be compared may be any other one
        let is_frames = u64::from(tally.frames.is_some());
        let any = extents
            .each_ref()
            .map(|extent| extent.of_any_flow + is_frames * extent.unusable.not_ip);
        let undecided = if tally.are_never_lost() {
            [Side::A, Side::B].map(|side| tally.without_like(side))
        } else {
            undecided(tally, group.unwrap_or_default(), any, &tunnels)
        };
        flow(tally, &options, &verdict, undecided, unit_ns)
    };
    let mut flows: Vec<_> = all
        .iter()
        .filter(|tally| seen(tally))
        .map(of_flow)
        .collect();
    flows.sort_by_key(|flow| {
        let packets = flow.in_a.max(flow.in_b);
        (std::cmp::Reverse(packets), flow.flow, flow.frames)
    });
    let carriers = |side: Side| all.iter().map(|tally| tally.carriers[side as usize]).sum();
    let [a, b] = files;
    Report {
        flows,
        given_up,
        files: [
            file(&extents[0], a, carriers(Side::A)),
            file(&extents[1], b, carriers(Side::B)),
        ],
    }
}

fn file<F: FnMut(&FilePacket<'_>) -> Observed>(
    extent: &Extent,
    file: &Ordered<'_, '_, Observed, F>,
    tunnel_packets: u64,
) -> FileReport {
    FileReport {
        packets: extent.packets,
        dropped: file.reader().dropped(),
        truncated: file.reader().is_truncated(),
        unusable: extent.unusable,
        copies: extent.copies,
        mirrored: extent.mirrored,
        during_ns: extent.first_ns.zip(extent.last_ns),
        unit_ns: file.reader().unit_ns(),
        out_of_order: file.out_of_order(),
        clock_steps: file.steps(),
        tunnel_packets,
    }
}

fn flow(
    tally: &Tally,
    options: &Options,
    verdict: &Verdict,
    undecided: [u64; 2],
    unit_ns: u64,
) -> FlowReport {
    let told = told(tally, verdict);
    let most = told.iter().max_by_key(|(_, delay)| delay.count());
    let way = way(tally, most.map(|(_, delay)| *delay), options, unit_ns);
    let (origin, end) = match way {
        Way::AToB => (Side::A, Side::B),
        Way::BToA => (Side::B, Side::A),
    };
    let [origin, end] = [origin as usize, end as usize];
    let summary = |delay: &Spread| {
        let mut summary = delay.summary(way == Way::BToA)?;
        let clocks = options.clock_bound_ns.unwrap_or(0);
        let bound = summary.error_bound_ns;
        summary.error_bound_ns = bound.map(|bound| bound.saturating_add(clocks));
        Some(summary)
    };
    let delay_of = |(steps, delay): &([u32; 2], &Spread)| {
        let (steps, delay) = (*steps, summary(delay)?);
        Some(RunDelay { steps, delay })
    };
    let timed: u64 = told.iter().map(|(_, delay)| delay.count()).sum();
    let all: u64 = tally.delays.iter().map(|(_, delay)| delay.count()).sum();
    let extra = tally.alone[end].saturating_sub(undecided[end]);
    let rest = undecided[end].saturating_sub(tally.alone[end]);
    FlowReport {
        flow: tally.flow,
        frames: tally.frames,
        never_lost: tally.are_never_lost(),
        way,
        in_a: tally.packets(Side::A),
        in_b: tally.packets(Side::B),
        matched: tally.matched,
        ambiguous: tally.ambiguous,
        without_time: tally.without_time,
        across_step: tally.across_step + all - timed,
        resegmented: tally.resegmented,
        longest_segment: tally.longest,
        undecided: [0, 1].map(|side| tally.undecided[side] + undecided[side]),
        lost: tally.alone[origin] + tally.surplus[origin] - undecided[origin],
        duplicated: tally.surplus[end] - rest,
        extra,
        reordered: tally.overtaken[0] + tally.overtaken[1],
        outside: tally.outside,
        delay: most.and_then(|(_, delay)| summary(delay)),
        delays: told.iter().filter_map(delay_of).collect(),
    }
}

/// The delays of a flow that mean something, each with the steps before it.
fn told<'t>(tally: &'t Tally, verdict: &Verdict) -> Vec<([u32; 2], &'t Spread)> {
    let delays = tally.delays.iter();
    delays
        .filter_map(|(pair, delay)| Some((verdict.of(*pair)?, delay)))
        .collect()
}

/// Returns the direction that the captures report, unless the times are known well enough to show that it was the other way: a router
/// receives packets before it sends them.
fn way(tally: &Tally, delay: Option<&Spread>, options: &Options, unit_ns: u64) -> Way {
    let median = delay.and_then(Spread::median);
    let bound = delay.and_then(Spread::error_bound);
    // the unit is a part of the bound
    let inexact = bound.unwrap_or(if unit_ns > 1 { unit_ns } else { 0 });
    let by_sign = match median {
        Some(median) if median < 0 => Way::BToA,
        None if tally.packets(Side::A) == 0 => Way::BToA,
        _ => Way::AToB,
    };
    let certain = median.zip(options.clock_bound_ns);
    let certain = certain
        .is_some_and(|(median, bound)| median.unsigned_abs() > bound.saturating_add(inexact));
    match tally.votes().signum() {
        1 if !certain => Way::AToB,
        -1 if !certain => Way::BToA,
        _ => by_sign,
    }
}
