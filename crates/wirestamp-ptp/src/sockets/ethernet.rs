//! PTP in Ethernet frames: both destination addresses, and the errors if a socket cannot be opened.
//!
//! As over UDP, one socket is for event messages and one for all others: a flood of one kind takes no
//! room from the other. The socket filter separates them by the message type, and
//! [`is_for`] does where there is no filter.
//!
//! Source: IEEE 1588-2019, annex E; IEEE 802.3-2022, 3.2.8 (padding).

use wirestamp::ethernet::{EthernetSocket, Ethertype, MacAddress};
use wirestamp::{Error, ErrorKind, Interface, Result, TransmitId};

/// The bit of the message type that general messages have.
pub(super) const GENERAL_BIT: u8 = 0x08;

/// Opens a socket in both groups: profiles differ in which messages go to which.
pub(super) fn open(interface: &Interface) -> Result<EthernetSocket> {
    let socket = interface.open_ethernet(Ethertype::PTP).map_err(explained)?;
    socket.join_group(MacAddress::PTP_PRIMARY)?;
    socket.join_group(MacAddress::PTP_PEER_DELAY)?;
    Ok(socket)
}

/// Whether a message belongs to the socket for event messages, or to the other one.
pub(super) fn is_for(event: bool, message: &[u8]) -> bool {
    let is_general = message
        .first()
        .is_some_and(|first| first & GENERAL_BIT != 0);
    is_general != event
}

/// Sends a message. The driver or the NIC pads a short frame.
pub(super) fn send(
    socket: &EthernetSocket,
    message: &[u8],
    peers: bool,
    id: Option<TransmitId>,
) -> Result<()> {
    let destination = match peers {
        false => MacAddress::PTP_PRIMARY,
        true => MacAddress::PTP_PEER_DELAY,
    };
    socket.send_to(message, destination, id)
}

/// Adds the remedy if a socket cannot be opened.
fn explained(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotPermitted => error.with_remedy(
            "PTP over Ethernet needs CAP_NET_RAW: run as root, or once \
             sudo setcap cap_net_admin,cap_net_bind_service,cap_net_raw=ep \"$(command -v wirestamp)\"",
        ),
        ErrorKind::NotSupported => {
            error.with_remedy("use PTP over UDP: transport \"udp4\" or \"udp6\"")
        }
        _ => error,
    }
}
