//! Packets that look alike, and which of them are copies of others.

use super::likeness::{Observed, Packet};
use super::{Seen, Side};
use crate::copies::{self, is_mirrored};
use std::collections::VecDeque;

/// All packets that look alike.
#[derive(Debug, Default)]
pub(super) struct Alike {
    /// All of one side: as soon as there is one of each, they are a pair.
    pub(super) waiting: VecDeque<Seen>,
    /// In which flow pairs were found, as A calls it.
    pub(super) paired: Option<u32>,
    /// Where the second one of each pair was.
    completed: Option<Side>,
    /// Whether it is unknown which one is the like of which.
    ambiguous: bool,
    /// After how many steps of the clocks the first of them was seen, if none before it looked the same.
    pub(super) first_seen: Option<u64>,
    /// When the last of them was seen.
    pub(super) latest_ns: i64,
    /// Where each capture had the first of them, or the latest that is no copy, and when the latest there, in milliseconds; `None`: it has no
    /// time.
    places: [Option<(u32, Option<u32>)>; 2],
    /// Whether it is only remembered for copies of its packets.
    pub(super) is_remembered: bool,
    /// Whether others that look the same may have been forgotten for lack of room before.
    pub(super) is_cut: bool,
    /// Whether each capture has one of them under another VLAN, too.
    pub(super) is_retagged: [bool; 2],
    /// When the like was seen, in milliseconds, of the latest packet of each capture that may be a copy and was found all the same.
    likes_of_copies: [Option<u32>; 2],
}

fn milliseconds(nanoseconds: i64) -> u32 {
    (nanoseconds / 1_000_000) as u32
}

/// What a packet of a capture is, beside others that look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// Not from another place.
    Not,
    /// The same packet, seen at another place just before.
    Copy,
    /// Either.
    Perhaps,
    /// The same packet, sent again by a mirror port; or a copy, if the file does not name interfaces.
    Mirrored,
}

impl Alike {
    pub(super) fn new(first_seen: Option<u64>) -> Self {
        Self {
            first_seen,
            ..Self::default()
        }
    }

    /// Whether all were found, and a packet of this time is no copy of one of them.
    pub(super) fn begins_anew(&self, line_ns: i64, found: &Packet) -> bool {
        let after = line_ns.saturating_sub(self.latest_ns);
        self.waiting.is_empty() && after > copies::longest(found.identification)
    }

    /// Notes a packet, and returns whether it is a copy.
    pub(super) fn see(
        &mut self,
        side: Side,
        packet: &Observed,
        line_ns: i64,
        found: &Packet,
    ) -> Again {
        let longest = milliseconds(copies::longest(found.identification));
        let at = packet.vantage.short();
        let now = packet.utc_ns.map(|_| milliseconds(line_ns));
        let Some((first, latest)) = &mut self.places[side as usize] else {
            self.places[side as usize] = Some((at, now));
            return Again::Not;
        };
        let is_elsewhere = *first != at;
        let after = now
            .zip(*latest)
            .map(|(now, latest)| now.wrapping_sub(latest));
        if is_elsewhere && after.is_some_and(|after| after <= longest) {
            return Again::Copy;
        }
        if now.is_some() || latest.is_none() {
            (*first, *latest) = (at, now);
        }
        let is_sent_again = |after| is_mirrored(found.identification, i64::from(after) * 1_000_000);
        let usual = milliseconds(copies::longest(None));
        if is_elsewhere {
            Again::Perhaps
        } else if after.is_some_and(is_sent_again) {
            Again::Mirrored
        } else if packet.is_of_any_interface && after.is_none_or(|after| after <= usual) {
            Again::Perhaps
        } else {
            Again::Not
        }
    }

    /// Two packets were found to be the same.
    pub(super) fn found_pair(&mut self, one: &Seen, other: &Seen) {
        for (seen, like) in [(one, other), (other, one)] {
            if seen.may_be_copy {
                self.likes_of_copies[seen.side as usize] = Some(milliseconds(like.line_ns));
            }
        }
    }

    /// Whether a packet without a like may be a copy, or the like that it should have was found to be that of a copy.
    pub(super) fn may_be_copy(&self, seen: &Seen, window_ns: i64) -> bool {
        let at = milliseconds(seen.line_ns);
        let is_near = |like: u32| {
            let apart = (at.wrapping_sub(like) as i32).unsigned_abs();
            i64::from(apart) <= window_ns / 1_000_000
        };
        let side = seen.side as usize;
        seen.may_be_copy
            || self.is_cut
            || self.is_retagged[side]
            || self.likes_of_copies[side].is_some_and(is_near)
    }

    /// Returns whether a packet that completes a pair at `side` is certainly the like of the first that waits: no other one waits, and all
    /// pairs before it were completed at the same side, so that the waiting packet is not a duplicate of one of them.
    pub(super) fn is_certain(&mut self, side: Side) -> bool {
        let first = *self.completed.get_or_insert(side);
        self.ambiguous |= self.waiting.len() > 1 || first != side;
        !self.ambiguous
    }
}
