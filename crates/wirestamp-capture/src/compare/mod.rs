//! Finds the same packets in two captures, A and B, and says what happened to them in between: delay, loss, duplication, reordering.
//!
//! A packet is the same where addresses, ports, protocol, VLAN, IPv4 identification, TCP numbers, length and the first
//! [`DIGESTED`] bytes of the payload are; [`Options`] leave some of that out. Both captures are read once, in the order of their times, and
//! a packet waits for its like for [`Options::window_ns`]: captures may be larger than memory.

mod report;
mod tally;

pub use report::{FlowReport, Report, Way};

use crate::packet::{self, Flow, Ip};
use crate::read::{FilePacket, Reader};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use tally::Tallies;
use wirestamp_core::Result;
use wirestamp_core::capture::CapturedDirection;

/// Of a payload, no more is compared; capture at least that many bytes behind the headers.
pub const DIGESTED: usize = 64;
/// Packets whose like may begin before the other capture does, until that is known.
const MOST_EARLY: usize = 65_536;

/// How to find the same packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Addresses and ports may be rewritten in between (NAT).
    pub nat: bool,
    /// VLAN tags may be added, changed and removed in between.
    pub vlan: bool,
    /// How long a packet waits for its like, in nanoseconds of the captures' time. Must exceed the longest delay and the
    /// difference of the clocks.
    pub window_ns: i64,
    /// So many packets wait at most; beyond, the oldest is given up, and counted.
    pub most_waiting: usize,
    /// How far the clocks of both captures can be apart, in nanoseconds; `None`: that is not known.
    pub clock_bound_ns: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nat: false,
            vlan: false,
            window_ns: 10_000_000_000,
            most_waiting: 1_000_000,
            clock_bound_ns: None,
        }
    }
}

/// Which capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    A = 0,
    B = 1,
}

/// A packet that waits for its like.
#[derive(Debug, Clone, Copy)]
struct Seen {
    side: Side,
    utc_ns: i64,
    bound_ns: Option<u64>,
    /// Its place among the packets of its capture.
    place: u64,
    flow: u32,
}

/// All packets that look alike.
#[derive(Debug, Default)]
struct Alike {
    /// All of one side: as soon as there is one of each, they are a pair.
    waiting: VecDeque<Seen>,
    /// In which flow pairs were found, as A calls it.
    paired: Option<u32>,
    /// Where the second one of each pair was.
    completed: Option<Side>,
    /// Nobody knows any more which one is the like of which.
    ambiguous: bool,
    /// When the last of them was seen.
    latest_ns: i64,
}

impl Alike {
    /// Whether a packet that completes a pair at `side` is certainly the like of the first that waits: no other one waits, and all pairs
    /// before it were completed at the same side, so that what waits is not a duplicate of one of them.
    fn is_certain(&mut self, side: Side) -> bool {
        let first = *self.completed.get_or_insert(side);
        self.ambiguous |= self.waiting.len() > 1 || first != side;
        !self.ambiguous
    }
}

/// What is known of a capture as a whole.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    ended: bool,
    /// Its packets.
    packets: u64,
}

/// The comparison, as far as both captures were read.
#[derive(Debug)]
struct Comparison {
    options: Options,
    hashers: [RandomState; 2],
    alike: HashMap<u128, Alike>,
    /// Keys by the time of their first packet.
    order: VecDeque<(i64, u128)>,
    waiting: usize,
    tallies: Tallies,
    extents: [Extent; 2],
    /// Those of which nobody knows yet whether the other capture had begun.
    early: Vec<Seen>,
    not_ip: u64,
    cut_off: u64,
    given_up: u64,
}

/// Compares two captures.
///
/// # Errors
/// As [`Reader::next_packet`].
pub fn compare<'r>(a: &mut Reader<'r>, b: &mut Reader<'r>, options: Options) -> Result<Report> {
    let mut comparison = Comparison::new(options);
    let readers = [a, b];
    loop {
        let next = [readers[0].peek_ns()?, readers[1].peek_ns()?];
        for (extent, next) in comparison.extents.iter_mut().zip(next) {
            extent.ended = next.is_none();
        }
        let side = match next {
            [None, None] => break,
            [Some(a), Some(b)] if b < a => Side::B,
            [Some(_), _] => Side::A,
            [None, Some(_)] => Side::B,
        };
        if let Some(packet) = readers[side as usize].next_packet()? {
            comparison.observe(side, &packet);
        }
    }
    let [a, b] = readers;
    Ok(comparison.finish([a, b]))
}

impl Comparison {
    fn new(options: Options) -> Self {
        Self {
            options,
            hashers: [RandomState::new(), RandomState::new()],
            alike: HashMap::new(),
            order: VecDeque::new(),
            waiting: 0,
            tallies: Tallies::default(),
            extents: [Extent::default(); 2],
            early: Vec::new(),
            not_ip: 0,
            cut_off: 0,
            given_up: 0,
        }
    }

    fn observe(&mut self, side: Side, packet: &FilePacket<'_>) {
        let extent = &mut self.extents[side as usize];
        extent.first_ns.get_or_insert(packet.utc_ns);
        extent.last_ns = extent.last_ns.max(Some(packet.utc_ns));
        extent.packets += 1;
        let place = extent.packets;
        self.expire(packet.utc_ns);
        let found = packet
            .link_type
            .and_then(|link_type| packet::ip(link_type, packet.data));
        let Some(found) = found else {
            self.not_ip += 1;
            return;
        };
        let needed = DIGESTED.min(found.payload_length as usize);
        if found.payload.len() < needed {
            self.cut_off += 1;
            return;
        }
        let flow = self.tallies.of(found.flow);
        let seen = Seen {
            side,
            utc_ns: packet.utc_ns,
            bound_ns: packet.bound_ns,
            place,
            flow,
        };
        self.tallies.vote(flow, vote(side, packet.direction));
        self.pair(self.key(&found, needed), seen);
    }

