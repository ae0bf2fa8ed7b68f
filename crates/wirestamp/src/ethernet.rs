//! Sockets for Ethernet frames of one ethertype, MAC addresses and VLAN tags.

pub use crate::socket::ethernet::EthernetSocket;
pub use wirestamp_core::backend::Ethernet;
pub use wirestamp_core::ethernet::{
    Ethertype, FrameDestination, MacAddress, MacAddressInvalid, VlanTag,
};
