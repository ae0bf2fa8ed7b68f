//! What only Ethernet sockets have: an ethertype, MAC addresses, groups of them.

use super::Socket;
use crate::host::Host;
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_core::backend::{Backend, DatagramSocket, Ethernet};
use wirestamp_core::ethernet::{Ethertype, MacAddress};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};

/// A socket for the Ethernet frames of one ethertype on one interface, with timestamps: a packet socket.
///
/// [`Interface::open_ethernet`](crate::Interface::open_ethernet) makes one. It has the same calls and the same
/// timestamps as a [`UdpSocket`](crate::UdpSocket), but where that has a socket address it has a
/// [`MacAddress`]; see [`Socket`].
///
/// * It sends payloads and receives payloads: the header is made from the interface's address, the destination
///   and the ethertype, and is in [`Received`](crate::Received) with the frame's VLAN tag.
/// * What is received counts the padding of short frames: Ethernet fills up payloads of less than 46 bytes, and only the
///   payload itself can say how long it was.
/// * It receives what is sent to the interface's own address, to everybody, and to groups: those that it
///   [joined](Socket::join_group), and others that the NIC lets through for somebody else. Nothing of what this
///   host sends itself.
/// * Frames with a VLAN tag come in as well, also of VLANs that the interface is no member of: see
///   [`FrameDestination::vlan`](crate::ethernet::FrameDestination::vlan).
/// * Its hardware timestamps convert with a [`Correlator`](crate::Correlator) of the same interface. On a bridge, which has
///   no clock, received ones name the port that made them and convert with a correlator of that; sent ones do not convert:
///   the kernel names no port of them.
///
/// Needs the privilege CAP_NET_RAW. Populated on: Linux, simulator; Windows answers `NotSupported`.
pub type EthernetSocket = Socket<Ethernet>;

impl Socket<Ethernet> {
    pub(crate) fn open(
        host: &Arc<Host>,
        interface: &InterfaceDescription,
        ethertype: Ethertype,
    ) -> Result<Self> {
        let socket = host.open_ethernet(interface, ethertype)?;
        let tracker = socket.tracker();
        Ok(Self::around(host, socket, tracker, Some(interface.index)))
    }

    /// Joins a multicast group, such as [`MacAddress::PTP_PRIMARY`]: the NIC lets its frames through.
    /// The socket may join a group several times, and leaves it when it has left as often.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is no multicast address; `NoSuchDevice` if the interface is gone.
    pub fn join_group(&self, group: MacAddress) -> Result<()> {
        self.socket.join_multicast(group, self.own_interface())
    }

    /// Leaves a multicast group. Leaving one that was not joined does nothing.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is no multicast address; `NoSuchDevice` if the interface is gone.
    pub fn leave_group(&self, group: MacAddress) -> Result<()> {
        self.socket.leave_multicast(group, self.own_interface())
    }

    fn own_interface(&self) -> InterfaceIndex {
        self.leaves_by
            .expect("`open` binds each Ethernet socket to an interface")
    }
}
