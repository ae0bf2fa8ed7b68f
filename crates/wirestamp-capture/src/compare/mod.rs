//! Finds the same packets in two captures, A and B, and reports delay, loss, duplication and reordering between them.
//!
//! A packet is the same where addresses, ports, protocol, VLAN, IPv4 identification, TCP numbers, length and the first
//! [`DIGESTED`] bytes of the payload are (of TCP's payload, none); [`Options`] leave some of that out. A TCP segment that has no like is looked for by its bytes:
//! where segments are joined (GRO, LRO) or not split yet (TSO), the other capture has them in segments that are cut otherwise. These have no delay.
//!
//! A frame without an IP packet is the same where both stations, type, VLAN, the length that its protocol states and the first [`DIGESTED`] bytes are; of PTP, those that
//! transparent clocks alter are left out. Frames that no bridge forwards are lost only if others of their kind are in both captures, and
//! those that stations alter never.
//!
//! Each file counts the steps of its own clock. A delay is the difference of two times of one run of either clock, and delays are summed
//! up for each pair of runs: it is unknown by how much a step moved them.
//!
//! A packet is lost if it is not in the other capture. A packet that cannot be compared may be any that is missing, and so as
//! many are undecided instead; so is one that may be in a tunnel's packet, and a missing packet that a step of a clock may keep from being found.
//!
//! Both captures are read once, in the order of their times, and a packet waits for its like for [`Options::window_ns`]: captures may be
//! larger than memory.

mod alike;
mod evidence;
mod likeness;
mod lines;
mod memory;
mod pairs;
mod report;
mod stream;
mod tags;
mod tally;
mod tunnels;
mod undecided;

pub use report::{FileReport, FlowReport, Report, RunDelay, Way};

use crate::copies::longest;
use crate::order::{Ordered, Placed};
use crate::packet::{Flow, Unreadable, Unusable};
use crate::read::{FilePacket, Reader};
use alike::{Again, Alike};
use likeness::{Likeness, Names, Observed, Packet};
use lines::Lines;
use memory::Memory;
use pairs::Run;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use stream::{Brought, Bytes, Range, Streams};
use tags::{Tagged, Tags};
use tally::Tallies;
use wirestamp_core::Result;

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
    /// Packets that a mirror port sent again count once.
    pub mirrored_once: bool,
    /// VLAN tags may be added, changed and removed in between.
    pub vlan: bool,
    /// How long a packet waits for its like, in nanoseconds of the captures' time. Must exceed the longest delay and the
    /// difference of the clocks.
    pub window_ns: i64,
    /// So many packets wait at most; beyond, the oldest is given up, and counted.
    pub most_waiting: usize,
    /// How far the clocks of both captures can be apart, in nanoseconds; `None`: that is not known.
    pub clock_bound_ns: Option<u64>,
    /// So many packets of a file are put in order of time together.
    pub order_window: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nat: false,
            mirrored_once: false,
            vlan: false,
            window_ns: 10_000_000_000,
            most_waiting: 1_000_000,
            clock_bound_ns: None,
            order_window: crate::order::WINDOW,
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
    /// Its time, on a line that never goes back.
    line_ns: i64,
    /// How many steps of both clocks there were before it.
    steps: u64,
    utc_ns: Option<i64>,
    bound_ns: Option<u64>,
    run: Run,
    /// How many steps of its clock there were before it.
    steps_before: u32,
    /// Its place among the packets of its capture.
    place: u64,
    flow: u32,
    bytes: Place,
    /// Its capture had some of the bytes before, alone or joined with others.
    is_again: bool,
    /// One that looks the same was seen at another place of its capture before: it may be a copy.
    may_be_copy: bool,
    is_fragment: bool,
    is_long: bool,
    may_carry: bool,
    datagram: Option<u32>,
}

/// Where the bytes of a packet are looked for that has no like.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Nowhere: they are always in one packet.
    Whole,
    /// In a TCP stream.
    Stream(u32, Range),
    /// Likewise, and its capture may have them from another place, too.
    Elsewhere(u32, Range),
    /// In a TCP stream whose name at the other side is unknown.
    Unknown,
}

impl Place {
    /// How many bytes are looked for.
    fn length(self) -> u32 {
        match self {
            Self::Whole | Self::Unknown => 0,
            Self::Stream(_, range) | Self::Elsewhere(_, range) => range.length,
        }
    }
}

/// The times and counts of a capture as a whole.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    ended: bool,
    /// Its packets.
    packets: u64,
    unusable: Unusable,
    /// Packets that could not be compared and may be of any flow.
    of_any_flow: u64,
    /// Packets that it has again from another place.
    copies: u64,
    /// Packets that it has again from the same place.
    mirrored: u64,
}

