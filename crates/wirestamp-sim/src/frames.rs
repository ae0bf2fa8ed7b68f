//! Ethernet sockets of the simulated system, as Linux' packet sockets. Which frame reaches whom is in
//! `receive` and `nic`.

use crate::codes::Refusal;
use crate::nic::{DELAY_REQUEST, Nic, SYNC};
use crate::scenario::Platform;
use crate::socket::{Local, SocketId, SocketState};
use crate::state::State;
use crate::transmit::{Carried, Route, Way};
use crate::truth::Ends;
use std::collections::BTreeMap;
use wirestamp_core::Result;
use wirestamp_core::backend::{Ethernet, NoSocket, Outgoing};
use wirestamp_core::configuration::ReceiveFilter;
use wirestamp_core::ethernet::{Ethertype, FrameDestination, MacAddress};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};

/// The shortest payload of a frame on the wire: a shorter one is filled up with zeros (IEEE 802.3-2022, 3.2.8).
const SHORTEST: usize = 46;
const JOIN: &str = "join the multicast group";
const LEAVE: &str = "leave the multicast group";

impl State {
    /// Opens a socket for the frames of one ethertype.
    pub(crate) fn open_ethernet(
        &mut self,
        interface: &InterfaceDescription,
        ethertype: Ethertype,
    ) -> Result<SocketId> {
        const OPERATION: &str = "open an Ethernet socket";
        self.pass(self.cost.query);
        if self.platform == Platform::Windows {
            return Err(NoSocket::refused(interface));
        }
        self.place(interface, OPERATION)?;
        if !self.host.privileged {
            return Err(Refusal::NotPermitted.error(self.platform, OPERATION, &interface.name));
        }
        let placement = self.clocks.placement(self.now);
        let mut socket = SocketState::new(Local::Ethernet(ethertype), &self.host, placement);
        socket.interface = Some(interface.index);
        Ok(self.add_socket(socket))
    }

    /// The groups of a socket that is bound to `interface`.
    fn groups(
        &mut self,
        id: SocketId,
        group: MacAddress,
        interface: InterfaceIndex,
    ) -> Result<&mut Vec<MacAddress>, Refusal> {
        let present = self.place_of(interface).is_some();
        let socket = self.sockets.get_mut(&id).ok_or(Refusal::InvalidArgument)?;
        if !group.is_multicast() || socket.interface != Some(interface) {
            return Err(Refusal::InvalidArgument);
        }
        if !present {
            return Err(Refusal::NoDevice);
        }
        Ok(&mut socket.groups)
    }
}

impl Nic {
    /// Its MAC address.
    pub(crate) fn mac(&self) -> MacAddress {
        MacAddress::new([0x02, b's', b'i', b'm', 0, self.place as u8])
    }

    /// Whether a frame is another station's.
    pub(crate) fn is_for_others(&self, destination: MacAddress) -> bool {
        !destination.is_multicast() && destination != self.mac()
    }

    /// Whether a frame's destination is its own address, or a group that a socket has joined.
    pub(crate) fn lets_through(
        &self,
        destination: MacAddress,
        sockets: &BTreeMap<SocketId, SocketState>,
    ) -> bool {
        destination == self.mac()
            || destination.is_broadcast()
            || sockets.values().any(|socket| {
                socket.interface == Some(self.index) && socket.groups.contains(&destination)
            })
    }
}

/// Whether a frame is one of those that a filter timestamps.
pub(crate) fn covers_frame(filter: ReceiveFilter, ethertype: Ethertype, payload: &[u8]) -> bool {
    use ReceiveFilter as F;
    let message = || {
        let first = payload.first().filter(|_| ethertype == Ethertype::PTP)?;
        (payload.get(1)? & 0xf == 2).then_some(first & 0xf)
    };
    match filter {
        F::All => true,
        F::PtpV2 | F::PtpV2Ethernet => message().is_some_and(|kind| kind < 4),
        F::PtpV2Sync | F::PtpV2EthernetSync => message() == Some(SYNC),
        F::PtpV2DelayRequest | F::PtpV2EthernetDelayRequest => message() == Some(DELAY_REQUEST),
        _ => false,
    }
}

impl Carried for Ethernet {
    fn way(
        state: &State,
        socket: &SocketState,
        outgoing: &Outgoing<'_, Self>,
    ) -> Result<Way, Refusal> {
        let (Some(interface), Local::Ethernet(ethertype)) = (socket.interface, socket.local) else {
            return Err(Refusal::InvalidArgument);
        };
        let egress = state.place_of(interface).ok_or(Refusal::NoDevice)?;
        let nic = &state.nics[egress];
        if outgoing.payload.len() > nic.settings.mtu as usize {
            return Err(Refusal::FrameSize);
        }
        Ok(Way {
            route: Route {
                egress,
                ingress: Some(1 - egress),
            },
            ends: Ends::Ethernet {
                source: nic.mac(),
                destination: outgoing.to.unwrap_or(nic.mac()),
                ethertype,
            },
            loopback: false,
            least: SHORTEST,
        })
    }

    fn local(state: &State, id: SocketId) -> Option<MacAddress> {
        let place = state.place_of(state.sockets.get(&id)?.interface?)?;
        Some(state.nics[place].mac())
    }

    fn join(
        state: &mut State,
        id: SocketId,
        group: MacAddress,
        interface: InterfaceIndex,
    ) -> Result<()> {
        let platform = state.platform;
        let joined = state.groups(id, group, interface);
        let joined = joined.map(|groups| groups.push(group));
        joined.map_err(|refusal| refusal.error(platform, JOIN, group))
    }

    /// Linux is silent about a group that was not joined.
    fn leave(
        state: &mut State,
        id: SocketId,
        group: MacAddress,
        interface: InterfaceIndex,
    ) -> Result<()> {
        let platform = state.platform;
        let left = state.groups(id, group, interface).map(|groups| {
            if let Some(place) = groups.iter().position(|joined| *joined == group) {
                groups.swap_remove(place);
            }
        });
        left.map_err(|refusal| refusal.error(platform, LEAVE, group))
    }

    fn ends(ends: &Ends) -> Option<(MacAddress, FrameDestination)> {
        match ends {
            Ends::Ethernet {
                source,
                destination,
                ..
            } => Some((*source, FrameDestination::new(*destination, None))),
            Ends::Internet { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_timestamp_their_frames_and_no_others() {
        let (sync, delay_request) = ([0x00, 0x02], [0x01, 0x02]);
        let ptp = |filter, payload: &[u8]| covers_frame(filter, Ethertype::PTP, payload);
        assert!(ptp(ReceiveFilter::PtpV2, &sync) && ptp(ReceiveFilter::PtpV2Ethernet, &sync));
        assert!(ptp(
            ReceiveFilter::PtpV2EthernetDelayRequest,
            &delay_request
        ));
        assert!(!ptp(ReceiveFilter::PtpV2EthernetSync, &delay_request));
        assert!(!ptp(ReceiveFilter::PtpV2Udp, &sync) && !ptp(ReceiveFilter::PtpV2, &[0x0b, 2]));
        assert!(!covers_frame(
            ReceiveFilter::PtpV2,
            Ethertype::EXPERIMENTAL,
            &sync
        ));
        assert!(covers_frame(
            ReceiveFilter::All,
            Ethertype::EXPERIMENTAL,
            &[]
        ));
    }
}
