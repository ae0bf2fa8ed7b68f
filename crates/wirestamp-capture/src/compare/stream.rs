//! Which bytes of a TCP stream each capture has, by sequence number: segments that GRO or LRO joined, or that TSO has yet to split,
//! are other packets on either side, and the same bytes.

use super::Side;
use crate::copies::{Vantage, longest};
use crate::packet::Flow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// So many streams are followed.
const MOST_STREAMS: usize = 16_384;
/// Places at which the counts of a stream change. A segment that is lost and sent again makes two until it is settled. Beyond the limit,
/// the stream forgets the bytes furthest behind.
const MOST_CHANGES: usize = 1 << 14;
/// The same of all streams, but for a few of each.
const MOST_CHANGES_TOGETHER: usize = 1 << 20;
const FEWEST_CHANGES: usize = 64;
/// So many of them are looked at for one segment; beyond, its stream is forgotten. A segment of 64 KiB that others are joined in has
/// 100, if half of them are lost.
const MOST_INSIDE: usize = 512;
/// Bytes that are so far behind the latest are forgotten: their numbers come again.
const BEHIND: u32 = 1 << 30;

/// The sequence numbers of a segment; FIN has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: u32,
    pub(super) length: u32,
}

/// Which bytes a segment brings to its capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brought {
    /// The capture had none of them.
    New,
    /// It had some of them: they were sent again.
    Again,
    /// It had bytes of the stream from another place just before, and some of these: they were sent again, or are a copy that is cut
    /// otherwise.
    Elsewhere,
}

/// Where the bytes of a segment are that has no like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bytes {
    /// The other capture has them all.
    Found,
    /// The other capture never had some of them.
    Missing,
    /// It had all of them, but not as often.
    Fewer,
    /// They were forgotten.
    Forgotten,
}

/// The streams of both captures, by their flow in A.
#[derive(Debug, Default)]
pub(super) struct Streams {
    numbers: HashMap<Flow, u32>,
    all: Vec<Stream>,
    changes: usize,
}

/// How often each capture has each byte. Where both have it more than once, once of that is left out of both counts.
#[derive(Debug, Default)]
struct Stream {
    /// Counts from this number to the next one that is there; the numbers form a circle.
    counts: BTreeMap<u32, [u32; 2]>,
    /// The number behind the byte that is furthest ahead.
    front: u32,
    /// Where and when each capture had the latest bytes that count.
    places: [Option<(Vantage, i64)>; 2],
}

impl Streams {
    /// The number of a stream. `None`: there are too many.
    pub(super) fn of(&mut self, flow: Flow) -> Option<u32> {
        if let Some(known) = self.numbers.get(&flow) {
            return Some(*known);
        }
        if self.all.len() == MOST_STREAMS {
            return None;
        }
        let number = self.all.len() as u32;
        self.all.push(Stream::default());
        self.numbers.insert(flow, number);
        Some(number)
    }

    /// A capture has these bytes at a place and time. Bytes that it has from another place, too, count once while copies may come:
    /// whether they were sent again is unknown.
    pub(super) fn add(
        &mut self,
        stream: u32,
        side: Side,
        range: Range,
        at: (Vantage, i64),
    ) -> Brought {
        let stream = &mut self.all[stream as usize];
        let others = self.changes - stream.counts.len();
        if stream.is_crowded(range) {
            stream.counts.clear();
        }
        let within = stream.within(range);
        let is_again = within.iter().any(|counts| counts[side as usize] > 0);
        let place = &mut stream.places[side as usize];
        let brought = match place {
            Some(known) if is_again && may_be_copy(*known, at) => Brought::Elsewhere,
            _ if is_again => Brought::Again,
            _ => Brought::New,
        };
        let is_copy = brought == Brought::Elsewhere;
        if !is_copy {
            *place = Some(at);
        }
        stream.count(side, range, is_copy);
        let room = MOST_CHANGES_TOGETHER.saturating_sub(others);
        if !stream.trim(room.clamp(FEWEST_CHANGES, MOST_CHANGES)) {
            stream.counts.clear();
            stream.count(side, range, is_copy);
        }
        self.changes = others + stream.counts.len();
        brought
    }

    /// Whether a capture has all of these bytes.
    pub(super) fn has(&self, stream: u32, side: usize, range: Range) -> bool {
        let stream = &self.all[stream as usize];
        let is_there = |counts: &[u32; 2]| counts[side] > 0;
        !stream.is_crowded(range) && stream.within(range).iter().all(is_there)
    }

