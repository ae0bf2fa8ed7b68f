//! The two sockets of a port, for event messages and for all others, of either transport.

#[cfg(target_os = "linux")]
mod alone;
#[cfg(not(target_os = "linux"))]
mod alone_elsewhere;
mod ethernet;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod filter;
#[cfg(any(not(target_os = "linux"), wirestamp_unsupported))]
mod filter_elsewhere;
mod socket;
mod udp;
#[cfg(not(target_os = "linux"))]
use alone_elsewhere as alone;
#[cfg(any(not(target_os = "linux"), wirestamp_unsupported))]
use filter_elsewhere as filter;

use crate::configuration::{Configuration, Transport};
use crate::message::LONGEST;
use crate::trust::Thinned;
use alone::Alone;
pub(crate) use socket::{Arrived, BATCH, PortSocket, ROOM};
use std::rc::Rc;
use udp::Udp;
use wirestamp::{Interface, InterfaceIndex, Result, Source, Timestamping, TransmitId};

/// The UDP port of event messages, which are timestamped.
const EVENT: u16 = 319;
/// The UDP port of all other messages.
const GENERAL: u16 = 320;
/// The capacity of transmit timestamps.
pub(crate) const AWAITED: u16 = 64;

/// The filter that is in force after an attempt to set another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    any(not(target_os = "linux"), wirestamp_unsupported),
    allow(dead_code, reason = "these systems have no filter")
)]
pub(crate) enum Filtering {
    AsWanted,
    AsBefore,
    /// None, or none that this system has.
    Unfiltered,
}

/// The sockets of one port.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) event: PortSocket,
    pub(crate) general: PortSocket,
    carrier: Carrier,
    interface: Interface,
}

/// What carries a port's messages, for as long as the port is there.
#[derive(Debug, Clone)]
enum Carrier {
    Udp(Udp),
    /// Ethernet, where no other clock is.
    Ethernet(Rc<Alone>),
}

impl Carrier {
    fn of(interface: &Interface, configuration: &Configuration) -> Result<Self> {
        let transport = configuration.transport_of(interface.name());
        Ok(match transport {
            Transport::Ethernet => Self::Ethernet(Rc::new(Alone::on(interface, configuration)?)),
            Transport::Udp4 | Transport::Udp6 => Self::Udp(Udp {
                is_ipv6: transport == Transport::Udp6,
                hops: configuration.hops,
            }),
        })
    }
}

impl Sockets {
    /// Opens and configures both sockets.
    pub(crate) fn open(
        interface: &Interface,
        configuration: &Configuration,
        timestamps: Source,
    ) -> Result<Self> {
        let carrier = Carrier::of(interface, configuration)?;
        Self::over(carrier, interface, timestamps)
    }

    /// Opens both again, with the same transport: the interface may have another name now.
    pub(crate) fn open_again(&self, interface: &Interface, timestamps: Source) -> Result<Self> {
        Self::over(self.carrier.clone(), interface, timestamps)
    }

    fn over(carrier: Carrier, interface: &Interface, timestamps: Source) -> Result<Self> {
        let wanted = Timestamping::OFF
            .receive()
            .transmit(AWAITED)
            .source(timestamps);
        let (event, general) = match &carrier {
            Carrier::Ethernet(_) => {
                let (event, general) = (ethernet::open(interface)?, ethernet::open(interface)?);
                event.configure(wanted)?;
                (PortSocket::from(event), PortSocket::from(general))
            }
            Carrier::Udp(udp) => {
                let event = udp.open(interface, EVENT)?;
                event.configure(wanted)?;
                let general = udp.open(interface, GENERAL)?;
                (PortSocket::from(event), PortSocket::from(general))
            }
        };
        let sockets = Self {
            event,
            general,
            carrier,
            interface: interface.clone(),
        };
        if matches!(sockets.carrier, Carrier::Ethernet(_)) {
            // without the filter each socket reads the other's messages too
            let _ = [true, false].map(|event| sockets.thin_out(event, None));
        }
        Ok(sockets)
    }

    /// Whether they go on after the interface came back with the same index, or may have never gone.
    /// UDP sockets join the groups again, of which the system has lost the interface's part; Ethernet
    /// sockets lose an interface that goes for good, and have an error from then on.
    pub(crate) fn go_on(&self) -> bool {
        match (&self.carrier, &self.event, &self.general) {
            (Carrier::Udp(udp), PortSocket::Udp(event), PortSocket::Udp(general)) => {
                udp.join_again(&[event, general], &self.interface).is_ok()
            }
            (_, PortSocket::Ethernet(event), PortSocket::Ethernet(general)) => {
                event.local_address().is_ok() && general.local_address().is_ok()
            }
            _ => unreachable!("the carrier opened them"),
        }
    }

    /// Returns the index of the interface that they are bound to.
    pub(crate) fn interface(&self) -> InterfaceIndex {
        self.interface.index()
    }

    fn of(&self, event: bool) -> &PortSocket {
        if event { &self.event } else { &self.general }
    }

    /// Sets or removes the filter that drops messages of unknown senders.
    pub(crate) fn thin_out(&self, event: bool, thinned: Option<&Thinned>) -> Filtering {
        filter::set(self.of(event), event, thinned)
    }

    /// Returns the number of messages that the system has dropped for lack of room; over UDP also of
    /// those that the filter has dropped.
    pub(crate) fn dropped(&self, event: bool) -> u64 {
        self.of(event).dropped()
    }

    /// Receives messages without waiting, as [`PortSocket::receive`].
    pub(crate) fn receive(
        &self,
        event: bool,
        room: &mut [u8],
        into: &mut [Arrived; BATCH],
    ) -> Result<usize> {
        self.of(event).receive(room, into)
    }

    /// Whether a message is not this socket's: the other one has it as well, and reads it, or it is of a
    /// VLAN, whose interface is another one.
    pub(crate) fn is_anothers(&self, event: bool, arrived: &Arrived, message: &[u8]) -> bool {
        matches!(self.carrier, Carrier::Ethernet(_))
            && (arrived.of_vlan || !ethernet::is_for(event, message))
    }

    /// Sends a message, with an ID from the event socket.
    pub(crate) fn send(&self, message: &[u8], peers: bool, id: Option<TransmitId>) -> Result<()> {
        let message = &message[..message.len().min(LONGEST)];
        match (self.of(id.is_some()), &self.carrier) {
            (PortSocket::Udp(socket), Carrier::Udp(udp)) => {
                udp.send(socket, &self.interface, message, peers, id)
            }
            (PortSocket::Ethernet(socket), Carrier::Ethernet(_)) => {
                ethernet::send(socket, message, peers, id)
            }
            _ => unreachable!("the carrier opened them"),
        }
    }
}

/// Checks that a port can be opened on this interface: that both UDP ports are free, or that this
/// process may open an Ethernet socket and no other clock uses one there.
pub(crate) fn check_free(interface: &Interface, configuration: &Configuration) -> Result<()> {
    match Carrier::of(interface, configuration)? {
        Carrier::Ethernet(_alone) => ethernet::open(interface).map(drop),
        Carrier::Udp(udp) => udp.check_free(interface),
    }
}
