//! How long packets are remembered that were found, or given up: a copy of one of them is no new packet.

use super::Side;
use super::likeness::{Observed, Packet};
use crate::copies::{self, Vantage};
use std::collections::VecDeque;

/// Known packets that are no longer there, as far as copies of them matter.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The first place of each capture.
    first: [Option<Vantage>; 2],
    /// Whether it has copies: it has several places, or does not name them.
    has_copies: [bool; 2],
    /// Whether a capture has packets under several VLANs.
    has_retagged: bool,
    /// Keys of packets that are only remembered for their copies, and when they were.
    remembered: VecDeque<(i64, u128)>,
    /// The latest time of a packet that was forgotten.
    forgotten_ns: Option<i64>,
    /// The latest time of a packet that was forgotten for lack of room, while a like or a copy of it could still come.
    cut_ns: Option<i64>,
}

impl Memory {
    /// A capture has a packet.
    pub(super) fn note(&mut self, side: Side, packet: &Observed) {
        let first = *self.first[side as usize].get_or_insert(packet.vantage);
        self.has_copies[side as usize] |= first != packet.vantage || packet.is_of_any_interface;
    }

    /// A capture has a packet under another VLAN, too.
    pub(super) fn note_retagged(&mut self) {
        self.has_retagged = true;
    }

    /// Whether a packet that looks like no other may be the copy of a forgotten one.
    pub(super) fn may_be_copy(
        &self,
        side: Side,
        packet: &Observed,
        line_ns: i64,
        found: &Packet,
    ) -> bool {
        let longest = copies::longest(found.identification);
        let is_recent = |forgotten| line_ns.saturating_sub(forgotten) <= longest;
        let is_timed = packet.utc_ns.is_some();
        is_timed && self.has_copies[side as usize] && self.forgotten_ns.is_some_and(is_recent)
    }

    /// Whether copies of a packet may come after this time.
    pub(super) fn is_needed(&self, latest_ns: i64, now: i64) -> bool {
        self.has_copies != [false; 2] && Self::copies_may_follow(latest_ns, now)
    }

    /// The same in captures that have copies.
    pub(super) fn copies_may_follow(latest_ns: i64, now: i64) -> bool {
        now.saturating_sub(latest_ns) <= copies::IDENTIFIED
    }

    pub(super) fn remember(&mut self, latest_ns: i64, key: u128) {
        self.remembered.push_back((latest_ns, key));
    }

    /// How many packets are only remembered.
    pub(super) fn len(&self) -> usize {
        self.remembered.len()
    }

    /// The key of the packet that is remembered for longest, if its copies would have come by `now`.
    pub(super) fn over(&mut self, now: i64) -> Option<u128> {
        let (latest_ns, _) = self.remembered.front()?;
        let is_over = now.saturating_sub(*latest_ns) > copies::IDENTIFIED;
        is_over.then(|| self.oldest()).flatten()
    }

    /// The key of the packet that is remembered for longest.
    pub(super) fn oldest(&mut self) -> Option<u128> {
        self.remembered.pop_front().map(|(_, key)| key)
    }

    /// Packets are forgotten for lack of room, the latest of which was seen then.
    pub(super) fn cut(&mut self, latest_ns: i64) {
        self.cut_ns = self.cut_ns.max(Some(latest_ns));
        self.forget(latest_ns);
    }

    /// Whether one like a packet of this time may have been forgotten for lack of room. Then both captures may
    /// have counted their copies differently, however the same they are.
    pub(super) fn is_cut(&self, line_ns: i64, window_ns: i64) -> bool {
        let longest = copies::IDENTIFIED.max(window_ns);
        let is_recent = |cut| line_ns.saturating_sub(cut) <= longest;
        let may_differ = self.has_retagged || self.has_copies != [false; 2];
        may_differ && self.cut_ns.is_some_and(is_recent)
    }

    /// A packet is forgotten, the latest of which was seen then.
    pub(super) fn forget(&mut self, latest_ns: i64) {
        self.forgotten_ns = self.forgotten_ns.max(Some(latest_ns));
    }
}