    /// Returns where the bytes of a segment are that this capture alone has. If the other one lacks some, they are not looked for again.
    pub(super) fn settle(&mut self, stream: u32, side: Side, range: Range) -> Bytes {
        let stream = &mut self.all[stream as usize];
        let (own, other) = (side as usize, 1 - side as usize);
        if stream.is_crowded(range) {
            return Bytes::Forgotten;
        }
        let mut found = Bytes::Found;
        for counts in stream.within(range) {
            match (counts[own], counts[other]) {
                (0, _) => return Bytes::Forgotten,
                (_, 0) => found = Bytes::Missing,
                (owned, others) if owned > others && found == Bytes::Found => found = Bytes::Fewer,
                _ => {}
            }
        }
        let before = stream.counts.len();
        if matches!(found, Bytes::Missing | Bytes::Fewer) {
            stream.change(range, |counts| {
                if counts[own] > counts[other] {
                    counts[own] -= 1;
                }
            });
        }
        self.changes = self.changes + stream.counts.len() - before;
        found
    }
}

/// Whether bytes at a place and time may be a copy of those that a capture had before.
fn may_be_copy(before: (Vantage, i64), at: (Vantage, i64)) -> bool {
    before.0 != at.0 && at.1.saturating_sub(before.1) <= longest(None)
}

impl Stream {
    /// A capture has these bytes. `is_copy`: those that it has already count no more.
    fn count(&mut self, side: Side, range: Range, is_copy: bool) {
        let is_first = self.counts.is_empty();
        self.change(range, |counts| {
            let count = &mut counts[side as usize];
            *count = if is_copy {
                1.max(*count)
            } else {
                count.saturating_add(1)
            };
            if counts[0] > 1 && counts[1] > 1 {
                *counts = counts.map(|count| count - 1);
            }
        });
        let latest = range.start.wrapping_add(range.length);
        let ahead = latest.wrapping_sub(self.front);
        // a segment further behind than all remembered bytes starts the stream anew
        if is_first || ahead < 1 << 31 || ahead.wrapping_neg() > BEHIND {
            self.front = latest;
        }
        self.forget(latest, BEHIND);
    }

    /// Forgets the bytes furthest behind, if counts change at more than `most` places. `false`: there is nothing left behind.
    fn trim(&mut self, most: usize) -> bool {
        if self.counts.len() <= most {
            return true;
        }
        let mut distance = BEHIND;
        while self.counts.len() > most / 2 && distance > 1 {
            distance /= 2;
            self.forget(self.front, distance);
        }
        self.counts.len() <= most
    }

    /// Whether counts change at too many places within a range.
    fn is_crowded(&self, range: Range) -> bool {
        self.inside(range).nth(MOST_INSIDE).is_some()
    }

    fn at(&self, number: u32) -> [u32; 2] {
        let before = self.counts.range(..=number).next_back();
        let found = before.or_else(|| self.counts.last_key_value());
        found.map_or([0; 2], |(_, counts)| *counts)
    }

    /// The counts within a range, one for each change.
    fn within(&self, range: Range) -> Vec<[u32; 2]> {
        let inside = self.starts(range);
        let inside = inside.iter().map(|start| self.at(*start));
        std::iter::once(self.at(range.start))
            .chain(inside)
            .collect()
    }

    /// The numbers behind the first one of a range at which counts change.
    fn inside(&self, range: Range) -> impl Iterator<Item = u32> {
        let (first, end) = (range.start, range.start.wrapping_add(range.length));
        let (last, wrapped) = if first < end {
            (Bound::Excluded(end), None)
        } else {
            (
                Bound::Unbounded,
                Some((Bound::Unbounded, Bound::Excluded(end))),
            )
        };
        let above = self.counts.range((Bound::Excluded(first), last));
        let below = wrapped.into_iter().flat_map(|part| self.counts.range(part));
        above.chain(below).map(|(start, _)| *start)
    }

    fn starts(&self, range: Range) -> Vec<u32> {
        let mut inside: Vec<u32> = self.inside(range).collect();
        inside.dedup();
        inside
    }

    fn change(&mut self, range: Range, change: impl Fn(&mut [u32; 2])) {
        if range.length == 0 {
            return;
        }
        let end = range.start.wrapping_add(range.length);
        let (at_start, at_end) = (self.at(range.start), self.at(end));
        self.counts.insert(range.start, at_start);
        self.counts.insert(end, at_end);
        let mut inside = self.starts(range);
        inside.insert(0, range.start);
        for start in &inside {
            self.counts.entry(*start).and_modify(&change);
        }
        inside.push(end);
        for start in inside {
            self.join(start);
        }
    }

