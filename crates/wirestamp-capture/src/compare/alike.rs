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
    /// Where each capture had the first of them, or the latest that is no copy, and when the latest there, in milliseconds.
    places: [Option<(u32, u32)>; 2],
    /// Whether it is only remembered for copies of its packets.
    pub(super) is_remembered: bool,
    /// Whether each capture has one of them under another VLAN, too.
    pub(super) is_retagged: [bool; 2],
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

    /// Notes a packet, and returns whether it is a copy.
    pub(super) fn see(
        &mut self,
        side: Side,
        packet: &Observed,
        line_ns: i64,
        found: &Packet,
    ) -> Again {
        let identification = found.identification;
        let ms = |nanoseconds: i64| (nanoseconds / 1_000_000) as u32;
        let (at, now) = (packet.vantage.short(), ms(line_ns));
        let Some((first, latest)) = &mut self.places[side as usize] else {
            self.places[side as usize] = Some((at, now));
            return Again::Not;
        };
        let is_timed = packet.utc_ns.is_some();
        let is_elsewhere = *first != at;
        let after = now.wrapping_sub(*latest);
        if is_elsewhere && is_timed && after <= ms(copies::longest(identification)) {
            return Again::Copy;
        }
        (*first, *latest) = (at, now);
        if is_elsewhere {
            Again::Perhaps
        } else if is_timed && is_mirrored(identification, i64::from(after) * 1_000_000) {
            Again::Mirrored
        } else if is_timed && packet.is_of_any_interface && after <= ms(copies::longest(None)) {
            Again::Perhaps
        } else {
            Again::Not
        }
    }

    /// Returns whether a packet that completes a pair at `side` is certainly the like of the first that waits: no other one waits, and all
    /// pairs before it were completed at the same side, so that the waiting packet is not a duplicate of one of them.
    pub(super) fn is_certain(&mut self, side: Side) -> bool {
        let first = *self.completed.get_or_insert(side);
        self.ambiguous |= self.waiting.len() > 1 || first != side;
        !self.ambiguous
    }
}
