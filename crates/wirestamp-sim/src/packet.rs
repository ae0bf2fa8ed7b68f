//! Packets under way, and reuses their memory. Moves none.

use crate::socket::SocketId;
use crate::traffic::Sent;
use crate::truth::Ends;
use wirestamp_core::ethernet::VlanTag;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::HardwareTicks;
use wirestamp_core::timestamp::KernelTime;

/// A packet's place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketKey(usize);

/// Under which number the timestamp of a sent packet is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The caller's id, or the kernel's count.
    pub(crate) number: u32,
    /// Which configuration of the socket asked for it: on Windows, the buffer is emptied with each.
    pub(crate) configured: u32,
}

/// A packet under way.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    /// Which datagram of the truth it is.
    pub(crate) sequence: u64,
    pub(crate) origin: SocketId,
    pub(crate) ends: Ends,
    pub(crate) egress: usize,
    /// `None`: no host has the destination.
    pub(crate) ingress: Option<usize>,
    pub(crate) payload: Vec<u8>,
    /// Set while a transmit slot is held for it.
    pub(crate) tag: Option<Tag>,
    /// A copy that the host keeps of its own multicast: it meets no NIC.
    pub(crate) looped_copy: bool,
    pub(crate) vlan: Option<VlanTag>,
    /// By which other program, if it was not sent by a socket.
    pub(crate) sent_by: Option<Sent>,
    pub(crate) hardware: Option<(HardwareTicks, InterfaceIndex)>,
    pub(crate) software: Option<KernelTime>,
    pub(crate) interface: Option<InterfaceIndex>,
}

/// All packets under way.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    places: Vec<Option<Packet>>,
    free: Vec<usize>,
    /// Memory of packets that are through.
    spare: Vec<Vec<u8>>,
}

impl Packets {
    /// Memory with this content.
    pub(crate) fn payload(&mut self, content: &[u8]) -> Vec<u8> {
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        payload.extend_from_slice(content);
        payload
    }

    pub(crate) fn recycle(&mut self, payload: Vec<u8>) {
        if self.spare.len() < 1_024 {
            self.spare.push(payload);
        }
    }

    pub(crate) fn insert(&mut self, packet: Packet) -> PacketKey {
        match self.free.pop() {
            Some(place) => {
                self.places[place] = Some(packet);
                PacketKey(place)
            }
            None => {
                self.places.push(Some(packet));
                PacketKey(self.places.len() - 1)
            }
        }
    }

    pub(crate) fn find(&mut self, key: PacketKey) -> Option<&mut Packet> {
        self.places.get_mut(key.0)?.as_mut()
    }

    pub(crate) fn remove(&mut self, key: PacketKey) -> Option<Packet> {
        let packet = self.places.get_mut(key.0)?.take();
        if packet.is_some() {
            self.free.push(key.0);
        }
        packet
    }

    /// A second packet with the same content.
    pub(crate) fn copy(&mut self, key: PacketKey) -> Option<PacketKey> {
        let mut spare = self.spare.pop().unwrap_or_default();
        let original = self.places.get(key.0)?.as_ref()?;
        spare.clear();
        spare.extend_from_slice(&original.payload);
        let copy = Packet {
            payload: spare,
            tag: None,
            ..*original
        };
        Some(self.insert(copy))
    }
}