    /// Takes a change away that changes nothing.
    fn join(&mut self, start: u32) {
        let Some(counts) = self.counts.get(&start).copied() else {
            return;
        };
        let before = self.counts.range(..start).next_back();
        let before = before.or_else(|| self.counts.last_key_value());
        let is_same = before.is_some_and(|(other, found)| *other != start && *found == counts);
        if is_same || (self.counts.len() == 1 && counts == [0; 2]) {
            self.counts.remove(&start);
        }
    }

    /// Leaves only bytes that are at most so far behind `latest`, or ahead of it.
    fn forget(&mut self, latest: u32, distance: u32) {
        let ahead = latest.wrapping_add(BEHIND);
        let length = latest.wrapping_sub(distance).wrapping_sub(ahead);
        let is_empty = |counts: &[u32; 2]| *counts == [0; 2];
        let range = Range {
            start: ahead,
            length,
        };
        if !self.within(range).iter().all(is_empty) {
            self.change(range, |counts| *counts = [0; 2]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One stream, which is 0.
    fn streams() -> Streams {
        let mut streams = Streams::default();
        assert_eq!(streams.of(flow(1)), Some(0));
        streams
    }

    fn flow(source_port: u16) -> Flow {
        let address = std::net::Ipv4Addr::LOCALHOST.into();
        Flow {
            source: address,
            destination: address,
            protocol: 6,
            source_port,
            destination_port: 2,
        }
    }

    fn place() -> (Vantage, i64) {
        at(0, 0)
    }

    fn at(interface: u32, line_ns: i64) -> (Vantage, i64) {
        (Vantage::new(0, interface, None, None), line_ns)
    }

    fn range(start: u32, length: u32) -> Range {
        Range { start, length }
    }

    #[test]
    fn joined_bytes_are_found_and_lost_ones_are_missed_once() {
        for base in [0, u32::MAX - 1_500, 1 << 31] {
            let at = |start: u32, length| range(start.wrapping_add(base), length);
            let mut streams = streams();
            for part in [at(0, 1_000), at(1_000, 1_000), at(2_000, 1_000)] {
                streams.add(0, Side::A, part, place());
            }
            streams.add(0, Side::A, at(1_000, 1_000), place()); // sent again
            streams.add(0, Side::B, at(0, 3_000), place());
            assert_eq!(streams.settle(0, Side::B, at(0, 3_000)), Bytes::Found);
            assert_eq!(streams.settle(0, Side::A, at(0, 1_000)), Bytes::Found);
            assert_eq!(streams.settle(0, Side::A, at(1_000, 1_000)), Bytes::Fewer);
            assert_eq!(streams.settle(0, Side::A, at(1_000, 1_000)), Bytes::Found);
            assert_eq!(streams.settle(0, Side::A, at(2_000, 1_000)), Bytes::Found);
            streams.add(0, Side::A, at(3_000, 10), place());
            assert_eq!(streams.settle(0, Side::A, at(2_990, 20)), Bytes::Missing);
            assert_eq!(streams.settle(0, Side::A, at(3_000, 10)), Bytes::Forgotten);
        }
    }

    #[test]
    fn bytes_from_another_place_are_copies_for_a_while() {
        let long = 30 * longest(None);
        let mut streams = streams();
        for (interface, line_ns, expected) in [
            (1, 0, Brought::New),
            (2, longest(None), Brought::Elsewhere),
            (2, longest(None) + 1, Brought::Again),
            // sent again by the first one, and copied
            (1, long, Brought::Again),
            (2, long + longest(None), Brought::Elsewhere),
            (1, 2 * long, Brought::Again),
        ] {
            let brought = streams.add(0, Side::A, range(0, 9), at(interface, line_ns));
            assert_eq!(brought, expected, "{interface} {line_ns}");
        }
        assert_eq!(streams.all[0].at(0), [4, 0]);
    }

    #[test]
    fn a_stream_of_many_gigabytes_takes_no_room() {
        let mut streams = streams();
        for turn in 0..200_000_u32 {
            let part = range(turn.wrapping_mul(60_000), 60_000);
            streams.add(0, Side::A, part, place());
            streams.add(0, Side::B, part, place());
            assert!(streams.changes <= 6, "{turn}: {streams:?}");
        }
        // every second byte, of one capture alone, in any order
        type Order = fn(u32) -> u32;
        let orders: [Order; 4] = [
            |turn| turn * 2,
            |turn| 0_u32.wrapping_sub(turn * 2),
            |turn| turn.wrapping_mul(0x9e37_79b9),
            |turn| ((turn % 8) << 29).wrapping_sub(turn * 2), // further behind than is remembered, again and again
        ];
        for order in orders {
            let mut streams = self::streams();
            for turn in 0..60_000 {
                streams.add(0, Side::A, range(order(turn), 1), place());
                assert!(
                    streams.changes <= MOST_CHANGES,
                    "{turn}: {}",
                    streams.changes
                );
            }
        }
    }

    #[test]
    fn as_much_of_a_stream_is_known_as_it_loses_in_a_window() {
        // beyond that, the stream forgets the bytes furthest behind, whichever segment came last
        for (sent, known) in [(8_000, 2), (20_000, 12_400)] {
            let mut streams = self::streams();
            for number in 0..sent {
                let part = range(number * 1_000, 1_000);
                streams.add(0, Side::A, part, place());
                if number % 2 == 0 {
                    streams.add(0, Side::A, part, place());
                    streams.add(0, Side::A, range(0, 1_000), place());
                }
                streams.add(0, Side::B, part, place());
            }
            for number in (known..sent).step_by(2) {
                let part = range(number * 1_000, 1_000);
                assert_eq!(streams.settle(0, Side::A, part), Bytes::Fewer, "{number}");
                assert_eq!(streams.settle(0, Side::A, part), Bytes::Found, "{number}");
            }
        }
    }

    #[test]
    fn one_segment_never_costs_much() {
        let mut streams = streams();
        for turn in 0..2_000 {
            streams.add(0, Side::B, range(turn * 2, 1), place());
        }
        let long = range(0, 4_000);
        assert_eq!(streams.settle(0, Side::B, long), Bytes::Forgotten);
        streams.add(0, Side::A, long, place());
        assert_eq!(streams.changes, 2);
        assert_eq!(streams.settle(0, Side::A, long), Bytes::Missing);
    }

    #[test]
    fn many_streams_without_end_leave_room_for_others() {
        let mut streams = streams();
        let mut port = 0;
        while streams.changes + 16 < MOST_CHANGES_TOGETHER {
            port += 1;
            let stream = streams.of(flow(port)).expect("there is room");
            for turn in 0..8_000 {
                streams.add(stream, Side::A, range(turn * 2, 1), place());
            }
        }
        assert!(port > 60, "{port}: each has its limit");
        let stream = streams.of(flow(999)).expect("there is room");
        let parts = (0..31).map(|number| range(number * 3_000, 1_000));
        for part in parts.clone() {
            streams.add(stream, Side::A, part, place());
        }
        for part in parts {
            assert_eq!(streams.settle(stream, Side::A, part), Bytes::Missing);
        }
        assert!(streams.changes < MOST_CHANGES_TOGETHER + 2 * FEWEST_CHANGES);
    }

    proptest! {
        /// Both captures see every byte as often as it was transmitted but for lost ones, cut anew at each.
        #[test]
        fn as_many_segments_are_missing_as_were_lost(base: u32, lost in proptest::collection::vec(any::<bool>(), 1..60), joined in 1usize..10) {
            let mut streams = streams();
            let part = |number: usize, count: usize| range(base.wrapping_add(number as u32 * 100), count as u32 * 100);
            for (number, is_lost) in lost.iter().enumerate() {
                streams.add(0, Side::A, part(number, 1), place());
                if *is_lost {
                    streams.add(0, Side::A, part(number, 1), place());
                }
            }
            for start in (0..lost.len()).step_by(joined) {
                streams.add(0, Side::B, part(start, joined.min(lost.len() - start)), place());
            }
            let mut missing = 0;
            for (number, is_lost) in lost.iter().enumerate() {
                for _ in 0..1 + usize::from(*is_lost) {
                    let found = streams.settle(0, Side::A, part(number, 1));
                    prop_assert!(found != Bytes::Forgotten);
                    missing += usize::from(found != Bytes::Found);
                }
            }
            prop_assert_eq!(missing, lost.iter().filter(|lost| **lost).count());
            for start in (0..lost.len()).step_by(joined) {
                prop_assert_eq!(streams.settle(0, Side::B, part(start, joined.min(lost.len() - start))), Bytes::Found);
            }
        }
    }
}
