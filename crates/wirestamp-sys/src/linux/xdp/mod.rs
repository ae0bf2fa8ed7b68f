//! AF_XDP. Receiving: a program in the driver hands packets to a socket before the kernel has made anything of them, each with the time
//! when the program saw it, and the NIC's timestamp where the driver tells it; packets are lent out of memory shared with the kernel.
//! Sending: frames are filled in that memory and handed to the driver, which gives them back with the NIC's timestamp where it has them.
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