    /// What all packets like this one have in common.
    fn key(&self, found: &Ip<'_>, needed: usize) -> u128 {
        let flow: Option<Flow> = (!self.options.nat).then_some(found.flow);
        let vlan = (!self.options.vlan).then_some(found.vlan);
        let tcp = found
            .tcp
            .map(|tcp| (tcp.sequence, tcp.acknowledgment, tcp.syn, tcp.fin, tcp.rst));
        let halves = self.hashers.each_ref().map(|hasher| {
            let mut hasher = hasher.build_hasher();
            (flow, vlan, tcp, found.flow.protocol).hash(&mut hasher);
            (found.identification, found.fragment, found.payload_length).hash(&mut hasher);
            hasher.write(&found.payload[..needed]);
            hasher.finish()
        });
        u128::from(halves[0]) << 64 | u128::from(halves[1])
    }

    fn pair(&mut self, key: u128, seen: Seen) {
        let alike = match self.alike.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.order.push_back((seen.utc_ns, key));
                entry.insert(Alike::default())
            }
        };
        alike.latest_ns = seen.utc_ns;
        match alike.waiting.front() {
            Some(first) if first.side != seen.side => {
                let other = *first;
                let certain = alike.is_certain(seen.side);
                alike.waiting.pop_front();
                self.waiting -= 1;
                let flow = if seen.side == Side::A {
                    seen.flow
                } else {
                    other.flow
                };
                alike.paired = Some(flow);
                let (a, b) = if seen.side == Side::A {
                    (seen, other)
                } else {
                    (other, seen)
                };
                self.tallies
                    .paired(flow, &a, &b, certain.then_some(seen.side));
            }
            _ => {
                alike.waiting.push_back(seen);
                self.waiting += 1;
                while self.waiting > self.options.most_waiting
                    || self.order.len() > 2 * self.options.most_waiting
                {
                    self.given_up += self.settle_oldest();
                }
            }
        }
    }

    /// Gives up what waited for longer than the window; what looks alike and came later waits on.
    fn expire(&mut self, now: i64) {
        let window = self.options.window_ns;
        let is_old = |since: i64| now.saturating_sub(since) > window;
        while let Some((since, key)) = self.order.front().copied()
            && is_old(since)
        {
            self.order.pop_front();
            let Entry::Occupied(mut entry) = self.alike.entry(key) else {
                continue;
            };
            let waiting = &mut entry.get_mut().waiting;
            let old = waiting.partition_point(|seen| is_old(seen.utc_ns));
            let old: Vec<Seen> = waiting.drain(..old).collect();
            let (latest, paired) = (entry.get().latest_ns, entry.get().paired);
            if is_old(latest) && entry.get().waiting.is_empty() {
                entry.remove();
            } else {
                let next = entry.get().waiting.front();
                self.order
                    .push_back((next.map_or(latest, |seen| seen.utc_ns), key));
            }
            self.waiting -= old.len();
            old.iter().for_each(|seen| self.unmatched(seen, paired));
        }
    }

    /// Says what became of the oldest packets that look alike; returns how many of them had no like.
    fn settle_oldest(&mut self) -> u64 {
        let Some((_, key)) = self.order.pop_front() else {
            return 0;
        };
        let Some(alike) = self.alike.remove(&key) else {
            return 0;
        };
        self.waiting -= alike.waiting.len();
        for seen in &alike.waiting {
            self.unmatched(seen, alike.paired);
        }
        alike.waiting.len() as u64
    }

    fn unmatched(&mut self, seen: &Seen, paired: Option<u32>) {
        let other = &self.extents[1 - seen.side as usize];
        let flow = paired.unwrap_or(seen.flow);
        let too_early = other.first_ns.is_none_or(|first| seen.utc_ns < first);
        let too_late = other.ended && other.last_ns.is_none_or(|last| seen.utc_ns > last);
        if paired.is_none() && (too_early || too_late) {
            if self.early.len() < MOST_EARLY {
                self.early.push(*seen);
            } else {
                self.tallies.get(flow).outside += 1;
            }
            return;
        }
        self.tallies
            .get(flow)
            .unmatched(seen.side, paired.is_some());
    }

    fn finish(mut self, readers: [&Reader<'_>; 2]) -> Report {
        while !self.order.is_empty() {
            self.settle_oldest();
        }
        for seen in std::mem::take(&mut self.early) {
            let other = readers[1 - seen.side as usize];
            let tally = self.tallies.get(seen.flow);
            if other
                .lasted()
                .is_some_and(|lasted| lasted.contains(&seen.utc_ns))
            {
                tally.unmatched(seen.side, false);
            } else {
                tally.outside += 1;
            }
        }
        report::of(self, readers)
    }
}

/// Which way a packet seems to go: positive from A to B.
fn vote(side: Side, direction: Option<CapturedDirection>) -> i64 {
    match (side, direction) {
        (Side::A, Some(CapturedDirection::Sent)) | (Side::B, Some(CapturedDirection::Received)) => {
            1
        }
        (Side::A, Some(CapturedDirection::Received)) | (Side::B, Some(CapturedDirection::Sent)) => {
            -1
        }
        _ => 0,
    }
}