impl Extent {
    /// Whether the capture was made at this time, `apart` nanoseconds away from its ends or more.
    fn includes(&self, line_ns: i64, apart: i64) -> bool {
        let is_before = |first: i64| line_ns < first.saturating_add(apart);
        let is_behind = |last: i64| line_ns > last.saturating_sub(apart);
        let too_early = self.first_ns.is_none_or(is_before);
        let too_late = self.ended && self.last_ns.is_none_or(is_behind);
        !(too_early || too_late)
    }
}

/// The comparison, as far as both captures were read.
#[derive(Debug)]
struct Comparison {
    options: Options,
    alike: HashMap<u128, Alike>,
    /// Keys by the time of their first packet.
    order: VecDeque<(i64, u128)>,
    waiting: usize,
    tallies: Tallies,
    streams: Streams,
    names: Names,
    extents: [Extent; 2],
    lines: Lines,
    memory: Memory,
    tags: Tags,
    /// Those from a time at which the other capture may not have begun.
    early: Vec<Seen>,
    given_up: u64,
}

/// Compares two captures.
///
/// # Errors
/// As [`Reader::next_packet`]; `InvalidInput` if a file's packets are further from the order of time than [`Options::order_window`].
pub fn compare<'r>(a: &mut Reader<'r>, b: &mut Reader<'r>, options: Options) -> Result<Report> {
    let mut comparison = Comparison::new(options);
    let likeness = Likeness::new(options);
    let read = |packet: &FilePacket<'_>| likeness.observe(packet);
    let ordered = |reader| Ordered::new(reader, options.order_window, read);
    let mut files = [ordered(a), ordered(b)];
    loop {
        let next = [files[0].peek()?, files[1].peek()?];
        for (side, next) in [Side::A, Side::B].into_iter().zip(next) {
            comparison.extents[side as usize].ended = next.is_none();
            if let Some((line_ns, run)) = next {
                comparison.lines.reach(side, run, line_ns);
            }
        }
        let side = match next {
            [None, None] => break,
            [Some((a, _)), Some((b, _))] if b < a => Side::B,
            [Some(_), _] => Side::A,
            [None, Some(_)] => Side::B,
        };
        if let Some(placed) = files[side as usize].next()? {
            comparison.observe(side, &placed);
        }
    }
    Ok(comparison.finish(&files))
}

impl Comparison {
    fn new(options: Options) -> Self {
        Self {
            options,
            alike: HashMap::new(),
            order: VecDeque::new(),
            waiting: 0,
            tallies: Tallies::default(),
            streams: Streams::default(),
            names: Names::new(options.nat),
            extents: [Extent::default(); 2],
            lines: Lines::default(),
            memory: Memory::default(),
            tags: Tags::default(),
            early: Vec::new(),
            given_up: 0,
        }
    }

    fn observe(&mut self, side: Side, placed: &Placed<Observed>) {
        let extent = &mut self.extents[side as usize];
        extent.packets += 1;
        let place = extent.packets;
        if placed.packet.utc_ns.is_some() {
            extent.first_ns.get_or_insert(placed.line_ns);
            extent.last_ns = extent.last_ns.max(Some(placed.line_ns));
        } else {
            extent.unusable.without_time += 1;
        }
        self.expire(placed.line_ns);
        let found = match placed.packet.found {
            Ok(found) => found,
            Err(why) => return self.unreadable(side, why),
        };
        let number = match (found.flow, found.frames) {
            (Some(flow), _) => Some(self.tallies.of(flow)),
            (None, frames) => frames.and_then(|frames| self.tallies.of_frames(frames)),
        };
        let Some(flow) = number else {
            return self.unreadable(side, Unreadable::NotIp);
        };
        let Some(key) = found.key else {
            self.extents[side as usize].unusable.cut_off += 1;
            self.count_unusable(side, flow, found.may_carry);
            return;
        };
        self.tallies.passed(flow, side, placed.packet.direction);
        let again = self.see(key, side, placed, &found);
        self.extents[side as usize].mirrored += u64::from(again == Again::Mirrored);
        let is_once = self.options.mirrored_once && again == Again::Mirrored;
        self.extents[side as usize].copies += u64::from(again == Again::Copy);
        if again == Again::Copy {
            self.copied(side, placed, &found);
        }
        if again == Again::Copy || is_once {
            return;
        }
        let (bytes, is_again) = self.place(side, placed, &found);
        // where interfaces have no names, a mirror port's looks like a bridge's
        let is_perhaps = again == Again::Mirrored && placed.packet.is_of_any_interface;
        let seen = Seen {
            side,
            line_ns: placed.line_ns,
            steps: self.lines.steps(side, placed.run),
            utc_ns: placed.packet.utc_ns,
            bound_ns: placed.packet.bound_ns,
            run: placed.packet.run,
            steps_before: placed.run,
            place,
            flow,
            bytes,
            is_again,
            may_be_copy: again == Again::Perhaps || is_perhaps,
            is_fragment: found.is_fragment,
            is_long: found.is_long,
            may_carry: found.may_carry,
            datagram: found.datagram,
        };
        self.pair(key, seen, found.flow);
    }

