//! Where and when a capture just had which bytes of a stream. Bytes from another place are a copy of bytes that were seen there, or were
//! sent again: a place that has them more often than the others shows that they were.

use super::Range;
use crate::copies::{Vantage, longest};
use std::collections::VecDeque;

/// So many sightings of a stream are remembered: those of 10 ms at 4 Gbit/s in segments of 1,448 bytes.
const MOST: usize = 4_096;
/// The same of all streams, but for a few of each.
const MOST_TOGETHER: usize = 1 << 18;
const FEWEST: usize = 64;
/// A segment with more sightings of its bytes counts as a copy. 64 KiB have 46 for each place.
const MOST_OVERLAPPING: usize = 256;

/// Bytes at a place.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    range: Range,
    place: Vantage,
    /// When they were sent: at a copy's place, when the first place had them.
    since_ns: i64,
}

/// A part of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) range: Range,
    /// Whether it may be a copy of bytes that were seen at another place.
    pub(super) is_copy: bool,
}

/// A sighting of some bytes of a segment: their positions in it.
#[derive(Debug, Clone, Copy)]
struct Overlap {
    from: u32,
    until: u32,
    place: Vantage,
    since_ns: i64,
}

/// The latest sightings of a capture.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    latest: VecDeque<Sighting>,
    first: Option<Vantage>,
    has_several_places: bool,
    /// The time of the latest one that was forgotten for lack of room.
    cut_ns: Option<i64>,
}

/// How many sightings a stream may have, beside those of others.
pub(super) fn room(others: usize) -> usize {
    MOST_TOGETHER.saturating_sub(others).clamp(FEWEST, MOST)
}

fn is_recent(since_ns: i64, now: i64) -> bool {
    now.saturating_sub(since_ns) <= longest(None)
}

impl Sightings {
    pub(super) fn len(&self) -> usize {
        self.latest.len()
    }

    /// Bytes are seen at a place and time; returns which of them may be copies. `is_again`: some were seen before, however long ago.
    pub(super) fn see(
        &mut self,
        range: Range,
        at: (Vantage, i64),
        is_again: bool,
        room: usize,
    ) -> Vec<Part> {
        self.forget(at, room);
        let whole = |is_copy| vec![Part { range, is_copy }];
        if !is_again || !self.has_several_places {
            self.note(range, at);
            return whole(false);
        }
        let found = self.parts(range, at);
        let is_cut = self.cut_ns.is_some_and(|cut| is_recent(cut, at.1));
        let Some(parts) = found.filter(|_| !is_cut) else {
            self.note(range, at);
            return whole(true);
        };
        for (part, since_ns) in &parts {
            self.note(part.range, (at.0, *since_ns));
        }
        parts.into_iter().map(|(part, _)| part).collect()
    }

    /// A copy of bytes that were just seen elsewhere is seen at a place.
    pub(super) fn copied(&mut self, range: Range, at: (Vantage, i64), room: usize) {
        self.forget(at, room);
        let parts = self.parts(range, at).unwrap_or_default();
        for (part, since_ns) in parts.iter().filter(|(part, _)| part.is_copy) {
            self.note(part.range, (at.0, *since_ns));
        }
    }

    fn note(&mut self, range: Range, (place, since_ns): (Vantage, i64)) {
        let sighting = Sighting {
            range,
            place,
            since_ns,
        };
        if range.length > 0 {
            self.latest.push_back(sighting);
        }
    }

    /// Forgets those that are too old for copies, and those beyond the room.
    fn forget(&mut self, (place, now): (Vantage, i64), room: usize) {
        self.has_several_places |= *self.first.get_or_insert(place) != place;
        while let Some(oldest) = self.latest.front() {
            let since_ns = oldest.since_ns;
            let is_old = !is_recent(since_ns, now);
            if !is_old && self.latest.len() < room {
                return;
            }
            if !is_old {
                self.cut_ns = self.cut_ns.max(Some(since_ns));
            }
            self.latest.pop_front();
        }
    }

    /// Returns the parts of a segment, in order, and when each was sent. `None`: it has too many.
    fn parts(&self, range: Range, at: (Vantage, i64)) -> Option<Vec<(Part, i64)>> {
        let overlaps = self.overlaps(range, at.1)?;
        let ends = overlaps
            .iter()
            .flat_map(|overlap| [overlap.from, overlap.until]);
        let mut ends: Vec<_> = ends.chain([0, range.length]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut parts: Vec<(Part, i64)> = Vec::new();
        for (from, until) in ends.iter().zip(ends.iter().skip(1)) {
            let original = original(&overlaps, *from, at.0);
            let (is_copy, since_ns) = (original.is_some(), original.unwrap_or(at.1));
            match parts.last_mut() {
                Some((part, latest_ns)) if part.is_copy == is_copy => {
                    part.range.length += until - from;
                    *latest_ns = since_ns.max(*latest_ns);
                }
                _ => {
                    let start = range.start.wrapping_add(*from);
                    let length = until - from;
                    let range = Range { start, length };
                    parts.push((Part { range, is_copy }, since_ns));
                }
            }
        }
        Some(parts)
    }

    fn overlaps(&self, range: Range, now: i64) -> Option<Vec<Overlap>> {
        let recent = self.latest.iter();
        let recent = recent.filter(|sighting| is_recent(sighting.since_ns, now));
        let overlap = |sighting: &Sighting| {
            let start = i64::from(sighting.range.start.wrapping_sub(range.start) as i32);
            let end = start + i64::from(sighting.range.length);
            let within = |at: i64| at.clamp(0, range.length.into()) as u32;
            let (from, until) = (within(start), within(end));
            let (place, since_ns) = (sighting.place, sighting.since_ns);
            (from < until).then_some(Overlap {
                from,
                until,
                place,
                since_ns,
            })
        };
        let found = recent.filter_map(overlap).take(MOST_OVERLAPPING + 1);
        let found: Vec<_> = found.collect();
        (found.len() <= MOST_OVERLAPPING).then_some(found)
    }
}

/// Returns when the bytes at a position were sent, if another place has them more often than this one: it has yet to see that copy.
fn original(overlaps: &[Overlap], position: u32, place: Vantage) -> Option<i64> {
    let covers = |overlap: &&Overlap| (overlap.from..overlap.until).contains(&position);
    let all = overlaps.iter().filter(covers);
    let mut all: Vec<_> = all.map(|one| (one.place, one.since_ns)).collect();
    all.sort_unstable();
    // of two that have them as often, the one that had them last
    let by_place = || all.chunk_by(|one, other| one.0 == other.0);
    let most = by_place().max_by_key(|of| (of.len(), of.last().map(|(_, since_ns)| *since_ns)))?;
    let here = by_place().find(|of| of[0].0 == place);
    let here = here.map_or(0, <[_]>::len);
    most.get(here).map(|(_, since_ns)| *since_ns)
}

#[cfg(test)]
mod tests;
