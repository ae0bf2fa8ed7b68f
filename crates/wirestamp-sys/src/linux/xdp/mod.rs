//! AF_XDP. Receiving: a program in the driver passes packets to a socket before the kernel's network stack, each with the
//! time at which the program saw it, and with the NIC's timestamp if the driver reports it. Packets are lent from memory
//! shared with the kernel. Sending: frames are filled in that memory and passed to the driver, which returns them with the
//! NIC's timestamp if it has one.
//!
//! Which ways there are, in which order they are tried, and what a completion means is decided in `wirestamp_core::xdp`.
//!
//! Source: the kernel's `Documentation/networking/af_xdp.rst`, `xdp-rx-metadata.rst` and `xsk-tx-metadata.rst`.

mod bpf;
mod features;
mod metadata;
mod program;
mod receive;
mod rings;
mod send;
mod socket;

#[cfg(test)]
mod cable;

pub use receive::{Xdp, XdpBatch, XdpPacket};
pub use send::XdpSend;

use wirestamp_core::Result;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::xdp::XdpFeatures;

/// Asks what the driver of an interface says that it can do.
///
/// # Errors
/// `NotSupported` on kernels before 6.3; `NoSuchDevice`.
pub fn xdp_features(interface: &InterfaceDescription) -> Result<XdpFeatures> {
    features::ask(interface)
}