    fn unreadable(&mut self, side: Side, why: Unreadable) {
        let extent = &mut self.extents[side as usize];
        extent.unusable.count(why);
        extent.of_any_flow += u64::from(why != Unreadable::NotIp);
    }

    /// The TCP stream of a packet.
    fn stream(&mut self, side: Side, found: &Packet) -> Option<u32> {
        let flow = found.flow.and_then(|flow| self.names.at_a(side, flow));
        flow.and_then(|flow| self.streams.of(flow))
    }

    /// Remembers that a place had the bytes of a packet that its capture had from another one.
    fn copied(&mut self, side: Side, placed: &Placed<Observed>, found: &Packet) {
        let stream = found.bytes.and_then(|_| self.stream(side, found));
        if let Some((stream, range)) = stream.zip(found.bytes) {
            let at = (placed.packet.vantage, placed.line_ns);
            self.streams.copied(stream, side, range, at);
        }
    }

    /// Remembers which bytes a packet brought; returns also whether its capture had some of them before.
    fn place(&mut self, side: Side, placed: &Placed<Observed>, found: &Packet) -> (Place, bool) {
        let Some(range) = found.bytes else {
            return (Place::Whole, false);
        };
        let Some(stream) = self.stream(side, found) else {
            return (Place::Unknown, false);
        };
        let at = (placed.packet.vantage, placed.line_ns);
        let brought = self.streams.add(stream, side, range, at);
        let place = match brought {
            _ if found.is_syn => Place::Whole, // joined with nothing
            Brought::Elsewhere => Place::Elsewhere(stream, range),
            _ => Place::Stream(stream, range),
        };
        (place, brought != Brought::New)
    }

