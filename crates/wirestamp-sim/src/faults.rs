//! Random faults of a NIC: sends that fail, timestamps that are lost, late, reordered, doubled or zero, packets that
//! overtake. [`crate::control`] has the events at a set time.

use crate::agenda::Happening;
use crate::codes::Refusal;
use crate::packet::Tag;
use crate::socket::{SocketId, SocketState};
use crate::state::State;
use crate::timestamps::{KernelTimestamps, Waiting};
use wirestamp_core::timestamp::Notice;
use wirestamp_core::timestamp::TransmitId;

/// A doubled timestamp follows after this.
const DOUBLE_AFTER: i64 = 1_000;

impl State {
    /// Lets a send fail, if it shall.
    pub(crate) fn fail_by_chance(
        &mut self,
        id: SocketId,
        asked: Option<TransmitId>,
        egress: usize,
    ) -> Result<(), Refusal> {
        let nic = &mut self.nics[egress];
        let faults = &nic.settings.faults;
        let refusal = if nic.chance.happens(faults.not_permitted) {
            Refusal::NotPermitted
        } else if nic.chance.happens(faults.no_buffers) {
            Refusal::NoBuffers
        } else if nic.chance.happens(faults.no_room) {
            return Err(Refusal::NoRoom);
        } else {
            return Ok(());
        };
        let timestamped_all_the_same = nic.chance.happens(faults.for_failed_send);
        let now = self.now;
        let timestamp = self.clocks.timestamp(now);
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(refusal);
        };
        if let Some(asked) = asked.filter(|_| socket.timestamping.transmit.is_some()) {
            let number = if socket.counts_ids() {
                socket.count
            } else {
                asked.0
            };
            let tag = Tag {
                number,
                configured: socket.configured,
            };
            if timestamped_all_the_same {
                let raw = KernelTimestamps {
                    software: Some(timestamp),
                    hardware: None,
                };
                self.agenda
                    .enter(now, Happening::Queued(id, Waiting::Timestamp(tag, raw)));
            }
        }
        Err(refusal)
    }

    /// The tag by which the system reports a timestamp: where it counts, it may have miscounted.
    pub(crate) fn as_counted(&self, egress: usize, id: SocketId, tag: Tag) -> Tag {
        let counts = self.sockets.get(&id).is_some_and(SocketState::counts_ids);
        let faults = &self.nics[egress].settings.faults;
        let miscounted = if counts { faults.miscounted_by } else { 0 };
        Tag {
            number: tag.number.wrapping_add(miscounted),
            ..tag
        }
    }

    /// A timestamp goes back to its socket, to be there `at` a time, with all that can happen to it.
    pub(crate) fn come_back(
        &mut self,
        egress: usize,
        id: SocketId,
        tag: Tag,
        raw: KernelTimestamps,
        mut at: i64,
    ) {
        if !self.sockets.contains_key(&id) {
            return;
        }
        let tag = self.as_counted(egress, id, tag);
        let raw = self.decided(egress, raw);
        let nic = &mut self.nics[egress];
        let (faults, chance) = (&nic.settings.faults, &mut nic.chance);
        if chance.happens(faults.lost) {
            return;
        }
        let raw = if chance.happens(faults.zero) {
            KernelTimestamps::default()
        } else {
            raw
        };
        if chance.happens(faults.late) {
            at = at
                .saturating_add(chance.between(faults.late_from.length(), faults.late_to.length()));
        } else if chance.happens(faults.reordered) {
            at = at.saturating_add(faults.reordered_by.nanoseconds());
        }
        if chance.happens(faults.duplicated) {
            self.agenda.enter(
                at.saturating_add(DOUBLE_AFTER),
                Happening::Queued(id, Waiting::Timestamp(tag, raw)),
            );
        }
        let noticed = chance.happens(faults.zero_copy_notice);
        if let Some(socket) = self.sockets.get_mut(&id).filter(|_| noticed) {
            let notice = Notice::ZeroCopy {
                first: socket.zero_copies,
                last: socket.zero_copies,
            };
            socket.zero_copies = socket.zero_copies.wrapping_add(1);
            self.agenda
                .enter(at, Happening::Queued(id, Waiting::Notice(notice)));
        }
        let waiting = Waiting::Timestamp(tag, raw);
        if at <= self.now {
            self.queue(id, waiting); // a software timestamp is there before the call returns
        } else {
            self.agenda.enter(at, Happening::Queued(id, waiting));
        }
    }
}
