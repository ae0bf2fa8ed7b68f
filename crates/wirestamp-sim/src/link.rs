//! The cable between the NICs: delays, losses, duplicates, and the ends of packets.

use crate::agenda::Happening;
use crate::packet::{Packet, PacketKey};
use crate::state::State;
use crate::truth::Fate;

/// A packet that the cable doubled follows after this.
const DOUBLE_AFTER: i64 = 500;

impl State {
    /// The packet leaves the NIC that sends it.
    pub(crate) fn put_on_wire(&mut self, key: PacketKey) {
        let Some(packet) = self.packets.find(key) else {
            return;
        };
        let direction = packet.egress;
        let mut delay = self
            .link_chance
            .delay(&self.link.delay)
            .saturating_add(self.extra_delay[direction]);
        if direction == 1 {
            delay = delay.saturating_add(self.link.asymmetry.nanoseconds());
        }
        if self.link_chance.happens(self.link.lost) {
            self.lose(key, Fate::LostOnTheWire);
            return;
        }
        let last = &mut self.last_on_wire[direction];
        *last = (*last).max(self.now.saturating_add(delay));
        let arrival = *last;
        self.agenda.enter(arrival, Happening::Arrives(key));
        let doubled = self.link_chance.happens(self.link.duplicated);
        if let Some(copy) = doubled.then(|| self.packets.copy(key)).flatten() {
            self.agenda.enter(
                arrival.saturating_add(DOUBLE_AFTER),
                Happening::Arrives(copy),
            );
        }
    }

    /// The host keeps a copy of its own multicast, timestamped by the kernel only.
    pub(crate) fn keep_copy(&mut self, key: PacketKey) {
        let Some(copy) = self.packets.copy(key) else {
            return;
        };
        if let Some(packet) = self.packets.find(copy) {
            packet.looped_copy = true;
            packet.ingress = Some(packet.egress);
        }
        self.agenda.enter(self.now, Happening::Enters(copy));
    }

    pub(crate) fn lose(&mut self, key: PacketKey, fate: Fate) {
        let Some(packet) = self.packets.remove(key) else {
            return;
        };
        self.settle(packet, fate);
    }

    /// Notes how a packet ended, unless another copy of it did better.
    pub(crate) fn settle(&mut self, packet: Packet, fate: Fate) {
        self.record.note(packet.sequence, |datagram| {
            if datagram.fate == Fate::UnderWay {
                datagram.fate = fate;
            }
        });
        self.packets.recycle(packet.payload);
    }
}