    /// Notes a packet among those that look the same; returns whether it is a copy of one of them.
    fn see(&mut self, key: u128, side: Side, placed: &Placed<Observed>, found: &Packet) -> Again {
        let (packet, line_ns) = (&placed.packet, placed.line_ns);
        self.memory.note(side, packet);
        let is_retagged = self.retagged(key, side, placed, found);
        let mut is_new = false;
        let alike = match self.alike.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                is_new = true;
                entry.insert(Alike::new(self.lines.first_seen(key)))
            }
        };
        if is_new || std::mem::take(&mut alike.is_remembered) {
            self.order.push_back((line_ns, key));
        }
        if is_new || alike.begins_anew(line_ns, found) {
            alike.is_cut = self.memory.is_cut(line_ns, self.options.window_ns);
        }
        alike.latest_ns = line_ns;
        let again = alike.see(side, packet, line_ns, found);
        let is_once =
            again == Again::Copy || self.options.mirrored_once && again == Again::Mirrored;
        // under one key, what counts once is decided
        alike.is_retagged[side as usize] |= is_retagged && !(self.options.vlan && is_once);
        if is_new && self.memory.may_be_copy(side, packet, line_ns, found) {
            return Again::Perhaps;
        }
        again
    }

    /// Whether the capture had the same packet under another VLAN just before, which is noted there, too.
    fn retagged(
        &mut self,
        key: u128,
        side: Side,
        placed: &Placed<Observed>,
        found: &Packet,
    ) -> bool {
        let timed = found.untagged.filter(|_| placed.packet.utc_ns.is_some());
        let other = timed.and_then(|(vlan, bare)| {
            let line_ns = placed.line_ns;
            let tagged = Tagged {
                bare,
                vlan,
                key,
                line_ns,
            };
            self.tags.note(side, tagged, longest(found.identification))
        });
        let apart = other.filter(|other| *other != key);
        if let Some(other) = apart.and_then(|other| self.alike.get_mut(&other)) {
            other.is_retagged[side as usize] = true;
        }
        if other.is_some() {
            self.memory.note_retagged();
        }
        other.is_some()
    }

    fn pair(&mut self, key: u128, seen: Seen, flow_name: Option<Flow>) {
        let Some(alike) = self.alike.get_mut(&key) else {
            return;
        };
        match alike.waiting.front() {
            Some(first) if first.side != seen.side => {
                let other = *first;
                let certain = alike.is_certain(seen.side) && !seen.is_again && !other.is_again;
                alike.waiting.pop_front();
                self.waiting -= 1;
                if certain && alike.paired.is_none() {
                    self.lines.paired(&seen, &other, alike.first_seen);
                }
                let (a, b) = if seen.side == Side::A {
                    (seen, other)
                } else {
                    (other, seen)
                };
                alike.paired = Some(a.flow);
                alike.found_pair(&seen, &other);
                let other_name = self.tallies.get(other.flow).flow;
                if let Some(flow_name) = flow_name {
                    self.names.learn(seen.side, flow_name, other_name);
                }
                self.tallies
                    .paired(a.flow, &a, &b, certain.then_some(seen.side));
            }
            _ => {
                if alike.waiting.is_empty() {
                    alike.waiting.reserve_exact(1); // most are alone, and room for more is most of the memory
                }
                alike.waiting.push_back(seen);
                self.waiting += 1;
                self.make_room(seen.line_ns);
            }
        }
    }

    /// Gives up packets beyond those that there is room for.
    fn make_room(&mut self, now: i64) {
        let most = self.options.most_waiting;
        loop {
            if self.waiting > most || self.order.len() > 2 * most {
                self.given_up += self.settle_oldest(Some(now));
            } else if self.order.len() + self.memory.len() > 2 * most {
                let oldest = self.memory.oldest();
                if let Some(latest_ns) = self.forget(oldest) {
                    self.memory.cut(latest_ns);
                }
            } else {
                return;
            }
        }
    }

    /// Forgets packets that are only remembered for their copies; returns when the latest of them was seen.
    fn forget(&mut self, key: Option<u128>) -> Option<i64> {
        let Entry::Occupied(entry) = self.alike.entry(key?) else {
            return None;
        };
        let latest_ns = entry.get().latest_ns;
        if !entry.get().is_remembered {
            return None;
        }
        self.memory.forget(latest_ns);
        entry.remove();
        Some(latest_ns)
    }

    /// Gives up packets that waited for longer than the window; those that look alike and came later wait on.
    fn expire(&mut self, now: i64) {
        let window = self.options.window_ns;
        // i64::MIN: no packet of that file has a time
        let is_old = |since: i64| since != i64::MIN && now.saturating_sub(since) > window;
        let is_due = |(since, _): &(i64, _)| is_old(*since);
        while let Some((_, key)) = self.order.front().copied().filter(is_due) {
            self.order.pop_front();
            let Entry::Occupied(mut entry) = self.alike.entry(key) else {
                continue;
            };
            let alike = entry.get_mut();
            let count = alike.waiting.partition_point(|seen| is_old(seen.line_ns));
            let old = alike.waiting.iter().take(count);
            let old: Vec<_> = old
                .map(|seen| (*seen, alike.may_be_copy(seen, window)))
                .collect();
            alike.waiting.drain(..count);
            let (latest, paired) = (alike.latest_ns, alike.paired);
            if !is_old(latest) || !entry.get().waiting.is_empty() {
                let next = entry.get().waiting.front();
                self.order
                    .push_back((next.map_or(latest, |seen| seen.line_ns), key));
            } else if self.memory.is_needed(latest, now) {
                entry.get_mut().is_remembered = true;
                self.memory.remember(latest, key);
            } else {
                self.memory.forget(latest);
                entry.remove();
            }
            self.waiting -= old.len();
            for (seen, may_be_copy) in &old {
                self.unmatched(seen, paired, *may_be_copy, true);
            }
        }
        while let Some(key) = self.memory.over(now) {
            let alike = self.alike.get(&key);
            let is_over = alike.is_some_and(|alike| !self.memory.is_needed(alike.latest_ns, now));
            self.forget(is_over.then_some(key));
        }
    }

    /// Counts the oldest packets that look alike; returns how many of them had no like. `early`: the time, if they did not wait
    /// as long as they should.
    fn settle_oldest(&mut self, early: Option<i64>) -> u64 {
        let Some((_, key)) = self.order.pop_front() else {
            return 0;
        };
        let Some(alike) = self.alike.remove(&key) else {
            return 0;
        };
        let may_follow =
            |now| !alike.waiting.is_empty() || Memory::copies_may_follow(alike.latest_ns, now);
        if early.is_some_and(may_follow) {
            self.memory.cut(alike.latest_ns);
        } else {
            self.memory.forget(alike.latest_ns);
        }
        self.waiting -= alike.waiting.len();
        let window = self.options.window_ns;
        let mut without_like = 0;
        for seen in &alike.waiting {
            let may_be_copy = alike.may_be_copy(seen, window);
            without_like +=
                u64::from(!self.unmatched(seen, alike.paired, may_be_copy, early.is_none()));
        }
        without_like
    }

    /// A packet has no like; returns whether its bytes were found all the same. `may_be_copy`: whether it is unknown that it should have
    /// one. `waited`: as long as it should.
    fn unmatched(
        &mut self,
        seen: &Seen,
        paired: Option<u32>,
        may_be_copy: bool,
        waited: bool,
    ) -> bool {
        let flow = paired.unwrap_or(seen.flow);
        let side = seen.side;
        let mut again = paired.is_some();
        let is_early = !waited || seen.utc_ns.is_none();
        let is_cut = self.memory.is_cut(seen.line_ns, self.options.window_ns);
        let bytes = self.settle_bytes(seen);
        if bytes == Some(Bytes::Found) {
            let length = seen.bytes.length();
            self.tallies.get(flow).resegmented(side, length);
            return true;
        }
        // where there was no room, its like is undecided itself
        if seen.utc_ns.is_none() || !waited && !is_cut {
            // the like may still come, and not be found
            self.count_unusable(side, flow, seen.may_carry);
        }
        match bytes {
            None | Some(Bytes::Found) => {}
            Some(Bytes::Missing) => again = false,
            Some(Bytes::Fewer) => again = true,
            Some(Bytes::Forgotten) => {
                self.tallies.get(flow).undecided[side as usize] += 1;
                return false;
            }
        }
        if may_be_copy || is_cut {
            self.tallies.get(flow).undecided[side as usize] += 1;
            return false;
        }
        // behind a NAT a flow has another name at the other side
        let named = if self.options.nat { 0 } else { flow };
        self.lines.alone(seen, named);
        if is_early {
            self.tallies.get(flow).undecided[side as usize] += 1;
            return false;
        }
        let Some(apart) = self.lines.apart(seen, self.options.window_ns) else {
            self.tallies.get(flow).undecided[side as usize] += 1;
            return false;
        };
        let other = self.extents[1 - side as usize];
        if again || other.includes(seen.line_ns, apart) {
            self.tallies.get(flow).unmatched(seen, again);
        } else if apart > 0 && other.includes(seen.line_ns, -apart) {
            self.tallies.get(flow).undecided[side as usize] += 1;
        } else if self.early.len() < MOST_EARLY {
            self.early.push(*seen);
        } else {
            self.tallies.get(flow).outside += 1;
        }
        false
    }

    /// Returns where the bytes of a packet without a like are. `None`: they are always in one packet.
    fn settle_bytes(&mut self, seen: &Seen) -> Option<Bytes> {
        let side = seen.side;
        match seen.bytes {
            Place::Whole => None,
            Place::Unknown => Some(Bytes::Forgotten),
            Place::Elsewhere(stream, range) => {
                let is_found = self.streams.has(stream, 1 - side as usize, range);
                Some(match is_found {
                    true => Bytes::Found,
                    false => Bytes::Forgotten,
                })
            }
            Place::Stream(stream, range) => Some(self.streams.settle(stream, side, range)),
        }
    }

    /// A packet that was not compared accounts for one missing packet of its flow, or of any.
    fn count_unusable(&mut self, side: Side, flow: u32, may_carry: bool) {
        let side = side as usize;
        if self.options.nat || may_carry {
            self.extents[side].of_any_flow += 1;
        } else {
            self.tallies.get(flow).unusable[side] += 1;
        }
    }

    fn finish<F: FnMut(&FilePacket<'_>) -> Observed>(
        mut self,
        files: &[Ordered<'_, '_, Observed, F>; 2],
    ) -> Report {
        while !self.order.is_empty() {
            self.settle_oldest(None);
        }
        for seen in std::mem::take(&mut self.early) {
            let lasted = files[1 - seen.side as usize].lasted();
            let tally = self.tallies.get(seen.flow);
            if lasted.is_none_or(|lasted| !lasted.contains(&seen.line_ns)) {
                tally.outside += 1;
            } else if self.lines.are_stepped() {
                tally.undecided[seen.side as usize] += 1;
            } else {
                tally.unmatched(&seen, false);
            }
        }
        report::of(self, files)
    }
}
