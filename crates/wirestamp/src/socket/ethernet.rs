//! Ethernet sockets: their construction and multicast groups.

use super::Socket;
use crate::host::Host;
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_core::backend::{Backend, DatagramSocket, Ethernet};
use wirestamp_core::ethernet::{Ethertype, MacAddress};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};

/// A packet socket for Ethernet frames of one ethertype on one interface, with timestamps.
///
/// [`Interface::open_ethernet`](crate::Interface::open_ethernet) opens one. It has the same methods
/// and timestamps as a [`UdpSocket`](crate::UdpSocket), with a [`MacAddress`] in place of the
/// socket address; see [`Socket`].
///
/// * It sends and receives payloads without the Ethernet header. The header of sent frames consists
///   of the destination, the interface's address and the ethertype; that of received frames is in
///   [`Received`](crate::Received), with the VLAN tag.
/// * Received payloads include padding: Ethernet pads payloads to 46 bytes, and only the payload's
///   own protocol can state the true length.
/// * It receives frames to the interface's own address, to the broadcast address and to multicast
///   groups: those that it [joined](Socket::join_group), and those that the NIC accepts for other
///   programs. It does not receive frames that this host sends.
/// * It also receives frames with a VLAN tag, even of VLANs that are not configured on the
///   interface: see [`FrameDestination::vlan`](crate::ethernet::FrameDestination::vlan).
/// * Its hardware timestamps convert with a [`Correlator`](crate::Correlator) of the same
///   interface. On a bridge, which has no clock, receive timestamps name the port that made them
///   and convert with that port's correlator. Transmit timestamps cannot be converted there,
///   because the kernel does not report their port.
///
/// Requires CAP_NET_RAW. Available on Linux and in the simulator; on Windows, opening fails with
/// `NotSupported`.
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

    /// Joins a multicast group, such as [`MacAddress::PTP_PRIMARY`], so that the NIC accepts its
    /// frames. The socket may join a group several times, and must leave it as often.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is not a multicast address; `NoSuchDevice` if the interface is
    /// gone.
    pub fn join_group(&self, group: MacAddress) -> Result<()> {
        self.socket.join_multicast(group, self.own_interface())
    }

    /// Leaves a multicast group. Leaving one that was not joined does nothing.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is not a multicast address; `NoSuchDevice` if the interface is
    /// gone.
    pub fn leave_group(&self, group: MacAddress) -> Result<()> {
        self.socket.leave_multicast(group, self.own_interface())
    }

    fn own_interface(&self) -> InterfaceIndex {
        self.leaves_by
            .expect("`open` binds each Ethernet socket to an interface")
    }
}
