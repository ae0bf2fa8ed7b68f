//! Which bytes of a TCP stream each capture has, by sequence number: segments that GRO or LRO joined, or that TSO has yet to split,
//! are other packets on either side, and the same bytes.

mod sightings;

use super::Side;
use crate::copies::Vantage;
use crate::packet::Flow;
use sightings::{Part, Sightings};
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
    /// It had some of them from another place just before, and not as often from this one: they were sent again, or are a copy that is cut
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
    sightings: usize,
}

/// How often each capture has each byte. Where both have it more than once, once of that is left out of both counts.
#[derive(Debug, Default)]
struct Stream {
    /// Counts from this number to the next one that is there; the numbers form a circle.
    counts: BTreeMap<u32, [u32; 2]>,
    /// The number behind the byte that is furthest ahead.
    front: u32,
    /// Where and when each capture just had which bytes.
    sightings: [Sightings; 2],
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

    /// A capture has these bytes at a place and time. Bytes that it just had from another place count once: whether they were sent again
    /// is unknown. Other bytes of the stream say nothing about these, wherever and whenever they were seen.
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
        let others_seen = self.sightings - stream.sightings[side as usize].len();
        let room = sightings::room(others_seen);
        let parts = stream.sightings[side as usize].see(range, at, is_again, room);
        self.sightings = others_seen + stream.sightings[side as usize].len();
        let brought = match parts.iter().any(|part| part.is_copy) {
            true => Brought::Elsewhere,
            false if is_again => Brought::Again,
            false => Brought::New,
        };
        stream.count_all(side, &parts);
        let room = MOST_CHANGES_TOGETHER.saturating_sub(others);
        if !stream.trim(room.clamp(FEWEST_CHANGES, MOST_CHANGES)) {
            stream.counts.clear();
            stream.count_all(side, &parts);
        }
        self.changes = others + stream.counts.len();
        brought
    }

    /// A capture has a copy of a packet that had these bytes at another place. They count no more, and it is known that this place had
    /// them.
    pub(super) fn copied(&mut self, stream: u32, side: Side, range: Range, at: (Vantage, i64)) {
        let seen = &mut self.all[stream as usize].sightings[side as usize];
        let others = self.sightings - seen.len();
        seen.copied(range, at, sightings::room(others));
        self.sightings = others + seen.len();
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

impl Stream {
    fn count_all(&mut self, side: Side, parts: &[Part]) {
        for part in parts {
            self.count(side, part.range, part.is_copy);
        }
    }

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
mod tests;
